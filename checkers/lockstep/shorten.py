"""A story without the steps that have nothing to do with how it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from checkers.lockstep.adapter import Adapter
from checkers.lockstep.step import Compared, Difference, compare_loaded, compare_step, is_tried
from spec.core import Blocked, Rule, System, Taken

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
    """Leave steps out, many at first and then one by one, as long as the last rule still differs.

    Not always the shortest story, but one of which no single step can be spared.
    """
    size = len(found.steps)
    while size:
        start = len(found.steps) - size
        while start >= 0:
            fewer = found.steps[:start] + found.steps[start + size :]
            again = told_again(adapter, system, found.states[0], fewer, possible)
            if again and again.steps and again.steps[-1].rule == found.steps[-1].rule:
                found = again
            start = min(start - size, len(found.steps) - size)
        size //= 2
    return found


def told_again(
    adapter: Adapter[Any, Any],
    system: System[Any],
    start: Any,
    steps: Sequence[Taken],
    possible: Possible,
) -> Difference | None:
    """The difference in which these steps end, or fewer; None if there is none.

    A step that cannot be taken is passed over: it needed one that was left out, and both go.
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
