"""The properties: acknowledged and readable records are kept, and replicas agree."""

from __future__ import annotations

from kspec.spec.core import Claims, always
from kspec.spec.partition.state import ALL, NO_BROKER, Cluster, brokers


@always(leader=brokers)
def AcknowledgedRecordsKept(s: Cluster, leader: int) -> Claims:
    """Every acknowledged record is in the log of the leader in the controller's current epoch."""
    if s.leads(leader):
        held = {record.id for record in s.replicas[leader].log.records}
        for record in sorted(s.ghosts.acknowledged):
            yield f"record {record}, by leader {leader}", record in held


@always(leader=brokers)
def ReadableRecordsStay(s: Cluster, leader: int) -> Claims:
    """The leader in the controller's epoch has each record that a consumer could read, in place.

    A consumer could read a record once it was below a presumed leader's high watermark.
    """
    if s.leads(leader):
        log = s.replicas[leader].log
        for offset, record in enumerate(s.ghosts.readable):
            here = log.at(offset)
            yield f"offset {offset}, by leader {leader}", here is not None and here.id == record


@always(broker=brokers, other=brokers)
def LogsAgreeBelowHw(s: Cluster, broker: int, other: int) -> Claims:
    """Two brokers that are up hold the same records below both high watermarks."""
    one, two = s.replicas[broker], s.replicas[other]
    if broker < other and one.is_up and two.is_up:
        for offset in range(min(one.hw, two.hw)):
            agree = one.log.agrees_at(offset, two.log)
            yield f"offset {offset}, on brokers {broker} and {other}", agree


@always(leader=brokers, follower=brokers)
def CountedRecordsAgree(s: Cluster, leader: int, follower: int) -> Claims:
    """Below the offset that a leader has counted, its follower holds the same records (KAFKA-3919).

    Offsets are all that a leader knows of its followers. The property applies while both are in
    the same leader epoch.
    """
    own, theirs = s.replicas[follower], s.replicas[leader]
    state = theirs.leadership
    if state is not None and s.fetches_from(follower, leader) and own.epoch == theirs.epoch:
        for offset in range(min(state.ends[follower], own.log.end)):
            agree = own.log.agrees_at(offset, theirs.log)
            yield f"offset {offset}, on follower {follower}", agree


@always(broker=brokers)
def HwWithinLog(s: Cluster, broker: int) -> Claims:
    """No high watermark is beyond the end of its log."""
    replica = s.replicas[broker]
    yield f"broker {broker}", 0 <= replica.hw <= replica.log.end


@always(leader=brokers)
def HwKeepsUpWithIsr(s: Cluster, leader: int) -> Claims:
    """A leader has committed every record that, to its knowledge, its whole maximal ISR holds.

    While its ISR is smaller than min.insync.replicas, it need not commit anything (since 3.7).
    """
    replica = s.replicas[leader]
    state = replica.leadership
    if state is not None and len(state.isr) >= s.bounds.effective_min_isr:
        others = [state.ends[member] for member in state.maximal_isr if member != leader]
        yield f"leader {leader}", replica.hw >= min([replica.log.end, *others])


@always
def ListedEndNeverGoesBack(s: Cluster) -> bool:
    """No leader lists a lower end offset than an earlier leader could (KIP-207, KAFKA-2334)."""
    return not s.ghosts.listed_end_went_back


@always(broker=brokers)
def FencedBrokerNotInIsr(s: Cluster, broker: int) -> Claims:
    """A fenced broker is not in the ISR, unless it is the last member (KIP-841)."""
    isr = s.registration.isr
    if broker in s.fenced and len(isr) > 1:
        yield f"broker {broker}", broker not in isr


@always
def WritesAccepted(s: Cluster) -> Claims:
    """Once a failure has been handled, a leader accepts writes, even if the broker stays down.

    It has been handled when every failed broker is fenced, and each other broker has taken the
    last decision and is back in the ISR: only the failed broker could still change anything. Check
    it with followers that keep up (`slow_followers=0`): an ISR of the leader alone does not survive
    the leader. Simplification: min.insync.replicas above the number of replicas stops all writes,
    as in Kafka before 3.7.
    """
    now = s.registration
    live = frozenset(brokers(s)) - s.fenced
    is_informed = all(s.replicas[broker].is_up and not s.decisions[broker] for broker in live)
    if now.leader == NO_BROKER:
        yield "partition, which has no leader", not is_informed
    elif is_informed and live <= now.isr:
        state = s.replicas[now.leader].leadership
        if state is not None and state.isr == now.isr:
            enough = s.bounds.acks != ALL or len(state.isr) >= s.bounds.min_insync
            yield f"leader {now.leader}", enough


PROPERTIES = (
    AcknowledgedRecordsKept,
    ReadableRecordsStay,
    LogsAgreeBelowHw,
    CountedRecordsAgree,
    HwWithinLog,
    ListedEndNeverGoesBack,
    FencedBrokerNotInIsr,
)

ON_REQUEST = (HwKeepsUpWithIsr, WritesAccepted)
