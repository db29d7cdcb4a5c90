"""The checker: pure functions of a frontier and an event.

The frontier is the set of states that explain the trace so far. `begin` makes the first one,
`advance` takes an event, `finish` gives the verdict. Memory does not grow with the trace: the
frontier holds each state once, and the last few events.

Whatever is left out of a search is remembered in `Frontier.cut`. A trace that the states kept
explain is accepted all the same; one that they do not explain is inconclusive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from kspec.field.recorded.mapping import BadEvent, Event, Reason, TraceMapping
from kspec.field.recorded.problems import Problems
from kspec.field.recorded.verdict import (
    ACCEPTED,
    INCONCLUSIVE,
    REJECTED,
    Before,
    Rejection,
    Validation,
)

UNREAD = "a line before this event could not be read"
MOST_LAST = 5
"""How many events before a rejected one are kept."""
MOST_EXAMINED = 50
"""In how many states the reason for a rejection is sought."""
MOST_ALLOWED = 20
"""How many allowed steps a rejection lists."""


@attrs.frozen
class Limits:
    """How much a search may keep."""

    states: int = 10_000
    """States that explain a trace at the same time."""


@attrs.frozen
class Frontier:
    """The states that explain a trace so far."""

    states: tuple[Any, ...]
    """Each once."""
    events: int = 0
    """How many events they explain."""
    previous: tuple[Any, ...] = ()
    """The states one event earlier, for the report."""
    last: tuple[Event, ...] = ()
    """The last events."""
    largest: int = 1
    """The largest number of states so far."""
    cut: str = ""
    """Why states were left out; empty if none were."""
    rejection: Rejection | None = None
    """Set once an event has no explanation; further events change nothing."""

    @property
    def is_over(self) -> bool:
        """Whether further events change nothing."""
        return self.rejection is not None


def begin(mapping: TraceMapping, limits: Limits = Limits()) -> Frontier:
    """The frontier before the first event."""
    states = dict.fromkeys(mapping.initial())
    if not states:
        return Frontier((), rejection=not_initial(mapping))
    return within(limits, Frontier((), cut=""), states, ())


def not_initial(mapping: TraceMapping) -> Rejection:
    """The rejection of a trace whose first state is not an initial state, as event 0."""
    content, reason = mapping.not_initial()
    return Rejection(
        Event(0, content), reason.guard, (), reason.differences, 0, None, Before(None, 0, ())
    )


def advance(
    mapping: TraceMapping,
    frontier: Frontier,
    event: Event,
    limits: Limits = Limits(),
) -> Frontier:
    """The frontier after an event. BadEvent if the mapping cannot read the event."""
    if frontier.rejection is not None:
        return frontier
    read = mapping.read(event.content)
    around, cut = with_hidden(mapping, frontier.states, read, limits)
    found = [after for state in around for after in mapping.successors(state, read)]
    after = dict.fromkeys(found) if len(found) > 1 else found  # to hash a state takes long
    if not after:
        nearest, reason = closest(mapping, around, read)
        rejection = rejection_of(mapping, frontier, event, nearest, reason)
        return attrs.evolve(
            frontier,
            events=frontier.events + 1,
            cut=frontier.cut or cut,
            rejection=rejection,
        )
    if cut:
        frontier = attrs.evolve(frontier, cut=frontier.cut or cut)
    return within(limits, frontier, after, (event,))


def within(
    limits: Limits, frontier: Frontier, after: Iterable[Any], events: tuple[Event, ...]
) -> Frontier:
    """The next frontier, of no more states than the limit."""
    states, cut = tuple(after), frontier.cut
    if len(states) > limits.states:
        cut = cut or f"more than {limits.states:,} states explained the trace at once"
        states = states[: limits.states]
    return Frontier(
        states,
        frontier.events + len(events),
        frontier.states,
        (*frontier.last, *events)[-MOST_LAST:],
        max(frontier.largest, len(states)),
        cut,
    )


def skip(frontier: Frontier, why: str) -> Frontier:
    """The frontier after an event that cannot be read: whatever follows is inconclusive."""
    return attrs.evolve(frontier, cut=frontier.cut or why)


def with_hidden(
    mapping: TraceMapping, states: Sequence[Any], read: Any, limits: Limits
) -> tuple[Sequence[Any], str]:
    """The states and those that hidden steps reach, nearest first; and why some are missing."""
    if mapping.most_hidden == 0:
        return states, ""
    seen: dict[Any, None] = dict.fromkeys(states)
    latest = list(states)
    for _ in range(mapping.most_hidden):
        found: list[Any] = []
        for state in latest:
            for after in mapping.hidden(state, read):
                if after not in seen:
                    if len(seen) >= limits.states:
                        return list(
                            seen
                        ), f"hidden steps lead to more than {limits.states:,} states"
                    seen[after] = None
                    found.append(after)
        if not found:
            break
        latest = found
    return list(seen), ""


# -- the reason of a rejection --------------------------------------------------------------


def rejection_of(
    mapping: TraceMapping, frontier: Frontier, event: Event | None, nearest: Any, reason: Reason
) -> Rejection:
    """The rejection of an event, or of the end of the trace, for a reason in the nearest state."""
    return Rejection(
        event=event,
        guard=reason.guard,
        allowed=reason.allowed[:MOST_ALLOWED],
        differences=reason.differences,
        states=len(frontier.states),
        nearest=mapping.show(nearest),
        before=one_before(mapping, frontier),
        last=frontier.last,
    )


def closest(mapping: TraceMapping, around: Sequence[Any], read: Any) -> tuple[Any, Reason]:
    """The state nearest to one that explains the event, and its reason."""
    best: tuple[Any, Reason] | None = None
    for state in around[:MOST_EXAMINED]:
        reason = mapping.reason(state, read)
        if best is None or reason.distance < best[1].distance:
            best = state, reason
        if best[1].distance < 1:
            break
    assert best is not None
    nearest, reason = best
    return nearest, attrs.evolve(reason, allowed=reason.allowed or tuple(mapping.allowed(nearest)))


def one_before(mapping: TraceMapping, frontier: Frontier) -> Before:
    """What was possible one event before."""
    states = frontier.previous or frontier.states
    allowed = dict.fromkeys(a for s in states[:MOST_EXAMINED] for a in mapping.allowed(s))
    event = frontier.last[-1] if frontier.last else None
    return Before(event, len(states), tuple(allowed)[:MOST_ALLOWED])


# -- whole traces ---------------------------------------------------------------------------


def finish(
    mapping: TraceMapping,
    frontier: Frontier,
    *,
    trace: str = "",
    complete: bool = False,
    problems: Problems | None = None,
    limits: Limits = Limits(),
) -> Validation:
    """The verdict at the end of a trace. If the trace is `complete`, it has to be able to end."""
    rejection = frontier.rejection
    if rejection is None and complete and frontier.states:
        rejection, cut = unfinished(mapping, frontier, limits)
        frontier = attrs.evolve(frontier, cut=frontier.cut or cut)
    if rejection is not None and rejection.event is not None and not rejection.event.file:
        event = attrs.evolve(rejection.event, file=trace, line=rejection.event.line or 1)
        rejection = attrs.evolve(rejection, event=event)
    verdict, because = ACCEPTED, ""
    if rejection is not None:
        verdict = REJECTED
        if frontier.cut:
            verdict, because = INCONCLUSIVE, frontier.cut
    elif problems is not None and problems.unread:
        verdict, because = INCONCLUSIVE, f"events that could not be read: {problems.unread}"
    elif not frontier.events:
        verdict, because = INCONCLUSIVE, "the trace has no event"
    elif because := next((why for s in frontier.states if (why := mapping.undecided(s))), ""):
        verdict = INCONCLUSIVE
    return Validation(
        verdict=verdict,
        trace=trace,
        mapping=mapping.name,
        events=frontier.events,
        about=mapping.describe(),
        hidden_names=tuple(mapping.hidden_names),
        most_hidden=mapping.most_hidden,
        largest=frontier.largest,
        problems=problems or Problems(),
        because=because,
        rejection=rejection,
    )


def unfinished(
    mapping: TraceMapping, frontier: Frontier, limits: Limits
) -> tuple[Rejection | None, str]:
    """A rejection if a whole trace cannot end in any state; and why states are missing."""
    around, cut = with_hidden(mapping, frontier.states, None, limits)
    lacks = [mapping.missing(state) for state in around]
    if not all(lacks):
        return None, ""
    reason = Reason(lacks[0], allowed=tuple(mapping.allowed(around[0])))
    return rejection_of(mapping, frontier, None, around[0], reason), cut


def after_events(
    mapping: TraceMapping,
    events: Iterable[Event],
    problems: Problems,
    limits: Limits = Limits(),
) -> Frontier:
    """The frontier after a trace whose events are in one order."""
    frontier = begin(mapping, limits)
    for event in events if not frontier.is_over else ():
        try:
            if event.unread and not mapping.may_lack_events:
                frontier = skip(frontier, UNREAD)
            frontier = advance(mapping, frontier, event, limits)
        except BadEvent as error:
            problems.add("malformed event", event.file, event.line, str(error))
            if not mapping.may_lack_events:
                frontier = skip(frontier, UNREAD)
        if frontier.is_over:
            break
    return frontier
