"""Learned rules as a subject: what they answer about states, compared with the rules.

The process that finds the states answers, because a wrong table would matter there. The rules run
wherever the answers are sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from kspec.checkers.engine.learned.checking import (
    Checking,
    Steps,
    marks_by_properties,
    steps_by_rules,
)
from kspec.checkers.engine.learned.steps import StepsByLearning
from kspec.checkers.engine.learned.walk import FAILED_BIT
from kspec.checkers.lockstep.step import Compared, Difference, differing
from kspec.spec.core import Always, Blocked, Rule, System, Taken


@attrs.frozen
class Answer:
    """What learned rules answer about a state. Plain data."""

    state: Any
    steps: Steps
    marks: frozenset[str] | None
    """The properties that it violates or witnesses; None if one of them raises an exception."""


# -- what learned rules answer ---------------------------------------------------------------------


def answers(source: StepsByLearning, states: range) -> Iterator[Answer]:
    """The answers about states of these numbers."""
    source.expand(states.start, states.stop)  # learns what is missing
    masks = source.masks(np.array(states))
    for number, mask in zip(states, masks.tolist(), strict=True):
        learning = source.learning
        marks = {name for name in learning.asked_names if mask >> learning.bits[name] & 1}
        yield Answer(
            source.state(number),
            steps_of(source, number),
            None if mask >> FAILED_BIT & 1 else frozenset(marks),
        )


def steps_of(source: StepsByLearning, number: int) -> Steps:
    """The steps out of a state, and what blocks the others."""
    while True:
        expander = source.asking.expander
        expander.take_counts()  # of other states
        checking = Checking(source.learning, everything=True)
        steps = checking.steps_by_learning(expander, source.words_at(np.array([number])))
        if steps is not None:
            return steps
        source.expand(number, number + 1)  # learns again what another state has made void


# -- compared with the rules -----------------------------------------------------------------------


def compare_answers(system: System[Any], some: Sequence[Answer], at_most: int) -> Compared:
    """Compare answers with those of the rules; ends at `at_most` differences."""
    compared = Compared()
    for answer in some:
        by_rules = steps_by_rules(system, answer.state)
        compared.differences += [
            *steps_that_differ(system, answer, by_rules.after, compared),
            *guards_that_differ(answer, by_rules, compared),
            *marks_that_differ(system, answer),
        ]
        if len(compared.differences) >= at_most:
            break
    return compared


def steps_that_differ(
    system: System[Any], answer: Answer, by_rules: Mapping[Any, Any], compared: Compared
) -> Iterator[Difference]:
    """Steps that only one of the two takes in a state, or that lead to different states."""
    rules = {rule.name: rule for rule in system.rules}
    learned = answer.steps.after
    for name, choice in [*by_rules, *(act for act in learned if act not in by_rules)]:
        before, act = answer.state, (name, choice)
        taken = Taken(name, dict(zip(rules[name].choices, choice, strict=True)))
        if act not in by_rules:
            guard = guard_of(rules[name], before, choice)
            yield Difference((before,), (taken,), guard, ("learned rules take this step",))
            continue
        after = by_rules[act]
        if act not in learned:
            says: tuple[str, ...] = ("learned rules do not take this step",)
        elif learned[act] != after:
            says = tuple(differing(after, learned[act], "state"))
        else:
            compared.steps += 1
            continue
        yield Difference((before, after), (taken,), "", says)


def guard_of(rule: Rule[Any], state: Any, choice: tuple[Any, ...]) -> str:
    """The guard that blocks a rule with these choices."""
    if choice not in rule.instances(state):
        return "there is such a choice"
    outcome = rule.attempt(state, choice)
    assert isinstance(outcome, Blocked)
    return str(outcome.guard)


def guards_that_differ(answer: Answer, by_rules: Steps, compared: Compared) -> Iterator[Difference]:
    """Which guard blocks each rule first, and how often; and how a state without steps ends."""
    expected, here = guards_in(by_rules), guards_in(answer.steps)
    says = [
        f"{name} is blocked by {guard!r} {expected.get((name, guard), 0)} times by the "
        f"specification, {here.get((name, guard), 0)} times here"
        for name, guard in dict.fromkeys([*expected, *here])
        if expected.get((name, guard)) != here.get((name, guard))
    ]
    if not says:
        compared.refused += sum(expected.values())
    if by_rules.is_deadlock != answer.steps.is_deadlock:
        says.append(by_one("a deadlock", by_rules.is_deadlock))
    if by_rules.at_edge != answer.steps.at_edge:
        says.append(by_one("at the edge of the bounds", by_rules.at_edge))
    if says:
        yield Difference((answer.state,), (), "", tuple(says))


def guards_in(steps: Steps) -> dict[tuple[str, str], int]:
    """How often each guard of a rule blocks it."""
    return {
        (name, guard): times
        for name, guards in steps.blocked.items()
        for guard, times in guards.items()
    }


def marks_that_differ(system: System[Any], answer: Answer) -> Iterator[Difference]:
    """The properties that only one of the two finds violated, or witnessed."""
    expected = marks_by_properties(system, answer.state, {p.name for p in system.properties})
    if answer.marks is None:
        says = ["a property raises an exception here, not by the specification"]
    else:
        always = {p.name for p in system.properties if isinstance(p, Always)}
        says = [
            by_one(f"{name} is {'violated' if name in always else 'witnessed'}", name in expected)
            for name in sorted(expected ^ answer.marks)
        ]
    if says:
        yield Difference((answer.state,), (), "", tuple(says))


def by_one(what: str, by_specification: bool) -> str:
    """What only one of the two says of a state."""
    one, other = ("by the specification", "here")[:: 1 if by_specification else -1]
    return f"{what} {one}, not {other}"
