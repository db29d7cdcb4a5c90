"""The leader's rules: it appends, advances the high watermark, and shrinks and expands the ISR.

The rules that compare leader epochs are those of KIP-320. The earlier variants replace them
(`unfenced`, `first_try`).
"""

from __future__ import annotations

from kspec.spec.core import Step, evolve, limit, rule
from kspec.spec.log import Record
from kspec.spec.replication.state import NO_LEADER, Broker, Cluster, LeaderAndIsr, brokers, requests

# -- in every variant ---------------------------------------------------------------------------


@rule(by="leader", request=requests)
def broker_becomes_leader(s: Cluster, request: LeaderAndIsr) -> Step[Cluster]:
    """A broker accepts a request that names it leader; its log and high watermark stay.

    Kafka: `Partition.makeLeader`. A new leader never truncates.
    """
    yield "request names a leader", request.leader != NO_LEADER
    leader = request.leader
    yield "request has a newer leader epoch", request.epoch > s.views[leader].epoch
    return s.with_view(leader, epoch=request.epoch, leader=leader, isr=request.isr)


@rule(by="leader", leader=brokers)
def leader_appends(s: Cluster, leader: int) -> Step[Cluster]:
    """A broker that presumes leadership appends a producer's record.

    Kafka: `Partition.appendRecordsToLeader`. A Produce request carries no leader epoch, so a
    deposed leader that does not know it yet still appends. Simplification: every batch has one
    record; acks and min.insync.replicas are not modelled.
    """
    yield "leader presumes leadership", s.presumes_leadership(leader)
    yield limit("a record remains"), s.next_record < s.bounds.max_records
    yield limit("log has room"), s.logs[leader].end < s.bounds.log_size
    record = Record(s.next_record, s.views[leader].epoch)
    appended = s.with_log(leader, s.logs[leader].append(record))
    return evolve(appended, next_record=s.next_record + 1)


# -- since KIP-320 ------------------------------------------------------------------------------


@rule(by="leader", leader=brokers, follower=brokers)
def leader_shrinks_isr(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower that is out of sync, or in another leader epoch, leaves the ISR.

    Kafka: `Partition.maybeShrinkIsr`, `isFollowerOutOfSync`. Simplification: there is no
    replica.lag.time.max.ms; a follower whose log is shorter than the leader's may be found out
    of sync at any time.
    """
    yield "leadership is current", s.is_current_leader(leader)
    yield "follower is in the ISR", follower in s.views[leader].isr
    yield "follower is another broker", follower != leader
    is_behind = s.logs[follower].end < s.logs[leader].end
    yield "follower is out of sync", is_behind or not s.follows_epoch(follower, leader)
    return s.with_isr(leader, s.views[leader].isr - {follower})


@rule(by="leader", leader=brokers, follower=brokers)
def leader_expands_isr(s: Cluster, leader: int, follower: Broker) -> Step[Cluster]:
    """A follower that holds every record that may be committed rejoins the ISR.

    Kafka: `Partition.maybeExpandIsr`, `isFollowerInSync`. A new leader's high watermark may be
    below its predecessor's: reaching it is not enough (KAFKA-7128). The last guard is stricter
    than Kafka's, which requires that the follower's log, not the leader's high watermark, has
    reached the start offset of the leader's epoch.
    """
    yield "leadership is current", s.is_current_leader(leader)
    yield "follower is not in the ISR", follower not in s.views[leader].isr
    yield "follower is in the leader's epoch", s.follows_epoch(follower, leader)
    hw = s.views[leader].hw
    yield "follower's log reaches the high watermark", s.logs[follower].end >= hw
    yield "high watermark has reached the leader's epoch", hw_has_reached_epoch(s, leader)
    return s.with_isr(leader, s.views[leader].isr | {follower})


def hw_has_reached_epoch(s: Cluster, leader: int) -> bool:
    """Whether all records of earlier epochs are below the leader's high watermark."""
    hw = s.views[leader].hw
    record = s.logs[leader].at(hw)
    if record is None:
        return hw == s.logs[leader].end
    return record.epoch == s.views[leader].epoch


@rule(by="leader", leader=brokers)
def leader_advances_hw(s: Cluster, leader: int) -> Step[Cluster]:
    """The leader commits one more record, once every member of the ISR holds it.

    Kafka: `Partition.maybeIncrementLeaderHW`. Simplification: the leader reads the followers'
    logs, not the offsets of their last fetches (`spec.watermarks` has those), and may commit at
    any time. Kafka also waits for followers that are caught up but not in the ISR yet, and
    since 3.7 for min.insync.replicas.
    """
    yield "leader presumes leadership", s.presumes_leadership(leader)
    hw = s.views[leader].hw
    yield "leader holds a record at the high watermark", s.logs[leader].holds(hw)
    isr = s.views[leader].isr
    yield "every ISR member is in the leader's epoch", all(s.follows_epoch(m, leader) for m in isr)
    yield "every ISR member holds a record there", all(s.logs[m].holds(hw) for m in isr)
    return s.with_view(leader, hw=hw + 1)
