"""Orders that Kafka inherits from Java, for many names at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush


@lru_cache(maxsize=1 << 16)
def string_hash(text: str) -> int:
    """`String.hashCode`, unsigned. Names recur in every round, so results are cached."""
    if text.isascii():
        units: Iterable[int] = text.encode("ascii")
    else:
        raw = text.encode("utf-16-le", "surrogatepass")
        units = memoryview(raw).cast("H") if _LITTLE_ENDIAN else _units(raw)
    h = 0
    for unit in units:
        h = (31 * h + unit) & 0xFFFFFFFF
    return h


_LITTLE_ENDIAN = memoryview(b"\1\0").cast("H")[0] == 1


def _units(raw: bytes) -> list[int]:
    return [raw[i] | raw[i + 1] << 8 for i in range(0, len(raw), 2)]


def sort_names(names: Iterable[str]) -> list[str]:
    """Sort as Java does, by UTF-16 units, which differs only for characters beyond U+FFFF."""
    names = list(names)
    if all(map(str.isascii, names)) or not any(max(n) > "\uffff" for n in names if n):
        names.sort()
    else:
        names.sort(key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return names


def hash_order(names: Sequence[str]) -> list[str]:
    """Distinct names in the order of a `HashMap` into which they were inserted one by one."""
    capacity = 16
    while 4 * len(names) > 3 * capacity:
        capacity *= 2
    return sorted(names, key=lambda name: spread(string_hash(name)) & (capacity - 1))


def spread(h: int) -> int:
    """Mix the upper half of a hash into the lower, as `HashMap` does."""
    return h ^ h >> 16


class HashSet:
    """Numbers in a `HashSet`, each with a hash, with access to the first of the iteration.

    A heap by bucket and insertion; what was removed is dropped when it comes up.
    """

    __slots__ = ("_capacity", "_hashes", "_heap", "_inserted", "_insertions")

    def __init__(self) -> None:
        self._capacity = 16
        self._insertions = 0
        self._inserted: dict[int, int] = {}
        self._hashes: dict[int, int] = {}
        self._heap: list[tuple[int, int, int]] = []

    def __len__(self) -> int:
        return len(self._inserted)

    def add(self, number: int, h: int) -> None:
        """Insert a number that is not in it."""
        self._insertions += 1
        self._inserted[number] = self._insertions
        self._hashes[number] = spread(h)
        if 4 * len(self._inserted) > 3 * self._capacity:
            self._capacity *= 2
            self._heap = [self._entry(each) for each in self._inserted]
            heapify(self._heap)
        else:
            heappush(self._heap, self._entry(number))

    def _entry(self, number: int) -> tuple[int, int, int]:
        return self._hashes[number] & (self._capacity - 1), self._inserted[number], number

    def remove(self, number: int) -> None:
        """Remove a number that is in it."""
        del self._inserted[number], self._hashes[number]

    def first(self) -> int:
        """The first number of the iteration."""
        while True:
            _, inserted, number = self._heap[0]
            if self._inserted.get(number) == inserted:
                return number
            heappop(self._heap)
