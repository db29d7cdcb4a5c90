"""That a group settles, once nothing more goes wrong; and how it did not, before KAFKA-12890."""

from __future__ import annotations

from spec.core import leads_to
from spec.group import consuming, cooperative, coordinating
from spec.group.properties import owners
from spec.group.world import Phase, World
from spec.messages import NOBODY, GroupState


def all_are_read(s: World) -> bool:
    """Whether each partition has an owner, or one that stalls is still to let go of it."""
    somebody_stalls = any(c.runs and not c.polls for c in s.consumers)
    return somebody_stalls or all(owners(s, p) for p in range(s.bounds.partitions))


def is_settled(s: World) -> bool:
    """Whether all who poll read in the current generation, and nobody else is waited for."""
    return (
        s.group.state is GroupState.STABLE
        and all(map(s.is_heard, (m.id for m in s.group.members)))
        and all(map(s.is_expected, s.group.pending))
        and all_are_read(s)
        and all(
            c.phase is Phase.STABLE
            and c.told is None
            and not c.wants_to_rejoin
            and c.planned in (0, s.partitions)
            and c.generation == s.group.generation
            and s.group.member(c.member) is not None
            for c in s.consumers
            if c.runs and c.polls
        )
    )


def is_at_the_edge(s: World) -> bool:
    """Whether the bounds have no more ids or generations to go on with."""
    needs_an_id = [c for c in s.consumers if c.runs and c.member == NOBODY]
    out_of_ids = any(c.ids == s.bounds.ids for c in needs_an_id)
    return out_of_ids or s.group.generation == s.bounds.generations


@leads_to(
    weakly_fair=(
        coordinating.coordinator_gives_id,
        coordinating.coordinator_adds_member,
        coordinating.coordinator_takes_rejoin,
        coordinating.coordinator_replaces_member,
        coordinating.coordinator_takes_sync,
        coordinating.coordinator_refuses,
        coordinating.initial_delay_is_over,
        coordinating.join_timer_fires,
        coordinating.sync_timer_fires,
        coordinating.session_times_out,
        coordinating.pending_id_times_out,
        coordinating.successor_loads,
        consuming.consumer_finds_coordinator,
        consuming.consumer_joins,
        cooperative.consumer_joins_and_keeps,
        consuming.consumer_takes_join_answer,
        consuming.consumer_takes_sync_answer,
        consuming.consumer_takes_assignment,
        consuming.leader_sees_partitions,
        consuming.consumer_gives_up,
        consuming.consumer_heartbeats,
        consuming.consumer_hears_error,
    )
)
def GroupSettles(s: World) -> tuple[bool, bool]:
    """A group comes to rest, with every partition being read, or nobody is left who polls.

    What goes wrong is bounded, so at some point nothing more does; and whoever can go on does.
    A consumer that stalls need not come back, nor leave: then the timers must see to it.
    """
    somebody_polls = any(c.runs and c.polls for c in s.consumers)
    return somebody_polls, is_settled(s) or not somebody_polls or is_at_the_edge(s)
