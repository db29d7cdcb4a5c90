"""Check learned results against the rules: a share of the states in every run, or all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import attrs
import numpy as np

from checkers.engine.learned.book import Impure
from checkers.engine.learned.expander import Learned
from checkers.engine.learned.learning import Learning
from checkers.engine.packed.codes import decode
from checkers.engine.packed.expander import DEADLOCK_BIT, FAILED_BIT
from checkers.engine.packed.worker import Worker
from checkers.engine.search import Counts, add
from checkers.engine.symmetry import FIRST, Checks
from checkers.engine.verdict import DEADLOCK
from impl.packed.compiled import Words
from spec.core import Always, Blocked, Reachable, System

ONE_IN = 20_000
"""One state in this many is checked, and up to symmetry the first of each level as well."""
BY_LEVEL = 20
"""The first state of a level is checked until this many are checked. In models with thin levels,
checking one state of each took a third of the time."""


@attrs.frozen
class Answers:
    """All results for one state."""

    steps: Mapping[tuple[str, Any], Any]
    """By rule and choices: the state that it leads to."""
    blocked: Mapping[str, Mapping[str, int]]
    """By rule: how often each guard blocks it."""
    marks: frozenset[str]
    """The properties that it violates or shows, and DEADLOCK."""
    at_edge: bool
    """Whether limits alone block every rule."""


def by_rules(system: System[Any], state: Any, *, properties: Collection[str]) -> Answers:
    """The results of the rules and the properties."""
    steps = {}
    blocked: dict[str, dict[str, int]] = {}
    for rule in system.rules:
        for choice in rule.instances(state):
            after = rule.attempt(state, choice)
            if isinstance(after, Blocked):
                add(blocked.setdefault(rule.name, {}), {after.guard: 1})
            else:
                steps[rule.name, choice] = after
    marks = set()
    for prop in system.properties:
        if prop.name not in properties:
            continue
        violated = isinstance(prop, Always) and prop.failure(state) is not None
        if violated or (isinstance(prop, Reachable) and prop.body(state)):
            marks.add(prop.name)
    ends = not steps and not system.is_final(state)
    if ends:
        try:
            deadlock = system.is_deadlock(state)
        except Exception:  # beyond its limits a rule need not be fit for a state
            deadlock = False
        if deadlock:
            marks.add(DEADLOCK)
    return Answers(steps, blocked, frozenset(marks), ends and DEADLOCK not in marks)


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

    def check_level(self, worker: Worker, level: int) -> None:
        """Check a share of a worker's states of a level; Impure if an answer differs."""
        learned = Learned(self.learning)
        for words in self.share(worker, level):
            self.check(learned, words)

    def check(self, learned: Learned, words: Words) -> None:
        """Check a state, given as a column of words."""
        found, properties = self.by_learning(learned, words)
        if found is not None:
            self.checked += 1
            state = self.learning.state(words[:, 0].tolist())
            self.compare(state, found, by_rules(self.system, state, properties=properties))
            if self.symmetry:
                self.symmetry.check(state)

    @property
    def system(self) -> System[Any]:
        """The system that is explored."""
        return self.learning.system

    def share(self, worker: Worker, level: int) -> Iterator[Words]:
        """The words of the states that are to be checked, each as a column."""
        words: Words = np.empty((len(worker.coding.widths), 1), np.int64)
        first = 0 if self.symmetry is None and self.checked >= BY_LEVEL else self.first
        begin = 0
        for chunk in worker.levels[level]:
            end = begin + chunk.count
            rest = max(begin, first)
            rest += -(self.passed + rest) % self.one_in
            for index in chain(range(begin, min(first, end)), range(rest, end, self.one_in)):
                decode(chunk.codes, chunk.pieces, index - begin, 1, worker.coding, words)
                yield words
            begin = end
        self.passed += begin

    def by_learning(self, learned: Learned, words: Words) -> tuple[Answers | None, Sequence[str]]:
        """What was learned says, and of which properties.

        Nothing is known of a state where a rule raises, or one that was expanded before a rule
        was found to need a plainer way, so that what was learned of it is void. The properties
        are not known where all were answered before, or where one raises.
        """
        learning = self.learning
        learned.mark(words, 0, 1)
        mask = int(learned.masks[0])
        known = not len(learned.lost) and not mask >> FAILED_BIT & 1
        properties = learning.asked_names if known else ()
        _, successors = learned.expand(words, 0, 1)
        if len(learned.lost) or int(learned.masks[0]) >> FAILED_BIT & 1:
            return None, ()
        counts: Counts = learned.take_counts()
        steps = {}
        for n in range(successors):
            label = int(learned.origins[n]) & (1 << learned.label_bits) - 1
            instance = learning.book.instances[label]
            after = learning.state(learned.successors[:, n].tolist())
            steps[instance.asked.name, instance.choice] = after
        marks = {p for p in properties if mask >> learning.bits[p] & 1}
        if int(learned.masks[0]) >> DEADLOCK_BIT & 1:
            marks.add(DEADLOCK)
        at_edge = counts.edge_of_bounds > 0
        return Answers(steps, counts.blocked, frozenset(marks), at_edge), properties

    def compare(self, state: Any, learned: Answers, found: Answers) -> None:
        """Raise Impure, which names the first rule or property whose results differ."""
        for rule in self.system.rules:
            here = {c: s for (name, c), s in found.steps.items() if name == rule.name}
            there = {c: s for (name, c), s in learned.steps.items() if name == rule.name}
            for choice in [*here, *(c for c in there if c not in here)]:
                if here.get(choice) != there.get(choice):
                    chosen = dict(zip(rule.choices, choice, strict=True))
                    raise impure(f"rule {rule.name}", chosen, there.get(choice), here.get(choice))
            guards = found.blocked.get(rule.name, {}), learned.blocked.get(rule.name, {})
            if guards[0] != guards[1]:
                raise impure(f"rule {rule.name}", {}, *(f"blocked by {g}" for g in guards[::-1]))
        for name in sorted(found.marks ^ learned.marks):
            what = "a deadlock" if name == DEADLOCK else f"property {name}"
            raise impure(what, {}, name in learned.marks, name in found.marks)
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
        f"everything it reads was equal, and answers {answers[1]} now"
    )


def shortened(answer: object) -> str:
    """A result, in one line."""
    text = repr(answer)
    return text if len(text) <= 160 else f"{text[:150]}…"
