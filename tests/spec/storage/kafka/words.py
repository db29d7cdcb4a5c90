"""Batches as words of a scenario, which the Java programs read and write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from kspec.spec.storage.batches import Batch, Content, Marker, StoredRecord


def written(batches: Iterable[Batch]) -> str:
    """Batches as the Java programs read them."""
    return "+".join(map(batch_word, batches))


def field(value: Content | None) -> str:
    """A key or a value; `-` stands for None."""
    return "-" if value is None else str(value)


def batch_word(batch: Batch) -> str:
    """One batch: offset, epoch, producer, producer epoch, kind, and its records."""
    kind = batch.marker.value if batch.marker else ("data", "transactional")[batch.is_transactional]
    records = "/".join(f"{r.timestamp}:{field(r.key)}:{field(r.value)}" for r in batch.records)
    head = (batch.base_offset, batch.leader_epoch, batch.producer_id, batch.producer_epoch, kind)
    return "|".join(map(str, (*head, records)))


def parsed(words: str) -> tuple[Batch, ...]:
    """Batches from the words that the Java programs read."""
    return tuple(map(parsed_batch, words.split("+")))


def parsed_batch(word: str) -> Batch:
    """One batch, without its size."""
    offset, epoch, producer, producer_epoch, kind, text = word.split("|")
    records = []
    for number, record in enumerate(text.split("/")):
        timestamp, *fields = record.split(":")
        key, value = (None if word == "-" else word for word in fields)
        records.append(StoredRecord(int(offset) + number, int(timestamp), key, value))
    return Batch(
        records[0].offset,
        records[-1].offset,
        max_timestamp=max(record.timestamp for record in records),
        records=tuple(records),
        leader_epoch=int(epoch),
        producer_id=int(producer),
        producer_epoch=int(producer_epoch),
        is_transactional=kind != "data",
        marker=None if kind in ("data", "transactional") else Marker(kind),
    )


def sized(batches: Sequence[Batch], sizes: str) -> list[Batch]:
    """Batches with the sizes that Kafka gave them."""
    found = map(int, sizes.split(","))
    return [attrs.evolve(b, size=size) for b, size in zip(batches, found, strict=True)]


def read(words: str) -> list[Batch]:
    """Batches as the Java programs print them."""
    return [] if words == "-" else [read_batch(word) for word in words.split("+")]


def read_batch(word: str) -> Batch:
    """One batch, with its records and its delete horizon."""
    base, last, size, greatest, epoch, producer, producer_epoch, kind, horizon, text = word.split(
        "|"
    )
    records = []
    for record in text.split("/") if text else []:
        offset, timestamp, key, value = record.split(":")
        if kind in ("COMMIT", "ABORT"):
            records.append(StoredRecord(int(offset), int(timestamp), kind, ""))
        else:
            plain = [None if word == "-" else word for word in (key, value)]
            records.append(StoredRecord(int(offset), int(timestamp), *plain))
    # The records of a control batch that was emptied do not say which marker it was.
    markers = {"COMMIT": Marker.COMMIT, "ABORT": Marker.ABORT, "control": Marker.COMMIT}
    return Batch(
        int(base),
        int(last),
        int(size),
        int(greatest),
        tuple(records),
        int(epoch),
        int(producer),
        int(producer_epoch),
        kind != "data",
        markers.get(kind),
        None if horizon == "-1" else int(horizon),
    )
