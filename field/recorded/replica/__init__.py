"""The mapping `replica`: what brokers report of their replicas, such as epoch, LEO, HW and ISR.

    {"kspec_trace": 1, "mapping": "replica"}
    {"event": "state", "node": 1, "topic": "t", "partition": 0, "leader": 1, "leader_epoch": 3,
     "log_end_offset": 17, "high_watermark": 12, "isr": [1, 2]}
    {"event": "truncated", "node": 2, "topic": "t", "partition": 0, "offset": 12}

A report shows a replica at a moment; what it did since the last report is not shown. So a state
of this mapping is what the reports imply, not every log that is possible: the offsets and epochs
that replicas had, and the bounds that they set for other replicas and for later leaders. A report
is rejected if no behaviour of Kafka agrees with it and with the reports before.

Reports of several nodes need no common clock: epochs order them. With `"order": "total"` in the
header, where the order of the lines is known, followers are compared with their leader as well.
`"unclean": true` says that records may be lost, by an unclean election, a power loss or a lost
disk; then the guards about committed records do not apply.

The guards hold since Kafka 2.1: before KIP-320, a follower in an old leader epoch fetched from a
newer leader, and logs could diverge. Kafka: `Partition`, `UnifiedLog` (4.0.0). `state` has what is
known, `rules` the guards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kspec.field.recorded.mapping import (
    BadEvent,
    Content,
    Difference,
    Reason,
    Schemas,
    TraceMapping,
)
from kspec.field.recorded.observation import plain
from kspec.field.recorded.replica.rules import RULES, committed_before, least_end_after
from kspec.field.recorded.replica.state import Epoch, Known, Lineage, Replica, Report, Reports
from kspec.spec.core import Blocked, SpecError

NUMBERS = {
    "leader": "leader",
    "leader_epoch": "leader_epoch",
    "partition_epoch": "partition_epoch",
    "log_end_offset": "end",
    "high_watermark": "hw",
    "offset": "end",
}
"""The keys of an event that are whole numbers, and the fields of a report."""

LEAST = {"leader": -1, "leader_epoch": -1, "partition_epoch": -1}
"""The least value of a key; 0 for the others."""


class ReplicaMapping(TraceMapping):
    """Reports of replicas."""

    name = "replica"
    may_lack_events = True
    setting_names = ("unclean",)

    def __init__(self, header: Mapping[str, Any]) -> None:
        self.is_ordered = header.get("order") == "total"
        settings = header.get("settings") or {}
        self.is_unclean = settings.get("unclean", header.get("unclean", False))
        if not isinstance(self.is_unclean, bool):
            raise SpecError(f"unclean is true or false, not {self.is_unclean!r:.40}")

    def initial(self) -> Iterator[Reports]:
        """Nothing is known."""
        yield Reports()

    def read(self, content: Content) -> Report:
        """An event as a report."""
        kind = content.get("event", "state")
        if not isinstance(kind, str) or kind not in RULES:
            raise BadEvent(f"unknown event {kind!r:.40}: it is {' or '.join(RULES)}")
        topic, partition = content.get("topic", ""), content.get("partition", 0)
        if not isinstance(topic, str) or type(partition) is not int:
            raise BadEvent('"topic" is not a name, or "partition" not a number')
        node = number_in(content, "node", 0)
        if node is None:
            raise BadEvent('the event names no "node"')
        fields: dict[str, Any] = {
            field: value
            for key, field in NUMBERS.items()
            if key in content and (value := number_in(content, key, LEAST.get(key, 0))) is not None
        }
        leader, epoch = fields.pop("leader", None), fields.pop("leader_epoch", None)
        if kind == "truncated" and "end" not in fields:
            raise BadEvent('a truncation names no "offset"')
        return Report(
            kind,
            (topic, partition),
            node,
            None if leader == -1 else leader,  # a leader epoch may begin without a leader
            None if epoch == -1 else epoch,  # a broker that restarted does not know it yet
            isr=numbers_in(content, "isr"),
            epochs=lineage_in(content),
            is_ordered=self.is_ordered,
            is_unclean=self.is_unclean,
            **fields,
        )

    def successors(self, state: Reports, event: Report) -> Iterator[Reports]:
        """What is known after the report, if it agrees with what is known before."""
        known = state.partitions.get(event.partition, Known())
        after = RULES[event.kind].attempt(known, (event,))
        if not isinstance(after, Blocked):
            yield Reports({**state.partitions, event.partition: after})

    def is_local(self, event: Report) -> bool:
        """What reports imply does not depend on their order, except the order of each node's."""
        return not self.is_ordered

    def reason(self, state: Reports, event: Report) -> Reason:
        """The guard that the report fails, and the values that would be allowed."""
        known = state.partitions.get(event.partition, Known())
        asked = RULES[event.kind].guards(known, (event,))
        guard = asked[-1][0]
        return Reason(
            guard, tuple(limits(known, event, guard)), tuple(self.allowed_by(known, event))
        )

    def allowed_by(self, known: Known, event: Report) -> Iterator[str]:
        """What the node could report."""
        replica = known.replicas.get(event.node)
        if replica is None:
            return
        yield f"leader_epoch at least {replica.leader_epoch}"
        leads = known.epochs.get(replica.leader_epoch, Epoch()).leader == event.node
        if leads and replica.end is not None:
            yield f"log_end_offset at least {replica.end} in leader epoch {replica.leader_epoch}"
        if leads and replica.hw is not None:
            yield f"high_watermark at least {replica.hw} in leader epoch {replica.leader_epoch}"

    def allowed(self, state: Reports) -> tuple[str, ...]:
        """Nothing in particular: any replica may report next."""
        return ()

    def show(self, state: Reports) -> Any:
        """What is known, as JSON."""
        return {
            f"{topic}-{partition}": {
                "replicas": plain(known.replicas),
                "epochs": plain(dict(sorted(known.epochs.items())[-5:])),
            }
            for (topic, partition), known in list(state.partitions.items())[:20]
        }

    def describe(self) -> Mapping[str, Any]:
        """What the header says."""
        return {"settings": {"ordered": self.is_ordered, "unclean": self.is_unclean}}

    @classmethod
    def schema(cls) -> Schemas:
        """The keys of its events."""
        whole = {"type": "integer"}
        docs = {
            "leader": "The leader that the node knows; -1 for none.",
            "leader_epoch": "The newest leader epoch that the node knows; -1 for none.",
            "partition_epoch": "The newest partition epoch that the node knows.",
            "log_end_offset": "The log end offset (LEO) of its replica.",
            "high_watermark": "The high watermark (HW) of its replica.",
            "offset": "Of a truncation: the new log end offset.",
        }
        event: dict[str, Any] = {
            "event": {"enum": list(RULES), "default": "state"},
            "node": {"type": "integer", "description": "The broker whose replica it is."},
            "topic": {"type": "string"},
            "partition": whole,
            **{key: {**whole, "description": text} for key, text in docs.items()},
            "isr": {"type": "array", "items": whole, "description": "The in-sync replicas."},
            "epochs": {
                "type": "array",
                "items": {"type": "array", "prefixItems": [whole, whole], "items": False},
                "description": "The leader-epoch cache: epochs, each with its first offset.",
            },
        }
        header = {
            "unclean": {
                "type": "boolean",
                "description": "Records may be lost: unclean election, power loss, lost disk.",
            }
        }
        return Schemas(cls.name, event, header)


def limits(known: Known, event: Report, guard: str) -> Iterator[Difference]:
    """The value that fails a guard, and what it is compared with."""
    replica = known.replicas.get(event.node, Replica())
    number = replica.leader_epoch if event.leader_epoch is None else event.leader_epoch
    epoch = known.epochs.get(number, Epoch())
    bounds: dict[str, tuple[str, str, Any]] = {
        "leader epoch does not decrease": ("leader_epoch", "at least", replica.leader_epoch),
        "partition epoch does not decrease": (
            "partition_epoch",
            "at least",
            replica.partition_epoch,
        ),
        "leader epoch has one leader": ("leader", "only", epoch.leader),
        "high watermark is within the log": ("hw", "at most", event.end),
        "leader's log does not shrink": ("end", "at least", replica.end),
        "leader's high watermark does not decrease": ("hw", "at least", replica.hw),
        "leader is in its ISR": ("isr", "with", event.node),
        "leader holds the committed records": ("end", "at least", committed_before(known, number)),
        "later leaders hold the committed records": (
            "hw",
            "at most",
            least_end_after(known, number, 0),
        ),
        "leader holds what followers fetched": ("end", "at least", epoch.replicated),
        "ISR member holds the committed records": ("end", "at least", epoch.hw),
        "committed records have one leader epoch": ("epochs", "like", known.lineage),
        "committed records are kept": ("end", "at least", replica.hw),
    }
    if guard in bounds:
        field, how, value = bounds[guard]
        key = next((key for key, own in NUMBERS.items() if own == field), field)
        observed = plain(getattr(event, field))
        yield Difference(key, f"{how} {plain(value)}", observed)


def number_in(content: Content, key: str, least: int) -> int | None:
    """A whole number of an event; None if it has none."""
    value = content.get(key)
    if value is None:
        return None
    if type(value) is not int or value < least:
        raise BadEvent(f'"{key}" is {value!r:.40}, not a whole number from {least}')
    return value


def numbers_in(content: Content, key: str) -> tuple[int, ...] | None:
    """A list of whole numbers of an event."""
    value = content.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(item) is int for item in value):
        raise BadEvent(f'"{key}" is not a list of whole numbers')
    return tuple(value)


def lineage_in(content: Content) -> Lineage | None:
    """The leader-epoch cache of an event, oldest epoch first."""
    value = content.get("epochs")
    if value is None:
        return None
    good = isinstance(value, list) and all(
        isinstance(entry, list) and len(entry) == 2 and all(type(n) is int for n in entry)
        for entry in value
    )
    if not good:
        raise BadEvent('"epochs" is not a list of epochs, each with its first offset')
    return tuple((epoch, start) for epoch, start in value)
