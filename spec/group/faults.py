"""What goes wrong in the model, as often as the bounds allow, and what follows from it."""

from __future__ import annotations

from spec.core import (
    Step,
    evolve,
    limit,
    replaced,
    rule,
)
from spec.group.coordinating import within_bounds
from spec.group.coordinator import Outcome
from spec.group.coordinator.handling import handle
from spec.group.world import Consumer, Phase, World, consumers
from spec.messages import NO_GENERATION, NOBODY, LeaveGroup, Leaver


def leaving(s: World, consumer: int) -> Outcome:
    """What comes of a consumer's LeaveGroup; a static one sends none, as it means to come back."""
    c = s.consumers[consumer]
    if s.instance(consumer) is not None or c.member == NOBODY or not s.finds(consumer):
        return Outcome(s.group)
    return handle(s.group, "leaver", LeaveGroup((Leaver(c.member),)), "new")


@rule(by="consumer", consumer=consumers)
def consumer_crashes(s: World, consumer: int) -> Step[World]:
    """A consumer's process ends without a word. A request that it sent may still arrive."""
    yield limit("a crash is left"), s.faults.crashes < s.bounds.crashes
    c = s.consumers[consumer]
    yield "consumer runs", c.runs
    dropped = s.gives_up(consumer).consumers[consumer].late
    crashed = Consumer(phase=Phase.CRASHED, late=dropped, ids=c.ids)
    return with_another(s, consumer, crashed).with_fault(crashes=1)


@rule(by="consumer", consumer=consumers)
def consumer_restarts(s: World, consumer: int) -> Step[World]:
    """It comes back, and knows nothing but its configuration: a static one its instance id."""
    yield "consumer has crashed", s.consumers[consumer].phase is Phase.CRASHED
    return s.with_consumer(consumer, phase=Phase.OUT)


@rule(by="consumer", consumer=consumers)
def consumer_closes(s: World, consumer: int) -> Step[World]:
    """A consumer is closed: it gives up what it owns, and leaves the group if it is dynamic."""
    yield limit("somebody may leave"), s.faults.leaves < s.bounds.leaves
    c = s.consumers[consumer]
    yield "consumer polls", c.runs and c.polls
    outcome = leaving(s, consumer)
    yield from within_bounds(s, outcome)
    dropped = s.gives_up(consumer).consumers[consumer].late
    world = with_another(
        s.after(outcome), consumer, Consumer(Phase.CLOSED, late=dropped, ids=c.ids)
    )
    return world.with_fault(leaves=1)


@rule(by="consumer", consumer=consumers)
def consumer_stalls(s: World, consumer: int) -> Step[World]:
    """The application no longer polls: it is busy with what it has read, or hangs."""
    yield limit("somebody may stall"), s.faults.stalls < s.bounds.stalls
    c = s.consumers[consumer]
    yield "consumer polls", c.runs and c.polls
    return s.with_consumer(consumer, polls=False).with_fault(stalls=1)


@rule(by="consumer", consumer=consumers)
def consumer_polls_again(s: World, consumer: int) -> Step[World]:
    """The application goes on, and does not know what happened meanwhile."""
    c = s.consumers[consumer]
    yield "consumer has stalled", c.runs and not c.polls
    return s.with_consumer(consumer, polls=True)


@rule(by="consumer", consumer=consumers)
def poll_interval_passes(s: World, consumer: int) -> Step[World]:
    """The heartbeat thread sees that nobody polls, and leaves the group.

    Kafka: `max.poll.interval.ms`. The application still holds its partitions, and hears
    `onPartitionsLost` when it polls again; what it commits then fails.
    """
    c = s.consumers[consumer]
    yield "consumer has stalled", c.runs and not c.polls
    yield "consumer sends heartbeats", c.beats
    outcome = leaving(s, consumer)
    yield from within_bounds(s, outcome)
    return s.after(outcome).gives_up(
        consumer,
        phase=Phase.OUT,
        member=NOBODY,
        generation=NO_GENERATION,
        told=None,
        wants_to_rejoin=False,
        planned=0,
        beat_is_old=c.beat is not None,
    )


@rule(by="network", consumer=consumers)
def network_loses(s: World, consumer: int) -> Step[World]:
    """A request or an answer is lost on its way."""
    yield limit("something may be lost"), s.faults.losses < s.bounds.losses
    yield "something is on its way", s.consumers[consumer].call is not None
    return s.with_consumer(consumer, call=None).with_fault(losses=1)


@rule(by="administrator")
def topic_grows(s: World) -> Step[World]:
    """The topic gets another partition, or another topic matches the group's pattern."""
    grown = s.partitions - s.bounds.partitions
    yield limit("the topic may grow"), grown < s.bounds.growths
    return evolve(s, partitions=s.partitions + 1)


def with_another(s: World, consumer: int, by: Consumer) -> World:
    """The world with another process in a consumer's place; nobody waits for its answers."""
    group = s.group.hangs_up(consumer)
    return evolve(s, group=group, consumers=replaced(s.consumers, consumer, by))
