"""Placement: the partition of a group, of a transactional id, and of a record's key.

The coordinator of a group is the leader of one partition of `__consumer_offsets`, which depends
on the group's id alone; that of a transactional id, of one of `__transaction_state`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kspec.spec.core import Claims, SpecError
from kspec.spec.java import INT_MIN, int32, string_hash
from kspec.spec.lemmas import JAVA_INT, POSITIVE_JAVA_INT, false_neighbour, lemma

OFFSETS_PARTITIONS = 50
"""`offsets.topic.num.partitions` and `transaction.state.log.num.partitions`, by default."""


def java_abs(n: int) -> int:
    """`Math.abs` of an `int`: the smallest `int` stays as it is, negative."""
    return int32(abs(n))


def java_remainder(n: int, partitions: int) -> int:
    """Java's `%` for a positive divisor: the remainder has the sign of the dividend."""
    return abs(n) % partitions * (-1 if n < 0 else 1)


@lemma(java_remainder, n=JAVA_INT, divisor=POSITIVE_JAVA_INT)
def java_remainder_is_as_java_defines_it(n: int, divisor: int) -> Claims:
    """The remainder is that of a division which rounds towards zero.

    The Java Language Specification, 15.17.2 and 15.17.3. Exactly one number satisfies this.
    """
    yield from is_java_remainder(java_remainder(n, divisor), n, divisor)


@false_neighbour(of=java_remainder_is_as_java_defines_it)
def python_remainder_is_as_java_defines_it(n: int, divisor: int) -> Claims:
    """The remainder of Python's `%` has the sign of the divisor."""
    yield from is_java_remainder(n % divisor, n, divisor)


def is_java_remainder(remainder: int, n: int, divisor: int) -> Claims:
    """It is smaller than the divisor, has the dividend's sign, and is left by the division."""
    quotient = abs(n) // divisor * (-1 if n < 0 else 1)
    yield f"{remainder} is less than {divisor}", abs(remainder) < divisor
    yield f"{remainder} has the sign of {n}", remainder == 0 or (remainder < 0) == (n < 0)
    yield f"{quotient} times {divisor} and {remainder} is {n}", quotient * divisor + remainder == n


# -- three formulas for the partition of a hash ------------------------------------------------


def kafka_rule(hash_code: int, partitions: int) -> int:
    """Kafka's formula: `Utils.abs(hash) % n`, where abs of the smallest `int` is 0."""
    return java_remainder(0 if hash_code == INT_MIN else java_abs(hash_code), partitions)


def remainder_first(hash_code: int, partitions: int) -> int:
    """`Math.abs(hash % n)`, as often written: always a partition, but for one hash not Kafka's.

    A remainder is smaller than the divisor, so its absolute value is an `int`.
    """
    return java_abs(java_remainder(hash_code, partitions))


def abs_first(hash_code: int, partitions: int) -> int:
    """`Math.abs(hash) % n`, as often written: for one hash not even a partition.

    The hash of "polygenelubricants" is the smallest `int`, and `Math.abs` leaves it negative.
    """
    return java_remainder(java_abs(hash_code), partitions)


PLACEMENT_RULES: Mapping[str, Callable[[int, int], int]] = {
    "Utils.abs(hash) % n": kafka_rule,
    "Math.abs(hash % n)": remainder_first,
    "Math.abs(hash) % n": abs_first,
}
"""The formulas by their Java text, Kafka's first. They agree on every hash but one."""


@lemma(kafka_rule, remainder_first, h=JAVA_INT, n=POSITIVE_JAVA_INT)
def two_rules_give_a_partition(h: int, n: int) -> Claims:
    """`Utils.abs(hash) % n` and `Math.abs(hash % n)` are partitions, for every hash."""
    for partition in (kafka_rule(h, n), remainder_first(h, n)):
        yield f"{partition} is one of {n} partitions", 0 <= partition < n


@false_neighbour(of=two_rules_give_a_partition)
def the_third_rule_gives_a_partition(h: int, n: int) -> Claims:
    """`Math.abs(hash) % n` is not a partition for the hash that `Math.abs` leaves negative."""
    partition = abs_first(h, n)
    yield f"{partition} is one of {n} partitions", 0 <= partition < n


@lemma(abs_first, h=JAVA_INT, n=POSITIVE_JAVA_INT)
def the_third_rule_fails_for_one_hash(h: int, n: int) -> Claims:
    """`Math.abs(hash) % n` is a partition, except for the smallest hash if n is no power of two."""
    partition = abs_first(h, n)
    if h == INT_MIN and 2**31 % n != 0:
        yield f"{partition} is none of {n} partitions", not 0 <= partition < n
    else:
        yield f"{partition} is one of {n} partitions", 0 <= partition < n


@false_neighbour(of=the_third_rule_fails_for_one_hash)
def the_third_rule_always_fails_for_one_hash(h: int, n: int) -> Claims:
    """A power of two divides the smallest hash, so the remainder is 0, a partition."""
    partition = abs_first(h, n)
    if h == INT_MIN:
        yield f"{partition} is none of {n} partitions", not 0 <= partition < n
    else:
        yield f"{partition} is one of {n} partitions", 0 <= partition < n


@lemma(kafka_rule, remainder_first, abs_first, h=JAVA_INT, n=POSITIVE_JAVA_INT)
def rules_agree_but_for_one_hash(h: int, n: int) -> Claims:
    """The three formulas agree, but all differ for the smallest hash if n is no power of two."""
    a, b, c = (rule(h, n) for rule in PLACEMENT_RULES.values())
    if h != INT_MIN or 2**31 % n == 0:
        yield f"{a}, {b} and {c} are one partition", a == b == c
    else:
        yield f"{a}, {b} and {c} are three numbers", a != b and b != c and c != a


@false_neighbour(of=rules_agree_but_for_one_hash)
def two_rules_agree_on_every_hash(h: int, n: int) -> Claims:
    """Two formulas always give a partition, but not the same one for the smallest hash."""
    a, b = kafka_rule(h, n), remainder_first(h, n)
    yield f"{a} and {b} are one partition", a == b


def group_partition(group_id: str, partitions: int = OFFSETS_PARTITIONS) -> int:
    """The partition of `__consumer_offsets` that stores a group's offsets.

    Kafka: `GroupCoordinatorService.partitionFor`; `TransactionStateManager.partitionFor` uses
    the same formula for transactional ids.
    """
    if partitions < 1:
        raise SpecError(f"a topic has at least one partition, not {partitions}")
    return kafka_rule(string_hash(group_id), partitions)


def coordinator(
    group_id: str, leaders: Mapping[int, int], partitions: int = OFFSETS_PARTITIONS
) -> int | None:
    """The broker that coordinates a group: the leader of its partition, if it has one."""
    return leaders.get(group_partition(group_id, partitions))


# -- producers -------------------------------------------------------------------------------


def murmur2(data: bytes) -> int:
    """The hash of a record's key: 32-bit murmur2, as a signed number. Kafka: `Utils.murmur2`."""
    m = 0x5BD1E995
    whole = len(data) - len(data) % 4
    h = 0x9747B28C ^ len(data)
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m % 2**32
        k = (k ^ k >> 24) * m % 2**32
        h = h * m % 2**32 ^ k
    if data[whole:]:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m % 2**32
    h = (h ^ h >> 13) * m % 2**32
    return int32(h ^ h >> 15)


def key_partition(key: bytes, partitions: int) -> int:
    """The partition to which a producer writes a record with this key.

    All partitions of the topic count, with or without a leader, so a key keeps its partition.
    The sign bit of the hash is cleared, which differs from the absolute value. A record without
    a key may go to any partition. Kafka: `BuiltInPartitioner.partitionForKey`.
    """
    if partitions < 1:
        raise SpecError(f"a topic has at least one partition, not {partitions}")
    return (murmur2(key) & 0x7FFFFFFF) % partitions
