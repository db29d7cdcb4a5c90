"""The mapping `consumer`: what consumers did, as their own logs or recorders show it.

Events: `assigned`, `revoked`, `lost` (with `partitions`), `polled` (`from` and `offsets`: the first
offset and the one after the last, by partition), `committing` and `committed` (`offsets`),
`sought`, `closed`. Each names its `consumer` and `group`, and if known its `member_id`,
`generation` and `instance`.

These facts hold of every consumer, and even if events are missing:

- Two consumers are never assigned a partition in the same generation, except a static member and
  its replacement.
- The generation of a member does not go back.
- A commit that begins after another consumer was assigned partitions in a later generation is
  rejected by the coordinator.

While no event is missing, which the `sequence` of events shows, or a header with
`"observed": "all"`, these hold as well:

- A partition that a consumer keeps in the next generation is not assigned to another one in it: it
  has to be revoked first (cooperative rebalancing).
- A consumer polls only partitions that it owns, and commits no further than it has read, or than
  `committing` says.
- Its position begins at or after the latest committed offset, and does not go back.

Kafka: `ConsumerCoordinator`, `SubscriptionState`. Simplifications: the classic protocol, where a
generation has one assignment, which gives a partition to one member, as every assignor of Kafka
does; nobody resets offsets or deletes the group, and no records are lost. Not checked: consumers
that assign themselves; positions beyond the committed offset, since logs have gaps.

`events` reads events, `rules` has the facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kspec.field.recorded.consumer.events import KINDS, Step, read_step
from kspec.field.recorded.consumer.rules import Consumer, Consumers, Group, Refused, after
from kspec.field.recorded.mapping import Content, Difference, Reason, Schemas, TraceMapping
from kspec.field.recorded.sequence import OBSERVED, SEQUENCE, nothing_seen


class ConsumerMapping(TraceMapping):
    """Events of consumers, of any number of groups."""

    name = "consumer"

    def __init__(self, header: Mapping[str, Any]) -> None:
        self.group = str(header.get("group") or "")
        self.begin = nothing_seen(header)
        self.may_lack_events = not self.begin.is_whole

    def initial(self) -> Iterable[Consumers]:
        """Nothing is known."""
        return (Consumers({}, self.begin),)

    def read(self, content: Content) -> Step | None:
        """The event; None if it is of another kind."""
        return read_step(content, self.group)

    def successors(self, state: Consumers, event: Step | None) -> Iterable[Consumers]:
        """What is known after the event, if it contradicts nothing."""
        try:
            return (after(state, event),)
        except Refused:
            return ()

    def reason(self, state: Consumers, event: Step | None) -> Reason:
        """The fact that the event contradicts."""
        try:
            after(state, event)
        except Refused as refused:
            difference = Difference(refused.variable, refused.expected, refused.observed)
            allowed = tuple(allowed_in(state, event))
            return Reason(refused.guard, (difference,), allowed)
        return Reason()

    def show(self, state: Consumers) -> Any:
        """The owners, positions and committed offsets."""
        return {
            name: {
                "generation": group.generation,
                "consumers": {
                    each: {
                        "generation": consumer.generation,
                        "owned": sorted(consumer.owned),
                        "positions": dict(consumer.positions),
                    }
                    for each, consumer in group.consumers.items()
                },
                "committed": dict(group.committed),
            }
            for name, group in state.groups.items()
        }

    @classmethod
    def schema(cls) -> Schemas:
        """The keys of its events and header."""
        text = {"type": "string"}
        offsets = {"type": "object", "additionalProperties": {"type": ["integer", "null"]}}
        event = {
            "event": {"enum": list(KINDS)},
            "sequence": SEQUENCE,
            "consumer": {**text, "description": "A name of the consumer; else its member id."},
            "group": text,
            "member_id": text,
            "instance": {**text, "description": "The group.instance.id of a static member."},
            "generation": {"type": "integer"},
            "partitions": {
                "type": "array",
                "items": {"type": ["array", "string"]},
                "description": "Each a topic and a number.",
            },
            "offsets": {**offsets, "description": "Offsets by partition: the next, or committed."},
            "from": {**offsets, "description": "The first offset that was polled, by partition."},
            "overlaps_rebalance": {
                "type": "boolean",
                "description": "Whether partitions were assigned or taken away during the poll.",
            },
        }
        return Schemas(cls.name, event, {"group": text, "observed": OBSERVED})


def allowed_in(state: Consumers, event: Step | None) -> Sequence[str]:
    """The partitions that the consumer of an event owns, for the report."""
    if event is None:
        return ()
    consumer = state.groups.get(event.group, Group()).consumers.get(event.consumer, Consumer())
    return (f"{event.consumer} owns {', '.join(sorted(consumer.owned)) or 'nothing'}",)
