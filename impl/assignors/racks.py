"""Where members and replicas stand, in sets that are compared once and not once a partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from spec.vocabulary import Member, Racks, racks_by_partition

NONE = frozenset[str]()


class Places:
    """The rack of each member that names one, and the racks of each partition."""

    __slots__ = ("_many_near", "_members", "of_member", "of_topic")

    def __init__(
        self, members: Mapping[str, Member], racks: Racks, sizes: Mapping[str, int]
    ) -> None:
        self.of_member = {name: member.rack for name, member in members.items() if member.rack}
        self.of_topic = {t: racks_by_partition(racks, t, size) for t, size in sizes.items()}
        self._members = Counter(self.of_member.values())
        self._many_near: dict[frozenset[str], int] = {}

    def matter(self, topics: Iterable[str], members: Iterable[str]) -> bool:
        """Whether some of the members are near some of the topics' partitions, but not all."""
        standing = set(map(self.of_member.get, members))
        if standing <= {None}:
            return False
        different = {racks for topic in topics for racks in self.of_topic[topic]}
        return len(different) > 1 and not NONE.union(*different).isdisjoint(standing)

    def racks(self, topic: str, index: int) -> frozenset[str]:
        """The racks of a partition; none, if there is no such partition."""
        of_topic = self.of_topic[topic]
        return of_topic[index] if 0 <= index < len(of_topic) else NONE

    def is_far(self, name: str, topic: str, index: int) -> bool:
        """Whether a member stands on a rack, but not on one of the partition's."""
        rack = self.of_member.get(name)
        return rack is not None and rack not in self.racks(topic, index)

    def many_near(self, racks: frozenset[str]) -> int:
        """How many members stand on these racks."""
        many = self._many_near.get(racks)
        if many is None:
            many = self._many_near[racks] = sum(map(self._members.__getitem__, racks))
        return many
