"""What goes wrong or changes around the group, as often as the bounds allow.

Consumers crash, restart, stop polling and close; the network loses messages; an administrator
adds partitions.
"""

from __future__ import annotations

from kspec.spec.coordinator import Outcome
from kspec.spec.coordinator.membership import leave
from kspec.spec.core import Step, decide, evolve, limit, rule
from kspec.spec.group.coordinator import within_bounds
from kspec.spec.group.state import Consumer, Phase, World, consumers
from kspec.spec.messages import NO_GENERATION, NO_MEMBER_ID, LeaveGroup, MemberIdentity

# -- consumers --------------------------------------------------------------------------------


def leave_group(s: World, consumer: int) -> Outcome:
    """The result of a consumer's LeaveGroup; a static one sends none, since it means to return.

    Kafka: `AbstractCoordinator.maybeLeaveGroup`.
    """
    c = s.consumers[consumer]
    static = s.instance(consumer) is not None
    if static or c.member == NO_MEMBER_ID or not s.reaches_coordinator(consumer):
        return Outcome(s.group)
    left = decide(leave(s.group, LeaveGroup((MemberIdentity(c.member),)), "leaver")).effect
    assert left is not None, "a group that is not dead lets a member leave"
    return left


@rule(by="consumer", consumer=consumers)
def consumer_crashes(s: World, consumer: int) -> Step[World]:
    """A consumer's process ends without leaving the group. A request in flight may still arrive.

    Not in Kafka: a fault of the process or of its machine.
    """
    yield limit("a crash is left"), s.faults.crashes < s.bounds.crashes
    c = s.consumers[consumer]
    yield "consumer is running", c.is_running
    crashed = Consumer(Phase.CRASHED, abandoned=s.may_still_arrive(consumer), ids=c.ids)
    return s.with_process(consumer, crashed).with_fault(crashes=1)


@rule(by="consumer", consumer=consumers)
def consumer_restarts(s: World, consumer: int) -> Step[World]:
    """A crashed consumer restarts with nothing but its configuration, such as its instance id.

    Not in Kafka: the application starts again.
    """
    yield "consumer has crashed", s.consumers[consumer].phase is Phase.CRASHED
    return s.with_consumer(consumer, phase=Phase.UNJOINED)


@rule(by="consumer", consumer=consumers)
def consumer_closes(s: World, consumer: int) -> Step[World]:
    """The application closes a consumer, which revokes its partitions; a dynamic one leaves.

    Kafka: `AbstractCoordinator.close`, `ConsumerCoordinator.onLeavePrepare`.
    """
    yield limit("a departure is left"), s.faults.leaves < s.bounds.leaves
    c = s.consumers[consumer]
    yield "consumer polls", c.is_running and c.polls
    closed = Consumer(Phase.CLOSED, abandoned=s.may_still_arrive(consumer), ids=c.ids)
    s = yield from within_bounds(s, leave_group(s, consumer))
    return s.with_process(consumer, closed).with_fault(leaves=1)


@rule(by="consumer", consumer=consumers)
def consumer_stalls(s: World, consumer: int) -> Step[World]:
    """The application stops polling: it is busy with what it has read, or hangs.

    Not in Kafka: the application does not call `KafkaConsumer.poll`.
    """
    yield limit("a stall is left"), s.faults.stalls < s.bounds.stalls
    c = s.consumers[consumer]
    yield "consumer polls", c.is_running and c.polls
    return s.with_consumer(consumer, polls=False).with_fault(stalls=1)


@rule(by="consumer", consumer=consumers)
def consumer_resumes_polling(s: World, consumer: int) -> Step[World]:
    """The application polls again, unaware of what happened meanwhile.

    Not in Kafka: the application calls `KafkaConsumer.poll` again.
    """
    c = s.consumers[consumer]
    yield "consumer is stalled", c.is_running and not c.polls
    return s.with_consumer(consumer, polls=True)


@rule(by="consumer", consumer=consumers)
def consumer_exceeds_poll_interval(s: World, consumer: int) -> Step[World]:
    """The heartbeat thread finds that the application does not poll, and leaves the group.

    The application still holds its partitions; its listener is called with `onPartitionsLost` when
    it polls again, and its commits fail until then. Kafka: `max.poll.interval.ms`,
    `AbstractCoordinator.handlePollTimeoutExpiry`.
    """
    c = s.consumers[consumer]
    yield "consumer is stalled", c.is_running and not c.polls
    yield "consumer sends heartbeats", c.sends_heartbeats
    s = yield from within_bounds(s, leave_group(s, consumer))
    return s.with_unjoined(
        consumer,
        member=NO_MEMBER_ID,
        generation=NO_GENERATION,
        heartbeat_error_is_stale=c.heartbeat_error is not None,
    )


# -- network and administrator ----------------------------------------------------------------


@rule(by="network", consumer=consumers)
def network_loses_message(s: World, consumer: int) -> Step[World]:
    """A request or a response is lost.

    Not in Kafka: a fault of the network.
    """
    yield limit("a loss is left"), s.faults.losses < s.bounds.losses
    yield "a message is in flight", s.consumers[consumer].in_flight is not None
    return s.with_consumer(consumer, in_flight=None).with_fault(losses=1)


@rule(by="administrator")
def administrator_adds_partition(s: World) -> Step[World]:
    """The topic gets another partition, or another topic matches the group's pattern.

    Kafka: `ReplicationControlManager.createPartitions`.
    """
    added = s.partitions - s.bounds.partitions
    yield limit("a new partition is left"), added < s.bounds.growths
    return evolve(s, partitions=s.partitions + 1)
