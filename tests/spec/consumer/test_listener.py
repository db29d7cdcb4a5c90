"""What a rebalance listener is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.consumer.listener import (
    Call,
    Callback,
    Told,
    after_sync,
    before_join,
    leaves,
    membership_is_lost,
    sends_leave_group,
)
from spec.vocabulary import TopicPartition

A, B, C = (TopicPartition(topic, 0) for topic in "abc")
NONE: frozenset[TopicPartition] = frozenset()
AB, BC = frozenset({A, B}), frozenset({B, C})
REVOKED, ASSIGNED, LOST = Callback.REVOKED, Callback.ASSIGNED, Callback.LOST


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        # before the join
        (before_join(NONE, ["a"], cooperative=False, first=True), Told(NONE)),
        (before_join(NONE, ["a"], cooperative=True, first=True), Told(NONE)),
        (before_join(AB, ["a"], cooperative=False), Told(NONE, (Call(REVOKED, AB),))),
        (before_join(NONE, ["a"], cooperative=False), Told(NONE, (Call(REVOKED, NONE),))),
        (
            before_join(AB, ["a"], cooperative=True),
            Told(frozenset({A}), (Call(REVOKED, frozenset({B})),)),
        ),
        (before_join(AB, ["a", "b"], cooperative=True), Told(AB)),
        # after the sync
        (after_sync(NONE, AB, cooperative=False), Told(AB, (Call(ASSIGNED, AB),))),
        (
            after_sync(AB, BC, cooperative=True),
            Told(
                BC,
                (Call(REVOKED, frozenset({A})), Call(ASSIGNED, frozenset({C}))),
                rejoins=True,
            ),
        ),
        (after_sync(AB, AB, cooperative=True), Told(AB, (Call(ASSIGNED, NONE),))),
        # when membership is void
        (membership_is_lost(AB), Told(NONE, (Call(LOST, AB),))),
        (membership_is_lost(NONE), Told(NONE)),
        # on close and unsubscribe
        (leaves(AB, membership_is_void=False), Told(NONE, (Call(REVOKED, AB),))),
        (leaves(AB, membership_is_void=True), Told(NONE, (Call(LOST, AB),))),
    ],
)
def test_what_is_told_at_each_moment(told: Told, expected: Told) -> None:
    assert told == expected


def test_only_dynamic_members_say_goodbye() -> None:
    assert sends_leave_group(None)
    assert not sends_leave_group("instance")


some = st.frozensets(st.sampled_from([A, B, C]))


@given(some, some, st.sets(st.sampled_from("abc")), st.booleans())
def test_what_was_told_adds_up_to_what_is_owned(
    owned: frozenset[TopicPartition],
    assigned: frozenset[TopicPartition],
    subscribed: set[str],
    cooperative: bool,
) -> None:
    before = before_join(owned, subscribed, cooperative=cooperative)
    after = after_sync(before.owned, assigned, cooperative=cooperative)
    known = owned
    for call in (*before.calls, *after.calls):
        if call.callback is ASSIGNED:
            assert not known & call.partitions
            known |= call.partitions
        else:
            assert call.partitions <= known
            known -= call.partitions
    assert known == after.owned == assigned
