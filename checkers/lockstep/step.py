"""One step of both, compared, and the difference."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import attrs

from kspec.checkers.lockstep.adapter import Adapter, NotModelled
from kspec.spec.core import Blocked, Limit, Rule, System, Taken
from kspec.traces.story import choice_text
from kspec.traces.trace import Trace

NOTHING = object()
"""In place of a value that only the other one has."""


@attrs.frozen
class Difference:
    """A behaviour in whose last step the implementation leaves the specification. Plain data."""

    states: tuple[Any, ...]
    """The specification's states: before each step, and after the last if it is enabled."""
    steps: tuple[Taken, ...]
    """The steps; the last one differs. If there is none, loading the state differs."""
    blocked_by: str
    """The guard that blocks the last step in the specification, if one does."""
    says: tuple[str, ...]
    """What differs, in lines."""

    def after(self, states: tuple[Any, ...], steps: tuple[Taken, ...]) -> Difference:
        """The same difference, with a behaviour that leads to the first of its states."""
        return attrs.evolve(self, states=states[:-1] + self.states, steps=steps + self.steps)

    def trace(self, system: System[Any]) -> Trace:
        """The behaviour as a trace, for `kspec.traces.itf`: as far as the specification goes."""
        steps = self.steps[: len(self.states) - 1]
        return Trace(system, self.states, steps, where="; ".join(self.says))

    def __str__(self) -> str:
        """The behaviour, a line for each step, and then the differences."""
        taken = zip(self.steps, self.states, strict=False)
        lines = [f"{n:>3}  {step_text(step, s)}" for n, (step, s) in enumerate(taken, 1)]
        if self.blocked_by:
            lines.append(f"     which the specification forbids: not {self.blocked_by!r}")
        return "\n".join([*lines, *(f"  ✗  {line}" for line in self.says)])


def step_text(step: Taken, state: Any) -> str:
    """A step in one line, given the state in which it is taken."""
    choices = (f"{name}={choice_text(value, state)}" for name, value in step.choices.items())
    return "  ".join([step.rule, *choices])


@attrs.define
class Compared:
    """How much was compared, and the differences."""

    steps: int = 0
    """Steps that were taken by both."""
    refused: int = 0
    """Steps that were tried and refused by both."""
    left_out: Counter[str] = attrs.field(factory=Counter)
    """Steps that the model does not cover, by the reason that the adapter gave."""
    differences: list[Difference] = attrs.field(factory=list)

    def __iadd__(self, other: Compared) -> Self:
        """Add the results for another part of the graph."""
        self.steps += other.steps
        self.refused += other.refused
        self.left_out += other.left_out
        self.differences += other.differences
        return self


Attempt = tuple[Rule[Any], tuple[Any, ...], Any]
"""A rule, its choices, and the outcome: a state, or the guard that blocks the rule."""


def attempts(adapter: Adapter[Any, Any], system: System[Any], state: Any) -> Iterator[Attempt]:
    """All enabled steps in a state, and the blocked ones that the implementation must refuse."""
    for rule in system.rules:
        for choice in rule.instances(state):
            outcome = rule.attempt(state, choice)
            if not isinstance(outcome, Blocked) or is_tried(adapter, rule.name, outcome):
                yield rule, choice, outcome


def is_tried(adapter: Adapter[Any, Any], rule: str, blocked: Blocked) -> bool:
    """Whether the implementation itself must refuse a step that is blocked."""
    return not isinstance(blocked.guard, Limit) and adapter.refuses(rule, blocked.guard)


def compare_loaded(adapter: Adapter[Any, Any], subject: Any, state: Any) -> Difference | None:
    """The difference between a state and a subject just loaded from it, if there is one."""
    says = tuple(differing(adapter.view(state), adapter.abstract(subject), "loaded state"))
    return Difference((state,), (), "", says) if says else None


def compare_step(
    adapter: Adapter[Any, Any], subject: Any, before: Any, attempt: Attempt, compared: Compared
) -> Difference | None:
    """Take one step with a subject that is in the state before, and compare the results.

    A step that is not modelled is counted and changes nothing.
    """
    rule, choice, outcome = attempt
    taken = Taken(rule.name, dict(zip(rule.choices, choice, strict=True)), before)
    blocked = isinstance(outcome, Blocked)
    try:
        answer = adapter.apply(subject, taken)
        held = adapter.abstract(subject)
    except NotModelled as reason:
        compared.left_out[str(reason)] += 1
        return None
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}, line {frame.lineno}"
        says = [f"it raised {type(error).__name__}: {error} ({where})"]
    else:
        says = list(differing(adapter.answer(before, taken, outcome), answer, "answer"))
        after = before if blocked else outcome
        says += differing(adapter.view(after), held, "state")
    if not says:
        compared.steps += not blocked
        compared.refused += blocked
        return None
    return Difference(
        states=(before,) if blocked else (before, outcome),
        steps=(taken,),
        blocked_by=str(outcome.guard) if blocked else "",
        says=tuple(says),
    )


def kind_of(value: Any) -> type:
    """The class of a value; a frozenset of a state is one of a class of its own."""
    return frozenset if isinstance(value, frozenset) else type(value)


def differing(expected: Any, found: Any, place: str) -> Iterator[str]:
    """The innermost parts in which two values differ."""
    if expected == found and kind_of(expected) is kind_of(found):
        return
    inside, other = parts(expected), parts(found)
    if kind_of(expected) is kind_of(found) and inside is not None and other is not None:
        lines = [
            line
            for key in {**inside, **other}
            for line in differing(inside.get(key, NOTHING), other.get(key, NOTHING), place + key)
        ]
        yield from lines
    else:
        lines = []
    if not lines:
        yield f"{place}: {shown(expected)} by the specification, {shown(found)} here"


def parts(value: Any) -> dict[str, Any] | None:
    """What a value is made of, by how one would write each part; None if it is one thing."""
    if attrs.has(type(value)):
        fields = attrs.fields(type(value))
        return {f".{f.name}": getattr(value, f.name) for f in fields if f.eq}
    if hasattr(value, "_asdict"):
        return {f".{name}": part for name, part in value._asdict().items()}
    if isinstance(value, Mapping):
        return {f"[{key!r}]": part for key, part in value.items()}
    if isinstance(value, tuple | list):
        return {f"[{index}]": part for index, part in enumerate(value)}
    return None


def shown(value: Any) -> str:
    """A value in a line."""
    return "nothing" if value is NOTHING else repr(value)
