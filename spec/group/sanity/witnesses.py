"""What happens at all in the model: each thing that may go wrong does so in some behaviour."""

from __future__ import annotations

from spec.core import reachable_within
from spec.group.world import Phase, World


@reachable_within(lambda b: b.crashes > 0)
def SomebodyComesBack(s: World) -> bool:
    """A consumer that crashed runs again."""
    return s.faults.crashes > 0 and all(c.runs for c in s.consumers)


@reachable_within(lambda b: b.stalls > 0)
def SomebodyStalls(s: World) -> bool:
    """A consumer does not poll."""
    return not all(c.polls for c in s.consumers)


@reachable_within(lambda b: b.stalls > 0)
def SomebodyPollsAgain(s: World) -> bool:
    """A consumer that did not poll does so again."""
    return s.faults.stalls > 0 and all(c.polls for c in s.consumers)


@reachable_within(lambda b: b.leaves > 0)
def SomebodyLeaves(s: World) -> bool:
    """A consumer is closed."""
    return any(c.phase is Phase.CLOSED for c in s.consumers)


@reachable_within(lambda b: b.losses > 0)
def SomebodyWaitsInVain(s: World) -> bool:
    """A consumer waits, and nothing is on its way."""
    return any(
        c.phase is Phase.JOINING and c.call is None and not s.waits_at_coordinator(n)
        for n, c in enumerate(s.consumers)
    )


@reachable_within(lambda b: b.growths > 0)
def TheTopicGrows(s: World) -> bool:
    """There is another partition."""
    return s.partitions > s.bounds.partitions


@reachable_within(lambda b: b.failovers > 0)
def TheGroupMoves(s: World) -> bool:
    """Another coordinator has the group."""
    return s.coordinator > 0


@reachable_within(lambda b: b.crashes + b.early + b.leaves > 0)
def SomethingArrivesLate(s: World) -> bool:
    """A request is on its way that its sender has given up on."""
    return any(c.late is not None for c in s.consumers)


@reachable_within(lambda b: b.consumers > 1 and b.generations > 1)
def TheDelayMayBeExtended(s: World) -> bool:
    """Another member has joined before the initial delay is over."""
    return s.group.joined_meanwhile and s.group.delay_left > 0


WITNESSES = (
    SomebodyComesBack,
    SomebodyStalls,
    SomebodyPollsAgain,
    SomebodyLeaves,
    SomebodyWaitsInVain,
    TheTopicGrows,
    TheGroupMoves,
    SomethingArrivesLate,
    TheDelayMayBeExtended,
)
