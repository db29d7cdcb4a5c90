"""What a consumer reads, and which calls it refuses."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from kspec.spec.consumer.errors import IllegalArgument, IllegalState
from kspec.spec.consumer.subscription import (
    INTERNAL_TOPICS,
    Mode,
    Subscription,
    assign,
    assign_from_group,
    check_assigned,
    check_poll,
    check_seek,
    subscribe,
    subscribe_to_pattern,
    unsubscribe,
    update_metadata,
)
from kspec.spec.vocabulary import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
NOTHING = Subscription()

WAYS: dict[Mode, Callable[[Subscription], Subscription]] = {
    Mode.AUTO_TOPICS: lambda s: subscribe(s, ["a"]),
    Mode.AUTO_PATTERN: lambda s: subscribe_to_pattern(s, "a.*", ["a", "ab", "ba"]),
    Mode.USER_ASSIGNED: lambda s: assign(s, [A]),
}


@pytest.mark.parametrize(("first", "second"), list(product(WAYS, WAYS)))
def test_the_modes_exclude_each_other_until_unsubscribe(first: Mode, second: Mode) -> None:
    s = WAYS[first](NOTHING)
    assert s.mode is first
    if first is second:
        assert WAYS[second](s) == s
    else:
        with pytest.raises(IllegalState, match="mutually exclusive"):
            WAYS[second](s)
        assert WAYS[second](unsubscribe(s)).mode is second


@pytest.mark.parametrize("mode", WAYS)
def test_subscribing_to_nothing_and_assigning_nothing_unsubscribe(mode: Mode) -> None:
    assert subscribe(WAYS[mode](NOTHING), []) == NOTHING
    assert assign(WAYS[mode](NOTHING), []) == NOTHING


def test_a_poll_without_subscription_is_refused() -> None:
    with pytest.raises(IllegalState):
        check_poll(NOTHING)
    for way in WAYS.values():
        check_poll(way(NOTHING))


def test_a_pattern_matches_whole_names_and_later_topics() -> None:
    s = WAYS[Mode.AUTO_PATTERN](NOTHING)
    assert s.topics == {"a", "ab"}
    assert update_metadata(s, ["abc", "b"]).topics == {"abc"}
    assert update_metadata(subscribe(NOTHING, ["a"]), ["b"]).topics == {"a"}


def test_a_pattern_passes_over_internal_topics_unless_they_are_included() -> None:
    known = ["orders", *INTERNAL_TOPICS]
    assert subscribe_to_pattern(NOTHING, ".*", known).topics == {"orders"}
    everything = Subscription(exclude_internal_topics=False)
    assert subscribe_to_pattern(everything, ".*", known).topics == {"orders", *INTERNAL_TOPICS}
    assert subscribe_to_pattern(unsubscribe(everything), ".*", known).topics == {*known}
    assert subscribe(NOTHING, ["__consumer_offsets"]).topics == {"__consumer_offsets"}


def test_a_group_assigns_only_to_subscribed_consumers() -> None:
    assert assign_from_group(subscribe(NOTHING, ["a"]), [A]).assigned == {A}
    for s in (NOTHING, assign(NOTHING, [A])):
        with pytest.raises(IllegalArgument):
            assign_from_group(s, [B])


def test_a_new_subscription_keeps_what_is_assigned_until_the_rebalance() -> None:
    s = assign_from_group(subscribe(NOTHING, ["a"]), [A])
    assert subscribe(s, ["b"]).assigned == {A}
    assert assign(assign(NOTHING, [A]), [B]).assigned == {B}


def test_seeking_pausing_and_asking_need_an_assigned_partition() -> None:
    s = assign(NOTHING, [A])
    check_assigned(s, A)
    check_seek(s, A, 0)
    with pytest.raises(IllegalState):
        check_assigned(s, B)
    with pytest.raises(IllegalState):
        check_seek(s, B, 0)
    with pytest.raises(IllegalArgument):
        check_seek(s, A, -1)


def test_empty_names_are_refused() -> None:
    with pytest.raises(IllegalArgument):
        subscribe(NOTHING, ["a", " "])
    with pytest.raises(IllegalArgument):
        subscribe_to_pattern(NOTHING, "", ["a"])
    with pytest.raises(IllegalArgument):
        assign(NOTHING, [TopicPartition("", 0)])
