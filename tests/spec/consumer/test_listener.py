"""The callbacks of a rebalance listener."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.spec.consumer.listener import (
    Call,
    Callback,
    Effect,
    after_sync,
    before_join,
    leaves_group,
    loses_membership,
    sends_leave_group,
)
from kspec.spec.vocabulary import TopicPartition

A, B, C = (TopicPartition(topic, 0) for topic in "abc")
NONE: frozenset[TopicPartition] = frozenset()
AB, BC = frozenset({A, B}), frozenset({B, C})
REVOKED, ASSIGNED, LOST = Callback.REVOKED, Callback.ASSIGNED, Callback.LOST


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        # before the join
        (before_join(NONE, ["a"], cooperative=False, first=True), Effect(NONE)),
        (before_join(NONE, ["a"], cooperative=True, first=True), Effect(NONE)),
        (before_join(AB, ["a"], cooperative=False), Effect(NONE, (Call(REVOKED, AB),))),
        (before_join(NONE, ["a"], cooperative=False), Effect(NONE, (Call(REVOKED, NONE),))),
        (
            before_join(AB, ["a"], cooperative=True),
            Effect(frozenset({A}), (Call(REVOKED, frozenset({B})),)),
        ),
        (before_join(AB, ["a", "b"], cooperative=True), Effect(AB)),
        # after the sync
        (after_sync(NONE, AB, cooperative=False), Effect(AB, (Call(ASSIGNED, AB),))),
        (
            after_sync(AB, BC, cooperative=True),
            Effect(
                BC,
                (Call(REVOKED, frozenset({A})), Call(ASSIGNED, frozenset({C}))),
                rejoins=True,
            ),
        ),
        (after_sync(AB, AB, cooperative=True), Effect(AB, (Call(ASSIGNED, NONE),))),
        # when membership is void
        (loses_membership(AB), Effect(NONE, (Call(LOST, AB),))),
        (loses_membership(NONE), Effect(NONE)),
        # on close and unsubscribe
        (leaves_group(AB, membership_is_void=False), Effect(NONE, (Call(REVOKED, AB),))),
        (leaves_group(AB, membership_is_void=True), Effect(NONE, (Call(LOST, AB),))),
    ],
)
def test_each_step_of_a_rebalance(effect: Effect, expected: Effect) -> None:
    assert effect == expected


def test_only_dynamic_members_send_leave_group() -> None:
    assert sends_leave_group(None)
    assert not sends_leave_group("instance")


some = st.frozensets(st.sampled_from([A, B, C]))


@pytest.mark.slow
@given(some, some, st.sets(st.sampled_from("abc")), st.booleans())
def test_the_callbacks_add_up_to_the_owned_partitions(
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
