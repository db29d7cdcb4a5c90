"""Balancing without shortcuts, for groups in which Kafka's bookkeeping is inconsistent.

A member may claim a partition that does not exist, of a topic recreated with fewer partitions.
Kafka may then assign other partitions twice, or look up a member that it has set aside. The
result depends on every step, so every step is taken here.
"""

from __future__ import annotations

from collections.abc import Sequence

from kspec.impl.assignors.sticky.board import Board
from kspec.impl.assignors.sticky.movements import Movements
from kspec.spec.vocabulary import KafkaRaises

Parts = Sequence[tuple[int, Sequence[int]]]
"""Topics, and the partitions of each that may move."""


class PlainBalancing:
    """The state of the balancing, in which a partition may have two members."""

    def __init__(self, board: Board, aside: set[int]) -> None:
        self._board = board
        self._aside = aside
        self._held = [list(numbers) for numbers in board.lists]
        self._movements = Movements()

    @property
    def count(self) -> list[int]:
        """How many partitions each member has."""
        return [len(numbers) for numbers in self._held]

    def lists(self) -> list[list[int]]:
        """The partitions of each member, in order."""
        return self._held

    def move_while_it_helps(self, parts: Parts) -> bool:
        """Visit the partitions until none moves; returns whether any moved."""
        rounds = 0
        while self._one_round(parts):
            rounds += 1
        return rounds > 0

    def _one_round(self, parts: Parts) -> bool:
        board = self._board
        moved = False
        for topic, numbers in parts:
            candidates = board.candidates(topic)
            for number in numbers:
                if self._is_balanced():
                    return moved
                load = self._load(board.owner[number])
                before = board.earlier.get(number)
                if before is not None and load > self._load(before) + 1:
                    self._move(number, topic, before)
                elif any(load > self._load(member) + 1 for member in self._rivals(topic, number)):
                    taking_part = (m for m in candidates if m not in self._aside)
                    self._move(number, topic, min(taking_part, key=self._by_load))
                else:
                    continue
                moved = True
        return moved

    def _rivals(self, topic: int, number: int) -> list[int]:
        """The members that a partition's owner is compared with, in Kafka's order."""
        same_rack = self._board.on_racks_of(topic, number)
        return sorted(
            self._board.in_member_order(topic), key=lambda member: member not in same_rack
        )

    def _load(self, member: int) -> int:
        """The load of a member, which Kafka may have set aside."""
        if member in self._aside:
            name = self._board.names[member]
            raise KafkaRaises("NullPointerException", f"{name} takes no part in balancing")
        return len(self._held[member])

    def _by_load(self, member: int) -> tuple[int, int]:
        return len(self._held[member]), member

    def _move(self, number: int, topic: int, destination: int) -> None:
        board = self._board
        name = board.topics[topic]
        number = self._movements.stands_for(number, name, board.owner[number], destination)
        source = board.owner[number]
        index = number - board.begin[topic]
        self._movements.record(number, name, index, source, destination)
        self._held[source].remove(number)
        self._held[destination].append(number)
        board.owner[number] = destination

    def _is_balanced(self) -> bool:
        """Whether no single move would improve the balance of the lists."""
        board = self._board
        taking_part = [member for member in board.joined if member not in self._aside]
        loads = [len(self._held[member]) for member in taking_part]
        if max(loads) - min(loads) <= 1:
            return True
        holder = {number: member for member in taking_part for number in self._held[member]}
        for member, load in zip(taking_part, loads, strict=True):
            if load == board.capacity(member):
                continue
            has = set(self._held[member])
            for topic in range(len(board.topics)):
                if member not in board.candidates(topic):
                    continue
                for number in range(board.begin[topic], board.begin[topic + 1]):
                    if number not in has and len(self._held[holder[number]]) > load + 1:
                        return False
        return True
