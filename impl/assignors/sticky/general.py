"""Sticky with unequal subscriptions, with partitions and members as numbers.

Partitions are numbered in the order in which Kafka goes over them: topics that few may have
first. Members are numbered by id, so that `partitions * members + member` is one number to
compare for "fewest partitions, then by id".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapreplace
from itertools import chain

from kspec.impl.assignors.group import Group, Subscribers, partitions_of
from kspec.impl.assignors.java import sort_names
from kspec.impl.assignors.racks import Places
from kspec.impl.assignors.sticky.balance import balance
from kspec.impl.assignors.sticky.board import Board
from kspec.impl.assignors.sticky.ownership import NO_GENERATION, settle_claims
from kspec.spec.vocabulary import Assignment, Member, TopicPartition


def assign_general(
    group: Group, seen_generation: int, places: Places | None, *, withhold: bool
) -> Assignment:
    """The same assignment as the specification's, faster."""
    board = lay_out(group, places)
    numbering = Numbering(board, group.sizes)
    claims = numbering.claims(group.members)
    owned, _ = settle_claims(group.members, claims)
    must_revoke = False
    leaving = numbering.foreign
    if places is not None:
        add_off_rack(leaving, owned, board, places)
    for name, lost in leaving.items():
        kept = [number for number in owned[name] if number not in lost]
        must_revoke |= len(kept) < len(owned[name])
        owned[name] = kept
    board.earlier = earlier_owners(group.members, claims, board, seen_generation)
    board.hold(owned)

    from_scratch = not any(owned.values())
    free = board.left_over(numbering.unreal)
    left = free if places is None else give_within_racks(board, free, places)
    give_to_least_loaded(board, left)
    lists = balance(
        board, free, numbering.unreal, new_first=not must_revoke, from_scratch=from_scratch
    )
    by_name = {name: lists[board.number[name]] for name in group.members}
    if withhold:
        withhold_transferred(by_name, claims)

    objects = list(chain.from_iterable(partitions_of(group.sizes, board.topics)))
    objects += numbering.unreal
    take = objects.__getitem__
    return {name: tuple(map(take, numbers)) for name, numbers in by_name.items()}


def lay_out(group: Group, places: Places | None) -> Board:
    """Number topics and members."""
    names = sort_names(group.members)
    subscribers = Subscribers(group, names)
    # Repeated as often as members name it: Kafka counts the subscribers of a topic in this way.
    counted = subscribers.how_often()
    topics = sorted(sort_names(group.sizes), key=counted.__getitem__)
    return Board(
        names=names,
        group=group,
        topics=topics,
        subscribers=subscribers,
        contested_from=sum(counted[topic] <= 1 for topic in topics),
        places=places,
    )


class Numbering:
    """The numbers of the partitions that members claim."""

    def __init__(self, board: Board, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._begin = dict(zip(board.topics, board.begin, strict=False))
        self._beyond = board.begin[-1]
        self.unreal: list[TopicPartition] = []
        """Claimed partitions of a known topic that do not exist: numbered after all others."""
        self._unreal: dict[TopicPartition, int] = {}
        self.foreign: dict[str, set[int]] = {}
        """Of some members, the claimed partitions whose topics they do not subscribe to."""

    def claims(self, members: Mapping[str, Member]) -> dict[str, list[int]]:
        """The claims of each member for topics that are assigned."""
        begin, size = self._begin, self._sizes.get
        claims: dict[str, list[int]] = {}
        for name, member in members.items():
            owned = member.owned
            # For a few, searching the topics is quicker than building a set.
            topics = member.topics if len(owned) < 8 else set(member.topics)
            numbers = [begin[t] + i for t, i in owned if t in topics and 0 <= i < size(t, 0)]
            if len(numbers) < len(owned):
                numbers = list(self._look_closely(name, owned, set(member.topics)))
            claims[name] = numbers
        return claims

    def _look_closely(
        self, name: str, owned: Iterable[TopicPartition], subscribed: set[str]
    ) -> Iterator[int]:
        """The same, where some claims are unusual."""
        for tp in owned:
            topic, index = tp
            if topic not in self._sizes:
                continue
            if 0 <= index < self._sizes[topic]:
                number = self._begin[topic] + index
            elif tp in self._unreal:
                number = self._unreal[tp]
            else:
                number = self._unreal[tp] = self._beyond + len(self.unreal)
                self.unreal.append(tp)
            if topic not in subscribed:
                self.foreign.setdefault(name, set()).add(number)
            yield number


def earlier_owners(
    members: Mapping[str, Member], claims: Mapping[str, list[int]], board: Board, seen: int
) -> dict[int, int]:
    """The owner of each partition in the latest generation before the newest."""
    since = {
        name: NO_GENERATION if member.generation is None else member.generation
        for name, member in members.items()
    }
    newest = max(seen, *since.values())
    earlier: dict[int, int] = {}
    of: dict[int, int] = {}
    for name, generation in since.items():
        if generation < newest:
            member = board.number[name]
            for number in claims[name]:
                if number not in of or generation > of[number]:
                    earlier[number] = member
                    of[number] = generation
    return earlier


def add_off_rack(
    leaving: dict[str, set[int]], owned: Mapping[str, list[int]], board: Board, places: Places
) -> None:
    """Add partitions off a member's rack to those that it does not keep."""
    racks_of = list(chain.from_iterable(places.of_topic[topic] for topic in board.topics))
    for name, rack in places.of_member.items():
        far = {n for n in owned[name] if n >= len(racks_of) or rack not in racks_of[n]}
        if far:
            leaving[name] = leaving.get(name, set()) | far


def give_within_racks(board: Board, free: Sequence[int], places: Places) -> list[int]:
    """Assign every partition to the least loaded member on its racks, or without a rack.

    Returns those that are left: every candidate is off their racks.
    """
    count, members = board.count, len(board.count)
    rack_of = [places.of_member.get(name) for name in board.names]
    # For each list of candidates and each rack, those on it, fewest partitions first.
    heaps: dict[int, dict[str | None, list[int]]] = {}
    left: list[int] = []
    for topic, numbers in board.by_topic(free):
        candidates = board.candidates(topic)
        if id(candidates) not in heaps:
            by_rack: dict[str | None, list[int]] = {}
            for member in sorted(candidates, key=count.__getitem__):
                entry = count[member] * members + member
                by_rack.setdefault(rack_of[member], []).append(entry)
            heaps[id(candidates)] = by_rack
        heap_of = heaps[id(candidates)].get
        racks_of, begin = places.of_topic[board.topics[topic]], board.begin[topic]
        for number in numbers:
            least = -1
            for rack in (None, *racks_of[number - begin]):
                if heap := heap_of(rack):
                    # Counts only rise: an outdated entry is pushed back with the current one.
                    while count[heap[0] % members] != heap[0] // members:
                        member = heap[0] % members
                        heapreplace(heap, count[member] * members + member)
                    if least < 0 or heap[0] < least:
                        least = heap[0]
            if least < 0:
                left.append(number)
                continue
            member = least % members
            count[member] += 1
            board.lists[member].append(number)
            board.owner[number] = member
    return left


def give_to_least_loaded(board: Board, free: Sequence[int]) -> None:
    """Assign every partition to the candidate with the fewest, topic by topic."""
    if not free:
        return
    lists, owner = board.lists, board.owner
    members = len(board.count)
    loads = [count * members + member for member, count in enumerate(board.count)]
    for topic, numbers in board.by_topic(free):
        receivers = in_turn(loads, board.candidates(topic), len(numbers))
        for number, member in zip(numbers, receivers, strict=True):
            lists[member].append(number)
            owner[number] = member
    board.count = [load // members for load in loads]


def in_turn(loads: list[int], candidates: Sequence[int], partitions: int) -> list[int]:
    """The member of each partition, when each goes to the least loaded; updates the loads.

    The lowest loads rise together, and are joined by those that they reach.
    """
    members = len(loads)
    rising: list[int] = []
    above = sorted(map(loads.__getitem__, candidates))[:partitions]
    above.reverse()
    level = above[-1] // members
    receivers: list[int] = []
    while True:
        reached = len(rising)
        while above and above[-1] // members == level:
            rising.append(above.pop() % members)
        if len(rising) > reached:
            rising.sort()
        missing = partitions - len(receivers)
        rounds = missing // len(rising)
        if above:
            rounds = min(rounds, above[-1] // members - level)
        receivers += rising * rounds
        level += rounds
        missing -= rounds * len(rising)
        if missing < len(rising) and not (above and above[-1] // members == level):
            break
    receivers += rising[:missing]
    for place, member in enumerate(rising):
        loads[member] = (level + (place < missing)) * members + member
    return receivers


def withhold_transferred(assigned: dict[str, list[int]], claims: Mapping[str, list[int]]) -> None:
    """Remove partitions that one member gains and another, by its own claim, loses."""
    gained: dict[int, str] = {}
    lost: set[int] = set()
    for name, numbers in assigned.items():
        if numbers != claims[name]:
            mine = set(claims[name])
            gained |= dict.fromkeys((n for n in numbers if n not in mine), name)
            lost |= mine.difference(numbers)
    going: dict[str, set[int]] = {}
    for number in lost.intersection(gained):
        going.setdefault(gained[number], set()).add(number)
    for name, leaving in going.items():
        staying: list[int] = []
        for number in assigned[name]:
            if number in leaving:
                leaving.remove(number)  # only the first of two, should there be two
            else:
                staying.append(number)
        assigned[name] = staying
