"""`kspec partition`: the partition of a record's key, and which keys change theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from kspec.checkers.cli.options import json_option, names_from, option, reads
from kspec.checkers.cli.output import say, say_json_lines, say_table
from kspec.spec.core import SpecError
from kspec.spec.placement import key_partition, murmur2
from kspec.traces.text import printable


def whole_number(size: int) -> Callable[[str], bytes]:
    """A serializer of whole numbers of this many bytes."""

    def serialize(key: str) -> bytes:
        return int(key).to_bytes(size, "big", signed=True)

    return serialize


SERIALIZERS: Mapping[str, Callable[[str], bytes]] = {
    "string": str.encode,
    "integer": whole_number(4),
    "long": whole_number(8),
    "hex": bytes.fromhex,
}
"""The bytes of a key, as `StringSerializer`, `IntegerSerializer` and `LongSerializer` write it."""

COUNT = click.IntRange(1, 2**31 - 1)


@click.command()
@click.argument("keys", metavar="KEY…", nargs=-1)
@reads(
    "--file", "file", "A list of keys, one on each line; `-`, here or as KEY, is standard input."
)
@option("--partitions", "The topic's partitions.", type=COUNT, required=True, metavar="N")
@option("--after", "Compare with M partitions.", type=COUNT, metavar="M")
@option(
    "--type",
    "kind",
    "How the producer serializes keys; hex: the bytes themselves.",
    type=click.Choice(list(SERIALIZERS)),
    default="string",
)
@json_option
def partition(
    keys: tuple[str, ...],
    file: Path | None,
    partitions: int,
    after: int | None,
    kind: str,
    as_json: bool,
) -> int:
    """Find the partition of a topic to which a producer writes each KEY.

    Java's producer takes murmur2 of the serialized key, without its sign bit, modulo the number
    of partitions. So keys change their partition when partitions are added, while the records
    that are already written stay: their order is lost. A custom partitioner, or the default of
    librdkafka (CRC32), chooses other partitions.

    \b
    kspec partition customer-1 customer-2 --partitions 6
    kspec partition customer-1 customer-2 --partitions 6 --after 8
    cut -f 1 customers.tsv | kspec partition - --partitions 6 --after 12 --type long --json
    """
    if not keys and not file:
        raise click.UsageError("missing KEY or --file")
    if after is not None and after < partitions:
        raise click.UsageError(
            f"--after {after} is fewer than --partitions {partitions}: "
            "Kafka adds partitions to a topic, and removes none"
        )
    names = names_from(keys, file, "key")
    placed = [place(name, partitions, after, kind) for name in names]
    moving = sum(p["moves"] for p in placed) if after else 0
    if as_json:
        head: dict[str, Any] = {"partitions": partitions, "type": kind}
        say_json_lines(head | ({"after": after, "moving": moving} if after else {}), "keys", placed)
        return 0
    columns = ["key", "murmur2", f"of {partitions}"] + ([f"of {after}"] if after else [])
    rows = []
    for p in placed:
        later = [str(p["after"])] if after else []
        rows.append([printable(p["key"]), str(p["hash"]), str(p["partition"]), *later])
    say_table(columns, rows, right=(1, 2, 3))
    if after:
        say()
        say(f"Keys that change their partition: {moving:,} of {len(placed):,}.")
    return 0


def place(key: str, partitions: int, after: int | None, kind: str) -> dict[str, Any]:
    """The place of a key and, if that is asked, its place among more partitions."""
    try:
        data = SERIALIZERS[kind](key)
    except (ValueError, OverflowError):
        raise SpecError(f"the key {printable(key)} is not of type {kind}") from None
    partition = key_partition(data, partitions)
    record: dict[str, Any] = {"key": key, "hash": murmur2(data), "partition": partition}
    if after:
        later = key_partition(data, after)
        record |= {"after": later, "moves": later != partition}
    return record
