"""Check learned answers against the rules, for a sample of states in every run, or for all.

The sample holds the first and last states of early levels, one state in `ONE_IN`, and, for each
component that is not an element of a divided field, a state with the value numbered last, because
a table may be wrong only above some number. Each check compares successors, guards and marks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from kspec.checkers.engine.learned.book import Impure
from kspec.checkers.engine.learned.expander import LearnedExpander
from kspec.checkers.engine.learned.learning import Learning
from kspec.checkers.engine.learned.walk import DEADLOCK_BIT, FAILED_BIT, LABEL_BITS
from kspec.checkers.engine.learned.worker import Worker
from kspec.checkers.engine.packed.codes import decode
from kspec.checkers.engine.search import Counts, add, shows
from kspec.checkers.engine.symmetry import FIRST, Checks
from kspec.impl.compiled import Words
from kspec.spec.core import Always, Blocked, Reachable, SpecError, System

ONE_IN = 20_000
"""One state in this many is checked, and up to symmetry the first of each level as well."""
BY_LEVEL = 20
"""The first and the last state of a level are checked until this many states have been checked."""
LATE = 5_000
"""After that, the last state of a level is checked if at least this many states have passed since
the last check: in models with thin levels, one check per level took a third of the time."""
GROWTH = 4
"""A state with the last value of a component is checked again when the component has this many
times as many values."""


@attrs.frozen
class Steps:
    """All results of the rules for one state."""

    after: Mapping[tuple[str, Any], Any]
    """By rule and choices: the state that it leads to."""
    blocked: Mapping[str, Mapping[str, int]]
    """By rule: how often each guard blocks it."""
    is_deadlock: bool
    at_edge: bool
    """Whether limits alone block every rule."""


def steps_by_rules(system: System[Any], state: Any) -> Steps:
    """The results of the rules."""
    steps = {}
    blocked: dict[str, dict[str, int]] = {}
    for rule in system.rules:
        for choice in rule.instances(state):
            after = rule.attempt(state, choice)
            if isinstance(after, Blocked):
                add(blocked.setdefault(rule.name, {}), {after.guard: 1})
            else:
                steps[rule.name, choice] = after
    ends = not steps and not system.is_final(state)
    deadlock = False
    if ends:
        try:
            deadlock = system.is_deadlock(state)
        except Exception:  # beyond its limits a rule need not be fit for a state
            deadlock = False
    return Steps(steps, blocked, deadlock, ends and not deadlock)


def marks_by_properties(system: System[Any], state: Any, names: Collection[str]) -> set[str]:
    """Those of these properties that a state violates or witnesses."""
    asked = [p for p in system.properties if p.name in names and isinstance(p, Always | Reachable)]
    return {prop.name for prop in asked if shows(prop, state)}


class Checking:
    """Compares learned results for some states with those of the rules."""

    def __init__(self, learning: Learning, *, everything: bool) -> None:
        self.learning = learning
        self.one_in = 1 if everything else ONE_IN
        self.first = 1 if learning.symmetry is None else FIRST
        self.symmetry = None
        if learning.symmetry is not None:
            self.symmetry = Checks(learning.symmetry, everything=everything)
        self.checked = 0
        self.passed = 0
        """States in the levels that are done, of which a share was checked."""
        self.unchecked = 0
        """States since the last that was checked."""
        self.checked_values = [0] * learning.book.fixed
        """By component: how many values it had when the state with the last one was checked."""

    def check_level(self, worker: Worker, level: int, watch: Callable[[], None]) -> None:
        """Check a share of a worker's states of a level; Impure if an answer differs."""
        learned = LearnedExpander(self.learning)
        for words in self.share(worker, level):
            watch()
            self.check(learned, words)
        self.check_latest(worker.expander, watch)

    def check_latest(
        self, expander: LearnedExpander, watch: Callable[[], None], least_growth: float = GROWTH
    ) -> None:
        """Check the states with the last value of each component."""
        wanted: dict[tuple[int, ...], None] = {}
        for k, number in enumerate(expander.latest.tolist()):
            if number >= self.checked_values[k] * least_growth:
                self.checked_values[k] = number + 1
                wanted[tuple(expander.latest_words[:, k].tolist())] = None
        learned = LearnedExpander(self.learning)
        for words in wanted:
            watch()
            self.check(learned, np.array([words], np.int64).T.copy())

    def check(self, learned: LearnedExpander, words: Words) -> None:
        """Compare the learned answers for a state, given as a column of words, with the rules."""
        names, marks = self.marks_by_learning(learned, words)
        steps = self.steps_by_learning(learned, words)
        if steps is None and not names:
            return
        self.checked += 1
        state = self.learning.state(words[:, 0].tolist())
        try:
            found = marks_by_properties(self.system, state, names)
            taken = None if steps is None else steps_by_rules(self.system, state)
        except SpecError:
            raise
        except Exception as error:
            raise Impure(
                f"a rule or a property is not a function of the state: it raised {error!r}, and "
                "did not where everything that it reads was equal"
            ) from error
        self.compare_marks(marks, found)
        if steps is not None and taken is not None:
            self.compare_steps(steps, taken)
            if self.symmetry:
                self.symmetry.check(state)

    @property
    def system(self) -> System[Any]:
        """The system that is explored."""
        return self.learning.system

    def share(self, worker: Worker, level: int) -> Iterator[Words]:
        """The words of the states that are to be checked, each as a column."""
        words: Words = np.empty((len(worker.coding.widths), 1), np.int64)
        is_early = self.checked < BY_LEVEL
        first = self.first if self.symmetry is not None or is_early else 0
        count = sum(chunk.count for chunk in worker.levels[level])
        self.unchecked += count
        last = count - (is_early or self.unchecked >= LATE)
        begin = 0
        for chunk in worker.levels[level]:
            end = begin + chunk.count
            rest = max(begin, first)
            rest += -(self.passed + rest) % self.one_in
            some = {*range(begin, min(first, end)), *range(rest, end, self.one_in)}
            some |= {*range(max(begin, last), end)}
            if some:
                self.unchecked = 0
            for index in sorted(some):
                decode(chunk.codes, chunk.pieces, index - begin, 1, worker.coding, words)
                yield words
            begin = end
        self.passed += begin

    def marks_by_learning(
        self, learned: LearnedExpander, words: Words
    ) -> tuple[Sequence[str], frozenset[str]]:
        """The properties whose marks were learned for a state, and those that it has.

        None are known where all were answered before, or where one raises.
        """
        learning = self.learning
        learned.mark(words, 0, 1)
        mask = int(learned.masks[0])
        if len(learned.lost) or mask >> FAILED_BIT & 1:
            return (), frozenset()
        names = learning.asked_names
        return names, frozenset(p for p in names if mask >> learning.bits[p] & 1)

    def steps_by_learning(self, learned: LearnedExpander, words: Words) -> Steps | None:
        """What was learned of the steps of a state.

        Nothing is known of a state where a rule raises, one that was not expanded, or one that was
        expanded before a rule was found to need a plainer way, so that what was learned is void.
        """
        learning = self.learning
        _, successors = learned.expand(words, 0, 1)
        mask = int(learned.masks[0])
        if len(learned.lost) or mask >> FAILED_BIT & 1:
            return None
        counts: Counts = learned.take_counts()
        steps = {}
        for n in range(successors):
            label = int(learned.origins[n]) & (1 << LABEL_BITS) - 1
            instance = learning.book.instances[label]
            after = learning.state(learned.successors[:, n].tolist())
            steps[instance.asked.name, instance.choice] = after
        is_deadlock = bool(mask >> DEADLOCK_BIT & 1)
        return Steps(steps, counts.blocked, is_deadlock, counts.edge_of_bounds > 0)

    def compare_marks(self, learned: Collection[str], found: Collection[str]) -> None:
        """Raise Impure, which names the first property whose marks differ."""
        for name in sorted({*learned} ^ {*found}):
            raise impure(f"property {name}", {}, name in learned, name in found)

    def compare_steps(self, learned: Steps, found: Steps) -> None:
        """Raise Impure, which names the first rule whose results differ."""
        for rule in self.system.rules:
            here = {c: s for (name, c), s in found.after.items() if name == rule.name}
            there = {c: s for (name, c), s in learned.after.items() if name == rule.name}
            for choice in [*here, *(c for c in there if c not in here)]:
                if here.get(choice) != there.get(choice):
                    chosen = dict(zip(rule.choices, choice, strict=True))
                    raise impure(f"rule {rule.name}", chosen, there.get(choice), here.get(choice))
            guards = found.blocked.get(rule.name, {}), learned.blocked.get(rule.name, {})
            if guards[0] != guards[1]:
                raise impure(f"rule {rule.name}", {}, *(f"blocked by {g}" for g in guards[::-1]))
        if found.is_deadlock != learned.is_deadlock:
            raise impure("a deadlock", {}, learned.is_deadlock, found.is_deadlock)
        if found.at_edge != learned.at_edge:
            raise impure("the edge of the bounds", {}, learned.at_edge, found.at_edge)


def impure(what: str, chosen: Mapping[str, Any], learned: object, found: object) -> Impure:
    """The error for a rule whose results differ where its reads are equal."""
    choices = "".join(f" {name}={value}" for name, value in chosen.items())
    answers = [
        "nothing (it is blocked)" if answer is None else shortened(answer)
        for answer in (learned, found)
    ]
    return Impure(
        f"{what}{choices} is not a function of the state: it answered {answers[0]} where "
        f"everything that it reads was equal, and answers {answers[1]} now"
    )


def shortened(answer: object) -> str:
    """A result, in one line."""
    text = repr(answer)
    return text if len(text) <= 160 else f"{text[:150]}…"
