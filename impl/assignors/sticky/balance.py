"""Balancing by single moves, without a full check of the balance before each.

Kafka checks before every partition whether the assignment is balanced, which visits every
member and every partition. Here a witness answers: a partition, and a member that it could move
to. While the pair is valid, the assignment is not balanced; when it fails, another is searched.
A topic in which no partition can move is skipped as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain

from kspec.impl.assignors.sticky.board import Board
from kspec.impl.assignors.sticky.movements import Movements
from kspec.impl.assignors.sticky.plainly import Parts, PlainBalancing
from kspec.spec.vocabulary import KafkaRaises, TopicPartition


def balance(
    board: Board,
    free: Sequence[int],
    unreal: Sequence[TopicPartition],
    *,
    new_first: bool,
    from_scratch: bool,
) -> list[list[int]]:
    """The partitions of each member when no move improves the balance, or as now if none did."""
    contested = range(board.contested_from, len(board.topics))
    if not contested:
        return board.lists
    aside = board.settled(unreal)
    odd = board.twice or any(not aside.isdisjoint(board.candidates(t)) for t in contested if aside)
    state = PlainBalancing(board, aside) if odd else Balancing(board, aside)
    if new_first:
        state.move_while_it_helps(list(board.by_topic(free, board.contested_from)))
    everything = [(t, range(board.begin[t], board.begin[t + 1])) for t in contested]
    moved = state.move_while_it_helps(everything)
    taking_part = [member for member in range(len(board.names)) if member not in aside]
    if (
        moved
        and not from_scratch
        and imbalance(state.count[member] for member in taking_part)
        >= imbalance(len(board.lists[member]) for member in taking_part)
    ):
        return board.lists
    return state.lists()


def imbalance(counts: Iterable[int]) -> int:
    """The sum of the differences of every pair, in 32 bits, from one pass over sorted counts."""
    ordered = sorted(counts)
    middle = len(ordered) - 1
    total = sum((2 * place - middle) * count for place, count in enumerate(ordered))
    return (total + 2**31) % 2**32 - 2**31


class Balancing:
    """The state of the balancing."""

    def __init__(self, board: Board, aside: set[int]) -> None:
        self._board = board
        self._aside = aside
        self.count = [len(numbers) for numbers in board.lists]
        self._owner = board.owner
        self._movements = Movements()
        self._held: list[dict[int, None]] | None = None
        """The partitions of each member from the first move on, in order and quick to remove."""
        loads = [load for member, load in enumerate(self.count) if member not in aside]
        self._with_load = Counter(loads)
        self._least, self._most = min(loads), max(loads)
        self._witness: tuple[int, int] | None = None
        self._balanced = False
        """Whether no witness was found, so that no partition moves any more."""
        self._looked_last = len(board.topics) - 1
        self._candidates: dict[int, frozenset[int]] = {}

    def lists(self) -> list[list[int]]:
        """The partitions of each member, in order."""
        if self._held is None:
            return self._board.lists
        return [list(numbers) for numbers in self._held]

    def move_while_it_helps(self, parts: Parts) -> bool:
        """Visit the partitions topic by topic until none moves; returns whether any moved."""
        rounds = 0
        while self._one_round(parts):
            rounds += 1
        return rounds > 0

    def _one_round(self, parts: Parts) -> bool:
        moved = False
        for topic, numbers in parts:
            if self._is_balanced():
                break
            if self._may_move(topic, numbers):
                moved |= self._round_of_topic(topic, numbers)
        return moved

    def _may_move(self, topic: int, numbers: Sequence[int]) -> bool:
        """Whether any of a topic's partitions can move now."""
        if self._board.earlier:
            return True
        count = self.count.__getitem__
        most = max(map(count, set(map(self._owner.__getitem__, numbers))))
        if most <= self._least + 1:
            return False
        return most > min(map(count, self._board.candidates(topic))) + 1

    def _round_of_topic(self, topic: int, numbers: Sequence[int]) -> bool:
        """Visit the partitions of one topic in order."""
        count, owner, earlier = self.count, self._owner, self._board.earlier
        members = len(count)
        candidates = self._board.candidates(topic)
        may_have = self._candidates.setdefault(id(candidates), frozenset(candidates))
        # Fewest first, then by id. An entry with an outdated load is dropped when it comes up.
        waiting = [count[member] * members + member for member in candidates]
        heapify(waiting)
        moved = False
        for number in numbers:
            if moved and self._is_balanced():
                break
            load = count[owner[number]]
            least, member = divmod(waiting[0], members)
            before = earlier.get(number)
            if before is not None and load > self._count(before) + 1:
                destination = before
            elif load > least + 1:
                destination = member
            else:
                continue
            source = self._move(number, topic, destination)
            moved = True
            for changed in (source, destination):
                if changed in may_have:
                    heappush(waiting, count[changed] * members + changed)
            while count[waiting[0] % members] != waiting[0] // members:
                heappop(waiting)
        return moved

    def _count(self, member: int) -> int:
        """The load of an earlier owner, which Kafka may have set aside."""
        if member in self._aside:
            name = self._board.names[member]
            raise KafkaRaises("NullPointerException", f"{name} takes no part in balancing")
        return self.count[member]

    def _move(self, number: int, topic: int, destination: int) -> int:
        """Move a partition, or the one to move in its place; returns the source."""
        if self._held is None:
            self._held = [dict.fromkeys(numbers) for numbers in self._board.lists]
        owner, name = self._owner, self._board.topics[topic]
        number = self._movements.stands_for(number, name, owner[number], destination)
        source = owner[number]
        index = number - self._board.begin[topic]
        self._movements.record(number, name, index, source, destination)
        del self._held[source][number]
        self._held[destination][number] = None
        owner[number] = destination
        self._recount(source, -1)
        self._recount(destination, 1)
        return source

    def _recount(self, member: int, change: int) -> None:
        """Update the counts, and the least and the most of them."""
        load = self.count[member] + change
        self.count[member] = load
        with_load = self._with_load
        with_load[load - change] -= 1
        with_load[load] += 1
        self._least = min(self._least, load)
        self._most = max(self._most, load)
        while not with_load[self._least]:
            self._least += 1
        while not with_load[self._most]:
            self._most -= 1

    # -- balance --------------------------------------------------------------------------------

    def _is_balanced(self) -> bool:
        """Whether loads differ by at most one, or no single move would improve the balance."""
        if self._balanced or self._most - self._least <= 1:
            return True
        if self._witness is not None:
            number, member = self._witness
            load = self.count[member]
            if self.count[self._owner[number]] > load + 1 and load != self._board.capacity(member):
                return False
        self._witness = self._find_witness()
        self._balanced = self._witness is None
        return self._balanced

    def _find_witness(self) -> tuple[int, int] | None:
        """A partition, and a member with room and two partitions fewer than its owner.

        Moves visit the topics in ascending order, so the last ones are out of balance longest:
        the search descends from where it last ended, and then from the top.
        """
        board, count, owner = self._board, self.count, self._owner
        with_room: dict[int, int | None] = {}
        first, last = board.contested_from, self._looked_last
        for topic in chain(range(last, first - 1, -1), range(len(board.topics) - 1, last, -1)):
            begin = board.begin[topic]
            owners = owner[begin : board.begin[topic + 1]]
            holder = max(set(owners), key=count.__getitem__)
            if count[holder] <= self._least + 1:
                continue
            candidates = board.candidates(topic)
            if id(candidates) not in with_room:
                with_room[id(candidates)] = self._least_with_room(candidates)
            member = with_room[id(candidates)]
            if member is not None and count[holder] > count[member] + 1:
                self._looked_last = topic
                return begin + owners.index(holder), member
        return None

    def _least_with_room(self, candidates: Sequence[int]) -> int | None:
        """Of the members that may have more, one with the fewest."""
        count, capacity = self.count, self._board.capacity
        least = min(candidates, key=count.__getitem__)
        if count[least] != capacity(least):
            return least
        with_room = (member for member in candidates if count[member] != capacity(member))
        return min(with_room, key=count.__getitem__, default=None)
