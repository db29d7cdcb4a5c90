"""The mutation baseline of `partition`: its consistency invariants and equivalent mutants."""

from __future__ import annotations

from itertools import pairwise

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
    enough = len(now.isr) >= min(s.bounds.min_insync, s.bounds.brokers)
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
    state = s.replicas[leader].leadership
    if state is not None and follower not in state.restarted and s.same_epoch(follower, leader):
        missed_epoch = state.since < s.replicas[leader].epoch
        reached = state.ends[follower] <= s.replicas[follower].log.end
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


# -- equivalent mutants ---------------------------------------------------------------------------

IN_TRANSIT = "The decision was on its way to the broker before it was cut off."
NOTED_AGAIN = (
    "No record is above such an entry, and the first one that the leader appends "
    "notes its epoch again."
)
LEARNED = "The leader learns the ISR of its epoch in its next step."
NOT_COMMITTED = (
    "The record is not committed before the ISR is large enough; the guard only fails earlier."
)
IMPLIED = (
    "Implied by the same leader epoch: its followers follow its leader, and a leader "
    "has nothing to fetch from itself."
)
AGREES = (
    "The logs must agree as well (KIP-595): a follower in another epoch of the same "
    "leader is counted as far as they do."
)
COUNTED_AGAIN = (
    "Counting a fetch again changes nothing, and one that is not counted is counted the next time."
)
OLD_HW = (
    "Such a response has the high watermark from before the fetch, and the next one has "
    "a later one."
)
PROPOSED_AGAIN = (
    "The leader proposes again, with the next fetch or when the follower is found out of sync."
)
OTHER_FETCH = "The other rule for fetches notes the new broker epoch."
SMALLER_ISR = "An ISR without a follower that is in sync is as safe, since less can be committed."
REPLACED = "The entry has no record, and the first record that the follower appends removes it."
FENCED_TWICE = "Fencing a broker twice changes nothing."
NO_CHOICE = "The successor has no effect where the leader stays."
LESS_AVAILABLE = "Fewer brokers are eligible: this costs availability, never a record."
SENT_TWICE = "A broker that is not fenced may receive the current decision twice."
FENCED_AGAIN = "A broker that is unfenced by mistake is fenced again."
NOTHING_TO_LOSE = "A broker that is down has nothing more to lose."
BOUNCED = "A broker that is cut off gets an older high watermark, as after any restart."
LAST_HW = "The last high watermark is one of those that a checkpoint may have."
NOT_LEARNED = (
    "The leader has not learned of the change, so each member of its proposal still "
    "counts for its high watermark."
)
NEVER_COMMITTED = "A proposal that is out of date is never committed, refused or not."
REFUSED_AGAIN = "The proposal stays in flight and is refused again; meanwhile nothing is committed."
NONE_LIVE = "Without a leader no live broker is in the ISR."
SAME_LEADER = "The same leader begins another epoch."

EQUIVALENT = {
    (
        "broker_becomes_kraft_leader without the guard 'broker is connected to the controller'"
    ): IN_TRANSIT,
    (
        "broker_becomes_fetching_follower without the guard 'broker is connected to the controller'"
    ): IN_TRANSIT,
    "broker_becomes_kraft_leader forgets replicas.epochs.entries.epoch": NOTED_AGAIN,
    "broker_becomes_kraft_leader makes replicas.epochs.entries.epoch one more": NOTED_AGAIN,
    "broker_becomes_kraft_leader makes replicas.epochs.entries.epoch one less": NOTED_AGAIN,
    "broker_becomes_kraft_leader forgets replicas.leadership.isr": LEARNED,
    "leader_appends_at_effective_min_isr without the guard 'ISR is large enough'": NOT_COMMITTED,
    "leader_counts_kraft_fetch without the guard 'broker presumes leadership'": IMPLIED,
    "follower_fetches_from_kraft_leader without the guard 'broker presumes leadership'": IMPLIED,
    (
        "follower_fetches_from_kraft_leader without the guard 'follower fetches from the leader'"
    ): IMPLIED,
    "follower_truncates_on_divergence without the guard 'broker presumes leadership'": IMPLIED,
    (
        "follower_truncates_on_divergence without the guard 'follower fetches from the leader'"
    ): IMPLIED,
    'leader_counts_kraft_fetch without the guard "follower is in the leader\'s epoch"': AGREES,
    "leader_counts_kraft_fetch without the guard 'fetch brings news'": COUNTED_AGAIN,
    "leader_counts_kraft_fetch forgets replicas.leadership.ends": COUNTED_AGAIN,
    "leader_counts_kraft_fetch makes replicas.leadership.ends one less": COUNTED_AGAIN,
    "follower_fetches_from_kraft_leader without the guard 'response brings news'": COUNTED_AGAIN,
    "follower_fetches_from_kraft_leader forgets replicas.leadership.ends": COUNTED_AGAIN,
    "follower_fetches_from_kraft_leader makes replicas.leadership.ends one less": COUNTED_AGAIN,
    (
        "follower_fetches_from_kraft_leader "
        "without the guard 'leader has records, or the fetch was parked'"
    ): OLD_HW,
    "leader_counts_kraft_fetch forgets replicas.leadership.pending": PROPOSED_AGAIN,
    "follower_fetches_from_kraft_leader forgets replicas.leadership.pending": PROPOSED_AGAIN,
    "leader_proposes_shrink forgets replicas.leadership.pending": PROPOSED_AGAIN,
    "leader_applies_isr without the guard 'ISR changed'": PROPOSED_AGAIN,
    "controller_refuses_isr without the guard 'a member is not eligible'": PROPOSED_AGAIN,
    "leader_counts_kraft_fetch forgets replicas.leadership.restarted": OTHER_FETCH,
    "follower_fetches_from_kraft_leader forgets replicas.leadership.restarted": OTHER_FETCH,
    "leader_proposes_shrink without the guard 'follower is out of sync'": SMALLER_ISR,
    "broker_becomes_fetching_follower forgets replicas.epochs.entries": REPLACED,
    "controller_fences_broker_with_elr without the guard 'broker is not fenced'": FENCED_TWICE,
    "controller_fences_broker_with_elr without the guard 'leader stays'": NO_CHOICE,
    "controller_fences_broker_with_elr loses a member of registration.elr": LESS_AVAILABLE,
    "controller_unfences_eligible_broker without the guard 'broker is fenced'": SENT_TWICE,
    "controller_unfences_eligible_broker loses a member of fenced": FENCED_AGAIN,
    "broker_crashes without the guard 'broker is up'": NOTHING_TO_LOSE,
    "broker_restarts_ineligible without the guard 'broker is down'": BOUNCED,
    "broker_restarts_ineligible forgets replicas.hw": LAST_HW,
    "broker_restarts_ineligible makes replicas.hw one more": LAST_HW,
    (
        'controller_commits_isr_and_elr without the guard "leader\'s view of the ISR is current"'
    ): NOT_LEARNED,
    'controller_refuses_isr without the guard "leader\'s epoch is current"': NEVER_COMMITTED,
    (
        'controller_refuses_isr without the guard "leader\'s view of the ISR is current"'
    ): NEVER_COMMITTED,
    "controller_refuses_isr forgets replicas.leadership.pending": REFUSED_AGAIN,
    "controller_moves_leadership without the guard 'there is a leader'": NONE_LIVE,
    "controller_moves_leadership without the guard 'successor is another broker'": SAME_LEADER,
}

DISK_LOST = {"crashes": 0, "disk_losses": 1, "leader_moves": 1}
"""A follower that loses its log while it is proposed for the ISR (KIP-903)."""

LARGER = {
    "broker_restarts_ineligible forgets replicas.leadership.restarted": DISK_LOST,
    "broker_restarts_ineligible loses a member of replicas.leadership.restarted": DISK_LOST,
    "controller_fences_broker_with_elr forgets registration.last_leader": {
        "brokers": 1,
        "min_insync": 1,
    },
}

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
    bounds=(
        {"brokers": 2, "min_insync": 1, "cut_offs": 1},
        {},
        {"brokers": 2, "crashes": 1, "leader_moves": 2, "records": 2},
    ),
    equivalent={"kafka-4.1": EQUIVALENT},
    bounds_for={"kafka-4.1": LARGER},
    left_out=LIVENESS,
)
