"""Java's arithmetic and collections: 32-bit integers, string hashes, the order of a `HashMap`.

None of this is part of a protocol, but results depend on it: the partition that stores a
group's offsets, and the order in which an assignor iterates over the members.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from kspec.spec.core import Claims
from kspec.spec.lemmas import INTEGER, false_neighbour, lemma
from kspec.spec.vocabulary import TopicPartition

INT_MIN = -(2**31)
"""The smallest `int`, the only one whose absolute value is not an `int`."""

INT_MAX = 2**31 - 1
"""The greatest `int`."""


def int32(n: int) -> int:
    """The number wrapped to 32 bits, as in a Java `int`."""
    return (n + 2**31) % 2**32 - 2**31


@lemma(int32, n=INTEGER)
def int32_keeps_the_low_32_bits(n: int) -> Claims:
    """The result is an `int`, and differs from the number by a multiple of 2**32.

    Exactly one number satisfies both.
    """
    yield f"{int32(n)} is an int", INT_MIN <= int32(n) < -INT_MIN
    yield f"{n} less {int32(n)} is a multiple of 2**32", (n - int32(n)) % 2**32 == 0


@false_neighbour(of=int32_keeps_the_low_32_bits)
def cutting_off_high_bits_gives_an_int(n: int) -> Claims:
    """`n % 2**32` keeps the low bits too, but counts the sign bit as a digit."""
    cut = n % 2**32
    yield f"{cut} is an int", INT_MIN <= cut < -INT_MIN


def utf16(text: str) -> bytes:
    """The text in UTF-16, so that its bytes compare as Java's strings do.

    Python compares strings by character. The order differs beyond U+FFFF, where Java has two
    units from D800 to DFFF for a character.
    """
    return text.encode("utf-16-be", "surrogatepass")


def string_hash(text: str) -> int:
    """`String.hashCode`: 31 times the hash so far, plus the next UTF-16 unit."""
    units = utf16(text)
    h = 0
    for i in range(0, len(units), 2):
        h = int32(31 * h + int.from_bytes(units[i : i + 2], "big"))
    return h


def partition_hash(tp: TopicPartition) -> int:
    """`TopicPartition.hashCode`."""
    return int32(31 * (31 + tp.partition) + string_hash(tp.topic))


T = TypeVar("T")


class HashOrder(Generic[T]):
    """Keys in the iteration order of a Java `HashMap` or `HashSet`.

    Buckets ascend; within a bucket, keys are in the order of insertion. The table doubles when
    it is more than three quarters full, and never shrinks. Simplification: a bucket of nine or
    more keys stays a list; in Java it becomes a tree, which takes names chosen to collide.
    """

    def __init__(self, keys: Iterable[tuple[T, int]] = ()) -> None:
        self._hashes: dict[T, int] = {}
        self._capacity = 16
        for key, hash_code in keys:
            self.add(key, hash_code)

    def add(self, key: T, hash_code: int) -> None:
        """Insert a key with its `hashCode`."""
        self._hashes[key] = hash_code
        if 4 * len(self._hashes) > 3 * self._capacity:
            self._capacity *= 2

    def remove(self, key: T) -> None:
        """Remove a key; the table keeps its size."""
        del self._hashes[key]

    def __len__(self) -> int:
        return len(self._hashes)

    def _bucket(self, key: T) -> int:
        """The bucket of a key: its hash with the upper half mixed into the lower."""
        h = self._hashes[key] % 2**32
        return (h ^ h >> 16) % self._capacity

    def first(self) -> T:
        """The first key of the iteration."""
        return min(self._hashes, key=self._bucket)

    def keys(self) -> list[T]:
        """Every key, in iteration order."""
        return sorted(self._hashes, key=self._bucket)


def hash_order(names: Iterable[str]) -> list[str]:
    """The names, each once, in the iteration order of a `HashMap` they are put into in turn."""
    return HashOrder((name, string_hash(name)) for name in dict.fromkeys(names)).keys()
