"""Which guard of the specification decides a request, and which source of Kafka it follows."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kspec.field.conform.history import Ask, RecordsRequest
from kspec.field.conform.worlds import EXISTING, World
from kspec.spec.core import Decision
from kspec.spec.core import decide as run
from kspec.spec.serving.requests import handler_of


def decide(world: World, ask: Ask) -> Decision[Any]:
    """How the specification decides this request in this world."""
    request = ask.request
    if isinstance(request, RecordsRequest):
        return run(handler_of(world.partition, request, ask.number))
    decision = world.handle(ask, request, ask.symbol, EXISTING).decision
    assert decision is not None, "each request is decided"
    return decision


# -- coverage ---------------------------------------------------------------------------------


class Coverage:
    """Which guards a broker was seen to pass and to fail, by kind of request."""

    def __init__(self) -> None:
        self.passed: Counter[tuple[str, str]] = Counter()
        self.failed: Counter[tuple[str, str]] = Counter()
        self.edges: Counter[tuple[str, str, str]] = Counter()

    def add(self, world: World, ask: Ask) -> None:
        """Count the guards of a request that was answered as in this world."""
        kind = type(ask.request).__name__
        decision = decide(world, ask)
        for check in decision.checks:
            (self.passed if check.holds else self.failed)[kind, check.guard] += 1
        self.edges[edge_of(world, ask, decision)] += 1

    def update(self, other: Coverage) -> None:
        """Add what another run has seen."""
        self.passed.update(other.passed)
        self.failed.update(other.failed)
        self.edges.update(other.edges)

    def rows(self) -> list[tuple[str, str, int, int]]:
        """Kind of request, guard, how often it was seen enabled and blocked."""
        return [
            (kind, guard, self.passed[kind, guard], self.failed[kind, guard])
            for kind, guard in sorted({*self.passed, *self.failed})
        ]


def edge_of(world: World, ask: Ask, decision: Decision[Any]) -> tuple[str, str, str]:
    """The group's state, the kind of request and the deciding guard."""
    return world.group.state.value, type(ask.request).__name__, decision.guard
