"""Traces of several nodes without a common clock.

Each node's events are in order; between nodes, only messages order them: an event with
`"receives": [id]` follows the event with `"sends": [id]`. Every order that this allows is tried,
one event at a time: beside a state stands how many events of each node it explains. Orders that
lead to the same state with the same events are one.

An event that commutes with all other nodes' events (`TraceMapping.is_local`) is tried alone:
every order has an equal one in which it comes first. If clocks are known to differ by at most
`clock_skew_ms`, events that are further apart are not reordered.

Files are read as far as needed. Where a node's next event is not within `WINDOW` events, or a node
appears late, some orders are not tried, and a rejection becomes inconclusive.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import attrs

from kspec.field.recorded.checker import (
    MOST_EXAMINED,
    MOST_LAST,
    Frontier,
    Limits,
    begin,
    closest,
    rejection_of,
    with_hidden,
)
from kspec.field.recorded.mapping import BadEvent, Event, Reason, TraceMapping
from kspec.field.recorded.problems import Problems
from kspec.field.recorded.verdict import Rejection

WINDOW = 10_000
"""How many events are read ahead, at most, to find the next event of a node."""

FIRST = 1_000
"""In how many events of each file its nodes are looked for; a header can name them instead."""

MOST_SENT = 100_000
"""How many ids of earlier messages are remembered."""

Positions: TypeAlias = tuple[int, ...]
"""By node: how many of its events are explained."""
Entry: TypeAlias = tuple[Positions, Any]


@attrs.frozen(eq=False)
class Pending:
    """An event of a node that was read."""

    event: Event
    read: Any
    """As the mapping reads it."""
    sends: tuple[str, ...]
    receives: tuple[str, ...]
    time: float | None

    @property
    def order(self) -> tuple[float, int]:
        """Which of several events is tried first: that with the earlier clock."""
        return self.time or 0, self.event.number


@attrs.define(eq=False)
class Nodes:
    """The events of all nodes, read as far as needed."""

    mapping: TraceMapping
    sources: list[Iterator[Event] | None]
    problems: Problems
    names: dict[str, int] = attrs.field(factory=dict)
    """Each node's place in positions."""
    source_of: list[int] = attrs.field(factory=list)
    """Each node's file."""
    buffers: list[deque[Pending]] = attrs.field(factory=list)
    taken: list[int] = attrs.field(factory=list)
    """By node: how many events were dropped from its buffer."""
    senders: dict[str, tuple[int, int]] = attrs.field(factory=dict)
    """By message: the node and the place of the event that sends it."""
    sent: dict[str, None] = attrs.field(factory=dict)
    """The latest messages whose senders were dropped."""
    buffered: int = 0
    late: str = ""
    """Which node appeared after the first events."""
    cut: str = ""
    """Why an order was not tried; empty if each was."""
    started: bool = False
    """Whether nodes that appear now are late."""

    def start(self) -> None:
        """Read the first events of each file, to know its nodes."""
        for number in range(len(self.sources)):
            for _ in range(FIRST):
                if not self.pull(number):
                    break
        self.started = True

    def pull(self, number: int) -> bool:
        """Read one more event of a file; False at its end."""
        source = self.sources[number]
        while source is not None:
            event = next(source, None)
            if event is None:
                break
            try:
                read = self.mapping.read(event.content)
            except BadEvent as error:
                self.problems.add("malformed event", event.file, event.line, str(error))
                continue
            node = self.node_of(event, number)
            content = event.content
            time = content.get("time_ms")
            pending = Pending(
                event,
                read,
                ids_of(content.get("sends")),
                ids_of(content.get("receives")),
                time if type(time) in (int, float) else None,
            )
            place = self.taken[node] + len(self.buffers[node])
            for message in pending.sends:
                self.senders[message] = node, place
            self.buffers[node].append(pending)
            self.buffered += 1
            return True
        self.sources[number] = None
        return False

    def node_of(self, event: Event, source: int) -> int:
        """The place of an event's node; a file without nodes is a node."""
        name = event.node or f"file {source + 1}"
        known = self.names.get(name)
        if known is None:
            if self.started:
                self.late = f"{name} first appears after {FIRST:,} events; name it in the header"
            known = self.add(name, source)
        return known

    def add(self, name: str, source: int) -> int:
        """The place of a new node."""
        place = self.names[name] = len(self.buffers)
        self.buffers.append(deque())
        self.taken.append(0)
        self.source_of.append(source)
        return place

    def next_of(self, node: int, position: int) -> Pending | None:
        """The event of a node at a position; None if it has no more."""
        buffer = self.buffers[node]
        place = position - self.taken[node]
        while place >= len(buffer):
            if self.buffered >= WINDOW:
                self.cut = f"nodes are more than {WINDOW:,} events apart"
                return None
            if not self.pull(self.source_of[node]):
                return None
        return buffer[place]

    def earliest(self, positions: Positions) -> tuple[int, Pending] | None:
        """The earliest event that was read and that these positions do not explain."""
        found: tuple[int, Pending] | None = None
        for node, buffer in enumerate(self.buffers):
            place = at(positions, node) - self.taken[node]
            if place < len(buffer) and (found is None or buffer[place].order < found[1].order):
                found = node, buffer[place]
        return found

    def forget(self, least: Positions) -> None:
        """Drop the events that every entry explains."""
        for node, position in enumerate(least):
            buffer = self.buffers[node]
            while self.taken[node] < position:
                for message in buffer.popleft().sends:
                    if self.senders.pop(message, None) is not None:
                        self.sent[message] = None
                        if len(self.sent) > MOST_SENT:
                            del self.sent[next(iter(self.sent))]
                self.taken[node] += 1
                self.buffered -= 1

    def may_come(self, pending: Pending, positions: Positions) -> bool:
        """Whether the events that send what this one receives are explained."""
        senders = filter(None, map(self.sender_of, pending.receives))
        return all(at(positions, node) > place for node, place in senders)

    def sender_of(self, message: str) -> tuple[int, int] | None:
        """Who sends a message, and where; None if every entry explains that, or nobody does."""
        sources = range(len(self.sources))
        while message not in self.senders and message not in self.sent:
            if self.buffered >= WINDOW or not any(map(self.pull, sources)):
                break
        return self.senders.get(message)


def at(positions: Positions, node: int) -> int:
    """How many events of a node are explained; none of one that was found later."""
    return positions[node] if node < len(positions) else 0


def padded(positions: Positions, width: int) -> Positions:
    """The positions of all nodes, of those that were found later as well."""
    return positions + (0,) * (width - len(positions))


def ids_of(value: Any) -> tuple[str, ...]:
    """The ids of messages: one, or a list of them."""
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)


def after_merging(
    mapping: TraceMapping,
    sources: Sequence[Iterable[Event]],
    problems: Problems,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    *,
    clock_skew_ms: float | None = None,
    names: Sequence[str] = (),
) -> Frontier:
    """The frontier after a trace of several nodes, whose events are in order for each node only."""
    nodes = Nodes(mapping, list(map(iter, sources)), problems)
    if len(sources) == 1:
        for name in names:
            nodes.add(name, 0)
    nodes.start()
    first = begin(mapping, limits)
    merge = Merge(mapping, nodes, clock_skew_ms, limits)
    frontier = first if first.is_over else merge.run(first)
    if problems.unread and not frontier.cut and not mapping.may_lack_events:
        frontier = attrs.evolve(frontier, cut="some events could not be read")
    return frontier


@attrs.define(eq=False)
class Merge:
    """The search over orders, an event at a time."""

    mapping: TraceMapping
    nodes: Nodes
    clock_skew_ms: float | None
    limits: Limits
    cut: str = ""
    largest: int = 1
    last: deque[Event] = attrs.field(factory=lambda: deque(maxlen=MOST_LAST))

    def run(self, first: Frontier) -> Frontier:
        """The frontier after all events, or with the rejection."""
        entries: dict[Entry, None] = {((0,) * len(self.nodes.names), s): None for s in first.states}
        previous, self.cut, self.largest = entries, first.cut, first.largest
        events = 0
        while True:
            after, asked = self.step(entries)
            if not after:
                break
            if len(after) > self.limits.states:
                self.cut = self.cut or (
                    f"more than {self.limits.states:,} states and orders explained the trace"
                )
                after = dict(list(after.items())[: self.limits.states])
            previous, entries, events = entries, after, events + 1
            self.largest = max(self.largest, len(after))
            self.nodes.forget(tuple(map(min, zip(*(p for p, _ in entries), strict=True))))
        states = tuple(dict.fromkeys(state for _, state in entries))
        frontier = Frontier(
            states,
            events,
            tuple(dict.fromkeys(state for _, state in previous)),
            tuple(self.last),
            self.largest,
            self.cut,
        )
        if not asked:
            return frontier
        return attrs.evolve(frontier, events=events + 1, rejection=self.explain(frontier, entries))

    def step(self, entries: Iterable[Entry]) -> tuple[dict[Entry, None], bool]:
        """The entries after one more event, and whether there was one."""
        found: dict[Entry, None] = {}
        asked, latest = False, None
        for positions, state in entries:
            events = self.next_events(positions)
            asked = asked or self.nodes.earliest(positions) is not None
            for node, pending in events:
                latest = latest or pending.event
                known = padded(positions, len(self.nodes.names))
                moved = (*known[:node], known[node] + 1, *known[node + 1 :])
                around, cut = with_hidden(self.mapping, (state,), pending.read, self.limits)
                self.cut = self.cut or cut
                for near in around:
                    for after in self.mapping.successors(near, pending.read):
                        found[moved, after] = None
        if found and latest is not None:
            self.last.append(latest)
        width = len(self.nodes.names)
        return {(padded(p, width), s): None for p, s in found}, asked

    def next_events(self, positions: Positions) -> list[tuple[int, Pending]]:
        """The events that may come next; a local one alone."""
        first = self.nodes.earliest(positions)
        if first is None and any(map(self.nodes.pull, range(len(self.nodes.sources)))):
            first = self.nodes.earliest(positions)
        if (
            first is not None
            and self.mapping.is_local(first[1].read)
            and self.nodes.may_come(first[1], positions)
        ):
            return [first]
        candidates = []
        node = 0
        while node < len(self.nodes.names):  # looking for an event may find another node
            pending = self.nodes.next_of(node, at(positions, node))
            if pending is not None:
                candidates.append((node, pending))
            node += 1
        ready = [(n, p) for n, p in candidates if self.nodes.may_come(p, positions)]
        self.cut = self.cut or self.nodes.cut or self.nodes.late
        if self.clock_skew_ms is not None:
            times = [p.time for _, p in ready if p.time is not None]
            latest = min(times, default=0.0) + self.clock_skew_ms
            ready = [(n, p) for n, p in ready if p.time is None or p.time <= latest]
        ready.sort(key=lambda each: each[1].order)
        return next(([each] for each in ready if self.mapping.is_local(each[1].read)), ready)

    def explain(self, frontier: Frontier, entries: Iterable[Entry]) -> Rejection:
        """Why no order goes on: the nearest of the next events."""
        best: tuple[float, Event, Any, Reason] | None = None
        for count, (positions, state) in enumerate(entries):
            if count >= MOST_EXAMINED:
                break
            for _, pending in self.next_events(positions):
                around, _ = with_hidden(self.mapping, (state,), pending.read, self.limits)
                near, reason = closest(self.mapping, around, pending.read)
                if best is None or reason.distance < best[0]:
                    best = reason.distance, pending.event, near, reason
        if best is None:
            best = self.waiting(entries)
        _, event, near, reason = best
        return rejection_of(self.mapping, frontier, event, near, reason)

    def waiting(self, entries: Iterable[Entry]) -> tuple[float, Event, Any, Reason]:
        """The reason where each next event receives a message that was not sent before."""
        positions, state = next(iter(entries))
        found = self.nodes.earliest(positions)
        assert found is not None
        return 0, found[1].event, state, Reason("the message that it receives was sent before")
