"""The follower's rules since KIP-320: it truncates when a leader epoch begins, and fetches.

Both need a leader in the same leader epoch; Kafka rejects requests of any other with
FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH. The earlier variants replace these rules
(`unfenced`, `first_try`).
"""

from __future__ import annotations

from kspec.spec.core import Step, present, rule
from kspec.spec.replication.state import NO_LEADER, Cluster, LeaderAndIsr, brokers, requests
from kspec.spec.replication.truncation import end_of_agreement
from kspec.spec.watermarks import follower_hw


@rule(by="follower", follower=brokers, request=requests)
def broker_becomes_follower_and_truncates(
    s: Cluster, follower: int, request: LeaderAndIsr
) -> Step[Cluster]:
    """A broker accepts a request that names another leader, and truncates its log.

    Kafka: `Partition.makeFollower`, then `AbstractFetcherThread.truncateToEpochEndOffsets`, or
    since 2.7 `truncateOnFetchResponse`. The leader must know that it leads: until then it
    answers with UNKNOWN_LEADER_EPOCH. Simplification: accepting and truncating are one step.
    """
    yield "request names a leader", request.leader != NO_LEADER
    leader = request.leader
    yield "leader is another broker", leader != follower
    yield "request has a newer leader epoch", request.epoch > s.views[follower].epoch
    yield "leader presumes leadership", s.presumes_leadership(leader)
    yield "leader is in the request's epoch", s.views[leader].epoch == request.epoch
    truncated = s.with_truncated_log(follower, end_of_agreement(s, leader, follower))
    return truncated.with_view(follower, epoch=request.epoch, leader=leader, isr=request.isr)


@rule(by="follower", leader=brokers, follower=brokers)
def follower_fetches(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower copies the next record from its leader, and learns the high watermark.

    Kafka: `Partition.fetchRecords` on the leader, which compares the request's
    currentLeaderEpoch with its own, and `ReplicaFetcherThread.processPartitionData`.
    Simplification: request and response are one step, with one record; a fetch that returns no
    record, and only the high watermark, is not modelled.
    """
    yield "follower is in the leader's epoch", s.follows_epoch(follower, leader)
    next_record = s.logs[leader].at(s.logs[follower].end)
    record = yield from present("leader holds a record at the fetch offset", next_record)
    log = s.logs[follower].append(record)
    hw = follower_hw(s.views[leader].hw, log.end)
    return s.with_log(follower, log).with_view(follower, hw=hw)
