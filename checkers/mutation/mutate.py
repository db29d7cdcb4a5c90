"""Mutation testing: break each rule in turn, and check whether a property fails.

A mutant lacks a guard, or its effect leaves a field as it was or gets a number wrong by one. A
property that fails kills the mutant. A mutant that survives is either equivalent, for a reason
that the model's baseline gives (`Baseline.equivalent`), or a property is missing.

Mutants are explored in the bounds of the model's baseline, the smallest first, until a property
fails. All mutants share what is learned of the rules: each differs from the others in one rule.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

import attrs

from kspec.checkers.engine.interrupt import processes
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.learned.standins import differing, is_standin, kind_of
from kspec.checkers.engine.learned.steps import StepsByLearning
from kspec.checkers.engine.options import INTERRUPTED, Options
from kspec.checkers.engine.search import RuleFailed
from kspec.checkers.engine.steps import level_by_level
from kspec.checkers.engine.verdict import BOUNDS, Verdict
from kspec.checkers.mutation.equivalent import equivalent_mutants
from kspec.spec.core import (
    Blocked,
    Limit,
    Model,
    Rule,
    SpecError,
    System,
    Variant,
    evolve,
    replaced,
)
from kspec.spec.core.sets import key_of
from kspec.traces.trace import settings

Path: TypeAlias = tuple[str | int, ...]
"""The way to a part of a state: names of fields, and indexes."""
Pattern: TypeAlias = tuple[str, ...]
"""A path without its indexes: the same field of every broker."""

SAMPLED_STATES = 5000
"""How many states are sampled to find the guards of each rule, and the fields that it changes."""
GIVE_UP_AT = 4
"""The exploration of a mutant ends at this multiple of the original's states. The mutant has
then survived."""

KILLED, SURVIVED, EQUIVALENT = "killed", "survived", "equivalent"


# -- what changes in a state ------------------------------------------------------------------


def changes(before: Any, after: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """The smallest parts in which two states differ, with their old and new values.

    Tallies are left out: only limits read them.
    """
    reads_all = is_standin(after) and kind_of(after) is not frozenset
    if before is after or (not reads_all and before == after):
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
        after - {max(after, key=key_of)} if kind_of(after) is frozenset and after else after
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
        """What the mutant is called, in verdicts and in `Baseline.equivalent`."""
        return f"{self.rule} {self.what}"

    def of(self, system: System[Any]) -> System[Any]:
        """The system with this rule broken."""
        rules = tuple(self.make(r) if r.name == self.rule else r for r in system.rules)
        return attrs.evolve(system, rules=rules)


def mutants(system: System[Any], learned: Learnable | None = None) -> list[Mutant]:
    """The mutants of a system, in a fixed order: those that differ in some state of the sample."""
    found: list[Mutant] = []
    source = StepsByLearning(system, learned)
    states = (source.state(number) for level in level_by_level(source) for number in level)
    guards, effects = guards_and_effects(system, islice(states, SAMPLED_STATES))
    for rule in system.rules:
        found += [
            Mutant(rule.name, f"without the guard {guard!r}", dropping(guard))
            for guard in guards[rule.name]
            if not isinstance(guard, Limit)
        ]
        for (part, what), perturb in effects[rule.name].items():
            found.append(Mutant(rule.name, what, perturbing(part, perturb)))
    return found


def guards_and_effects(
    system: System[Any], states: Iterable[Any]
) -> tuple[dict[str, list[str]], dict[str, dict[tuple[Pattern, str], Perturbation]]]:
    """The guards of each rule, and the perturbations that make a difference to its effect."""
    guards: dict[str, dict[str, None]] = {rule.name: {} for rule in system.rules}
    effects: dict[str, dict[tuple[Pattern, str], Perturbation]] = {r.name: {} for r in system.rules}
    for state in states:
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


# -- exploring them -------------------------------------------------------------------------------


@attrs.frozen
class Outcome:
    """What became of one mutant."""

    mutant: str
    rule: str
    fate: str
    """`killed`, `survived`, or `equivalent`: survived, with a reason in the model's baseline."""
    killed_by: str = ""
    """The property that failed, or what the mutated rule raised."""
    states: int = 0
    """The length of the counterexample."""
    bounds: Mapping[str, int] = attrs.field(factory=dict)
    """The bounds that killed it, or the largest that did not."""
    distinct: int = 0
    """How many states the mutant has there, as far as it was explored."""
    changes_graph: bool = True
    """Whether the size of a survivor's state graph differs from that of the original."""
    reason: str = ""
    """Why it is equivalent, or why its exploration ended early."""
    seconds: float = 0.0


@attrs.frozen
class Report:
    """All mutants of one variant."""

    model: str
    variant: str
    bounds: Sequence[Mapping[str, int]]
    mutants: int
    """How many there are."""
    outcomes: Sequence[Outcome]
    """The outcome of those that were explored: of all, unless the run was interrupted."""
    stale: Sequence[str]
    """Equivalent mutants of the baseline that do not exist or were killed."""
    not_asked: Sequence[str]
    """Properties that fail without any mutation, and so can kill no mutant."""
    seconds: float
    stopped_by: str | None = None
    """What ended the run before all were explored."""

    def having(self, fate: str) -> list[Outcome]:
        """The mutants with this fate."""
        return [o for o in self.outcomes if o.fate == fate]

    @property
    def score(self) -> float | None:
        """The mutation score: the share of mutants killed, of those that are not equivalent."""
        killed, survived = len(self.having(KILLED)), len(self.having(SURVIVED))
        return killed / (killed + survived) if killed + survived else None


def mutate(
    model: Model[Any],
    variant: Variant[Any],
    bounds: Sequence[Mapping[str, int]],
    *,
    rules: Iterable[str] = (),
    workers: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Explore every mutant of the variant, or those of the named rules.

    Ctrl-C ends the run with the mutants that were explored.
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
        not_stale |= {*run.equivalent} - {o.mutant for o in outcomes}
    stale = [
        name
        for name in run.equivalent
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
    """A system without mutation, with the properties that hold in it, and its size."""

    system: System[Any]
    distinct: int
    generated: int
    learned: Learnable
    """What is learned of its rules, and of those of its mutants."""
    fails: Sequence[str] = ()
    """The properties that it violates itself, which its mutants are not checked for."""


def explore(system: System[Any], options: Options, learned: Learnable) -> Verdict:
    """Explore a system or a mutant of it. Mutants run in parallel, so each has one worker."""
    return explore_by_learning(system, attrs.evolve(options, workers=1), learned)


class Run:
    """The mutants of one variant, and the originals to compare them with."""

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
        self.equivalent = equivalent_mutants(model, variant)
        self.bounds_for = model.baseline.bounds_for.get(variant.name, {})
        self.only = rules
        self.originals = [self.original(b) for b in bounds]
        fails = sorted({name for original in self.originals for name in original.fails})
        if fails and not any(original.system.properties for original in self.originals):
            raise SpecError(
                f"no property is left to kill a mutant: {', '.join(fails)} "
                f"{'fails' if len(fails) == 1 else 'fail'} without any mutation; repair "
                f"{model.name}, or choose another variant"
            )
        found: dict[str, Mutant] = {}
        for original in self.originals:
            for mutant in mutants(original.system, original.learned):
                found.setdefault(mutant.name, mutant)
        self.mutants = [m for m in found.values() if not rules or m.rule in rules]

    def original(self, bounds: Mapping[str, int]) -> Original:
        """The system without mutation in these bounds, explored."""
        system, learned = self.system(bounds), Learnable()
        verdict = explore(system, Options(keep_going=True), learned)
        if verdict.stopped_by == INTERRUPTED:
            raise KeyboardInterrupt
        if verdict.stopped_by not in ("", BOUNDS):
            raise SpecError(
                f"the exploration of {system.model.name} stopped early ({verdict.stopped_by}): "
                "choose smaller bounds"
            )
        broken = {violation.name for violation in verdict.violations}
        holds = tuple(p for p in system.properties if p.name not in broken)
        kept = attrs.evolve(system, properties=holds)
        return Original(kept, verdict.distinct, verdict.generated, learned, sorted(broken))

    def system(self, bounds: Mapping[str, int]) -> System[Any]:
        """The variant in these bounds, with all properties that its mutants are checked for."""
        system = self.model.system(self.variant.name, bounds).with_all_properties()
        left_out = self.model.baseline.left_out
        checked = tuple(p for p in system.properties if p not in left_out)
        return attrs.evolve(system, properties=checked)

    def outcomes(self, workers: int) -> Iterator[Outcome]:
        """Judge the mutants, in their order."""
        if workers < 2:
            yield from map(self.judge, self.mutants)
            return
        global _run  # noqa: PLW0603 (what is forked finds it there)
        _run = self
        with processes(workers) as pool:
            yield from pool.imap(_judge, range(len(self.mutants)))

    def judge(self, mutant: Mutant) -> Outcome:
        """Explore the mutant in one set of bounds after the other, until one kills it."""
        started = time.perf_counter()
        originals: Iterable[Original] = self.originals
        bounds = self.bounds_for.get(mutant.name)
        if bounds is not None:
            originals = [Original(self.system(bounds), 0, 0, Learnable())]
        outcome = Outcome(mutant.name, mutant.rule, SURVIVED, changes_graph=False)
        for original in originals:
            outcome = self.explored(mutant, original, outcome)
            if outcome.fate == KILLED:
                break
        if outcome.fate == SURVIVED and mutant.name in self.equivalent:
            reason = self.equivalent[mutant.name]
            outcome = attrs.evolve(outcome, fate=EQUIVALENT, reason=reason)
        return attrs.evolve(outcome, seconds=time.perf_counter() - started)

    def explored(self, mutant: Mutant, original: Original, so_far: Outcome) -> Outcome:
        """What the mutant does in the bounds of this original."""
        outcome = attrs.evolve(so_far, bounds=settings(original.system.bounds))
        most = GIVE_UP_AT * original.distinct or None
        try:
            options = Options(max_states=most)
            verdict = explore(mutant.of(original.system), options, original.learned)
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
            reason=f"stopped at {verdict.stopped_by}" if verdict.stopped_by else "",
        )


_run: Run


def _judge(index: int) -> Outcome:
    """Judge one mutant in a process of its own."""
    return _run.judge(_run.mutants[index])
