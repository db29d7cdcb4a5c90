"""The mapping `consumer`: what consumers did, as their own logs or recorders show it.

Events: `assigned`, `revoked`, `lost` (with `partitions`), `polled` (`from` and `offsets`: the first
offset and the one after the last, by partition), `committing` and `committed` (`offsets`),
`sought`, `closed`. Each names its `consumer` and `group`, and if known its `member_id`,
`generation` and `instance`.

`spec.observed.consumer` has the facts that are checked. Some hold even if events are missing,
others only while none is, which the `sequence` of events shows, or a header with
`"observed": "all"`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from kspec.field.recorded.mapping import BadEvent, Content
from kspec.field.recorded.observed import ObservedMapping
from kspec.field.recorded.sequence import IN_ORDER, Progress, nothing_seen, sequence_of
from kspec.spec.core import Check, Checked
from kspec.spec.observed.consumer import KINDS, Event, Group, Partition, consumer_acts
from kspec.spec.observed.contradiction import Contradiction


@attrs.frozen(eq=False)
class Consumers:
    """What the events so far show."""

    groups: Mapping[str, Group]
    progress: Progress

    def group(self, name: str) -> Group:
        """A group; of a new one, nothing is known."""
        return self.groups.get(name, Group())


class ConsumerMapping(ObservedMapping):
    """Events of consumers, of any number of groups."""

    name = "consumer"

    def __init__(self, header: Mapping[str, Any]) -> None:
        self.group = str(header.get("group") or "")
        self.begin = nothing_seen(header)
        self.may_lack_events = not self.begin.is_whole

    def initial(self) -> Iterable[Consumers]:
        """Nothing is known."""
        return (Consumers({}, self.begin),)

    def read(self, content: Content) -> Event | None:
        """The event; None if it is of another kind."""
        return read_event(content, self.group)

    def observe(self, state: Consumers, event: Event | None) -> Checked[Consumers]:
        """What is known after the event; one of another kind shows nothing."""
        if event is None:
            return state
        earlier = Contradiction("sequence", state.progress.latest, event.sequence, "more than")
        yield Check(IN_ORDER, state.progress.follows(event.sequence), earlier)
        progress = state.progress.after(event.sequence)
        group = state.group(event.group)
        after = yield from consumer_acts(group, event, is_whole=progress.is_whole)
        return Consumers({**state.groups, event.group: after}, progress)

    def instead(self, state: Consumers, event: Event) -> Iterator[str]:
        """The partitions that the consumer of an event owns."""
        owned = state.group(event.group).consumer(event.consumer).owned
        yield f"{event.consumer} owns {', '.join(sorted(owned)) or 'nothing'}"

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


def read_event(content: Content, group: str) -> Event | None:
    """The event of a JSON object."""
    kind = content.get("event")
    if not isinstance(kind, str):
        raise BadEvent('an event has its kind as "event"')
    if kind not in KINDS:
        return None
    consumer = content.get("consumer") or content.get("member_id")
    if not isinstance(consumer, str):
        raise BadEvent('an event names its "consumer" or its "member_id"')
    generation = content.get("generation")
    if generation is not None and type(generation) is not int:
        raise BadEvent(f"generation is a number, not {generation!r:.60}")
    offsets = read_offsets(content, "offsets")
    first = read_offsets(content, "from")
    return Event(
        kind,
        consumer,
        str(content.get("group") or group),
        optional(content, "member_id"),
        generation,
        optional(content, "instance"),
        read_partitions(content) | frozenset(offsets) | frozenset(first),
        offsets,
        {p: offset for p, offset in first.items() if offset is not None},
        content.get("overlaps_rebalance") is True,
        sequence_of(content),
    )


def optional(content: Content, name: str) -> str | None:
    """A text or null."""
    value = content.get(name)
    if value is not None and not isinstance(value, str):
        raise BadEvent(f"{name} is a text, not {value!r:.60}")
    return value


def read_partitions(content: Content) -> frozenset[Partition]:
    """The partitions of an event, each a topic and a number, or `topic-number`."""
    found = content.get("partitions") or ()
    if not isinstance(found, list | tuple):
        raise BadEvent(f"partitions are a list, not {found!r:.60}")
    names = set()
    for each in found:
        if isinstance(each, list | tuple) and len(each) == 2 and isinstance(each[0], str):
            names.add(f"{each[0]}-{each[1]}")
        elif isinstance(each, str):
            names.add(each)
        else:
            raise BadEvent(f"a partition is a topic and a number, not {each!r:.60}")
    return frozenset(names)


def read_offsets(content: Content, name: str) -> dict[Partition, int | None]:
    """The offsets of an event by partition."""
    found = content.get(name) or {}
    if not isinstance(found, Mapping) or not all(
        offset is None or type(offset) is int for offset in found.values()
    ):
        raise BadEvent(f"{name} has a number for each partition, not {found!r:.60}")
    return dict(found)
