"""A behaviour as a list of rules with choices, which the specification replays.

It computes the states, refuses steps that the rules do not allow, and decides whether the property
fails at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from kspec.checkers.models.find import find_model
from kspec.spec.core import Always, Blocked, SpecError, Taken, look_up
from kspec.spec.core.rules import Choice, Rule
from kspec.traces.story import choice_text
from kspec.traces.trace import Trace


@attrs.frozen
class Script:
    """A behaviour as a list of steps."""

    about: str
    """What it shows, in one sentence."""
    model: str
    """The model's name."""
    variant: str
    """The variant's name."""
    bounds: Mapping[str, int]
    """The bounds; the others have their defaults."""
    property: str
    """The property that it is about: it fails at the end, or holds in every state."""
    steps: str
    """A line for each step: the rule, and its choices as `name=value`."""
    is_healthy: bool = False
    """Whether nothing goes wrong in it, or nothing is lost although something does."""

    def lines(self) -> list[str]:
        """The steps."""
        return [line.strip() for line in self.steps.strip().splitlines()]

    def played(self) -> Trace:
        """The behaviour under the rules of the model; SpecError where they do not allow it."""
        system = find_model(self.model).system(self.variant, self.bounds)
        rules = {rule.name: rule for rule in system.rules}
        states, taken = [system.initial()[0]], []
        for line in self.lines():
            name, *choices = line.split()
            rule = look_up(f"rule of {self.model}, {self.variant},", name, rules)
            choice = chosen(rule, states[-1], choices)
            after = rule.attempt(states[-1], choice)
            if isinstance(after, Blocked):
                raise SpecError(f"step {len(states)}, {line}, is blocked by: {after.guard}")
            taken.append(Taken(rule.name, dict(zip(rule.choices, choice, strict=True))))
            states.append(after)
        trace = Trace(system, tuple(states), tuple(taken))
        where = self.failure(trace)
        return trace if where is None else attrs.evolve(trace, property=self.property, where=where)

    def failure(self, trace: Trace) -> str | None:
        """Where the property fails in the last state, or None if it holds in every state."""
        known = {p.name: p for p in trace.system.model.all_properties}
        prop = look_up(f"property of {self.model}", self.property, known)
        assert isinstance(prop, Always), f"{self.property} is an invariant"
        failures = [prop.failure(state) for state in trace.states]
        if failures[-1] is None and any(failures):
            raise SpecError(f"{self.property} fails in an earlier state, but not in the last")
        return failures[-1]


def chosen(rule: Rule[Any], state: Any, choices: Sequence[str]) -> Choice:
    """The instance of a rule with these choices."""
    for choice in rule.instances(state):
        values = zip(rule.choices, choice, strict=True)
        typed = " ".join(f"{name}={choice_text(value, state)}" for name, value in values)
        if typed.split() == list(choices):  # a value may have spaces: `request=consumer 0`
            return choice
    raise SpecError(f"{rule.name} has no choice {' '.join(choices) or 'without values'}")
