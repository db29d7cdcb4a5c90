"""What a coordinator knows after it has loaded a log with transactional commits.

A commit within a transaction is *pending* until the transaction's marker. Then it counts, unless a
later commit of the same partition already does. The order of commits in the log decides, not that
of the markers; otherwise compaction, which keeps the last commit of each key, would change what a
coordinator loads. A tombstone removes pending commits too.

Kafka: `OffsetMetadataManager.replay`, `replayEndTransactionMarker` [4.0.0]. The model
`offsets-topic` leaves transactions out, and reads with `records.read`.
"""

from __future__ import annotations

import attrs

from kspec.spec.offsets_topic.records import Latest, LogEntry, apply


@attrs.frozen
class Replayed:
    """What a coordinator knows of a log."""

    latest: Latest = attrs.field(factory=dict)
    """The latest entry of each key that counts."""
    pending: dict[int, Latest] = attrs.field(factory=dict)
    """By producer, the commits of its open transaction."""


def replay(known: Replayed, entry: LogEntry, producer: int | None = None) -> Replayed:
    """What the coordinator knows after one more record; `producer` is that of its transaction.

    Only commits of offsets are transactional; the records of groups count at once.
    """
    if entry.is_tombstone:
        pending = {
            id_: {key: e for key, e in commits.items() if key != entry.key}
            for id_, commits in known.pending.items()
        }
        return Replayed(apply(known.latest, entry), pending)
    if producer is None or entry.record.partition is None:
        return attrs.evolve(known, latest=apply(known.latest, entry))
    commits = apply(known.pending.get(producer, {}), entry)
    return attrs.evolve(known, pending=known.pending | {producer: commits})


def end_transaction(known: Replayed, producer: int, *, is_commit: bool) -> Replayed:
    """What the coordinator knows after the marker of a producer's transaction."""
    commits = known.pending.get(producer, {})
    pending = {id_: others for id_, others in known.pending.items() if id_ != producer}
    latest = known.latest
    for key, entry in commits.items():
        if is_commit and (key not in latest or latest[key].offset < entry.offset):
            latest = apply(latest, entry)
    return Replayed(latest, pending)
