"""Compare the bytes of storage with Kafka's own classes, by random calls.

`python -m tests.spec.storage.kafka.compare_bytes 10000` makes so many calls of each kind, and ends
with exit code 1 if an answer differs; `--record 40` writes the first calls with Kafka's answers to
`tests/cases/storage/bytes.json`. Needs Java and Maven.

Kinds: `read` (batches that `spec` writes), `damaged` (batches with changed bytes and the right
checksum), `write` (batches of every format and codec that Kafka writes), `message` (records of
coordinators, in every version), `epochs` and `offsets` (checkpoints, some of them damaged).
"""

from __future__ import annotations

import argparse
import base64
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import attrs

from kspec.spec.leader_epochs import EpochEntry
from kspec.spec.storage.checkpoints import (
    read_leader_epochs,
    read_offsets,
    write_leader_epochs,
    write_offsets,
)
from kspec.spec.storage.coordinator_records import GROUP_RECORDS, TRANSACTION_RECORDS
from kspec.spec.storage.legacy_records import read_legacy
from kspec.spec.storage.record_batch import RecordBatch, contradictions, read_batch, write_batch
from kspec.spec.storage.schema import Message, Schema, read_message, write_message
from kspec.spec.storage.varint import Malformed
from kspec.spec.vocabulary import TopicPartition
from tests.real_broker import classpath, require_compiler
from tests.spec.storage.draws import damage, draw_batch, draw_bytes, draw_message

KAFKA = "4.1.0"
"""The version of Kafka that is compared."""
FOLDER = Path(__file__).parent
CASES = FOLDER.parents[2] / "cases" / "storage" / "bytes.json"
SHOWN = 5
"""How many differences are shown of each kind."""

APPEND_TIME = 1234567890123
"""The time at which `Bytes.java` appends batches with the broker's time."""


@attrs.frozen
class Kind:
    """A kind of calls."""

    draw: Callable[[Random], str]
    """A random call."""
    check: Callable[[str, str], str | None]
    """What is different, given a call and Kafka's answer; None if nothing is."""


# -- batches --------------------------------------------------------------------------------------


def as_hex(value: bytes | None) -> str:
    """Bytes as `Bytes.java` writes them."""
    return "null" if value is None else value.hex()


def described(batch: RecordBatch) -> str:
    """A batch as `Bytes.java` describes it."""
    flags = (batch.is_log_append_time, batch.is_transactional, batch.is_control)
    horizon = batch.base_timestamp if batch.has_delete_horizon else -1
    head = (
        f"2 {batch.last_offset} {batch.leader_epoch} {batch.codec:d}",
        "".join(str(int(flag)) for flag in flags),
        f"{horizon} {batch.max_timestamp} {batch.producer_id} {batch.producer_epoch}",
        f"{batch.base_sequence} {batch.last_sequence}",
    )
    text = " ".join(head)
    for record in batch.records:
        text += f" | {batch.offset(record)} {batch.timestamp(record)}"
        text += f" {as_hex(record.key)} {as_hex(record.value)}"
        text += "".join(f" {h.key.hex()}:{as_hex(h.value)}" for h in record.headers)
    return text


def read_call(call: str) -> str:
    """The answer of `spec` to a call of `read`."""
    try:
        return described(read_batch(bytes.fromhex(call.split()[1])))
    except Malformed:
        return "error"


def check_read(call: str, kafkas: str) -> str | None:
    ours = read_call(call)
    return None if ours == kafkas else f"kspec: {ours}"


def check_damaged(call: str, kafkas: str) -> str | None:
    """Header names that are no text are read differently, since Kafka decodes them."""
    ours = read_call(call)
    return None if (ours == "error") == (kafkas == "error") else f"kspec: {ours}"


def draw_write(chance: Random) -> str:
    """A call that makes Kafka write a batch."""
    magic = chance.choice((0, 1, 2, 2))
    codec = chance.randrange(4 if magic < 2 else 5)
    append_time = int(magic > 0 and chance.random() < 0.3)
    idempotent = magic == 2 and chance.random() < 0.5
    producer = (chance.randrange(2**40), chance.randrange(100), chance.randrange(2**31 - 1))
    words: list[object] = [magic, codec, append_time, int(idempotent and chance.random() < 0.5)]
    words += [chance.choice((0, 7, 2**33)), *(producer if idempotent else (-1, -1, -1))]
    words.append(chance.randrange(-1, 9) if magic == 2 else -1)
    # Formats 0 and 1 without compression have a record for each "batch": one is enough.
    count = chance.randint(1, 5) if magic == 2 or codec else 1
    for _ in range(count):
        headers = [
            f"{chance.choice(('61', 'c3a4', '62'))}:{as_hex(draw_bytes(chance, 9))}"
            for _ in range(chance.choice((0, 0, 2)) if magic == 2 else 0)
        ]
        words += [chance.choice((0, 5, 10**12)) + chance.randrange(1000)]
        words += [as_hex(draw_bytes(chance, 20)), as_hex(draw_bytes(chance, 200))]
        words.append(",".join(headers) or "-")
    return " ".join(map(str, ("write", *words)))


def check_write(call: str, kafkas: str) -> str | None:
    """Whether `spec` reads what Kafka was told to write, and writes the same bytes."""
    words = call.split(" ")
    data = bytes.fromhex(kafkas)
    magic, codec, append_time = map(int, words[1:4])
    base = int(words[5])
    wanted = []
    for number, at in enumerate(range(10, len(words), 4)):
        time = APPEND_TIME if append_time else int(words[at])
        headers = () if words[at + 3] == "-" else tuple(words[at + 3].split(","))
        wanted.append((base + number, -1 if magic == 0 else time, *words[at + 1 : at + 3], headers))
    if magic < 2:
        found: list[object] = [
            (r.offset, r.timestamp, as_hex(r.key), as_hex(r.value), ()) for r in read_legacy(data)
        ]
        return None if found == wanted else f"kspec: {found}"
    batch = read_batch(data)
    found = [
        (
            batch.offset(record),
            batch.timestamp(record),
            as_hex(record.key),
            as_hex(record.value),
            tuple(f"{h.key.hex()}:{as_hex(h.value)}" for h in record.headers),
        )
        for record in batch.records
    ]
    producer = [batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.leader_epoch]
    flags = [int(batch.is_log_append_time), int(batch.is_transactional)]
    if found != wanted or producer != [int(word) for word in words[6:10]]:
        return f"kspec: {found} {producer}"
    if [batch.codec, *flags] != [codec, append_time, int(words[4])] or list(contradictions(batch)):
        return f"kspec: {batch}"
    if codec == 0 and write_batch(batch) != data:
        return f"kspec writes {write_batch(batch).hex()}"
    return None


# -- records of coordinators ----------------------------------------------------------------------


AREAS = {"group": GROUP_RECORDS, "transaction": TRANSACTION_RECORDS}
"""The records of each coordinator."""


def draw_record(chance: Random) -> str:
    """A record of a coordinator, as `spec` writes it."""
    area, types = chance.choice(
        (("group", GROUP_RECORDS),) * 9 + (("transaction", TRANSACTION_RECORDS),)
    )
    number = chance.choice(list(types))
    kind = types[number]
    version = chance.randint(0, kind.value.newest)
    key = write_message(kind.key, 0, draw_message(chance, kind.key, 0))
    value = write_message(kind.value, version, draw_message(chance, kind.value, version))
    return f"message {area} {number} {version} {key.hex()} {value.hex()}"


def check_record(call: str, kafkas: str) -> str | None:
    """Kafka writes the same bytes anew, and its JSON has the same values."""
    _, area, number, version, *ours = call.split(" ")
    kind = AREAS[area][int(number)]
    key, key_json, value, value_json = kafkas.split(" ")
    if [key, value] != ours:
        return f"Kafka writes {key} {value}"
    for schema, at, data, text in (
        (kind.key, 0, key, key_json),
        (kind.value, int(version), value, value_json),
    ):
        message = read_message(schema, at, bytes.fromhex(data))
        found = json.loads(text.replace("\\u0020", " "))
        if not is_as_json(message, found, schema, at):
            return f"kspec: {message}"
    return None


def is_as_json(message: Message, found: Any, schema: Schema, version: int) -> bool:
    """Whether Kafka's JSON has the values of a message; it lacks what the version does not have."""

    def same(ours: Any, kafkas: Any) -> bool:
        if isinstance(kafkas, dict):
            return all(same(ours[name], value) for name, value in kafkas.items())
        if isinstance(kafkas, list):
            return len(ours) == len(kafkas) and all(map(same, ours, kafkas))
        if isinstance(ours, bytes):
            return ours == base64.b64decode(kafkas)
        return bool(ours == kafkas)

    present = {
        field.name
        for field in schema.fields
        if field.exists(version) and (field.tag is None or message[field.name] != field.missing())
    }
    return present <= set(found) and same(message, found)


# -- checkpoints ----------------------------------------------------------------------------------


def draw_epochs(chance: Random) -> str:
    entries = [EpochEntry(n, 10 * n + chance.randrange(9)) for n in range(chance.randrange(5))]
    return f"epochs {damage_text(chance, write_leader_epochs(entries)).encode().hex()}"


def draw_offsets(chance: Random) -> str:
    offsets = {
        TopicPartition(chance.choice(("a", "b-c", "d_e")), n): chance.randrange(2**40)
        for n in range(chance.randrange(5))
    }
    return f"offsets {damage_text(chance, write_offsets(offsets)).encode().hex()}"


def damage_text(chance: Random, text: str) -> str:
    """The text, or one with a character changed, added or left out."""
    if chance.random() < 0.4:
        return text
    at = chance.randrange(len(text) + 1)
    return (
        text[:at]
        + chance.choice(("", "\n", " ", "x", "7", "-", "\t"))
        + text[at + chance.randrange(2) :]
    )


def check_checkpoint(call: str, kafkas: str) -> str | None:
    kind, data = call.split(" ")
    text = bytes.fromhex(data).decode()
    try:
        if kind == "epochs":
            ours = " ".join(f"{e.epoch}:{e.start}" for e in read_leader_epochs(text))
        else:
            found = {
                f"{tp.topic}:{tp.partition}": offset for tp, offset in read_offsets(text).items()
            }
            ours = "{" + ", ".join(f"{name}={found[name]}" for name in sorted(found)) + "}"
    except Malformed:
        ours = "error"
    return None if ours == kafkas else f"kspec: {ours}"


KINDS = {
    "read": Kind(lambda chance: f"read {write_batch(draw_batch(chance)).hex()}", check_read),
    "damaged": Kind(lambda chance: f"read {damage(chance).hex()}", check_damaged),
    "write": Kind(draw_write, check_write),
    "message": Kind(draw_record, check_record),
    "epochs": Kind(draw_epochs, check_checkpoint),
    "offsets": Kind(draw_offsets, check_checkpoint),
}


def kafka_answers(calls: Sequence[str]) -> list[str]:
    """The answers of Kafka's classes; skips where Java, Maven or the jars are missing."""
    require_compiler()
    ran = subprocess.run(
        ["java", "-cp", classpath(KAFKA), str(FOLDER / "Bytes.java")],
        input="".join(f"{call}\n" for call in calls),
        capture_output=True,
        text=True,
    )
    answers = ran.stdout.splitlines()
    assert len(answers) == len(calls), ran.stderr[-2000:]
    return answers


def drawn(name: str, count: int, seed: int) -> list[str]:
    """Random calls of a kind; a larger count begins with the same ones."""
    return [KINDS[name].draw(Random(f"{seed} {name} {number}")) for number in range(count)]


def compare(name: str, count: int, seed: int) -> tuple[int, list[tuple[str, str]]]:
    """How many answers to random calls of a kind differ, and the calls with Kafka's answers."""
    kind, calls = KINDS[name], drawn(name, count, seed)
    cases = list(zip(calls, kafka_answers(calls), strict=True))
    different = 0
    for call, kafkas in cases:
        if (why := kind.check(call, kafkas)) is not None:
            different += 1
            if different <= SHOWN:
                print(f"  call:  {call}\n  Kafka: {kafkas}\n  {why}")
    return different, cases


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare every kind."""
    parser = argparse.ArgumentParser(prog="compare_bytes", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1000, help="calls of each kind")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only this kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", type=int, metavar="N", help="write the first N calls as cases")
    asked = parser.parse_args(arguments)
    failed, recorded = False, {}
    for name in asked.kind or KINDS:
        different, cases = compare(name, asked.count, asked.seed)
        print(f"{name}: {asked.count:,} calls, {different:,} differ", flush=True)
        failed |= different > 0
        recorded[name] = cases[: asked.record or 0]
    if asked.record:
        CASES.parent.mkdir(exist_ok=True)
        lines = {
            name: ",\n".join(json.dumps(case) for case in cases) for name, cases in recorded.items()
        }
        text = ",\n".join(f'"{name}": [\n{cases}\n]' for name, cases in lines.items())
        CASES.write_text(f"{{{text}}}\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
