"""What a consumer reads, and which calls are refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from spec.consumer.errors import IllegalArgument, IllegalState
from spec.consumer.subscription import (
    Mode,
    Subscription,
    assign,
    assigned_by_group,
    may_poll,
    may_seek,
    may_touch,
    subscribe,
    subscribe_to_pattern,
    topics_are_known,
    unsubscribe,
)
from spec.vocabulary import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
NOTHING = Subscription()

WAYS: dict[Mode, Callable[[Subscription], Subscription]] = {
    Mode.AUTO_TOPICS: lambda s: subscribe(s, ["a"]),
    Mode.AUTO_PATTERN: lambda s: subscribe_to_pattern(s, "a.*", ["a", "ab", "ba"]),
    Mode.USER_ASSIGNED: lambda s: assign(s, [A]),
}


@pytest.mark.parametrize(("first", "second"), list(product(WAYS, WAYS)))
def test_ways_of_reading_exclude_each_other_until_unsubscribe(first: Mode, second: Mode) -> None:
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


def test_a_poll_needs_something_to_read() -> None:
    with pytest.raises(IllegalState):
        may_poll(NOTHING)
    for way in WAYS.values():
        may_poll(way(NOTHING))


def test_a_pattern_takes_whole_names_and_topics_that_come_later() -> None:
    s = WAYS[Mode.AUTO_PATTERN](NOTHING)
    assert s.topics == {"a", "ab"}
    assert topics_are_known(s, ["abc", "b"]).topics == {"abc"}
    assert topics_are_known(subscribe(NOTHING, ["a"]), ["b"]).topics == {"a"}


def test_only_who_has_joined_takes_partitions_from_a_group() -> None:
    assert assigned_by_group(subscribe(NOTHING, ["a"]), [A]).assigned == {A}
    for s in (NOTHING, assign(NOTHING, [A])):
        with pytest.raises(IllegalState):
            assigned_by_group(s, [B])


def test_a_new_subscription_keeps_what_is_assigned_until_the_rebalance() -> None:
    s = assigned_by_group(subscribe(NOTHING, ["a"]), [A])
    assert subscribe(s, ["b"]).assigned == {A}
    assert assign(assign(NOTHING, [A]), [B]).assigned == {B}


def test_seeking_pausing_and_asking_need_an_assigned_partition() -> None:
    s = assign(NOTHING, [A])
    may_touch(s, A)
    may_seek(s, A, 0)
    with pytest.raises(IllegalState):
        may_touch(s, B)
    with pytest.raises(IllegalState):
        may_seek(s, B, 0)
    with pytest.raises(IllegalArgument):
        may_seek(s, A, -1)


def test_names_that_are_no_names_are_refused() -> None:
    with pytest.raises(IllegalArgument):
        subscribe(NOTHING, ["a", " "])
    with pytest.raises(IllegalArgument):
        subscribe_to_pattern(NOTHING, "", ["a"])
    with pytest.raises(IllegalArgument):
        assign(NOTHING, [TopicPartition("", 0)])
