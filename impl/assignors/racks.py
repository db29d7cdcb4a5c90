"""The racks of members and replicas, in sets that are compared once for many partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from kspec.spec.vocabulary import Member, Racks, racks_by_partition

NONE = frozenset[str]()


class Places:
    """The rack of each member that has one, and the racks of each partition."""

    __slots__ = ("_members", "_members_on", "of_member", "of_topic")

    def __init__(
        self, members: Mapping[str, Member], racks: Racks, sizes: Mapping[str, int]
    ) -> None:
        self.of_member = {name: member.rack for name, member in members.items() if member.rack}
        self.of_topic = {t: racks_by_partition(racks, t, size) for t, size in sizes.items()}
        self._members = Counter(self.of_member.values())
        self._members_on: dict[frozenset[str], int] = {}

    def are_relevant(self, topics: Iterable[str], members: Iterable[str]) -> bool:
        """Whether some members share a rack with some of the topics' partitions, but not all."""
        standing = set(map(self.of_member.get, members))
        if standing <= {None}:
            return False
        different = {racks for topic in topics for racks in self.of_topic[topic]}
        return len(different) > 1 and not NONE.union(*different).isdisjoint(standing)

    def racks(self, topic: str, index: int) -> frozenset[str]:
        """The racks of a partition; none, if there is no such partition."""
        of_topic = self.of_topic[topic]
        return of_topic[index] if 0 <= index < len(of_topic) else NONE

    def is_off_rack(self, name: str, topic: str, index: int) -> bool:
        """Whether a member has a rack, and it is none of the partition's."""
        rack = self.of_member.get(name)
        return rack is not None and rack not in self.racks(topic, index)

    def members_on(self, racks: frozenset[str]) -> int:
        """How many members are on these racks."""
        count = self._members_on.get(racks)
        if count is None:
            count = self._members_on[racks] = sum(map(self._members.__getitem__, racks))
        return count
