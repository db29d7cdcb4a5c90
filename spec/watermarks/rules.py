"""The rules of the model: a producer sends records, and followers fetch them."""

from __future__ import annotations

from kspec.spec.core import Step, evolve, limit, replaced, rule
from kspec.spec.watermarks.state import Partition, followers
from kspec.spec.watermarks.updates import after_append, after_fetch, after_response


@rule(by="producer")
def producer_sends(s: Partition) -> Step[Partition]:
    """The leader appends a producer's record.

    Kafka: `Partition.appendRecordsToLeader`.
    """
    yield limit("a record remains"), s.leader.leo < s.bounds.records
    return evolve(s, leader=after_append(s.leader))


def received_fetch(s: Partition, follower: int) -> Partition:
    """The partition after the leader recorded the offset of a fetch and updated its HW."""
    return evolve(s, leader=after_fetch(s.leader, follower, s.followers[follower].leo))


def sent_response(s: Partition, follower: int, hw: int) -> Partition:
    """The partition after a follower received all further records, and this HW of the leader."""
    asking = s.followers[follower]
    answered = after_response(asking, s.leader.leo - asking.leo, hw)
    return evolve(s, followers=replaced(s.followers, follower, answered))


@rule(by="follower", follower=followers)
def follower_fetches(s: Partition, follower: int) -> Partition:
    """A follower fetches; the response has the leader's HW as this fetch changes it.

    Not in Kafka: `Partition.fetchRecords` reads the HW first (`reply-before-update`), though
    textbooks describe it so.
    """
    received = received_fetch(s, follower)
    return sent_response(received, follower, received.leader.hw)


@rule(by="follower", follower=followers)
def follower_fetches_previous_hw(s: Partition, follower: int) -> Partition:
    """A follower fetches; the response has the leader's HW from before this fetch.

    Kafka: `Partition.fetchRecords` reads log and HW, then calls `updateFollowerFetchState`.
    """
    return sent_response(received_fetch(s, follower), follower, s.leader.hw)


# -- fetches that are parked ----------------------------------------------------------------------


@rule(by="follower", follower=followers)
def follower_fetches_records(s: Partition, follower: int) -> Step[Partition]:
    """A follower fetches and gets records at once, with the HW from before this fetch.

    Kafka: `Partition.fetchRecords`, in `ReplicaManager.fetchMessages`.
    """
    yield "no fetch of the follower is parked", follower not in s.parked
    has_records = s.followers[follower].leo < s.leader.leo
    yield "leader holds a record at the fetch offset", has_records
    return sent_response(received_fetch(s, follower), follower, s.leader.hw)


@rule(by="leader", follower=followers)
def leader_parks_fetch(s: Partition, follower: int) -> Step[Partition]:
    """A fetch that finds no record is parked; the leader has recorded its offset.

    Kafka: `ReplicaManager.fetchMessages`, which makes it a `DelayedFetch`.
    """
    yield "no fetch of the follower is parked", follower not in s.parked
    has_records = s.followers[follower].leo < s.leader.leo
    yield "leader holds no record at the fetch offset", not has_records
    return evolve(received_fetch(s, follower), parked=s.parked | {follower})


@rule(by="leader", follower=followers)
def leader_completes_parked_fetch(s: Partition, follower: int) -> Step[Partition]:
    """The leader reads the log and the HW again, and responds to a parked fetch.

    Kafka: `DelayedFetch.onComplete`. Simplification: it completes at any time; in Kafka when a
    record arrives, or after replica.fetch.wait.max.ms.
    """
    yield "a fetch of the follower is parked", follower in s.parked
    answered = sent_response(s, follower, s.leader.hw)
    return evolve(answered, parked=s.parked - {follower})
