"""The offsets topic: its log, the expiry of offsets, and the model of both."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.checkers.engine.options import Options
from kspec.checkers.models.find import find_model
from kspec.checkers.mutation.mutate import mutate
from kspec.spec.messages import GroupMetadata, GroupState, Offset, OffsetsTopicRecord
from kspec.spec.offsets_topic.expiry import (
    GroupStatus,
    expired,
    expires_after_commit,
    expires_at,
    group_expires,
    may_delete_offset,
)
from kspec.spec.offsets_topic.records import (
    LogEntry,
    OffsetsLog,
    compact,
    hides,
    next_entry,
    read,
    without,
)
from kspec.spec.offsets_topic.replay import Replayed, end_transaction, replay
from kspec.spec.vocabulary import TopicPartition
from tests.known import explore_learned as explore

OFFSETS_TOPIC = find_model("offsets-topic")

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


def log_of(records: list[OffsetsTopicRecord]) -> OffsetsLog:
    return tuple(LogEntry(offset, record) for offset, record in enumerate(records))


values = st.one_of(st.none(), st.integers(0, 3).map(Offset))
records = st.builds(
    OffsetsTopicRecord, st.sampled_from(["g", "h"]), st.sampled_from([A, B]), values
) | st.builds(
    OffsetsTopicRecord,
    st.sampled_from(["g", "h"]),
    st.none(),
    st.sampled_from([None, GroupMetadata(1)]),
)
logs = st.lists(records, max_size=12).map(log_of)


# -- the log ------------------------------------------------------------------------------------


@pytest.mark.slow
@given(logs, st.lists(st.tuples(st.integers(0, 13), st.booleans()), max_size=5))
def test_compaction_changes_nothing_for_a_reader(
    log: OffsetsLog, cleanings: list[tuple[int, bool]]
) -> None:
    seen = read(log)
    for end, tombstones_too in cleanings:
        log = compact(log, end)
        if tombstones_too:
            for entry in [e for e in log if e.is_tombstone and not hides(log, e)]:
                log = without(log, entry)
        assert read(log) == seen


@pytest.mark.slow
@given(logs, st.integers(0, 13))
def test_compaction_leaves_one_entry_of_each_key_at_its_offset(log: OffsetsLog, end: int) -> None:
    left = compact(log, end)
    below = [entry.key for entry in left if entry.offset < end]
    assert len(below) == len(set(below))
    assert set(left) <= set(log)
    assert [e for e in left if e.offset >= end] == [e for e in log if e.offset >= end]


@given(logs, st.integers(0, 13), st.integers(0, 13))
def test_compaction_during_a_read_changes_nothing_for_the_reader(
    log: OffsetsLog, position: int, end: int
) -> None:
    begun = read(entry for entry in log if entry.offset < position)
    rest = [entry for entry in compact(log, end) if entry.offset >= position]
    assert read(rest, begun) == read(log)


def test_a_tombstone_hides_only_earlier_entries_of_its_key() -> None:
    log = log_of(
        [
            OffsetsTopicRecord("g", A, Offset(1)),
            OffsetsTopicRecord("g", B, None),
            OffsetsTopicRecord("g", A, None),
        ]
    )
    assert [hides(log, entry) for entry in log[1:]] == [False, True]
    assert read(without(log, log[2])) != read(log)


def test_a_reader_continues_after_a_gap() -> None:
    log = compact(log_of([OffsetsTopicRecord("g", A, Offset(n)) for n in range(3)]), 3)
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
        (GroupStatus(EMPTY, "consumer", since=50), A, 60),
        (GroupStatus(EMPTY, "consumer", since=None), A, 30),  # an old record without a time
        (GroupStatus(EMPTY, None), A, 30),  # a simple group
        (GroupStatus(EMPTY, "connect", since=50), A, 60),
        (GroupStatus(STABLE, "consumer", READS_A), A, None),
        (GroupStatus(STABLE, "consumer", READS_A), B, 30),
        (GroupStatus(STABLE, "connect"), B, None),
        (GroupStatus(GroupState.PREPARING_REBALANCE, "consumer", READS_A), B, None),
        (GroupStatus(GroupState.COMPLETING_REBALANCE, "consumer", READS_A), B, None),
        (GroupStatus(GroupState.DEAD, None), A, None),
    ],
)
def test_an_offset_expires_by_group_state_and_retention(
    group: GroupStatus, partition: TopicPartition, expires: int | None
) -> None:
    commit = LogEntry(0, OffsetsTopicRecord("g", partition, Offset(7)), time=20)
    assert expires_at(group, partition, commit, retention=10) == expires
    at_the_moment = [] if expires is None else [partition]
    assert expired(group, {partition: commit}, expires or 10**6, 10) == at_the_moment
    if expires is not None:
        assert expired(group, {partition: commit}, expires - 1, 10) == []


def test_an_expiry_time_of_the_client_counts_where_offsets_expire() -> None:
    commit = LogEntry(0, OffsetsTopicRecord("g", A, Offset(7)), time=20, expires=25)
    assert expires_at(GroupStatus(EMPTY, "consumer", since=50), A, commit, retention=10) == 25
    assert expires_at(GroupStatus(STABLE, "consumer", READS_A), A, commit, retention=10) is None


def test_a_late_commit_into_an_empty_group_expires_with_the_others() -> None:
    """A commit at 99 expires at once: only the time at which the group became Empty counts."""
    late = LogEntry(0, OffsetsTopicRecord("g", A, Offset(7)), time=99)
    assert expired(GroupStatus(EMPTY, "consumer", since=50), {A: late}, now=100, retention=10) == [
        A
    ]


def test_an_offset_of_a_kip_848_group_expires_after_its_commit_unless_a_member_subscribes() -> None:
    commit = LogEntry(0, OffsetsTopicRecord("g", A, Offset(1)), time=3)
    assert expires_after_commit(commit, 10, is_subscribed=False) == 13
    assert expires_after_commit(commit, 10, is_subscribed=True) is None


def test_without_transactions_replay_is_reading() -> None:
    values = (Offset(1), Offset(2), None, Offset(3))
    log = log_of([OffsetsTopicRecord("g", A, value) for value in values])
    known = Replayed()
    for entry in log:
        known = replay(known, entry)
        assert known == Replayed(read(log[: entry.offset + 1]))


def test_a_transaction_counts_from_its_marker_and_in_the_order_of_the_log() -> None:
    one, other = log_of([OffsetsTopicRecord("g", A, Offset(n)) for n in (1, 2)])
    key = one.key
    pending = replay(Replayed(), one, producer=7)
    assert (pending.latest, pending.pending) == ({}, {7: {key: one}})
    assert end_transaction(pending, 7, is_commit=True) == Replayed({key: one})
    assert end_transaction(pending, 7, is_commit=False) == Replayed()
    later = replay(pending, other)
    assert end_transaction(later, 7, is_commit=True) == Replayed({key: other})


def test_a_tombstone_removes_pending_commits_and_groups_are_never_pending() -> None:
    commit, tombstone = log_of([OffsetsTopicRecord("g", A, value) for value in (Offset(1), None)])
    group = LogEntry(2, OffsetsTopicRecord("g", None, GroupMetadata(0, "consumer")))
    known = replay(replay(Replayed(), commit, producer=7), tombstone)
    assert end_transaction(known, 7, is_commit=True) == Replayed()
    assert replay(Replayed(), group, producer=7) == Replayed({group.key: group})


def test_an_empty_group_without_offsets_expires() -> None:
    assert group_expires(GroupStatus(EMPTY), [A, B], [A, B])
    assert not group_expires(GroupStatus(EMPTY), [A, B], [A])
    assert not group_expires(GroupStatus(STABLE, "consumer"), [A], [A])


@pytest.mark.parametrize(
    ("group", "topic", "may"),
    [
        (GroupStatus(EMPTY, "consumer"), "a", True),
        (GroupStatus(STABLE, "consumer", READS_A), "a", False),
        (GroupStatus(STABLE, "consumer", READS_A), "b", True),
        (GroupStatus(STABLE, "connect"), "b", False),
    ],
)
def test_only_unsubscribed_offsets_may_be_deleted(
    group: GroupStatus, topic: str, may: bool
) -> None:
    assert may_delete_offset(group, topic) is may


# -- the model ----------------------------------------------------------------------------------

FAILING = [
    pytest.param(v.name, marks=pytest.mark.slow) if v.name == "tombstones-at-once" else v.name
    for v in OFFSETS_TOPIC.variants
    if v.violates
]


def test_the_counts_in_small_bounds() -> None:
    verdict = explore(OFFSETS_TOPIC.system(bounds={"writes": 2}).with_all_properties())
    assert (verdict.verdict, verdict.distinct, verdict.generated, verdict.depth) == (
        "holds",
        4_040,
        15_255,
        13,
    )


@pytest.mark.parametrize("name", FAILING)
def test_each_fault_has_its_shortest_counterexample(name: str) -> None:
    said = OFFSETS_TOPIC.variant(name).violates
    asked = [p for p, v in said.items() if not v.bounds and v.states]
    found = explore(OFFSETS_TOPIC.system(name).with_properties(asked)).violations
    assert found
    assert all(said[v.name].states == v.states for v in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", [v.name for v in OFFSETS_TOPIC.variants])
def test_every_variant_violates_what_it_declares(name: str) -> None:
    said = OFFSETS_TOPIC.variant(name).violates
    for bounds in [{}, *(dict(v.bounds) for v in said.values() if v.bounds)]:
        system = OFFSETS_TOPIC.system(name, bounds).with_all_properties()
        found = {v.name: v.states for v in explore(system, Options(keep_going=True)).violations}
        expected = {p: v.states for p, v in said.items() if dict(v.bounds) == bounds}
        assert expected.items() <= found.items()
        assert bounds or expected == found


@pytest.mark.slow
def test_the_counts_at_the_default_bounds() -> None:
    verdict = explore(OFFSETS_TOPIC.system().with_all_properties())
    assert (verdict.verdict, verdict.distinct, verdict.generated, verdict.depth) == (
        "holds",
        35_188,
        147_715,
        17,
    )
    assert verdict.silent_rules == []


@pytest.mark.slow
def test_no_mutant_of_expiry_and_compaction_survives() -> None:
    """These rules only: all of them take several minutes (`kspec mutate offsets-topic`)."""
    rules = (
        "coordinator_expires_offsets",
        "cleaner_compacts_log",
        "cleaner_removes_tombstone",
        "coordinator_loads_record",
    )
    bounds = OFFSETS_TOPIC.baseline.bounds
    report = mutate(OFFSETS_TOPIC, OFFSETS_TOPIC.variant(), bounds, rules=rules, workers=2)
    assert [o.mutant for o in report.having("survived")] == []
    assert report.stale == []
