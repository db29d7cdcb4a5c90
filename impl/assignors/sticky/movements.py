"""The net movements of partitions, with partitions and members as numbers."""

from __future__ import annotations

from kspec.impl.assignors.java import HashSet, string_hash


class Movements:
    """The net movements since balancing began."""

    __slots__ = ("_moved", "_route")

    def __init__(self) -> None:
        self._route: dict[int, tuple[int, int]] = {}
        self._moved: dict[tuple[str, int, int], HashSet] = {}

    def stands_for(self, number: int, topic: str, source: int, destination: int) -> int:
        """The partition of the topic to move in place of this one."""
        if not self._moved:
            return number
        route = self._route.get(number)
        if route is not None:
            source = route[0]
        opposite = self._moved.get((topic, destination, source))
        return number if opposite is None else opposite.first()

    def record(self, number: int, topic: str, index: int, source: int, destination: int) -> None:
        """Record a move; a partition that returns to its source has not moved."""
        route = self._route.pop(number, None)
        if route is not None:
            source = route[0]
            alike = self._moved[topic, *route]
            alike.remove(number)
            if not alike:
                del self._moved[topic, *route]
        if source != destination:
            self._route[number] = (source, destination)
            moved = self._moved.get((topic, source, destination))
            if moved is None:
                moved = self._moved[topic, source, destination] = HashSet()
            moved.add(number, (31 * (31 + index) + string_hash(topic)) & 0xFFFFFFFF)
