"""The leader's rules: it appends, answers fetches, and keeps the ISR and the high watermark.

The high watermark advances within the step that makes it possible, as in Kafka, where each caller
of `Partition.maybeIncrementLeaderHW` holds the lock on the partition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kspec.spec.core import Guarded, Step, appended, evolve, limit, present, replaced, rule
from kspec.spec.in_sync import Progress, reaches_isr
from kspec.spec.log import Log, Record
from kspec.spec.partition.state import (
    ALL,
    UNKNOWN,
    Broker,
    Cluster,
    Decision,
    Leadership,
    brokers,
    epochs,
)
from kspec.spec.watermarks import follower_hw, leader_hw

# -- the high watermark ---------------------------------------------------------------------------


def with_advanced_hw(s: Cluster, leader: int, *, since_3_7: bool = False) -> Cluster:
    """The leader commits what every member of its maximal ISR holds, as far as it knows.

    Records that the high watermark passes are acknowledged to producers that wait for all. A
    request waits only at the leader that appended the record, and only while it leads. If the ISR
    has become too small, the answer is NOT_ENOUGH_REPLICAS_AFTER_APPEND; since 3.7 nothing is
    committed then. Kafka: `Partition.maybeIncrementLeaderHW`, `checkEnoughReplicasReachOffset`.
    Simplification: Kafka also waits for a follower that is caught up and about to join the ISR,
    which only delays.
    """
    replica = s.replicas[leader]
    state = replica.leadership
    assert state is not None, "a leader"
    min_isr = s.bounds.effective_min_isr if since_3_7 else s.bounds.min_insync
    ends = [state.ends[member] for member in state.maximal_isr if member != leader]
    hw = leader_hw(replica.hw, [replica.log.end, *ends])
    if hw == replica.hw or (since_3_7 and len(state.isr) < min_isr):
        return s
    acknowledged, seen = s.ghosts.acknowledged, s.ghosts.readable
    if s.bounds.acks == ALL and len(state.maximal_isr) >= min_isr:
        passed = replica.log.records[replica.hw : hw]
        acknowledged |= {record.id for record in passed if record.epoch >= state.since}
    new = (record.id for record in replica.log.records[len(seen) : hw])
    ghosts = evolve(s.ghosts, acknowledged=acknowledged, readable=appended(seen, *new))
    return evolve(s, ghosts=ghosts).with_replica(leader, hw=hw)


def with_acks(s: Cluster, *ids: int) -> Cluster:
    """The cluster in which producers consider these records written."""
    return evolve(s, ghosts=evolve(s.ghosts, acknowledged=s.ghosts.acknowledged | frozenset(ids)))


# -- leadership -----------------------------------------------------------------------------------


def taken(s: Cluster, broker: int, epoch: int) -> Guarded[tuple[Cluster, Decision]]:
    """A broker takes the decision of that epoch, which supersedes earlier ones."""
    yield "broker is connected to the controller", broker not in s.fenced
    on_its_way = (d for d in s.decisions[broker] if d.epoch == epoch)
    decision = yield from present("decision is on its way", next(on_its_way, None))
    later = tuple(d for d in s.decisions[broker] if d.epoch > epoch)
    s = evolve(s, decisions=replaced(s.decisions, broker, later))
    return s.with_replica(broker, epoch=epoch, leader=decision.leader), decision


@rule(by="leader", broker=brokers, epoch=epochs)
def broker_becomes_leader(s: Cluster, broker: Broker, epoch: int) -> Step[Cluster]:
    """A broker takes a decision that names it leader; it never truncates its log.

    It records at once where its epoch begins (KAFKA-7415). If it led before, it keeps what it
    knows of the followers. Kafka: `Partition.makeLeader`.
    """
    s = yield from led(s, broker, epoch)
    return with_advanced_hw(s, broker)


def led(s: Cluster, broker: int, epoch: int, *, is_noted: bool = True) -> Guarded[Cluster]:
    """A broker becomes leader, and notes where its epoch begins; its HW has not advanced yet."""
    replica = s.replicas[broker]
    s, decision = yield from taken(s, broker, epoch)
    yield "decision names the broker", decision.leader == broker
    if replica.leadership is None:
        ends = (UNKNOWN,) * s.bounds.brokers
        now = Leadership(isr=decision.isr, ends=ends, since=epoch)
    else:
        now = evolve(replica.leadership, isr=decision.isr, pending=None)
    noted = replica.epochs.assign(epoch, replica.log.end) if is_noted else replica.epochs
    return s.with_replica(broker, leadership=now, truncates=False, epochs=noted)


# -- producers ------------------------------------------------------------------------------------


@rule(by="producer", leader=brokers)
def leader_appends(s: Cluster, leader: Broker) -> Step[Cluster]:
    """A presumed leader appends a record; with acks=0 or 1 it is acknowledged at once.

    A Produce request carries no leader epoch, and a producer's metadata may be old: a leader that
    does not know yet that it is deposed still appends. Kafka: `Partition.appendRecordsToLeader`,
    which checks min.insync.replicas for acks=all only. Simplification: a batch has one record,
    and the producer does not send it again.
    """
    s = yield from appended_record(s, leader, s.bounds.min_insync)
    return with_advanced_hw(s, leader)


def appended_record(s: Cluster, leader: int, min_isr: int) -> Guarded[Cluster]:
    """The leader appends a record, if the ISR is large enough for the producer's acks."""
    yield limit("a record remains"), s.sent < s.bounds.records
    replica = s.replicas[leader]
    state = yield from present("broker presumes leadership", replica.leadership)
    acks = s.bounds.acks
    yield "ISR is large enough", acks != ALL or len(state.isr) >= min_isr
    record = Record(s.sent, replica.epoch)
    noted = replica.epochs.assign(record.epoch, replica.log.end)
    s = s.with_replica(leader, log=replica.log.append(record), epochs=noted)
    s = evolve(s, sent=s.sent + 1)
    return s if acks == ALL else with_acks(s, record.id)


@rule(by="producer", broker=brokers)
def record_is_dropped(s: Cluster, broker: Broker) -> Step[Cluster]:
    """A producer with acks=0 sends to a broker that no longer leads, or is down.

    It receives no error, and considers the record written. Its metadata are those of some broker,
    or of the controller. Kafka: `KafkaApis.handleProduceRequest`, which closes the connection.
    """
    yield limit("a record remains"), s.sent < s.bounds.records
    yield "producer does not wait for a response", s.bounds.acks == 0
    yield "broker does not presume leadership", s.replicas[broker].leadership is None
    named = s.registration.leader == broker or any(r.leader == broker for r in s.replicas)
    yield "metadata name the broker", named
    return with_acks(evolve(s, sent=s.sent + 1), s.sent)


# -- consumers ------------------------------------------------------------------------------------


@rule(by="consumer", leader=brokers)
def leader_lists_lower_end(s: Cluster, leader: Broker) -> Step[Cluster]:
    """A consumer asks for the end offset, and receives a lower one than an earlier consumer could.

    Any other answer changes no state. A new leader's high watermark may be behind
    its predecessor's; until it reaches the leader's epoch, the leader answers
    OFFSET_NOT_AVAILABLE. Kafka: `Partition.fetchOffsetForTimestamp` (KIP-207).
    """
    replica = s.replicas[leader]
    yield "leadership is current", s.leads(leader)
    reached = replica.hw >= replica.epochs.entries[-1].start
    yield "high watermark has reached the leader's epoch", reached
    return (yield from lower_end_listed(s, leader))


def lower_end_listed(s: Cluster, leader: int) -> Step[Cluster]:
    """The leader lists its high watermark, where an earlier leader could list a higher one."""
    lower = s.replicas[leader].hw < len(s.ghosts.readable)
    yield "another leader could list a higher end", lower
    return evolve(s, ghosts=evolve(s.ghosts, listed_end_went_back=True))


# -- fetches --------------------------------------------------------------------------------------


def requests(s: Cluster, leader: int, follower: int) -> Guarded[None]:
    """Guards of a fetch since KIP-320: leader and follower are in the same leader epoch.

    Kafka: `Partition.checkCurrentLeaderEpoch`.
    """
    own, theirs = s.replicas[follower], s.replicas[leader]
    yield "broker presumes leadership", theirs.leadership is not None
    yield "follower fetches from the leader", s.fetches_from(follower, leader)
    yield "follower is in the leader's epoch", own.epoch == theirs.epoch


@rule(by="leader", leader=brokers, follower=brokers)
def leader_counts_fetch(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A fetch arrives that the leader parks, or whose response is lost.

    The leader learns the follower's log end offset, and expands the ISR if the follower has caught
    up (`joins_isr`). Kafka: `Partition.updateFollowerFetchState` (`updateReplicaLogReadResult` in
    2.1), `DelayedFetch`.
    """
    yield from requests(s, leader, follower)
    s = yield from counted(s, leader, follower, joins_isr(s, leader, follower), with_written_isr)
    return with_advanced_hw(s, leader)


@rule(by="follower", leader=brokers, follower=brokers)
def follower_fetches(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A follower appends what its leader returns, and learns the leader's high watermark.

    The leader counts the fetch, and expands the ISR if the follower has caught up (`joins_isr`).
    Kafka: `Partition.fetchRecords` on the leader (`ReplicaManager.readFromLocalLog` in 2.1), and
    `ReplicaFetcherThread.processPartitionData` on the follower.
    """
    yield from requests(s, leader, follower)
    s = yield from fetched(s, leader, follower, joins_isr(s, leader, follower), with_written_isr)
    return with_advanced_hw(s, leader)


WithIsr: TypeAlias = Callable[[Cluster, int, frozenset[Broker]], Cluster]
"""How a leader changes the ISR: it writes it, or since 2.7 proposes it."""


def counted(
    s: Cluster, leader: int, follower: Broker, joins: bool, with_isr: WithIsr
) -> Guarded[Cluster]:
    """The leader counts a fetch, and the follower gets no response to it."""
    state = s.replicas[leader].leadership
    is_new = state is not None and state.ends[follower] != s.replicas[follower].log.end
    yield "fetch brings news", is_new or joins
    return with_counted_fetch(s, leader, follower, joins, with_isr)


def fetched(
    s: Cluster, leader: int, follower: Broker, joins: bool, with_isr: WithIsr
) -> Guarded[Cluster]:
    """The leader counts a fetch; the follower appends the records, and takes over the HW.

    The response has the high watermark from before the fetch was counted, which may be lower than
    the follower's. A fetch that finds no records is counted and parked first, so its response has
    a later high watermark (`DelayedFetch.onComplete`). Kafka: `UnifiedLog.appendAsFollower`, which
    notes the first offset of each leader epoch, and `UnifiedLog.updateHighWatermark`.
    """
    own, theirs = s.replicas[follower], s.replicas[leader]
    has_records = own.log.end < theirs.log.end
    state = theirs.leadership
    is_parked = state is not None and state.ends[follower] == own.log.end
    yield "leader has records, or the fetch was parked", has_records or is_parked
    yield "response brings news", has_records or theirs.hw != own.hw
    s = with_counted_fetch(s, leader, follower, joins, with_isr)
    new = theirs.log.records[own.log.end :]
    cache = own.epochs
    for offset, record in enumerate(new, own.log.end):
        cache = cache.assign(record.epoch, offset)
    log = Log(appended(own.log.records, *new))
    return s.with_replica(follower, log=log, epochs=cache, hw=follower_hw(theirs.hw, log.end))


def with_counted_fetch(
    s: Cluster, leader: int, follower: Broker, joins: bool, with_isr: WithIsr
) -> Cluster:
    """The leader notes the fetch offset, and expands the ISR if it may.

    Kafka: `Partition.updateFollowerFetchState`.
    """
    state = s.replicas[leader].leadership
    assert state is not None, "a leader"
    ends = replaced(state.ends, follower, s.replicas[follower].log.end)
    s = s.with_leadership(leader, ends=ends)
    if follower in state.restarted and follower not in state.maximal_isr:
        s = s.with_leadership(leader, restarted=state.restarted - {follower})
    return with_isr(s, leader, state.isr | {follower}) if joins else s


# -- the ISR --------------------------------------------------------------------------------------


def joins_isr(s: Cluster, leader: int, follower: int) -> bool:
    """Whether a fetch of this follower expands the ISR.

    Its log must have reached the leader's high watermark and the start of the leader's epoch,
    since a new leader's high watermark may be behind what its predecessor committed (KAFKA-7128).
    Kafka: `Partition.isFollowerInSync`; in 2.1.0 `maybeExpandIsr`.
    """
    start = s.replicas[leader].epochs.entries[-1].start
    return may_join(s, leader, follower, start) and can_write_isr(s, leader)


def may_join(s: Cluster, leader: int, follower: int, epoch_start: int) -> bool:
    """Whether the log of a follower outside the ISR reaches far enough to join it."""
    replica, progress = s.replicas[leader], Progress(s.replicas[follower].log.end)
    is_outside = replica.leadership is not None and follower not in replica.leadership.isr
    return is_outside and reaches_isr(progress, replica.hw, epoch_start)


def can_write_isr(s: Cluster, leader: int) -> bool:
    """Whether the leader's conditional write to ZooKeeper succeeds.

    Kafka: `Partition.updateIsr` (2.1.0) compares the version of the znode. Simplification: here
    the leader epoch and the ISR are compared. An ISR that changed and changed back would count as
    unchanged, but only the leader changes it within its epoch.
    """
    state = s.replicas[leader].leadership
    now = s.registration
    return state is not None and now.epoch == s.replicas[leader].epoch and now.isr == state.isr


def with_written_isr(s: Cluster, leader: int, isr: frozenset[Broker]) -> Cluster:
    """The leader wrote the ISR; the leader epoch stays."""
    return s.with_leadership(leader, isr=isr).with_isr(isr)


def may_lag(s: Cluster, follower: int) -> bool:
    """Whether the bounds allow a follower to lag; one that is down may always lag."""
    return s.bounds.slow_followers == 1 or not s.replicas[follower].is_up


@rule(by="leader", leader=brokers, follower=brokers)
def leader_shrinks_isr(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A follower that is out of sync leaves the ISR; the high watermark may advance.

    Kafka: `Partition.maybeShrinkIsr`, `getOutOfSyncReplicas`. Simplification: there are no
    clocks. A follower whose last fetch was not at the leader's log end may be found out of sync
    at any time; one that was at the log end never is, even if it is down.
    """
    replica = s.replicas[leader]
    state = yield from present("broker presumes leadership", replica.leadership)
    yield "follower is in the ISR", follower in state.isr
    yield "follower is another broker", follower != leader
    yield "follower is out of sync", state.ends[follower] != replica.log.end
    yield limit("follower may be slow"), may_lag(s, follower)
    yield "leader's view of the ISR is current", can_write_isr(s, leader)
    s = with_written_isr(s, leader, state.isr - {follower})
    return with_advanced_hw(s, leader)
