"""What Kafka inherits from Java: 32-bit words, string hashes, the order of a hash map.

None of this is part of a protocol, but results depend on it: which partition a group's offsets
live in, and in which order an assignor meets the members.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from spec.core import Claims
from spec.lemmas import INTEGER, false_neighbour, lemma
from spec.vocabulary import TopicPartition

INT_MIN = -(2**31)
"""The smallest `int`, the only one whose absolute value is no `int`."""


def int32(n: int) -> int:
    """Wrap a number as a Java `int` does."""
    return (n + 2**31) % 2**32 - 2**31


@lemma(int32, n=INTEGER)
def int32_keeps_the_low_32_bits(n: int) -> Claims:
    """What is left of a number is an `int`, and what was lost is a multiple of 2**32.

    Only one number is both, so this is all there is to say.
    """
    yield f"{int32(n)} is an int", INT_MIN <= int32(n) < -INT_MIN
    yield f"{n} less {int32(n)} is a multiple of 2**32", (n - int32(n)) % 2**32 == 0


@false_neighbour(of=int32_keeps_the_low_32_bits)
def cutting_off_high_bits_gives_an_int(n: int) -> Claims:
    """`n % 2**32` keeps the low bits too, but takes the sign bit for a part of the number."""
    cut = n % 2**32
    yield f"{cut} is an int", INT_MIN <= cut < -INT_MIN


def utf16(text: str) -> bytes:
    """The text as Java has it, so that bytes compare as Java's strings do.

    Beyond U+FFFF that is another order than that of Python's strings, which compare by
    character: Java sees such a character as two units from D800 to DFFF.
    """
    return text.encode("utf-16-be", "surrogatepass")


def string_hash(text: str) -> int:
    """`String.hashCode`: each UTF-16 unit added to 31 times what was before."""
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
    """Keys in the order in which a `HashMap` or `HashSet` of Java yields them.

    Buckets ascending; inside a bucket, by insertion. The table doubles when it is more than
    three quarters full, never shrinks, and a split keeps the order. Not modelled: a bucket of
    nine or more becomes a tree, which takes names chosen to collide.
    """

    def __init__(self, keys: Iterable[tuple[T, int]] = ()) -> None:
        self._hashes: dict[T, int] = {}
        self._capacity = 16
        for key, hash_code in keys:
            self.add(key, hash_code)

    def add(self, key: T, hash_code: int) -> None:
        """Insert a key, given what its `hashCode` is."""
        self._hashes[key] = hash_code
        if 4 * len(self._hashes) > 3 * self._capacity:
            self._capacity *= 2

    def remove(self, key: T) -> None:
        """Take a key out; the table stays as large as it was."""
        del self._hashes[key]

    def __len__(self) -> int:
        return len(self._hashes)

    def _bucket(self, key: T) -> int:
        """Where a key is kept: by its hash, the upper half of it mixed into the lower."""
        h = self._hashes[key] % 2**32
        return (h ^ h >> 16) % self._capacity

    def first(self) -> T:
        """What an iterator yields first."""
        return min(self._hashes, key=self._bucket)

    def keys(self) -> list[T]:
        """Every key, as an iterator yields them."""
        return sorted(self._hashes, key=self._bucket)


def hash_order(names: Iterable[str]) -> list[str]:
    """The names, each once, as a Java `HashMap` yields them that they were put into in turn."""
    return HashOrder((name, string_hash(name)) for name in dict.fromkeys(names)).keys()
