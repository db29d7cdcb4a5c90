"""Each strategy in small examples."""

from __future__ import annotations

import pytest

from kspec.spec.assignors import ASSIGNORS, InvalidGroup, KafkaRaises, Member, TopicPartition
from kspec.spec.assignors.cooperative import next_members, rounds
from kspec.spec.assignors.properties import VALID, Round, failure, loads_are_even
from kspec.spec.assignors.range import ranges_are_contiguous
from kspec.spec.assignors.sticky import assign_sticky
from kspec.spec.assignors.sticky.guarantees import no_partitions_are_swapped
from tests.spec.assignors.faulty import assign_ignoring_subscriptions


def owning(*names: str) -> list[TopicPartition]:
    """Partitions, written as `topic-0`."""
    return [TopicPartition(name.rpartition("-")[0], int(name.rpartition("-")[2])) for name in names]


def listed(assignment: dict[str, tuple[TopicPartition, ...]]) -> dict[str, list[str]]:
    """An assignment, written as `topic-0`."""
    return {member: [str(tp) for tp in assigned] for member, assigned in assignment.items()}


# -- common examples of the strategies -----------------------------------------------------------


def test_round_robin_that_ignores_subscriptions_assigns_unsubscribed_topics() -> None:
    partitions = {"topic-0": 3, "topic-1": 3}
    members = {"consumer-0": Member(["topic-0"]), "consumer-1": Member(["topic-1"])}
    faulty = assign_ignoring_subscriptions(partitions, members)
    assert listed(faulty) == {
        "consumer-0": ["topic-0-0", "topic-0-2", "topic-1-1"],
        "consumer-1": ["topic-0-1", "topic-1-0", "topic-1-2"],
    }
    places = [failure(holds, Round(partitions, members, faulty)) for holds in VALID]
    assert places == [None, "topic-1-1 at 'consumer-0'", None, None]
    right = ASSIGNORS["roundrobin"](partitions, members)
    assert [failure(holds, Round(partitions, members, right)) for holds in VALID] == [None] * 4


def test_range_assigns_topics_of_one_size_alike() -> None:
    members = {name: Member(["topic-0", "topic-1"]) for name in ("consumer-0", "consumer-1")}
    assert listed(ASSIGNORS["range"]({"topic-0": 3, "topic-1": 3}, members)) == {
        "consumer-0": ["topic-0-0", "topic-0-1", "topic-1-0", "topic-1-1"],
        "consumer-1": ["topic-0-2", "topic-1-2"],
    }


@pytest.mark.parametrize("strategy", ["sticky", "cooperative-sticky"])
def test_sticky_members_keep_their_partitions_and_share_those_of_a_crashed_one(
    strategy: str,
) -> None:
    survivors = {
        "consumer-1": Member(["a"], owning("a-0", "a-1"), 1),
        "consumer-2": Member(["a"], owning("a-2", "a-3"), 1),
    }
    assert listed(ASSIGNORS[strategy]({"a": 6}, survivors)) == {
        "consumer-1": ["a-0", "a-1", "a-4"],
        "consumer-2": ["a-2", "a-3", "a-5"],
    }


def test_range_moves_more_than_sticky_after_a_crash() -> None:
    survivors = {"consumer-1": Member(["a"]), "consumer-2": Member(["a"])}
    assert listed(ASSIGNORS["range"]({"a": 6}, survivors)) == {
        "consumer-1": ["a-0", "a-1", "a-2"],
        "consumer-2": ["a-3", "a-4", "a-5"],
    }


# -- cooperative rounds --------------------------------------------------------------------------


def test_cooperative_withholds_a_partition_until_its_owner_has_revoked_it() -> None:
    members = {
        "old": Member(["a"], owning("a-0", "a-1", "a-2", "a-3"), 1),
        "new": Member(["a"], generation=None),
    }
    first, second, last = rounds(ASSIGNORS["cooperative-sticky"], {"a": 4}, members, limit=10)
    assert listed(first.assignment) == {"old": ["a-0", "a-1"], "new": []}
    assert listed(second.assignment) == {"old": ["a-0", "a-1"], "new": ["a-2", "a-3"]}
    assert last.assignment == second.assignment


def test_sticky_transfers_in_one_round() -> None:
    members = {
        "old": Member(["a"], owning("a-0", "a-1", "a-2", "a-3"), 1),
        "new": Member(["a"]),
    }
    assert listed(ASSIGNORS["sticky"]({"a": 4}, members)) == {
        "old": ["a-0", "a-1"],
        "new": ["a-2", "a-3"],
    }


def test_next_round_is_a_generation_later() -> None:
    members = {"a": Member(["t"], (), 4), "b": Member(["t"])}
    done = Round({"t": 2}, members, ASSIGNORS["sticky"]({"t": 2}, members))
    assert {m.generation for m in next_members(done).values()} == {5}


# -- the order of things -------------------------------------------------------------------------


def test_static_members_come_first_by_instance_id() -> None:
    members = {
        "a": Member(["t"]),
        "y": Member(["t"], instance_id="2"),
        "z": Member(["t"], instance_id="1"),
    }
    for strategy in ("range", "roundrobin"):
        assert listed(ASSIGNORS[strategy]({"t": 3}, members)) == {
            "a": ["t-2"],
            "y": ["t-1"],
            "z": ["t-0"],
        }


def test_names_compare_by_utf_16_units_as_in_java() -> None:
    beyond, within = "\U0001f600", "\uffee"
    assert within < beyond, "Python compares by character"
    members = {within: Member(["t"]), beyond: Member(["t"])}
    for strategy in ASSIGNORS:
        assert listed(ASSIGNORS[strategy]({"t": 2}, members)) == {beyond: ["t-0"], within: ["t-1"]}


# -- input that is odd, or wrong -----------------------------------------------------------------


@pytest.mark.parametrize("strategy", ASSIGNORS)
class TestOddInput:
    def test_an_empty_group_gets_nothing(self, strategy: str) -> None:
        assert ASSIGNORS[strategy]({"t": 3}, {}) == {}

    def test_topics_without_partitions_or_metadata_are_left_out(self, strategy: str) -> None:
        members = {"m": Member(["gone", "empty", "unknown", "t"])}
        assignment = ASSIGNORS[strategy]({"gone": None, "empty": 0, "t": 1, "other": 9}, members)
        assert listed(assignment) == {"m": ["t-0"]}

    def test_a_member_without_topics_among_others_gets_nothing(self, strategy: str) -> None:
        members = {"a": Member(["t"]), "b": Member([])}
        assert listed(ASSIGNORS[strategy]({"t": 2}, members)) == {"a": ["t-0", "t-1"], "b": []}

    def test_a_topic_named_twice_counts_once(self, strategy: str) -> None:
        members = {"a": Member(["t", "t"]), "b": Member(["t"])}
        assert listed(ASSIGNORS[strategy]({"t": 2}, members)) == {"a": ["t-0"], "b": ["t-1"]}

    def test_unsubscribed_and_deleted_partitions_are_lost(self, strategy: str) -> None:
        members = {
            "a": Member(["t"], owning("t-0", "u-0", "gone-0"), 1),
            "b": Member(["u"], (), 1),
        }
        got = ASSIGNORS[strategy]({"t": 1, "u": 1}, members)
        withheld = strategy == "cooperative-sticky"
        assert listed(got) == {"a": ["t-0"], "b": [] if withheld else ["u-0"]}

    def test_a_negative_count_is_reported_in_one_line(self, strategy: str) -> None:
        with pytest.raises(InvalidGroup, match=r"^topic 't' has -1 partitions$"):
            ASSIGNORS[strategy]({"t": -1}, {"m": Member(["t"])})


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (lambda: Member("orders"), "topics is a list of names, not the name 'orders'"),
        (lambda: Member([1]), "a topic is named by a string, not 1"),  # type: ignore[list-item]
        (lambda: Member(["t"], ["t"]), "a partition is a pair of topic and index"),  # type: ignore[list-item]
    ],
)
def test_a_malformed_member_is_reported_in_one_line(wrong: object, line: str) -> None:
    with pytest.raises(InvalidGroup, match=f"^{line}$"):
        wrong()  # type: ignore[operator]


# -- quirks of Kafka's, kept ---------------------------------------------------------------------


def test_a_first_member_without_topics_gets_partitions_by_a_quirk() -> None:
    members = {"a": Member([]), "b": Member(["t"])}
    assert listed(ASSIGNORS["sticky"]({"t": 2}, members)) == {"a": ["t-0"], "b": ["t-1"]}


def test_a_claimed_partition_that_does_not_exist_fills_a_quota_until_kafka_raises() -> None:
    members = {"a": Member([], owning("t-1"), 1), "b": Member(["t"], (), 1)}
    with pytest.raises(KafkaRaises) as raised:
        ASSIGNORS["sticky"]({"t": 1}, members)
    assert raised.value.exception == "IllegalStateException"


def test_two_claims_in_one_generation_are_void_even_if_a_third_is_newer() -> None:
    members = {
        "a": Member(["t"], owning("t-0"), 1),
        "b": Member(["t"], owning("t-0"), 1),
        "c": Member(["t"], owning("t-0"), 2),
    }
    assert listed(ASSIGNORS["sticky"]({"t": 3}, members)) == {
        "a": ["t-0"],
        "b": ["t-1"],
        "c": ["t-2"],
    }


def test_an_earlier_owner_gets_a_partition_back_without_subscribing() -> None:
    members = {
        "a": Member(["u"], owning("t-2"), 1),
        "b": Member(["t"], (), 1),
        "c": Member(["t", "u"], owning("u-0"), 2),
    }
    assert listed(ASSIGNORS["sticky"]({"t": 3, "u": 1}, members)) == {
        "a": ["t-2"],
        "b": ["t-0", "t-1"],
        "c": ["u-0"],
    }


def test_an_earlier_owner_that_was_set_aside_makes_kafka_raise() -> None:
    members = {
        "a": Member(["t"], owning("t-1", "t-0"), 2),
        "b": Member(["t"], (), 1),
        "c": Member([], owning("t-0"), 1),
    }
    with pytest.raises(KafkaRaises) as raised:
        ASSIGNORS["sticky"]({"t": 2}, members)
    assert raised.value.exception == "NullPointerException"


def test_an_assignor_remembers_the_highest_generation_it_saw() -> None:
    members = {
        "a": Member(["u"], (), 1),
        "b": Member(["u"], owning("u-0"), 1),
        "c": Member(["t", "u"], owning("u-0"), 2),
    }
    fresh = assign_sticky({"t": 1, "u": 1}, members)
    assert listed(fresh) == {"a": [], "b": ["u-0"], "c": ["t-0"]}
    later = assign_sticky({"t": 1, "u": 1}, members, seen_generation=3)
    assert listed(later) == {"a": ["u-0"], "b": [], "c": ["t-0"]}


# -- properties can fail -------------------------------------------------------------------------


def test_missing_and_shared_partitions_and_missing_members_are_detected() -> None:
    members = {"a": Member(["t"]), "b": Member(["t"])}
    lost: dict[str, tuple[TopicPartition, ...]] = {"a": tuple(owning("t-0")), "b": ()}
    shared = {"a": tuple(owning("t-0", "t-1")), "b": tuple(owning("t-1"))}
    silent = {"a": tuple(owning("t-0", "t-1"))}
    unknown = {"a": tuple(owning("t-0", "t-1")), "b": tuple(owning("t-2"))}
    found = {
        name: [failure(holds, Round({"t": 2}, members, wrong)) for holds in VALID]
        for name, wrong in {"lost": lost, "shared": shared, "silent": silent, "": unknown}.items()
    }
    assert found == {
        "lost": [None, None, None, "t-1"],
        "shared": [None, None, "t-1 at 'a' and 'b'", None],
        "silent": ["member 'b'", None, None, None],
        "": [None, "t-2 at 'b'", None, None],
    }


def test_uneven_loads_gaps_and_swaps_are_detected() -> None:
    members = {"a": Member(["t"], owning("t-0"), 1), "b": Member(["t"], owning("t-1"), 1)}
    everything = Round({"t": 2}, members, {"a": tuple(owning("t-0", "t-1")), "b": ()})
    assert failure(loads_are_even, everything) == "member 'a': 2, where another has 0"
    gap = Round({"t": 3}, members, {"a": tuple(owning("t-0", "t-2")), "b": tuple(owning("t-1"))})
    assert failure(ranges_are_contiguous, gap) == "topic 't' at 'a'"
    swapped = Round({"t": 2}, members, {"a": tuple(owning("t-1")), "b": tuple(owning("t-0"))})
    assert failure(no_partitions_are_swapped, swapped) == "t-1 from 'b' to 'a', and t-0 back"
