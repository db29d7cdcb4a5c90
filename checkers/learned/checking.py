"""Asking the rules themselves again: a share of all answers in every run, or each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from checkers.learned.book import Impure
from checkers.learned.expander import Learned
from checkers.learned.learning import Learning
from checkers.native.codes import decode
from checkers.native.expander import DEADLOCK_BIT, FAILED_BIT
from checkers.native.worker import Worker
from checkers.search import Counts, add
from checkers.verdict import DEADLOCK
from impl.packed.compiled import Words
from spec.core import Always, Blocked, Reachable, System

ONE_IN = 20_000
"""Of each level the first state is checked, and then one in so many."""


@attrs.frozen
class Answers:
    """Everything that is asked of one state."""

    steps: Mapping[tuple[str, Any], Any]
    """By rule and choices: the state that it leads to."""
    blocked: Mapping[str, Mapping[str, int]]
    """By rule: how often each guard blocks it."""
    marks: frozenset[str]
    """The properties that it violates or shows, and DEADLOCK."""
    at_edge: bool
    """Whether limits alone block every rule."""


def by_rules(system: System[Any], state: Any, *, properties: bool) -> Answers:
    """What the rules themselves say, and the properties."""
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
    for prop in system.properties if properties else ():
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
    """Compares what was learned of some states with what the rules say of them."""

    def __init__(self, learning: Learning, *, everything: bool) -> None:
        self.learning = learning
        self.one_in = 1 if everything else ONE_IN
        self.checked = 0

    def check_level(self, worker: Worker, level: int) -> None:
        """Check a share of a worker's states of a level; Impure if an answer differs."""
        learned = Learned(self.learning)
        for words in self.share(worker, level):
            state = self.learning.state(words[:, 0].tolist())
            found, properties = self.by_learning(learned, words)
            if found is not None:
                self.checked += 1
                self.compare(state, found, by_rules(self.system, state, properties=properties))

    @property
    def system(self) -> System[Any]:
        """The system that is explored."""
        return self.learning.system

    def share(self, worker: Worker, level: int) -> Iterator[Words]:
        """The words of the states that are to be checked, each as a column."""
        skip = 0
        words: Words = np.empty((len(worker.coding.widths), 1), np.int64)
        for chunk in worker.levels[level]:
            for index in range(skip, chunk.count, self.one_in):
                decode(chunk.codes, chunk.pieces, index, 1, worker.coding, words)
                yield words
            skip = (skip - chunk.count) % self.one_in

    def by_learning(self, learned: Learned, words: Words) -> tuple[Answers | None, bool]:
        """What was learned says, and whether that includes the properties.

        Nothing is known of a state where a rule raises, or one that was expanded before a rule
        was found to need a plainer way, so that what was learned of it is void. The properties
        are not known where all were answered before, or where one raises.
        """
        learning = self.learning
        learned.mark(words, 0, 1)
        mask = int(learned.masks[0])
        properties = not len(learned.lost) and not mask >> FAILED_BIT & 1
        _, successors = learned.expand(words, 0, 1)
        if len(learned.lost) or int(learned.masks[0]) >> FAILED_BIT & 1:
            return None, False
        counts: Counts = learned.take_counts()
        steps = {}
        for n in range(successors):
            label = int(learned.origins[n]) & (1 << learned.label_bits) - 1
            instance = learning.book.instances[label]
            after = learning.state(learned.successors[:, n].tolist())
            steps[instance.asked.name, instance.choice] = after
        asked = self.asked_of_states() if properties else ()
        marks = {p for p in asked if mask >> learning.bits[p] & 1}
        if int(learned.masks[0]) >> DEADLOCK_BIT & 1:
            marks.add(DEADLOCK)
        at_edge = counts.edge_of_bounds > 0
        return Answers(steps, counts.blocked, frozenset(marks), at_edge), properties

    def asked_of_states(self) -> Sequence[str]:
        """The properties that are judged state by state."""
        return [p.name for p in self.system.properties if isinstance(p, Always | Reachable)]

    def compare(self, state: Any, learned: Answers, found: Answers) -> None:
        """Raise Impure, which names the first rule or property whose answers differ."""
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
    """What is said of a rule that answers now this and now that."""
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
    """An answer, in a line."""
    text = repr(answer)
    return text if len(text) <= 160 else f"{text[:150]}…"
