"""The mutation baseline of `partition`: its consistency invariants."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from kspec.spec.core import Baseline, Claims, always, reachable
from kspec.spec.partition.liveness import LIVENESS
from kspec.spec.partition.state import ALL, NO_BROKER, NO_EPOCH, UNKNOWN, Cluster, brokers

# -- consistency invariants -----------------------------------------------------------------------


@always(broker=brokers)
def DecisionsAreNewer(s: Cluster, broker: int) -> Claims:
    """The decisions that a broker may take are newer than its own, in order, and already made."""
    epochs = [s.replicas[broker].epoch, *(d.epoch for d in s.decisions[broker])]
    ascend = all(one < two for one, two in pairwise(epochs))
    yield f"broker {broker}", ascend and epochs[-1] <= s.registration.epoch


@always(broker=brokers)
def LiveBrokerIsInformed(s: Cluster, broker: int) -> Claims:
    """A live broker has taken the last decision that names a leader, or may still take it.

    A broker that has the current epoch knows the controller's leader.
    """
    now, replica = s.registration, s.replicas[broker]
    if now.leader != NO_BROKER and replica.is_up and broker not in s.fenced:
        known = (replica.epoch, *(d.epoch for d in s.decisions[broker]))
        yield f"broker {broker}", now.epoch in known
    if replica.epoch == now.epoch:
        yield f"broker {broker}, and its leader", replica.leader == now.leader


@always(broker=brokers)
def StoppedBrokerKnowsNothing(s: Cluster, broker: int) -> Claims:
    """A broker that is down has a log and a high watermark, but no leader, epoch or decisions."""
    replica = s.replicas[broker]
    if not replica.is_up:
        knows = (replica.epoch, replica.leader) != (NO_EPOCH, NO_BROKER)
        yield f"broker {broker}", not knows and not replica.truncates and not s.decisions[broker]
    leads = replica.leader == broker
    yield f"broker {broker}, as a leader", leads == (replica.leadership is not None)


@always(broker=brokers)
def EpochCacheMatchesLog(s: Cluster, broker: int) -> Claims:
    """The cache has the leader epoch of each record, and no epoch beyond the log end."""
    replica = s.replicas[broker]
    cached = [replica.epochs.epoch_at(offset) for offset in range(replica.log.end)]
    yield f"broker {broker}", cached == [record.epoch for record in replica.log.records]
    starts = [entry.start for entry in replica.epochs.entries]
    yield f"broker {broker}, at its log end", all(start <= replica.log.end for start in starts)


@always(leader=brokers)
def LeaderKnowsItsEpoch(s: Cluster, leader: int) -> Claims:
    """A leader is in its ISR, has noted where its epoch began, and counts offsets of its log."""
    replica = s.replicas[leader]
    state = replica.leadership
    if state is not None:
        yield f"leader {leader}", leader in state.isr and leader in (state.pending or state.isr)
        yield f"leader {leader}, since then", 0 <= state.since <= replica.epoch
        ends = [end for end in state.ends if end != UNKNOWN]
        yield f"leader {leader}, and its followers", all(0 <= e <= replica.log.end for e in ends)
        yield f"leader {leader}, of itself", state.ends[leader] == UNKNOWN


@always
def RegistrationIsConsistent(s: Cluster) -> Claims:
    """The controller's leader is live and in the ISR; eligible replicas are outside the ISR."""
    now = s.registration
    if now.leader == NO_BROKER:
        yield "controller, without a leader", not now.isr - s.fenced
    else:
        yield "controller", now.leader in now.isr and now.leader not in s.fenced
        yield "controller, and the last leader", now.last_leader == NO_BROKER
    yield "controller, of eligible replicas", not now.elr & now.isr
    enough = len(now.isr) >= s.bounds.effective_min_isr
    yield "controller, of an ISR that is large enough", not (enough and now.elr)


@always
def RecordsWereSent(s: Cluster) -> Claims:
    """Stored, acknowledged and readable records are records that producers sent."""
    known = {record.id for replica in s.replicas for record in replica.log.records}
    known |= {*s.ghosts.acknowledged, *s.ghosts.readable}
    yield "partition", all(0 <= record < s.sent for record in known)
    if s.bounds.acks != ALL:
        yield "producer", known <= s.ghosts.acknowledged


@always
def ReadableCoversHighWatermarks(s: Cluster) -> Claims:
    """A record below any high watermark was committed by a leader, so a consumer could read it."""
    for broker in brokers(s):
        yield f"broker {broker}", s.replicas[broker].hw <= len(s.ghosts.readable)


@always(leader=brokers)
def CommittedRecordsAreAcknowledged(s: Cluster, leader: int) -> Claims:
    """If the ISR may have any size, a record is acknowledged once its leader has committed it."""
    replica = s.replicas[leader]
    state = replica.leadership
    if state is not None and s.bounds.acks == ALL and s.bounds.min_insync == 1:
        for record in replica.log.records[: replica.hw]:
            if record.epoch >= state.since:
                yield f"record {record.id}, by leader {leader}", record.id in s.ghosts.acknowledged


@always(leader=brokers)
def ProposalChangesOneMember(s: Cluster, leader: int) -> Claims:
    """A proposal in flight adds or removes one member of the leader's ISR."""
    state = s.replicas[leader].leadership
    if state is not None and state.pending is not None:
        yield f"leader {leader}", len(state.pending ^ state.isr) == 1


@always(leader=brokers, follower=brokers)
def CountedOffsetsAreReached(s: Cluster, leader: int, follower: int) -> Claims:
    """A follower's log reaches the offset that its leader counted, unless it restarted since."""
    own, theirs = s.replicas[follower], s.replicas[leader]
    state = theirs.leadership
    if state is not None and follower not in state.restarted and own.epoch == theirs.epoch:
        missed_epoch = state.since < theirs.epoch
        reached = state.ends[follower] <= own.log.end
        yield f"follower {follower} of leader {leader}", reached or missed_epoch


@reachable
def RecordIsAcknowledged(s: Cluster) -> bool:
    """A record is acknowledged after a failure."""
    return bool(s.ghosts.acknowledged) and bool(s.fenced)


@reachable
def FollowerLearnsHighWatermark(s: Cluster) -> bool:
    """Every broker knows that a record is committed."""
    return all(replica.hw > 0 for replica in s.replicas)


@reachable
def StoppedBrokerIsBackInIsr(s: Cluster) -> bool:
    """A broker that crashed is back in the ISR, and so is every other."""
    is_back = s.registration.epoch > 0 and all(replica.is_up for replica in s.replicas)
    return s.crashes > 0 and is_back and len(s.registration.isr) == s.bounds.brokers


BASELINE = Baseline(
    invariants=(
        DecisionsAreNewer,
        LiveBrokerIsInformed,
        StoppedBrokerKnowsNothing,
        EpochCacheMatchesLog,
        LeaderKnowsItsEpoch,
        RegistrationIsConsistent,
        RecordsWereSent,
        ReadableCoversHighWatermarks,
        CommittedRecordsAreAcknowledged,
        ProposalChangesOneMember,
        CountedOffsetsAreReached,
        RecordIsAcknowledged,
        FollowerLearnsHighWatermark,
        StoppedBrokerIsBackInIsr,
    ),
    left_out=LIVENESS,
    mutants=Path(__file__).with_name("mutants.toml"),
)
