"""The region of a liveness property: where a behaviour that violates it stays in the end.

For `P ~> Q` these are the states that are reached after P before Q; for `[]<>P` those that are
reached after the last P; for `<>[]P` all states. States are held as the source has them, and each
step as eight bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import attrs
import numpy as np

from kspec.checkers.engine.liveness.passes import (
    BITS,
    enabled,
    find_levels,
    fitting,
    reach,
    restrict,
)
from kspec.checkers.engine.steps import BATCH, Numbers, Source
from kspec.spec.core import (
    Blocked,
    Budget,
    EventuallyAlways,
    Limit,
    Liveness,
    Rule,
    Step,
    System,
    Together,
)

Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
Bits: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
"""Sets of conditions: by state, component or label, and by word."""
Compact: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]

SourceOf: TypeAlias = Callable[[System[Any]], Source[Any]]
"""Makes a source of a system."""

WEAK, STRONG = "weak", "strong"


# -- what only limits block -----------------------------------------------------------------------


def beyond_limits(rule: Rule[Any]) -> Rule[Any]:
    """A rule that is enabled where limits alone block another rule, and changes nothing."""

    def body(s: Any, *choice: Any) -> Step[Any]:
        yield "limits alone block it", is_cut_off(rule, s, choice)
        return s

    return Rule(f"{rule.name} beyond the limits", rule.by, rule.choices, body)


def is_cut_off(rule: Rule[Any], s: Any, choice: tuple[Any, ...]) -> bool:
    """Whether limits alone block a rule, and none of them is a budget."""
    found = rule.outcome(s, choice)  # not `attempt`, which reads all of the state
    if not isinstance(found, Blocked) or not isinstance(found.guard, Limit):
        return False
    if isinstance(found.guard, Budget):
        return False
    beyond = rule.outcome(s, choice, beyond_limits=True, beyond_budgets=False)
    return not isinstance(beyond, Blocked)


def with_beyond(
    system: System[Any], props: Iterable[Liveness[Any]]
) -> tuple[System[Any], dict[Rule[Any], Rule[Any]]]:
    """The system with a rule for what limits block of each fair rule; and the rules behind them."""
    fair = set().union(*map(names_of, props))
    limited = [r for r in system.rules if r.name in fair and has_limit(r)]
    beyond = {beyond_limits(rule): rule for rule in limited}
    return attrs.evolve(system, rules=(*system.rules, *beyond)), beyond


def has_limit(rule: Rule[Any]) -> bool:
    """Whether a guard of the rule may be a limit: unless its text names all guards, it may."""
    try:
        return any(is_limit for _, is_limit in rule.guard_names())
    except OSError:  # there is no text
        return True


def names_of(prop: Liveness[Any]) -> set[str]:
    """The names of the fair rules. A mutant's rule is as fair as the one that it replaces."""
    fair = (*prop.weakly_fair, *prop.strongly_fair)
    return {r.name for one in fair for r in (one.rules if isinstance(one, Together) else (one,))}


# -- fairness conditions --------------------------------------------------------------------------


class Conditions:
    """The fairness conditions of a property, by the labels of steps."""

    def __init__(
        self, source: Source[Any], prop: Liveness[Any], beyond: dict[Rule[Any], Rule[Any]]
    ) -> None:
        """Find the conditions that each label belongs to."""
        self.numbers: dict[Any, int] = {}
        self.names: list[str] = []
        """By condition: its strength and what it is about, by which conditions are ordered."""
        of_label = []
        self.beyond: Flags = np.zeros(len(source.acts), np.bool_)
        """By label: whether it is what a limit blocks."""
        for label, (rule, choice) in enumerate(source.acts):
            self.beyond[label] = rule in beyond
            of_label.append(self.of(prop, beyond.get(rule, rule), choice))
        self.words = max(1, -(-len(self.numbers) // BITS))
        self.takes: Bits = np.zeros((max(1, len(of_label)), self.words), np.int64)
        """By label: the conditions that such a step satisfies."""
        for label, numbers in enumerate(of_label):
            for number in numbers:
                self.takes[label, number // BITS] |= 1 << number % BITS
        self.weak, self.strong = (self.mask(strength) for strength in (WEAK, STRONG))

    def of(self, prop: Liveness[Any], rule: Rule[Any], choice: tuple[Any, ...]) -> list[int]:
        """The conditions that a step belongs to."""
        found = []
        for strength, fair in ((WEAK, prop.weakly_fair), (STRONG, prop.strongly_fair)):
            for place, one in enumerate(fair):
                if isinstance(one, Together):
                    if all(r.name != rule.name for r in one.rules):
                        continue
                    chosen = dict(zip(rule.choices, choice, strict=True))
                    key: Any = strength, place, tuple(chosen[name] for name in one.each)
                elif one.name == rule.name:
                    key = strength, rule.name, choice
                else:
                    continue
                found.append(self.numbers.setdefault(key, len(self.numbers)))
        return found

    def mask(self, strength: str) -> Bits:
        """The conditions of this strength."""
        found: Bits = np.zeros(self.words, np.int64)
        for key, number in self.numbers.items():
            if key[0] == strength:
                found[number // BITS] |= 1 << number % BITS
        return found


# -- all steps ------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Steps:
    """All states and steps of a system. Every liveness property is judged by the same ones."""

    source: Source[Any]
    """The states, all of which are expanded."""
    beyond: dict[Rule[Any], Rule[Any]]
    """By rule that was added for steps beyond the limits: the rule that the limits block."""
    begins: Numbers
    """By state: where its steps begin; and their number, at the end."""
    to: Compact
    """By step: the state after it."""
    labels: Compact
    """By step: its rule with its choices."""


def all_steps(
    system: System[Any],
    props: Iterable[Liveness[Any]],
    source_of: SourceOf,
    go_on: Callable[[int], None],
) -> Steps:
    """Expand all states of a system, with what limits block of the rules fair to any property."""
    extended, beyond = with_beyond(system, props)
    source = source_of(extended)
    degrees: list[Any] = [np.zeros(1, np.int64)]
    parts: list[Any] = [(np.zeros(0, np.int32), np.zeros(0, np.int32))]
    done = 0
    while done < len(source.keys):
        end = min(done + BATCH, len(source.keys))
        origins, to, labels = source.expand(done, end)
        degrees.append(np.bincount(origins - done, minlength=end - done))
        parts.append((to.astype(np.int32), labels.astype(np.int32)))
        done = end
        go_on(len(source.keys) - done)
    begins: Numbers = np.cumsum(np.concatenate(degrees))
    all_to, all_labels = (np.concatenate(part, dtype=np.int32) for part in zip(*parts, strict=True))
    return Steps(source, beyond, begins, all_to, all_labels)


# -- the region -----------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Region:
    """States are numbered from 0 here, nearest first; steps that change nothing are left out."""

    states: Compact
    """By number: the number in the source."""
    depths: Compact
    """By number: how many steps a shortest behaviour needs to it, by way of the trigger."""
    levels: Compact
    """By number: how many steps it is from the nearest initial state, by whatever way."""
    triggers: Flags
    """By number: whether the property begins there, and is not satisfied yet."""
    came_from: Compact
    """By number: the state before it after the trigger, or -1."""
    begins: Numbers
    to: Compact
    labels: Compact
    able: Bits
    """By state: the conditions that are enabled."""
    cut: Bits
    """By state: the conditions that limits alone block."""
    required: Flags
    """By state: whether a violating loop has to visit such a state; all but for `<>[]P`."""
    conditions: Conditions

    def way_to(self, number: int, parents: Any, *, by_trigger: bool) -> list[int]:
        """A shortest behaviour to a state, in the source's numbers."""
        way = [int(self.states[number])]
        while by_trigger and (number := int(self.came_from[number])) >= 0:
            way.append(int(self.states[number]))
        while (before := int(parents[way[-1]])) >= 0:
            way.append(before)
        return way[::-1]


def region_of(steps: Steps, prop: Liveness[Any], go_on: Callable[[int], None]) -> Region:
    """Find the region of a property."""
    source, begins, to, labels = steps.source, steps.begins, steps.to, steps.labels
    size, count = len(source.keys), len(to)
    begun, reached = source.judged(prop)
    conditions = Conditions(source, prop, steps.beyond)
    go_on(0)
    levels = np.zeros(size, np.int32)
    fitting(find_levels, count)(np.array(source.parents, np.int32), levels)
    first, goal, required = np.zeros((3, size), np.bool_)
    if isinstance(prop, EventuallyAlways):
        first[:] = levels == 0
        required[begun] = True
    else:
        first[begun] = True
        goal[reached] = True
        required[:] = True
    entered, depths, came_from = np.full((3, size), -1, np.int32)
    last = fitting(reach, count)(begins, to, levels, first, goal, entered, depths, came_from)
    states = entered[:last].copy()
    del entered, goal
    go_on(0)
    able, cut = np.zeros((2, size, conditions.words), np.int64)
    fitting(enabled, count)(begins, to, labels, conditions.takes, conditions.beyond, able, cut)
    able, cut = able[states], cut[states]
    local = np.full(size, -1, np.int32)
    local[states] = np.arange(last, dtype=np.int32)
    kept = np.empty(last + 1, np.int64), np.empty(count, np.int32), np.empty(count, np.int32)
    inside = fitting(restrict, count)(begins, to, labels, states, local, kept)
    go_on(0)
    return Region(
        states=states,
        depths=depths[states],
        levels=levels[states],
        triggers=first[states],
        came_from=np.where(came_from[states] < 0, -1, local[came_from[states]]),
        begins=kept[0],
        to=kept[1][:inside].copy(),
        labels=kept[2][:inside].copy(),
        able=able,
        cut=cut,
        required=required[states],
        conditions=conditions,
    )
