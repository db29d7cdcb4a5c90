"""The oracle of placement: `spec.placement`, under the names of Kafka's methods."""

from __future__ import annotations

from typing import Any

import spec.placement
from kspec.field.oracle.draws import Draw
from kspec.field.oracle.questions import Oracle, oracle_of, question
from kspec.spec.core import SpecError
from kspec.spec.java import string_hash
from kspec.spec.placement import OFFSETS_PARTITIONS, group_partition, key_partition


def partition_for(id: str, num_partitions: int = OFFSETS_PARTITIONS) -> int:  # noqa: A002
    """The partition of `__consumer_offsets` of a group id.

    It is also that of `__transaction_state` for a transactional id. Kafka:
    `GroupCoordinatorService.partitionFor`, `TransactionStateManager.partitionFor`.
    """
    return group_partition(id, checked(num_partitions))


def partition_for_key(key: bytes, num_partitions: int) -> int:
    """The partition to which a producer writes a record with this key.

    Kafka: `BuiltInPartitioner.partitionForKey`.
    """
    return key_partition(key, checked(num_partitions))


def checked(partitions: int) -> int:
    """The number of a topic's partitions: a positive Java `int`."""
    if not 0 < partitions < 2**31:
        raise SpecError(f"params.numPartitions: from 1 to 2147483647, not {partitions}")
    return partitions


def murmur2(key: bytes) -> int:
    """The hash of a record's key. Kafka: `Utils.murmur2`."""
    return spec.placement.murmur2(key)


def hash_code(text: str) -> int:
    """The hash of a string, as Java computes it: `String.hashCode`."""
    return string_hash(text)


def oracle() -> Oracle:
    """The methods."""
    return oracle_of(
        partition_for,
        partition_for_key,
        murmur2,
        hash_code,
    )


# -- vectors --------------------------------------------------------------------------------------

LETTERS = (*"abcxyzABC019-_. ", "é", "ß", "日", "\uffee", "\U0001f600")
GROUPS = ("", "polygenelubricants", "__internal", "console-consumer-12345")


def drawn(draw: Draw) -> tuple[str, dict[str, Any]]:
    """A method and its parameters: texts beyond ASCII, keys of every length modulo four."""
    text = "".join(draw.choose(LETTERS) for _ in range(draw.below(16)))
    if draw.chance(0.1):
        text = draw.choose(GROUPS)
    data = bytes(draw.below(256) for _ in range(draw.below(20)))
    key = question(murmur2).params.encode({"key": data})
    partitions = draw.choose((1, 2, 3, 7, 10, 50, 100, 1000, 2**31 - 1))
    match draw.below(4):
        case 0:
            return "partitionFor", {"id": text, "numPartitions": partitions}
        case 1:
            return "partitionForKey", {**key, "numPartitions": partitions}
        case 2:
            return "murmur2", key
        case _:
            return "hashCode", {"text": text}
