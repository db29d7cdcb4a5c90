"""Reachability: every fault that the bounds allow occurs in some behaviour."""

from __future__ import annotations

from kspec.spec.core import reachable_within
from kspec.spec.group.state import Phase, World


@reachable_within(lambda b: b.crashes > 0)
def CrashedConsumerRestarts(s: World) -> bool:
    """A consumer that crashed runs again."""
    return s.faults.crashes > 0 and all(c.is_running for c in s.consumers)


@reachable_within(lambda b: b.stalls > 0)
def ConsumerStalls(s: World) -> bool:
    """A consumer does not poll."""
    return not all(c.polls for c in s.consumers)


@reachable_within(lambda b: b.stalls > 0)
def StalledConsumerResumes(s: World) -> bool:
    """A consumer that did not poll polls again."""
    return s.faults.stalls > 0 and all(c.polls for c in s.consumers)


@reachable_within(lambda b: b.leaves > 0)
def ConsumerCloses(s: World) -> bool:
    """A consumer is closed."""
    return any(c.phase is Phase.CLOSED for c in s.consumers)


@reachable_within(lambda b: b.losses > 0)
def ConsumerWaitsForLostMessage(s: World) -> bool:
    """A consumer awaits a response, and nothing is in flight."""
    return any(
        c.phase is Phase.JOINING and c.in_flight is None and not s.is_parked(n)
        for n, c in enumerate(s.consumers)
    )


@reachable_within(lambda b: b.growths > 0)
def TopicGrows(s: World) -> bool:
    """The topic has another partition."""
    return s.partitions > s.bounds.partitions


@reachable_within(lambda b: b.failovers > 0)
def GroupMoves(s: World) -> bool:
    """Another coordinator has the group."""
    return s.coordinator > 0


@reachable_within(lambda b: b.crashes + b.early + b.leaves > 0)
def AbandonedRequestIsInFlight(s: World) -> bool:
    """A request is in flight whose sender no longer awaits the response."""
    return any(c.abandoned is not None for c in s.consumers)


@reachable_within(lambda b: b.consumers > 1 and b.generations > 1)
def InitialDelayMayBeExtended(s: World) -> bool:
    """Another member has joined before the initial delay is over."""
    return s.group.new_member_added and s.group.remaining_delay > 0


WITNESSES = (
    CrashedConsumerRestarts,
    ConsumerStalls,
    StalledConsumerResumes,
    ConsumerCloses,
    ConsumerWaitsForLostMessage,
    TopicGrows,
    GroupMoves,
    AbandonedRequestIsInFlight,
    InitialDelayMayBeExtended,
)
