"""Which guard of the specification decides a request, and which source of Kafka it follows."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

import attrs

from kspec.field.conform.history import Ask, DeleteGroup, OffsetDelete, RecordsRequest
from kspec.field.conform.worlds import World, exists
from kspec.spec.coordinator import Group
from kspec.spec.coordinator.admin import refuse_deletion, refuse_offset_deletion
from kspec.spec.coordinator.membership import session_timeout_is_valid
from kspec.spec.coordinator.requests import handler_of, validate_fields, validate_group
from kspec.spec.core import Checked, evolve
from kspec.spec.core import decide as handled
from kspec.spec.core.checks import source_of
from kspec.spec.messages import (
    NO_MEMBER_ID,
    Error,
    GroupState,
    JoinGroup,
    OffsetCommit,
    OffsetFetch,
    SyncGroup,
)
from kspec.spec.serving.requests import handler_of as records_handler

ACCEPTED = "all guards hold"
"""What is said of a request that is accepted."""

Checks: TypeAlias = tuple[tuple[str, bool], ...]
"""Guards that were evaluated, and whether they held."""


@attrs.frozen
class Decision:
    """How the specification decides a request."""

    checks: Checks
    """Each guard that was evaluated, and whether it held."""
    source: str
    """The class and method of Kafka that the deciding guard, or the effect, follows."""

    @property
    def guard(self) -> str:
        """The guard that fails, or that all hold."""
        return next((guard for guard, holds in self.checks if not holds), ACCEPTED)


def decide(world: World, ask: Ask) -> Decision:
    """How the specification decides this request in this world."""
    request, group = ask.request, world.group
    if isinstance(request, RecordsRequest):
        return Decision(*follow(records_handler(world.partition, request, ask.number)))
    unknown = group.state is GroupState.DEAD
    if isinstance(request, OffsetFetch):
        return Decision((), "OffsetMetadataManager.fetchOffsets")
    if isinstance(request, DeleteGroup | OffsetDelete):
        deletes_group = isinstance(request, DeleteGroup)
        refusal = refuse_deletion if deletes_group else refuse_offset_deletion
        checks: Checks = (("group exists", not unknown),)
        if not unknown:
            name = "group is empty" if deletes_group else "group is empty or of consumers"
            checks += ((name, refusal(group) is Error.NONE),)
        return Decision(checks, source_of(refusal.__code__))
    if isinstance(request, SyncGroup) and request.lacks_protocol:
        named: Checks = (("protocol type and name are given", False),)
        return Decision(named, source_of(validate_fields.__code__))
    if isinstance(request, OffsetCommit):
        seen = tuple(pair for pair in request.offsets if exists(pair[0]))
        if not seen:
            return Decision((("partition exists", False),), "KafkaApis.handleOffsetCommitRequest")
        request = evolve(request, offsets=seen)
    first: Checks = ()
    if unknown:
        group = Group(settings=group.settings)
        if isinstance(request, JoinGroup):
            valid = session_timeout_is_valid(group, request)
            first = (("session timeout is within limits", valid),)
            if valid:
                first += (("group exists", False),)
            creates = valid and request.member == NO_MEMBER_ID
        else:
            first = (("group exists", False),)
            creates = isinstance(request, OffsetCommit) and request.generation < 0
        if not creates:
            return Decision(first, source_of(validate_group.__code__))
        first = ()
    further, source = follow(handler_of(group, ask, request, ask.symbol))
    return Decision((*first, *further), source)


def follow(handler: Checked[Any]) -> tuple[Checks, str]:
    """The checks of a handler up to the first that fails, and the source of the last one."""
    decision = handled(handler)
    return tuple((check.guard, check.holds) for check in decision.checks), decision.source


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
        for guard, holds in decision.checks:
            (self.passed if holds else self.failed)[kind, guard] += 1
        self.edges[self.edge(world, ask)] += 1

    @staticmethod
    def edge(world: World, ask: Ask) -> tuple[str, str, str]:
        """The group's state, the kind of request and the deciding guard."""
        guard = decide(world, ask).guard
        return world.group.state.value, type(ask.request).__name__, guard

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
