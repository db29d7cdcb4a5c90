"""Mutation: break each rule in turn, and see which property notices.

A guard is dropped; an effect forgets one of the fields that it changes, or gets a number wrong
by one. A mutant that no property catches is a survivor: either the model says why it changes
nothing that matters (`Variant.survivors`), or a property is missing.

Mutants are looked at in the model's `mutation_bounds`, one after the other, the smallest first,
until one shows the difference.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

import attrs

from checkers.limits import INTERRUPTED, Limits
from checkers.search import RuleFailed
from checkers.verdict import Verdict
from spec.core import (
    Blocked,
    Limit,
    Model,
    Rule,
    System,
    Variant,
    differing,
    evolve,
    kind_of,
    replaced,
)
from traces.trace import settings

Path: TypeAlias = tuple[str | int, ...]
"""The way to a part of a state: names of fields, and indexes."""
Pattern: TypeAlias = tuple[str, ...]
"""A path without its indexes: the same field of every broker."""

SAMPLED_STATES = 5000
"""How many states are looked at to learn which guards and which fields a rule has."""
GIVE_UP_AT = 4
"""Where a mutant's exploration is given up: at so many times the states of the original. It
then counts as a survivor."""

KILLED, SURVIVED, EXPLAINED = "killed", "survived", "explained"


# -- what changes in a state ------------------------------------------------------------------


def changes(before: Any, after: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """The smallest parts in which two states differ, with their old and new values.

    Tallies are left out: only limits read them.
    """
    is_standin = hasattr(type(after), "_kspec_differing")  # comparing it would read all of it
    if before is after or (not is_standin and before == after):
        return
    if kind_of(before) is kind_of(after):
        parts = differing(before, after)
        if parts is not None:
            for step, old, new in parts:
                if not is_tally(after, step):
                    yield from changes(old, new, (*path, step))
            return
    if before != after:
        yield path, before, after


def is_tally(state: Any, step: str | int) -> bool:
    """Whether a field only counts what the bounds allow so often."""
    kind = kind_of(state)
    if not isinstance(step, str) or not attrs.has(kind):
        return False
    return bool(attrs.fields_dict(kind)[step].metadata.get("tally"))


def with_part(state: Any, path: Path, value: Any) -> Any:
    """The state with another value at the end of the path."""
    if not path:
        return value
    head, *rest = path
    if isinstance(head, int):
        return replaced(state, head, with_part(state[head], tuple(rest), value))
    part = with_part(getattr(state, head), tuple(rest), value)
    if attrs.has(kind_of(state)):
        return evolve(state, **{str(attrs.fields_dict(kind_of(state))[head].alias): part})
    return state._replace(**{head: part})


def pattern(path: Path) -> Pattern:
    """The path without its indexes."""
    return tuple(step for step in path if isinstance(step, str))


# -- mutants ------------------------------------------------------------------------------------


Perturbation: TypeAlias = Callable[[Any, Any], Any]
"""From the value before and the value after to a wrong value after."""

PERTURBATIONS: Mapping[str, Perturbation] = {
    "forgets {}": lambda before, after: before,
    "makes {} one more": lambda before, after: after + 1 if type(after) is int else after,
    "makes {} one less": lambda before, after: after - 1 if type(after) is int else after,
    "loses the end of {}": lambda before, after: after[:-1] if kind_of(after) is tuple else after,
    "loses a member of {}": lambda before, after: (
        after - {max(after)} if kind_of(after) is frozenset and after else after
    ),
}


@attrs.frozen
class Mutant:
    """A rule with one thing wrong."""

    rule: str
    what: str
    """What is wrong, as it reads after the rule's name."""
    make: Callable[[Rule[Any]], Rule[Any]]

    @property
    def name(self) -> str:
        """What the mutant is called, in verdicts and in `Variant.survivors`."""
        return f"{self.rule} {self.what}"

    def of(self, system: System[Any]) -> System[Any]:
        """The system with this rule broken."""
        rules = tuple(self.make(r) if r.name == self.rule else r for r in system.rules)
        return attrs.evolve(system, rules=rules)


def mutants(system: System[Any]) -> list[Mutant]:
    """Every mutant of a system, in a fixed order."""
    found: list[Mutant] = []
    guards, effects = learn(system)
    for rule in system.rules:
        found += [
            Mutant(rule.name, f"without the guard {guard!r}", dropping(guard))
            for guard in guards[rule.name]
            if not isinstance(guard, Limit)
        ]
        for (part, what), perturb in effects[rule.name].items():
            found.append(Mutant(rule.name, what, perturbing(part, perturb)))
    return found


def learn(
    system: System[Any],
) -> tuple[dict[str, list[str]], dict[str, dict[tuple[Pattern, str], Perturbation]]]:
    """The guards of each rule, and the perturbations that make a difference to its effect."""
    guards: dict[str, dict[str, None]] = {rule.name: {} for rule in system.rules}
    effects: dict[str, dict[tuple[Pattern, str], Perturbation]] = {r.name: {} for r in system.rules}
    for state in islice(reachable_states(system), SAMPLED_STATES):
        for rule in system.rules:
            for choice in rule.instances(state):
                guards[rule.name].update(dict.fromkeys(g for g, _ in rule.guards(state, choice)))
                after = rule.attempt(state, choice)
                if isinstance(after, Blocked):
                    continue
                for path, old, new in changes(state, after):
                    for template, perturb in PERTURBATIONS.items():
                        if perturb(old, new) != new:
                            what = template.format(".".join(pattern(path)) or "the state")
                            effects[rule.name][pattern(path), what] = perturb
    return {name: list(asked) for name, asked in guards.items()}, effects


def reachable_states(system: System[Any]) -> Iterator[Any]:
    """The states of a system, nearest first."""
    found = dict.fromkeys(system.initial())
    level = list(found)
    while level:
        yield from level
        following = []
        for state in level:
            for _, _, after in system.steps(state):
                if after not in found:
                    found[after] = None
                    following.append(after)
        level = following


def dropping(guard: str) -> Callable[[Rule[Any]], Rule[Any]]:
    """The rule without this guard."""
    return lambda rule: attrs.evolve(rule, ignored=frozenset({guard}))


def perturbing(part: Pattern, perturb: Perturbation) -> Callable[[Rule[Any]], Rule[Any]]:
    """The rule with this part of its effect wrong."""

    def effect(before: Any, after: Any) -> Any:
        wrong = after
        for path, old, new in changes(before, after):
            if pattern(path) == part:
                wrong = with_part(wrong, path, perturb(old, new))
        return wrong

    return lambda rule: attrs.evolve(rule, effect=effect)


# -- looking at them ------------------------------------------------------------------------------


@attrs.frozen
class Outcome:
    """What became of one mutant."""

    mutant: str
    rule: str
    fate: str
    """`killed`, `survived`, or `explained`: survived, and the model says why."""
    killed_by: str = ""
    """The property that failed, or what the mutated rule raised."""
    states: int = 0
    """The length of the counterexample."""
    bounds: Mapping[str, int] = attrs.field(factory=dict)
    """The bounds that showed it, or the largest that did not."""
    distinct: int = 0
    """How many states the mutant has there, as far as it was explored."""
    changes_graph: bool = True
    """Whether a survivor's state graph differs from the original's in size."""
    reason: str = ""
    """Why a survivor changes nothing that matters."""
    seconds: float = 0.0


@attrs.frozen
class Report:
    """All mutants of one variant."""

    model: str
    variant: str
    bounds: Sequence[Mapping[str, int]]
    mutants: int
    """How many there are to look at."""
    outcomes: Sequence[Outcome]
    """What became of those that were looked at: of all, unless the run was interrupted."""
    stale: Sequence[str]
    """Explanations of survivors that do not exist or were killed."""
    not_asked: Sequence[str]
    """Properties that fail in the unbroken rules, and so can catch nothing."""
    seconds: float
    stopped_by: str | None = None
    """What ended the run before all were looked at."""

    def having(self, fate: str) -> list[Outcome]:
        """The mutants with this fate."""
        return [o for o in self.outcomes if o.fate == fate]


def mutate(
    model: Model[Any],
    variant: Variant[Any],
    bounds: Sequence[Mapping[str, int]],
    *,
    rules: Iterable[str] = (),
    workers: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Look at every mutant of the variant (of the rules named, or of all).

    Ctrl-C ends it with what was found of those that were looked at.
    """
    started = time.perf_counter()
    run = Run(model, variant, bounds, frozenset(rules))
    outcomes: list[Outcome] = []
    stopped_by = None
    try:
        for outcome in run.outcomes(workers):
            outcomes.append(outcome)
            if on_progress:
                on_progress(len(outcomes), len(run.mutants))
    except KeyboardInterrupt:
        stopped_by = INTERRUPTED
    not_stale = {o.mutant for o in outcomes if o.fate != KILLED}
    if stopped_by:
        not_stale |= {*variant.survivors} - {o.mutant for o in outcomes}
    stale = [
        name
        for name in variant.survivors
        if name not in not_stale and (not run.only or name.split()[0] in run.only)
    ]
    return Report(
        model.name,
        variant.name,
        [settings(original.system.bounds) for original in run.originals],
        len(run.mutants),
        outcomes,
        stale,
        sorted({name for original in run.originals for name in original.fails}),
        time.perf_counter() - started,
        stopped_by,
    )


@attrs.frozen
class Original:
    """A system as it is, asked about what holds in it; and its size, to compare mutants with."""

    system: System[Any]
    distinct: int
    generated: int
    explore: Callable[[System[Any], Limits], Verdict]
    """Explores its mutants; what is learned of the rules that they share is shared."""
    fails: Sequence[str] = ()
    """The properties that it violates itself, which are not asked about."""


def explorer() -> Callable[[System[Any], Limits], Verdict]:
    """Explores systems that have the same states, with what is learned of their rules."""
    from checkers.native.search import How, Learnable, explore_by_learning

    how, learned = How(workers=1), Learnable()

    def explore(system: System[Any], limits: Limits) -> Verdict:
        return explore_by_learning(system, limits, how, learned=learned)

    return explore


class Run:
    """The mutants of one variant, with what is needed to judge them."""

    def __init__(
        self,
        model: Model[Any],
        variant: Variant[Any],
        bounds: Sequence[Mapping[str, int]],
        rules: frozenset[str],
    ) -> None:
        """Find the mutants, and count the states of the original."""
        self.model = model
        self.variant = variant
        self.only = rules
        self.originals = [self.original(b) for b in bounds]
        found: dict[str, Mutant] = {}
        for original in self.originals:
            for mutant in mutants(original.system):
                found.setdefault(mutant.name, mutant)
        self.mutants = [m for m in found.values() if not rules or m.rule in rules]

    def original(self, bounds: Mapping[str, int]) -> Original:
        """The unbroken system in these bounds, explored."""
        system = self.system(bounds)
        explore = explorer()
        verdict = explore(system, Limits(keep_going=True))
        if verdict.stopped_by == INTERRUPTED:
            raise KeyboardInterrupt
        broken = {violation.name for violation in verdict.violations}
        holds = tuple(p for p in system.properties if p.name not in broken)
        kept = attrs.evolve(system, properties=holds)
        return Original(kept, verdict.distinct, verdict.generated, explore, sorted(broken))

    def system(self, bounds: Mapping[str, int]) -> System[Any]:
        """The variant in these bounds, asked about everything its model states."""
        return self.model.system(self.variant.name, bounds).with_sanity()

    def outcomes(self, workers: int) -> Iterator[Outcome]:
        """Judge the mutants, in their order."""
        if workers < 2:
            yield from map(self.judge, self.mutants)
            return
        fork = multiprocessing.get_context("fork")  # rules are functions, and cannot be sent
        global _run
        _run = self
        with fork.Pool(workers, initializer=_leave_interrupts_to_the_parent) as pool:
            yield from pool.imap(_judge, range(len(self.mutants)))

    def judge(self, mutant: Mutant) -> Outcome:
        """Explore the mutant in one set of bounds after the other, until one shows it."""
        started = time.perf_counter()
        originals: Iterable[Original] = self.originals
        if mutant.name in self.variant.seen_only_in:
            bounds = self.variant.seen_only_in[mutant.name]
            originals = [Original(self.system(bounds), 0, 0, explorer())]
        outcome = Outcome(mutant.name, mutant.rule, SURVIVED, changes_graph=False)
        for original in originals:
            outcome = self.explored(mutant, original, outcome)
            if outcome.fate == KILLED:
                break
        if outcome.fate == SURVIVED and mutant.name in self.variant.survivors:
            reason = self.variant.survivors[mutant.name]
            outcome = attrs.evolve(outcome, fate=EXPLAINED, reason=reason)
        return attrs.evolve(outcome, seconds=time.perf_counter() - started)

    def explored(self, mutant: Mutant, original: Original, so_far: Outcome) -> Outcome:
        """What the mutant does in the bounds of this original."""
        outcome = attrs.evolve(so_far, bounds=settings(original.system.bounds))
        most = GIVE_UP_AT * original.distinct or None
        try:
            verdict = original.explore(mutant.of(original.system), Limits(max_states=most))
        except RuleFailed as error:
            return attrs.evolve(
                outcome, fate=KILLED, killed_by=str(error), states=len(error.trace.states)
            )
        if verdict.stopped_by == INTERRUPTED:
            raise KeyboardInterrupt
        if verdict.violations:
            caught = verdict.violations[0]
            return attrs.evolve(outcome, fate=KILLED, killed_by=caught.name, states=caught.states)
        same = (verdict.distinct, verdict.generated) == (original.distinct, original.generated)
        return attrs.evolve(
            outcome,
            distinct=verdict.distinct,
            changes_graph=so_far.changes_graph or not same,
            reason=f"given up at {verdict.stopped_by}" if verdict.stopped_by else "",
        )


_run: Run


def _leave_interrupts_to_the_parent() -> None:
    """Ctrl-C reaches every process; the one that waits for all ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _judge(index: int) -> Outcome:
    """Judge one mutant in a process of its own."""
    return _run.judge(_run.mutants[index])
