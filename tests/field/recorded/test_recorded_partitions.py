"""Recordings of `kspec.impl.partition`, checked by the mapping `replica`."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.recorded_partitions import ALTERATIONS, Event, recordings
from kspec.field.recorded import Validation, from_objects, validate_recordings
from kspec.impl.partition import Follower, Leader, Replica

HEADER = {"kspec_trace": 1, "mapping": "replica", "order": "total"}


def verdict_on(events: list[Event]) -> Validation:
    """The verdict on a trace of one partition."""
    return validate_recordings([from_objects("trace", [HEADER, *events])], {})


def test_exactly_the_altered_recordings_are_rejected() -> None:
    names = []
    for events, at, name in recordings(traces=15, events=300, bad=5):
        found = verdict_on(events)
        assert found.verdict == ("rejected" if at else "accepted")
        if at:
            names.append(name)
            assert found.rejection is not None
            assert found.rejection.event is not None
            assert found.rejection.event.number >= at
    assert names == list(ALTERATIONS)


def fetch(follower: Replica, leader: Replica) -> None:
    """A follower fetches all that there is, and reports it with its next fetch."""
    assert isinstance(follower.role, Follower)
    for _ in range(3):
        request = follower.role.next_request()
        assert request is not None
        follower.role.take(leader.answer(request))


def report(replica: Replica) -> Event:
    """What a replica reports of itself."""
    role: Any = replica.role
    isr = {"isr": sorted(role.isr)} if isinstance(role, Leader) else {}
    return {
        "node": replica.broker,
        "leader": replica.broker if isr else role.leader,
        "leader_epoch": replica.leader_epoch,
        "log_end_offset": replica.log.end,
        "high_watermark": replica.hw,
        **isr,
    }


@pytest.mark.parametrize("learns", [True, False])
def test_a_leader_that_missed_another_one_commits_what_a_member_of_the_isr_lacks(
    learns: bool,
) -> None:
    """Kafka keeps what followers held if a broker is elected that led before.

    Kafka: `Partition.makeLeader`, where `isNewLeader` is false for a broker that did not learn of
    the leader in between, and `Replica.resetReplicaState`.
    """
    first, second, third = replicas = [Replica(number) for number in range(3)]
    isr = {0, 1, 2}
    first.become_leader(0, 0, isr, isr)
    second.become_follower(0, 0, 0, isr)
    third.become_follower(0, 0, 0, isr)
    first.append(range(5))
    fetch(second, first)
    third.become_leader(1, 1, isr, isr)
    second.become_follower(1, 1, 2, isr)
    fetch(second, third)
    assert second.log.end == 0
    if learns:
        first.become_follower(1, 1, 2, isr)
    first.become_leader(2, 2, isr, isr)
    third.become_follower(2, 2, 0, isr)
    fetch(third, first)
    assert first.hw == (0 if learns else 5)
    second.become_follower(2, 2, 0, isr)
    found = verdict_on([report(replica) for replica in replicas])
    assert found.verdict == ("accepted" if learns else "rejected")
    if found.rejection:
        assert found.rejection.guard == "ISR member holds the committed records"
