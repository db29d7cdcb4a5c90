"""Offsets: when they may be fetched, which are rejected, and when they expire."""

from __future__ import annotations

from typing import Any

import pytest

from kspec.spec.messages import (
    Error,
    GroupState,
    LeaveGroup,
    MemberIdentity,
    Offset,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    OffsetsTopicRecord,
    Settings,
)
from kspec.spec.vocabulary import TopicPartition
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
def test_fetching_without_a_commit_is_no_error(state: str) -> None:
    scene = STATES[state]()
    assert scene.ask("c", OffsetFetch((P0,))) == OffsetFetchResponse(offsets=((P0, None),))
    assert scene.ask("c", OffsetFetch()) == OffsetFetchResponse()


def test_a_commit_is_visible_once_it_is_stored() -> None:
    scene = absent()
    commits(scene, 1)
    assert scene.ask("c", commit(2, P0, P1)) is None
    assert fetched(scene, P0, P1) == [1, None]
    scene.store()
    assert fetched(scene, P0, P1) == [2, 2]
    assert scene.last("c") == OffsetCommitResponse(((P0, Error.NONE), (P1, Error.NONE)))


def test_a_failed_commit_keeps_the_previous_offset() -> None:
    scene = absent()
    commits(scene, 1)
    scene.ask("c", commit(2))
    scene.store(Error.NOT_ENOUGH_REPLICAS)
    assert scene.last("c") == OffsetCommitResponse(((P0, Error.COORDINATOR_NOT_AVAILABLE),))
    assert fetched(scene) == [1]


def test_offsets_may_decrease() -> None:
    scene = absent()
    commits(scene, 9)
    commits(scene, -4)
    assert fetched(scene) == [-4]


def test_the_later_commit_wins_whichever_completes_first() -> None:
    scene = absent()
    scene.ask("c", commit(1))
    scene.ask("c", commit(2))
    scene.tickets.reverse()
    scene.store()
    scene.store()
    assert fetched(scene) == [2]


def test_a_commit_to_an_unknown_group_creates_a_simple_group() -> None:
    scene = absent()
    commits(scene, 1)
    assert (scene.state, scene.group.protocol_type) == (GroupState.EMPTY, None)
    assert scene.log == [OffsetsTopicRecord(GROUP, P0, Offset(1))]


def test_each_partition_of_a_commit_has_its_own_result() -> None:
    nowhere = TopicPartition("nowhere", 0)
    scene = absent(Settings(max_metadata=3), partition_exists=lambda p: p != nowhere)
    request = OffsetCommit(
        ((P0, Offset(1, "fits")), (P1, Offset(1, "fit")), (nowhere, Offset(1, "fits")))
    )
    assert scene.ask("c", request) is None
    scene.store()
    assert scene.last("c") == OffsetCommitResponse(
        (
            (P0, Error.OFFSET_METADATA_TOO_LARGE),
            (P1, Error.NONE),
            (nowhere, Error.UNKNOWN_TOPIC_OR_PARTITION),
        )
    )
    assert fetched(scene, P0, P1) == [None, 1]
    answer = scene.ask("c", OffsetCommit(request.offsets[:1]))
    assert answer == OffsetCommitResponse(((P0, Error.OFFSET_METADATA_TOO_LARGE),)), (
        "nothing to wait for"
    )
    assert not scene.tickets


def test_a_missing_partition_is_rejected_before_its_member_is_checked() -> None:
    nowhere = TopicPartition("nowhere", 0)
    missing = Error.UNKNOWN_TOPIC_OR_PARTITION
    exists: dict[str, Any] = {"partition_exists": lambda p: p != nowhere}
    for scene in (stable(**exists), absent(**exists)):
        groups = list(scene.coordinator.groups)
        answer = scene.ask("c", commit(1, nowhere, member="wrong", generation=7))
        assert answer == OffsetCommitResponse(((nowhere, missing),))
        assert scene.ask("c", commit(1, nowhere)) == answer
        assert list(scene.coordinator.groups) == groups, "the group does not learn of it"
        both = scene.ask("c", commit(1, nowhere, P0, member="wrong", generation=7, version=8))
        unknown = Error.UNKNOWN_MEMBER_ID if groups else Error.ILLEGAL_GENERATION
        assert both == OffsetCommitResponse(((nowhere, missing), (P0, unknown)))


# -- expiry ---------------------------------------------------------------------------------


def expires(scene: Scene, now: int) -> list[OffsetsTopicRecord]:
    """The records that expiry writes."""
    scene.now = now
    return list(scene.take(scene.coordinator.expire_offsets(now)).records)


def is_forgotten(scene: Scene, since: int) -> None:
    """The offset expires a week after this moment, and the group with it."""
    assert expires(scene, since + WEEK - 1) == []
    gone = [
        OffsetsTopicRecord(GROUP, P0, None, since + WEEK),
        OffsetsTopicRecord(GROUP, None, None, since + WEEK),
    ]
    assert expires(scene, since + WEEK) == gone
    assert not scene.coordinator.groups
    assert not scene.armed


def test_offsets_of_a_simple_group_expire_a_week_after_their_commit() -> None:
    scene = absent()
    scene.now = 100
    commits(scene, 1)
    scene.now = 200
    is_forgotten(scene, 100)


def test_offsets_of_a_group_expire_a_week_after_it_became_empty() -> None:
    scene = stable()
    scene.now = 100
    commits(scene, 1, member=B, generation=1)
    scene.now = 200
    scene.ask("admin", LeaveGroup(tuple(map(MemberIdentity, MEMBERS))))
    assert scene.state is GroupState.EMPTY
    is_forgotten(scene, 200)


def test_expiry_times_survive_a_failover() -> None:
    old = stable()
    commits(old, 1, member=B, generation=1)
    old.now = 200
    old.ask("admin", LeaveGroup(tuple(map(MemberIdentity, MEMBERS))))
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


def test_a_stable_group_expires_offsets_of_unsubscribed_topics() -> None:
    other = TopicPartition("invoices", 0)
    scene = stable(topics_of=lambda subscription: ["orders"])
    scene.now = 100
    commits(scene, 1, P0, other, member=B, generation=1)
    assert expires(scene, 100 + WEEK - 1) == []
    assert expires(scene, 100 + WEEK) == [OffsetsTopicRecord(GROUP, other, None, 100 + WEEK)]
    assert fetched(scene, P0, other) == [1, None]


def test_an_old_client_may_set_the_expiry_of_its_offset() -> None:
    scene = absent()
    scene.ask("c", OffsetCommit(((P0, Offset(1, expires=10)), (P1, Offset(1)))))
    scene.store()
    assert expires(scene, 9) == []
    assert expires(scene, 10) == [OffsetsTopicRecord(GROUP, P0, None, 10)]
    scene.ask("c", OffsetCommit(((P1, Offset(1, expires=3 * WEEK)),)))
    scene.store()
    assert expires(scene, 2 * WEEK) == []


def test_an_offset_with_a_commit_in_progress_does_not_expire() -> None:
    scene = absent()
    commits(scene, 1)
    scene.ask("c", commit(2))
    assert expires(scene, WEEK) == []
    scene.store()
    assert fetched(scene) == [2]


def test_an_empty_group_without_offsets_is_deleted() -> None:
    scene = empty()
    assert expires(scene, 1) == [OffsetsTopicRecord(GROUP, None, None, 1)]


def test_offsets_of_a_deleted_topic_are_deleted_even_while_written() -> None:
    other = TopicPartition("invoices", 0)
    scene = stable()
    commits(scene, 1, P0, other, member=B, generation=1)
    scene.ask("c", commit(2, P1, member=B, generation=1))
    scene.take(scene.coordinator.topics_deleted(["orders"]))
    scene.store()
    assert scene.error("c") is Error.NONE
    assert fetched(scene, P0, P1, other) == [None, None, 1]
    assert scene.log[-2:] == [
        OffsetsTopicRecord(GROUP, P0, None),
        OffsetsTopicRecord(GROUP, P1, None),
    ]
