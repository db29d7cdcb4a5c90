"""Shrinking a difference: leaving out the steps that it does not need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kspec.checkers.lockstep.adapter import Adapter
from kspec.checkers.lockstep.step import (
    Compared,
    Difference,
    compare_loaded,
    compare_step,
    is_tried,
)
from kspec.checkers.shrink import shrink
from kspec.spec.core import Blocked, Rule, System, Taken

Possible = Callable[[Rule[Any], Any, tuple[Any, ...]], bool]
"""Whether a rule can be tried in a state with these choices."""


def is_listed(rule: Rule[Any], state: Any, choice: tuple[Any, ...]) -> bool:
    """Whether the rule itself lists these choices."""
    return choice in rule.instances(state)


def shortened(
    adapter: Adapter[Any, Any],
    system: System[Any],
    found: Difference,
    possible: Possible = is_listed,
) -> Difference:
    """Leave steps out while the implementation still differs at the last rule."""

    def retry(fewer: Sequence[Taken]) -> Sequence[Taken] | None:
        nonlocal found
        again = replayed(adapter, system, found.states[0], fewer, possible)
        if not again or not again.steps or again.steps[-1].rule != found.steps[-1].rule:
            return None
        found = again
        return again.steps

    shrink(found.steps, retry)
    return found


def replayed(
    adapter: Adapter[Any, Any],
    system: System[Any],
    start: Any,
    steps: Sequence[Taken],
    possible: Possible,
) -> Difference | None:
    """The first difference along these steps, or None.

    A step that cannot be taken is skipped: it needed one that was left out.
    """
    rules = {rule.name: rule for rule in system.rules}
    states: tuple[Any, ...] = (start,)
    taken: tuple[Taken, ...] = ()
    subject = adapter.load(start)
    found = compare_loaded(adapter, subject, start)
    for step in steps:
        rule, choice, before = rules[step.rule], tuple(step.choices.values()), states[-1]
        if found or not possible(rule, before, choice):
            continue
        outcome = rule.attempt(before, choice)
        if isinstance(outcome, Blocked) and not is_tried(adapter, rule.name, outcome):
            continue
        found = compare_step(adapter, subject, before, (rule, choice, outcome), Compared())
        if found:
            return found.after(states, taken)
        if not isinstance(outcome, Blocked):
            states = (*states, outcome)
            taken = (*taken, step)
    return found
