"""Offsets: when they may be fetched, what is wrong with some, and when they are forgotten."""

from __future__ import annotations

import pytest

from spec.messages import (
    Committed,
    Error,
    Fetched,
    GroupState,
    LeaveGroup,
    Leaver,
    Offset,
    OffsetCommit,
    OffsetFetch,
    Record,
    Settings,
)
from spec.vocabulary import TopicPartition
from tests.impl.coordinator.scene import (
    GROUP,
    MEMBERS,
    P0,
    P1,
    STATES,
    B,
    Scene,
    absent,
    commit,
    empty,
    fetched,
    stable,
)

WEEK = 7 * 24 * 3600 * 1000


def commits(scene: Scene, offset: int, *partitions: TopicPartition, **who: object) -> None:
    """A commit that is stored."""
    scene.ask("c", commit(offset, *partitions, **who))  # type: ignore[arg-type]
    scene.store()


# -- committed and fetched ------------------------------------------------------------------


@pytest.mark.parametrize("state", STATES)
def test_fetching_what_was_never_committed_is_no_error(state: str) -> None:
    scene = STATES[state]()
    assert scene.ask("c", OffsetFetch((P0,))) == Fetched(offsets=((P0, None),))
    assert scene.ask("c", OffsetFetch()) == Fetched()


def test_a_commit_is_seen_once_it_is_stored() -> None:
    scene = absent()
    commits(scene, 1)
    assert scene.ask("c", commit(2, P0, P1)) is None
    assert fetched(scene, P0, P1) == [1, None]
    scene.store()
    assert fetched(scene, P0, P1) == [2, 2]
    assert scene.last("c") == Committed(((P0, Error.NONE), (P1, Error.NONE)))


def test_a_commit_that_cannot_be_stored_leaves_what_was_there() -> None:
    scene = absent()
    commits(scene, 1)
    scene.ask("c", commit(2))
    scene.store(Error.NOT_ENOUGH_REPLICAS)
    assert scene.last("c") == Committed(((P0, Error.COORDINATOR_NOT_AVAILABLE),))
    assert fetched(scene) == [1]


def test_offsets_may_go_back() -> None:
    scene = absent()
    commits(scene, 9)
    commits(scene, -4)
    assert fetched(scene) == [-4]


def test_what_was_written_later_stays_whichever_is_stored_first() -> None:
    scene = absent()
    scene.ask("c", commit(1))
    scene.ask("c", commit(2))
    scene.tickets.reverse()
    scene.store()
    scene.store()
    assert fetched(scene) == [2]


def test_a_commit_to_an_unknown_group_makes_a_simple_one() -> None:
    scene = absent()
    commits(scene, 1)
    assert (scene.state, scene.group.protocol_type) == (GroupState.EMPTY, None)
    assert scene.log == [Record(GROUP, P0, Offset(1))]


def test_partitions_are_judged_one_by_one() -> None:
    nowhere = TopicPartition("nowhere", 0)
    scene = absent(Settings(max_metadata=3), partition_exists=lambda p: p != nowhere)
    request = OffsetCommit(
        ((P0, Offset(1, "fits")), (P1, Offset(1, "fit")), (nowhere, Offset(1, "fits")))
    )
    assert scene.ask("c", request) is None
    scene.store()
    assert scene.last("c") == Committed(
        (
            (P0, Error.OFFSET_METADATA_TOO_LARGE),
            (P1, Error.NONE),
            (nowhere, Error.UNKNOWN_TOPIC_OR_PARTITION),
        )
    )
    assert fetched(scene, P0, P1) == [None, 1]
    answer = scene.ask("c", OffsetCommit(request.offsets[:1]))
    assert answer == Committed(((P0, Error.OFFSET_METADATA_TOO_LARGE),)), "nothing to wait for"
    assert not scene.tickets


# -- expiry ---------------------------------------------------------------------------------


def expires(scene: Scene, now: int) -> list[Record]:
    """What is written when it is looked what has expired."""
    scene.now = now
    return list(scene.take(scene.coordinator.expire_offsets(now)).records)


def is_forgotten(scene: Scene, since: int) -> None:
    """The offset goes a week after this moment, and with it the group."""
    assert expires(scene, since + WEEK - 1) == []
    gone = [Record(GROUP, P0, None, since + WEEK), Record(GROUP, None, None, since + WEEK)]
    assert expires(scene, since + WEEK) == gone
    assert not scene.coordinator.groups
    assert not scene.armed


def test_a_simple_groups_offsets_expire_a_week_after_they_were_committed() -> None:
    scene = absent()
    scene.now = 100
    commits(scene, 1)
    scene.now = 200
    is_forgotten(scene, 100)


def test_a_groups_offsets_expire_a_week_after_it_was_emptied() -> None:
    scene = stable()
    scene.now = 100
    commits(scene, 1, member=B, generation=1)
    scene.now = 200
    scene.ask("admin", LeaveGroup(tuple(map(Leaver, MEMBERS))))
    assert scene.state is GroupState.EMPTY
    is_forgotten(scene, 200)


def test_the_time_is_kept_through_a_failover() -> None:
    old = stable()
    commits(old, 1, member=B, generation=1)
    old.now = 200
    old.ask("admin", LeaveGroup(tuple(map(Leaver, MEMBERS))))
    scene = Scene()
    scene.take(scene.coordinator.load(old.log))
    is_forgotten(scene, 200)


@pytest.mark.parametrize("state", ["preparing", "completing", "stable"])
def test_a_group_with_members_keeps_its_offsets(state: str) -> None:
    scene = empty()
    commits(scene, 1)
    log = scene.log
    scene = STATES[state]()
    scene.take(scene.coordinator.load([record for record in log if record.partition]))
    assert expires(scene, 10 * WEEK) == []
    assert fetched(scene) == [1]


def test_a_stable_group_forgets_topics_that_no_member_reads() -> None:
    other = TopicPartition("invoices", 0)
    scene = stable(topics_of=lambda subscription: ["orders"])
    scene.now = 100
    commits(scene, 1, P0, other, member=B, generation=1)
    assert expires(scene, 100 + WEEK - 1) == []
    assert expires(scene, 100 + WEEK) == [Record(GROUP, other, None, 100 + WEEK)]
    assert fetched(scene, P0, other) == [1, None]


def test_a_client_may_say_when_its_offset_expires() -> None:
    scene = absent()
    scene.ask("c", OffsetCommit(((P0, Offset(1, expires=10)), (P1, Offset(1)))))
    scene.store()
    assert expires(scene, 9) == []
    assert expires(scene, 10) == [Record(GROUP, P0, None, 10)]
    scene.ask("c", OffsetCommit(((P1, Offset(1, expires=3 * WEEK)),)))
    scene.store()
    assert expires(scene, 2 * WEEK) == []


def test_what_is_being_committed_anew_does_not_expire() -> None:
    scene = absent()
    commits(scene, 1)
    scene.ask("c", commit(2))
    assert expires(scene, WEEK) == []
    scene.store()
    assert fetched(scene) == [2]


def test_an_empty_group_without_offsets_is_forgotten() -> None:
    scene = empty()
    assert expires(scene, 1) == [Record(GROUP, None, None, 1)]


def test_offsets_of_a_topic_that_is_gone_go_with_it_even_while_they_are_written() -> None:
    other = TopicPartition("invoices", 0)
    scene = stable()
    commits(scene, 1, P0, other, member=B, generation=1)
    scene.ask("c", commit(2, P1, member=B, generation=1))
    scene.take(scene.coordinator.topics_deleted(["orders"]))
    scene.store()
    assert scene.error("c") is Error.NONE
    assert fetched(scene, P0, P1, other) == [None, None, 1]
    assert scene.log[-2:] == [Record(GROUP, P0, None), Record(GROUP, P1, None)]
