"""What each rule can do in a state: its choices, each enabled or blocked by a guard."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import attrs

from kspec.spec.core import Blocked, Choice, Limit, Rule, SpecError, System, Taken
from kspec.spec.core.errors import code_of
from kspec.traces.story import choice_texts

MOST = 500
"""Instances of a rule that are listed; no model of kspec has as many."""


@attrs.frozen
class Move:
    """An instance of a rule in a state."""

    rule: Rule[Any]
    choice: Choice
    before: Any
    """The state in which it can be taken, or is blocked."""
    after: Any
    """The state that it leads to; None if it is blocked."""
    blocked_by: str = ""
    """The first guard that does not hold, or what the rule raised; empty if it is enabled."""
    is_limit: bool = False
    """Whether that guard only keeps the run within its bounds."""

    @property
    def is_enabled(self) -> bool:
        """Whether it can be taken."""
        return not self.blocked_by

    @property
    def taken(self) -> Taken:
        """The step that it is."""
        return Taken(self.rule.name, dict(zip(self.rule.choices, self.choice, strict=True)))

    @property
    def choices(self) -> dict[str, str]:
        """Its choices, as texts."""
        return choice_texts(self.taken.choices, self.before)


def moves_of(rule: Rule[Any], state: Any) -> list[Move]:
    """The instances of one rule in a state, in their fixed order."""
    found = []
    with code_of(f"the choices of {rule.name}", *rule.choices.values()):
        choices = list(islice(rule.instances(state), MOST))
    for choice in choices:
        try:
            with code_of(rule.name, rule.body):
                after = rule.attempt(state, choice)
        except SpecError as error:
            found.append(Move(rule, choice, state, None, str(error)))
            continue
        if isinstance(after, Blocked):
            limit = isinstance(after.guard, Limit)
            found.append(Move(rule, choice, state, None, str(after.guard), limit))
        else:
            found.append(Move(rule, choice, state, after))
    return found


def all_moves(system: System[Any], state: Any) -> Iterator[tuple[Rule[Any], list[Move]]]:
    """Every rule with its instances in a state."""
    for rule in system.rules:
        yield rule, moves_of(rule, state)


def enabled_moves(system: System[Any], state: Any) -> list[Move]:
    """The instances that can be taken, rule by rule."""
    return [move for _, moves in all_moves(system, state) for move in moves if move.is_enabled]


def why_nothing(system: System[Any], state: Any) -> str:
    """Why no rule is enabled in a state, in a sentence."""
    if system.is_final(state):
        return "A behaviour may end here: the state is final."
    if system.is_deadlock(state):
        return "Deadlock: no rule is enabled, and the state is not final."
    return "The edge of the bounds: every rule is blocked by limits alone."
