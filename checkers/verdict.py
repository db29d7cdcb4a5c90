"""The verdict: what every engine answers, in one record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from spec.core import Always, LeadsTo, Reachable, System, Violated
from traces.trace import Trace, settings

HOLDS, VIOLATED, SAMPLED, INCONCLUSIVE = "holds", "violated", "sampled", "inconclusive"

DEADLOCK = "deadlock"
"""The name under which a deadlock stands among the violations."""
DEADLOCK_SAYS = "A deadlock: no rule can be taken, and this is no end"


def fails(name: str, where: str) -> str:
    """That a property fails, and where, in a sentence."""
    if where in ("", "here"):
        return f"{name} fails" + (" here" if where else "")
    return f"{name} fails at {where}"


EXIT_OK, EXIT_USAGE, EXIT_REJECTED, EXIT_INCONCLUSIVE = 0, 2, 3, 4
EXIT_DEADLOCK, EXIT_ALWAYS, EXIT_LEADS_TO, EXIT_BAD_INPUT = 11, 12, 13, 151


@attrs.frozen
class Violation:
    """A property that does not hold, and the shortest behaviour that shows it."""

    name: str
    """The property's name, or `deadlock`."""
    exit_code: int
    """What it ends the command with."""
    says: str
    """What is wrong, in a sentence."""
    trace: Trace | None = None
    """The counterexample. A property that some state should show has none."""

    @property
    def states(self) -> int:
        """How many states the counterexample has."""
        return len(self.trace.states) if self.trace else 0


def not_shown(name: str) -> Violation:
    """What some state should show, and none does."""
    return Violation(name, EXIT_ALWAYS, f"no state within these bounds shows {name}")


@attrs.frozen
class RuleCount:
    """How often a rule happened, and what stopped it otherwise."""

    fired: int
    """In how many states, each choice counted, it could be taken."""
    new: int | None = None
    """How many states it was the first to reach, if the engine counts that."""
    stopped_by: Mapping[str, int] = attrs.field(factory=dict)
    """For each of its guards, how often that was the first not to hold, if counted."""


@attrs.frozen
class Verdict:
    """What an engine found out."""

    system: System[Any]
    engine: str
    verdict: str
    """`holds` in every state within the bounds, `violated`, `sampled` (walks found nothing),
    or `inconclusive`."""
    stopped_by: str = ""
    """The limit that ended an inconclusive run."""
    distinct: int = 0
    """States found."""
    generated: int = 0
    """Enabled instances of rules in the states that were expanded, and the initial states."""
    depth: int = 0
    """States on the longest of the shortest paths; the initial state alone is 1."""
    levels: Sequence[int] = ()
    """How many states lie at each depth."""
    rules: Mapping[str, RuleCount] = attrs.field(factory=dict)
    violations: Sequence[Violation] = ()
    witnesses: Mapping[str, Trace] = attrs.field(factory=dict)
    """For each property that some state should show, the shortest way to one."""
    edge_of_bounds: int | None = 0
    """States in which limits alone stop every rule, if the engine counts them."""
    seed: int | None = None
    seconds: Mapping[str, float] = attrs.field(factory=dict)
    """`explore`: the exploration alone; an engine may add what it spent elsewhere."""
    bytes_per_state: int = 0
    """The resident memory at its peak, as far as the exploration took it, by the states found."""
    workers: int = 1
    """How many cores worked on it."""
    stands_for: int | None = None
    """Up to symmetry `distinct` counts orbits: this is how many states they have. None where
    each state was explored for itself."""
    statistics: Mapping[str, Any] = attrs.field(factory=dict)
    """What else an engine counts."""

    @property
    def exit_code(self) -> int:
        """What the command ends with: the first violation decides."""
        if self.violations:
            return self.violations[0].exit_code
        return EXIT_INCONCLUSIVE if self.verdict == INCONCLUSIVE else EXIT_OK

    @property
    def states_per_second(self) -> int:
        """Distinct states by seconds of exploration."""
        seconds = self.seconds.get("explore", 0.0)
        return round(self.distinct / seconds) if seconds else 0

    @property
    def silent_rules(self) -> list[str]:
        """Rules that never happened."""
        return [name for name, count in self.rules.items() if not count.fired]

    @property
    def expected(self) -> dict[str, Violated]:
        """What the variant is known to violate, where nothing was: it takes other bounds, or was
        not asked about, or not every state was looked at.
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
                    "steps": steps_to_json(v.trace),
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
            "edge_of_bounds": self.edge_of_bounds,
            "symmetry": self.stands_for is not None,
            "stands_for": self.stands_for,
            "seed": self.seed,
            "workers": self.workers,
            "seconds": {"total": round(total_seconds, 3)}
            | {name: round(spent, 3) for name, spent in self.seconds.items()},
            "states_per_second": self.states_per_second,
            "bytes_per_state": self.bytes_per_state,
            **({"statistics": dict(self.statistics)} if self.statistics else {}),
        }


def steps_to_json(trace: Trace | None) -> list[dict[str, Any]]:
    """The rules that a trace takes, with their choices."""
    from traces.story import choice_text

    return [
        {"rule": s.rule, "choices": {k: choice_text(v) for k, v in s.choices.items()}}
        for s in (trace.steps if trace else ())
    ]


def conclude(
    *, violations: Sequence[Violation], stopped_by: str, otherwise: str = HOLDS
) -> tuple[str, list[Violation]]:
    """The word for the outcome, and the violations in the order in which they are told."""
    ordered = sorted(violations, key=lambda v: v.states or 10**9)
    if ordered:
        return VIOLATED, ordered
    return (INCONCLUSIVE if stopped_by else otherwise), ordered


def kinds(
    system: System[Any],
) -> tuple[list[Always[Any]], list[Reachable[Any]], list[LeadsTo[Any]]]:
    """The properties that are asked about, by kind."""
    return (
        [p for p in system.properties if isinstance(p, Always)],
        [p for p in system.properties if isinstance(p, Reachable)],
        [p for p in system.properties if isinstance(p, LeadsTo)],
    )
