"""The mapping `replica`: what brokers report of their replicas, such as epoch, LEO, HW and ISR.

    {"kspec_trace": 1, "mapping": "replica"}
    {"event": "state", "node": 1, "topic": "t", "partition": 0, "leader": 1, "leader_epoch": 3,
     "log_end_offset": 17, "high_watermark": 12, "isr": [1, 2]}
    {"event": "truncated", "node": 2, "topic": "t", "partition": 0, "offset": 12}

A report shows a replica at a moment. `spec.observed.replica` keeps what the reports imply, and
rejects a report if no behaviour of Kafka agrees with it and with the reports before.

Reports of several nodes need no common clock: epochs order them. With `"order": "total"` in the
header, where the order of the lines is known, followers are compared with their leader as well.
`"unclean": true` says that records may be lost, by an unclean election, a power loss or a lost
disk; then the checks of committed records do not apply.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from kspec.field.recorded.mapping import BadEvent, Content
from kspec.field.recorded.observation import plain
from kspec.field.recorded.observed import ObservedMapping
from kspec.spec.core import Checked, SpecError
from kspec.spec.leader_epochs import EpochEntry, LeaderEpochs
from kspec.spec.observed.replica import HANDLERS, Epoch, Known, Report

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


@attrs.frozen(eq=False)
class Reports:
    """A state: what is known by partition. Each event has one successor; none are compared."""

    partitions: Mapping[tuple[str, int], Known] = attrs.field(factory=dict)


class ReplicaMapping(ObservedMapping):
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
        if not isinstance(kind, str) or kind not in HANDLERS:
            raise BadEvent(f"unknown event {kind!r:.40}: it is {' or '.join(HANDLERS)}")
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
            epochs=epochs_in(content),
            is_ordered=self.is_ordered,
            is_unclean=self.is_unclean,
            **fields,
        )

    def observe(self, state: Reports, event: Report) -> Checked[Reports]:
        """What is known after the report."""
        known = state.partitions.get(event.partition, Known())
        after = yield from HANDLERS[event.kind](known, event)
        return Reports({**state.partitions, event.partition: after})

    def is_local(self, event: Report) -> bool:
        """What reports imply does not depend on their order, except the order of each node's."""
        return not self.is_ordered

    def instead(self, state: Reports, event: Report) -> Iterator[str]:
        """What the node could report."""
        known = state.partitions.get(event.partition, Known())
        replica = known.replicas.get(event.node)
        if replica is None:
            return
        yield f"leader_epoch at least {replica.leader_epoch}"
        leads = known.epochs.get(replica.leader_epoch, Epoch()).leader == event.node
        if leads and replica.end is not None:
            yield f"log_end_offset at least {replica.end} in leader epoch {replica.leader_epoch}"
        if leads and replica.hw is not None:
            yield f"high_watermark at least {replica.hw} in leader epoch {replica.leader_epoch}"

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


def epochs_in(content: Content) -> LeaderEpochs | None:
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
    return LeaderEpochs(tuple(EpochEntry(epoch, start) for epoch, start in value))
