"""The offsets topic: what readers see, what expires, and the model of both."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.explore import explore
from checkers.limits import Limits
from checkers.mutate import mutate
from spec.messages import GroupMetadata, GroupState, Offset, Record
from spec.offsets_topic import OFFSETS_TOPIC
from spec.offsets_topic.expiry import Group, expired, expires_at, goes_too, may_delete_offset
from spec.offsets_topic.records import Entry, Log, compact, hides, next_entry, read, without
from spec.vocabulary import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


def log_of(records: list[Record]) -> Log:
    return tuple(Entry(offset, record) for offset, record in enumerate(records))


values = st.one_of(st.none(), st.integers(0, 3).map(Offset))
records = st.builds(
    Record, st.sampled_from(["g", "h"]), st.sampled_from([A, B]), values
) | st.builds(
    Record, st.sampled_from(["g", "h"]), st.none(), st.sampled_from([None, GroupMetadata(1)])
)
logs = st.lists(records, max_size=12).map(log_of)


# -- the log ------------------------------------------------------------------------------------


@given(logs, st.lists(st.tuples(st.integers(0, 13), st.booleans()), max_size=5))
def test_no_compaction_changes_what_a_reader_sees(
    log: Log, cleanings: list[tuple[int, bool]]
) -> None:
    seen = read(log)
    for end, tombstones_too in cleanings:
        log = compact(log, end)
        if tombstones_too:
            for entry in [e for e in log if e.is_tombstone and not hides(log, e)]:
                log = without(log, entry)
        assert read(log) == seen


@given(logs, st.integers(0, 13))
def test_compaction_leaves_one_entry_of_each_key_where_it_was(log: Log, end: int) -> None:
    left = compact(log, end)
    below = [entry.key for entry in left if entry.offset < end]
    assert len(below) == len(set(below))
    assert set(left) <= set(log)
    assert [e for e in left if e.offset >= end] == [e for e in log if e.offset >= end]


@given(logs, st.integers(0, 13), st.integers(0, 13))
def test_whoever_reads_while_the_log_is_compacted_sees_the_same(
    log: Log, position: int, end: int
) -> None:
    begun = read(entry for entry in log if entry.offset < position)
    rest = [entry for entry in compact(log, end) if entry.offset >= position]
    assert read(rest, begun) == read(log)


def test_a_tombstone_hides_only_what_stands_before_it_under_its_key() -> None:
    log = log_of([Record("g", A, Offset(1)), Record("g", B, None), Record("g", A, None)])
    assert [hides(log, entry) for entry in log[1:]] == [False, True]
    assert read(without(log, log[2])) != read(log)


def test_a_reader_goes_on_behind_a_gap() -> None:
    log = compact(log_of([Record("g", A, Offset(n)) for n in range(3)]), 3)
    found = next_entry(log, 0)
    assert found is not None
    assert found.offset == 2
    assert next_entry(log, 3) is None


# -- expiry -------------------------------------------------------------------------------------

EMPTY, STABLE = GroupState.EMPTY, GroupState.STABLE
READS_A = frozenset({"a"})


@pytest.mark.parametrize(
    ("group", "partition", "expires"),
    [
        (Group(EMPTY, "consumer", since=50), A, 60),
        (Group(EMPTY, "consumer", since=None), A, 30),  # a record from before states had times
        (Group(EMPTY, None), A, 30),  # a simple group
        (Group(EMPTY, "connect", since=50), A, 60),
        (Group(STABLE, "consumer", READS_A), A, None),
        (Group(STABLE, "consumer", READS_A), B, 30),
        (Group(STABLE, "connect"), B, None),
        (Group(GroupState.PREPARING_REBALANCE, "consumer", READS_A), B, None),
        (Group(GroupState.COMPLETING_REBALANCE, "consumer", READS_A), B, None),
        (Group(GroupState.DEAD, None), A, None),
    ],
)
def test_when_a_commit_expires(
    group: Group, partition: TopicPartition, expires: int | None
) -> None:
    commit = Entry(0, Record("g", partition, Offset(7)), time=20)
    assert expires_at(group, partition, commit, retention=10) == expires
    at_the_moment = [] if expires is None else [partition]
    assert expired(group, {partition: commit}, expires or 10**6, 10) == at_the_moment
    if expires is not None:
        assert expired(group, {partition: commit}, expires - 1, 10) == []


def test_a_time_that_the_client_gave_wins_where_anything_expires_at_all() -> None:
    commit = Entry(0, Record("g", A, Offset(7)), time=20, expires=25)
    assert expires_at(Group(EMPTY, "consumer", since=50), A, commit, retention=10) == 25
    assert expires_at(Group(STABLE, "consumer", READS_A), A, commit, retention=10) is None


def test_a_commit_into_a_group_that_was_left_long_ago_goes_with_the_others() -> None:
    """What is committed at 99 goes at once: only the time at which the group emptied counts."""
    late = Entry(0, Record("g", A, Offset(7)), time=99)
    assert expired(Group(EMPTY, "consumer", since=50), {A: late}, now=100, retention=10) == [A]


def test_a_group_goes_when_it_is_empty_and_keeps_nothing() -> None:
    assert goes_too(Group(EMPTY), [A, B], [A, B])
    assert not goes_too(Group(EMPTY), [A, B], [A])
    assert not goes_too(Group(STABLE, "consumer"), [A], [A])


@pytest.mark.parametrize(
    ("group", "topic", "may"),
    [
        (Group(EMPTY, "consumer"), "a", True),
        (Group(STABLE, "consumer", READS_A), "a", False),
        (Group(STABLE, "consumer", READS_A), "b", True),
        (Group(STABLE, "connect"), "b", False),
    ],
)
def test_which_offsets_an_administrator_may_delete(group: Group, topic: str, may: bool) -> None:
    assert may_delete_offset(group, topic) is may


# -- the model ----------------------------------------------------------------------------------

FAILING = [
    pytest.param(v.name, marks=pytest.mark.slow) if v.name == "tombstones-at-once" else v.name
    for v in OFFSETS_TOPIC.variants
    if v.violates
]


def test_the_counts_of_a_small_world() -> None:
    verdict = explore(OFFSETS_TOPIC.system(bounds={"writes": 2}).with_sanity())
    assert (verdict.verdict, verdict.distinct, verdict.generated, verdict.depth) == (
        "holds",
        4_040,
        15_255,
        13,
    )


@pytest.mark.parametrize("name", FAILING)
def test_each_failure_is_found_with_its_shortest_story(name: str) -> None:
    said = OFFSETS_TOPIC.variant(name).violates
    asked = [p for p, v in said.items() if not v.bounds and v.states]
    found = explore(OFFSETS_TOPIC.system(name).with_properties(asked)).violations
    assert found
    assert all(said[v.name].states == v.states for v in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", [v.name for v in OFFSETS_TOPIC.variants])
def test_every_property_does_what_the_variant_says_of_it(name: str) -> None:
    said = OFFSETS_TOPIC.variant(name).violates
    for bounds in [{}, *(dict(v.bounds) for v in said.values() if v.bounds)]:
        system = OFFSETS_TOPIC.system(name, bounds).with_sanity()
        found = {v.name: v.states for v in explore(system, Limits(keep_going=True)).violations}
        expected = {p: v.states for p, v in said.items() if dict(v.bounds) == bounds}
        assert expected.items() <= found.items()
        assert bounds or expected == found


@pytest.mark.slow
def test_the_counts_at_the_default_bounds() -> None:
    verdict = explore(OFFSETS_TOPIC.system().with_sanity())
    assert (verdict.verdict, verdict.distinct, verdict.generated, verdict.depth) == (
        "holds",
        35_188,
        147_715,
        17,
    )
    assert verdict.silent_rules == []


@pytest.mark.slow
def test_no_mutant_of_expiry_and_compaction_survives_unexplained() -> None:
    """Of these rules only: all of them take several minutes (`kspec mutate offsets-topic`)."""
    rules = ("offsets_expire", "log_is_compacted", "tombstone_is_removed", "coordinator_reads_on")
    bounds = OFFSETS_TOPIC.mutation_bounds
    report = mutate(OFFSETS_TOPIC, OFFSETS_TOPIC.variant(), bounds, rules=rules, workers=2)
    assert [o.mutant for o in report.having("survived")] == []
    assert report.stale == []
