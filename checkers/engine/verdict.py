"""The verdict: the result of every engine, in one record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from kspec.spec.core import Always, Liveness, Reachable, System, Taken, Violated
from kspec.spec.core.properties import HERE
from kspec.traces.trace import Trace, settings

HOLDS, VIOLATED, SAMPLED, INCONCLUSIVE = "holds", "violated", "sampled", "inconclusive"

BOUNDS = "the bounds"
"""The reason of a run that explored every state, and in which limits cut a behaviour off."""

DEADLOCK = "deadlock"
"""The name of a deadlock among the violations."""
DEADLOCK_SAYS = "Deadlock: no rule is enabled, and the state is not final"


def fails(name: str, where: str) -> str:
    """A sentence that a property fails, and where."""
    if where in ("", HERE):
        return f"{name} fails {where}".rstrip()
    return f"{name} fails at {where}"


EXIT_OK, EXIT_USAGE, EXIT_REJECTED, EXIT_INCONCLUSIVE = 0, 2, 3, 4
EXIT_DEADLOCK, EXIT_ALWAYS, EXIT_LEADS_TO, EXIT_BAD_INPUT = 11, 12, 13, 151


@attrs.frozen
class Violation:
    """A property that does not hold, and its shortest counterexample."""

    name: str
    """The property's name, or `deadlock`."""
    exit_code: int
    """The exit code of the command."""
    says: str
    """What is wrong, in a sentence."""
    trace: Trace | None = None
    """The counterexample; None for a reachability property without a witness."""

    @property
    def states(self) -> int:
        """The number of states in the counterexample."""
        return len(self.trace.states) if self.trace else 0


def not_shown(name: str) -> Violation:
    """The violation of a reachability property without a witness."""
    return Violation(name, EXIT_ALWAYS, f"no state within these bounds shows {name}")


@attrs.frozen
class RuleCount:
    """How often a rule was enabled, and which guards blocked it."""

    fired: int
    """The number of enabled instances in all states."""
    new: int | None = None
    """The number of states that it was the first to reach, if counted."""
    stopped_by: Mapping[str, int] = attrs.field(factory=dict)
    """How often each guard was the first to fail, if counted."""


@attrs.frozen
class LivenessCount:
    """What a run says of a liveness property."""

    property: str
    verdict: str
    """`holds`, `violated`, or `inconclusive`, where limits cut a behaviour off."""
    states: int
    """The states in which a violating behaviour could stay; every one was judged."""
    cut_off: int
    """Of these, the states in which a fair behaviour stops, or goes round, only because of limits:
    beyond the bounds it might satisfy the property, or not."""


@attrs.frozen
class Verdict:
    """The result of an engine."""

    system: System[Any]
    engine: str
    verdict: str
    """`holds` in every state within the bounds, `violated`, `sampled` (walks found nothing),
    or `inconclusive`."""
    stopped_by: str = ""
    """The limit that ended an inconclusive run."""
    complete: bool = False
    """Whether every state within the bounds was expanded."""
    distinct: int = 0
    """The number of states found."""
    generated: int = 0
    """Enabled instances of rules in the states that were expanded, and the initial states."""
    depth: int = 0
    """States on the longest of the shortest paths; the initial state alone is 1."""
    levels: Sequence[int] = ()
    """The number of states at each depth."""
    rules: Mapping[str, RuleCount] = attrs.field(factory=dict)
    violations: Sequence[Violation] = ()
    witnesses: Mapping[str, Trace] = attrs.field(factory=dict)
    """For each reachability property, the shortest behaviour to a witness."""
    liveness: Sequence[LivenessCount] = ()
    """For each liveness property, what was judged."""
    edge_of_bounds: int | None = 0
    """States in which every rule is blocked by limits alone, if counted."""
    seed: int | None = None
    seconds: Mapping[str, float] = attrs.field(factory=dict)
    """`explore` is the exploration alone; an engine may add other entries."""
    bytes_per_state: int = 0
    """The peak resident memory that exploration added, divided by the states found."""
    workers: int = 1
    """The number of workers."""
    stands_for: int | None = None
    """Up to symmetry, `distinct` counts orbits and this is the number of states in them. None
    without symmetry."""
    statistics: Mapping[str, Any] = attrs.field(factory=dict)
    """Other statistics of the engine."""

    @property
    def exit_code(self) -> int:
        """The exit code of the command; the first violation decides."""
        if self.violations:
            return self.violations[0].exit_code
        return EXIT_INCONCLUSIVE if self.verdict == INCONCLUSIVE else EXIT_OK

    @property
    def states_per_second(self) -> int:
        """Distinct states per second of exploration."""
        seconds = self.seconds.get("explore", 0.0)
        return round(self.distinct / seconds) if seconds else 0

    @property
    def silent_rules(self) -> list[str]:
        """Rules that were never enabled."""
        return [name for name, count in self.rules.items() if not count.fired]

    @property
    def expected(self) -> dict[str, Violated]:
        """The violations that the variant is known for and that this run did not find: it has
        other bounds, did not check the property, or did not explore every state.
        """
        if self.violations:
            return {}
        model = self.system.model
        defaults = {bound.name: bound.default for bound in model.bound_ranges()}
        asked = {DEADLOCK, *(p.name for p in self.system.properties)}
        return {
            name: violated
            for name, violated in self.system.variant.violates.items()
            if self.verdict != HOLDS
            or name not in asked
            or defaults | dict(violated.bounds) != settings(self.system.bounds)
        }

    def to_json(self, total_seconds: float) -> dict[str, Any]:
        """The record that `--json` prints."""
        return {
            "model": self.system.model.name,
            "variant": self.system.variant.name,
            "bounds": dict(settings(self.system.bounds)),
            "properties": [p.name for p in self.system.properties],
            "engine": self.engine,
            "verdict": self.verdict,
            "stopped_by": self.stopped_by or None,
            "distinct": self.distinct,
            "generated": self.generated,
            "depth": self.depth,
            "levels": list(self.levels),
            "violations": [
                {
                    "property": v.name,
                    "states": v.states,
                    "says": v.says,
                    "steps": steps_to_json(v.trace.steps if v.trace else ()),
                    "loop": v.trace.loop if v.trace else None,
                }
                for v in self.violations
            ],
            "expected": [
                {"property": name, "states": violated.states, "bounds": dict(violated.bounds)}
                for name, violated in self.expected.items()
            ],
            "witnesses": {name: len(trace.states) for name, trace in self.witnesses.items()},
            "rules": {name: attrs.asdict(count) for name, count in self.rules.items()},
            "silent_rules": self.silent_rules,
            "liveness": [attrs.asdict(count) for count in self.liveness],
            "edge_of_bounds": self.edge_of_bounds,
            "symmetry": self.stands_for is not None,
            "stands_for": self.stands_for,
            "not_modelled": list(self.system.model.not_modelled),
            "not_checked": [prop.name for prop in self.system.too_small_for()],
            "seed": self.seed,
            "workers": self.workers,
            "seconds": {"total": round(total_seconds, 3)}
            | {name: round(spent, 3) for name, spent in self.seconds.items()},
            "states_per_second": self.states_per_second,
            "bytes_per_state": self.bytes_per_state,
            **({"statistics": dict(self.statistics)} if self.statistics else {}),
        }


def steps_to_json(steps: Iterable[Taken]) -> list[dict[str, Any]]:
    """The rules of some steps, with their choices."""
    from kspec.traces.story import choice_texts

    return [{"rule": step.rule, "choices": choice_texts(step.choices)} for step in steps]


def conclude(
    *, violations: Sequence[Violation], stopped_by: str, otherwise: str = HOLDS
) -> tuple[str, list[Violation]]:
    """The outcome, and the violations, shortest first."""
    ordered = sorted(violations, key=lambda v: v.states or 10**9)
    if ordered:
        return VIOLATED, ordered
    return (INCONCLUSIVE if stopped_by else otherwise), ordered


def kinds(
    system: System[Any],
) -> tuple[list[Always[Any]], list[Reachable[Any]], list[Liveness[Any]]]:
    """The checked properties, by kind."""
    return (
        [p for p in system.properties if isinstance(p, Always)],
        [p for p in system.properties if isinstance(p, Reachable)],
        [p for p in system.properties if isinstance(p, Liveness)],
    )
