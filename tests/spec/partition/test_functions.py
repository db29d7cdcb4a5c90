"""The rules of `partition` agree with the functions for one partition, in every state and step.

`spec.in_sync` and `spec.serving` say what a leader commits, who is in sync, what a fetch returns
and when a producer hears of its records. The model has no clock: a follower that is not at the
leader's log end has been there long ago, and every fetch waits for records.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

import pytest

from kspec.spec.core import evolve
from kspec.spec.core.rules import Blocked, Choice
from kspec.spec.in_sync import (
    Progress,
    effective_min_isr,
    may_be_in_isr,
    next_hw,
    out_of_sync,
    reaches_isr,
)
from kspec.spec.leader_epochs import UNDEFINED, EpochEnd
from kspec.spec.log import Record
from kspec.spec.partition import PARTITION, Cluster, alter_partition, elr, kraft
from kspec.spec.partition import leader as rules_of_leader
from kspec.spec.partition.state import ALL, Leadership
from kspec.spec.serving import (
    Fetch,
    FetchIsolation,
    Offsets,
    access_error,
    append_error,
    fetch_error,
    is_acknowledged,
    is_answered_at_once,
    readable,
    waits_for_replicas,
)
from kspec.spec.vocabulary import PartitionError

BECOMES = kraft.broker_becomes_kraft_leader.name
APPENDS = kraft.leader_appends_at_effective_min_isr.name
COUNTS = kraft.leader_counts_kraft_fetch.name
FETCHES = kraft.follower_fetches_from_kraft_leader.name
TRUNCATES = alter_partition.follower_truncates_on_divergence.name
SHRINKS = alter_partition.leader_proposes_shrink.name
APPLIES = kraft.leader_applies_isr.name
COMMITS = elr.controller_commits_isr_and_elr.name

MAY_COMMIT = (BECOMES, APPENDS, COUNTS, FETCHES, APPLIES)
"""The rules in which a leader may commit; the first choice of each is the leader."""

NO_CRASH = {"brokers": 2, "crashes": 0}
CUT_OFF = {**NO_CRASH, "min_insync": 1, "cut_offs": 1}
MOVED = {**NO_CRASH, "leader_moves": 1}
SMALL = (CUT_OFF, MOVED, {**NO_CRASH, "acks": 1, "min_insync": 4}, {**NO_CRASH, "acks": 0})
"""Bounds of at most some hundred states."""

LARGE: tuple[dict[str, int], ...] = (
    {},
    {"brokers": 2, "min_insync": 1, "cut_offs": 1},
    {"brokers": 2, "crashes": 0, "leader_moves": 2, "records": 2},
)

Attempts: TypeAlias = Mapping[str, Mapping[Choice, Cluster | Blocked]]
"""By rule and choices: the next state, or the guard that blocks the rule."""
Fact: TypeAlias = Callable[[Cluster, Attempts], None]
"""It compares the rules with the functions in one state."""


def explored(
    bounds: Mapping[str, int], dropped: Collection[str] = ()
) -> Iterator[tuple[Cluster, Attempts]]:
    """Every reachable state of the current version, with every attempt of a rule in it.

    `dropped` are guards that are not evaluated.
    """
    system = PARTITION.system("kafka-4.1", bounds)
    rules = [evolve(rule, ignored=frozenset(dropped)) for rule in system.rules]
    queue = system.initial()
    known = set(queue)
    for s in queue:
        attempts = {
            rule.name: {choice: rule.attempt(s, choice) for choice in rule.instances(s)}
            for rule in rules
        }
        yield s, attempts
        for tried in attempts.values():
            new = [a for a in tried.values() if not isinstance(a, Blocked) and a not in known]
            known.update(new)
            queue.extend(dict.fromkeys(new))


@cache
def explored_once(bounds: tuple[tuple[str, int], ...]) -> list[tuple[Cluster, Attempts]]:
    return list(explored(dict(bounds)))


def steps(attempts: Attempts, *rules: str) -> Iterator[tuple[str, Any, Cluster]]:
    """The steps of these rules: the name, the choices, and the next state."""
    for rule in rules:
        for choice, after in attempts[rule].items():
            if not isinstance(after, Blocked):
                yield rule, choice, after


def leadership(s: Cluster, broker: int) -> Leadership:
    state = s.replicas[broker].leadership
    assert state is not None
    return state


def progress(s: Cluster, leader: int) -> dict[int, Progress]:
    """What a leader knows of its followers."""
    ends = leadership(s, leader).ends
    return {broker: Progress(end) for broker, end in enumerate(ends) if broker != leader}


def offsets(s: Cluster, broker: int) -> Offsets:
    replica = s.replicas[broker]
    return Offsets(replica.log.start, replica.log.end, replica.hw)


def min_isr(s: Cluster) -> int:
    return effective_min_isr(s.bounds.min_insync, s.bounds.brokers)


# -- facts ----------------------------------------------------------------------------------------


def high_watermark_advances(s: Cluster, attempts: Attempts) -> None:
    """In these steps it becomes what `next_hw` says; in no other does a leader's change."""
    for _, (leader, *_), after in steps(attempts, *MAY_COMMIT):
        state, replica = leadership(after, leader), after.replicas[leader]
        end, followers = replica.log.end, progress(after, leader)
        hw = s.replicas[leader].hw
        if len(state.isr) >= min_isr(s):
            hw = next_hw(hw, end, followers, state.maximal_isr, eligible=(), now=1, max_lag=0)
        assert replica.hw == hw
    for _, _, after in steps(attempts, *attempts.keys() - set(MAY_COMMIT)):
        for before, replica in zip(s.replicas, after.replicas, strict=True):
            if before.leadership is not None and replica.leadership is not None:
                assert replica.hw == before.hw


def follower_joins_isr(s: Cluster, attempts: Attempts) -> None:
    """A counted fetch proposes a follower if it is eligible and its log reaches far enough."""
    for rule in (COUNTS, FETCHES):
        for (leader, follower), after in attempts[rule].items():
            if isinstance(after, Blocked) and after.guard != "fetch brings news":
                continue
            state, own, theirs = leadership(s, leader), s.replicas[follower], s.replicas[leader]
            is_eligible = may_be_in_isr(follower in s.fenced, False, fetched_in=0, broker_epoch=0)
            reaches = reaches_isr(Progress(own.log.end), theirs.hw, theirs.epochs.entries[-1].start)
            joins = is_eligible and reaches and state.pending is None and follower not in state.isr
            expected = state.isr | {follower} if joins else state.pending
            if isinstance(after, Blocked):
                assert not joins
            else:
                assert leadership(after, leader).pending == expected


def follower_leaves_isr(s: Cluster, attempts: Attempts) -> None:
    """A leader proposes to remove those that are out of sync, if no proposal is in flight."""
    for (leader, follower), after in attempts[SHRINKS].items():
        if s.replicas[leader].leadership is None:
            assert isinstance(after, Blocked)
            continue
        state, end = leadership(s, leader), s.replicas[leader].log.end
        behind = out_of_sync(state.isr, progress(s, leader), end, now=1, max_lag=0)
        assert isinstance(after, Blocked) != (state.pending is None and follower in behind)
        if not isinstance(after, Blocked):
            assert leadership(after, leader).pending == state.isr - {follower}


def controller_commits_eligible_members(s: Cluster, attempts: Attempts) -> None:
    """The ISR that the controller commits has only brokers that may be in it."""
    for _, (leader,), after in steps(attempts, COMMITS):
        restarted = leadership(s, leader).restarted
        for member in after.registration.isr:
            fetched_in = 0 if member in restarted else 1
            assert may_be_in_isr(member in s.fenced, False, fetched_in, broker_epoch=1)


ERRORS = {
    "broker presumes leadership": PartitionError.NOT_LEADER_OR_FOLLOWER,
    "ISR is large enough": PartitionError.NOT_ENOUGH_REPLICAS,
}


def leader_appends(s: Cluster, attempts: Attempts) -> None:
    """A leader appends unless there is an error; min.insync.replicas is about acks=all."""
    for (leader,), after in attempts[APPENDS].items():
        if s.sent == s.bounds.records:
            continue
        state = s.replicas[leader].leadership
        isr_size = 0 if state is None else len(state.isr)
        error = append_error(state is not None, s.bounds.acks, isr_size, min_isr(s))
        assert (ERRORS[after.guard] if isinstance(after, Blocked) else None) == error


def records_are_acknowledged(s: Cluster, attempts: Attempts) -> None:
    """With acks=all by the high watermark and the size of the ISR; otherwise at the append."""
    waits = waits_for_replicas(s.bounds.acks, was_appended=True)
    assert waits == (s.bounds.acks == ALL)
    for rule, (leader, *_), after in steps(attempts, *MAY_COMMIT):
        state, replica = leadership(after, leader), after.replicas[leader]
        expected = {s.sent} if rule == APPENDS and not waits else set()
        for end, record in enumerate(replica.log.records, 1):
            is_answer_due = waits and record.epoch >= state.since and end > s.replicas[leader].hw
            size = len(state.maximal_isr)
            if is_answer_due and is_acknowledged(True, end, replica.hw, size, min_isr(s)) is True:
                expected.add(record.id)
        assert after.ghosts.acknowledged == s.ghosts.acknowledged | expected


def consumers_read_committed_records(s: Cluster, attempts: Attempts) -> None:
    """A consumer can read what a leader returns to it; the model keeps what it reads first."""
    for _, (leader, *_), after in steps(attempts, *MAY_COMMIT):
        seen = s.ghosts.readable
        log = after.replicas[leader].log.records
        found = readable(offsets(after, leader), len(seen), FetchIsolation.HIGH_WATERMARK)
        new = () if isinstance(found, PartitionError) else tuple(log[o].id for o in found)
        assert after.ghosts.readable == seen + new


def fetch_is_answered(s: Cluster, attempts: Attempts) -> None:
    """A follower gets an error, a diverging epoch, records, or after a while the high watermark."""
    for (leader, follower), after in attempts[FETCHES].items():
        own, theirs = s.replicas[follower], s.replicas[leader]
        if not s.fetches_from(follower, leader):
            continue
        truncates = attempts[TRUNCATES][leader, follower]
        leads = theirs.leadership is not None
        if access_error(leads, theirs.epoch, own.epoch, needs_leader=True) is not None:
            assert isinstance(after, Blocked)
            assert isinstance(truncates, Blocked)
            continue
        latest = own.epochs.latest_epoch
        fetch = Fetch(own.log.end, FetchIsolation.LOG_END, last_epoch=latest)
        end = theirs.epochs.end_of(UNDEFINED if latest is None else latest, theirs.log.end)
        error = fetch_error(fetch, offsets(s, leader), end)
        assert not isinstance(error, PartitionError), "a follower of the epoch is in range"
        assert isinstance(error, EpochEnd) == (not isinstance(truncates, Blocked))
        found = readable(offsets(s, leader), own.log.end, FetchIsolation.LOG_END)
        returned: tuple[Record, ...] = ()
        if error is None:
            assert isinstance(found, range)
            returned = tuple(theirs.log.records[o] for o in found)
        is_parked = leadership(s, leader).ends[follower] == own.log.end
        is_answered = is_answered_at_once(fetch, len(returned)) or is_parked
        has_news = returned != () or theirs.hw != own.hw
        assert isinstance(after, Blocked) != (error is None and is_answered and has_news)
        if not isinstance(after, Blocked):
            assert after.replicas[follower].log.records == own.log.records + returned


FACTS = (
    high_watermark_advances,
    follower_joins_isr,
    follower_leaves_isr,
    controller_commits_eligible_members,
    leader_appends,
    records_are_acknowledged,
    consumers_read_committed_records,
    fetch_is_answered,
)


@pytest.mark.parametrize("bounds", SMALL, ids=str)
@pytest.mark.parametrize("fact", FACTS)
def test_rules_agree_with_functions(fact: Fact, bounds: dict[str, int]) -> None:
    for s, attempts in explored_once(tuple(bounds.items())):
        fact(s, attempts)


def check(facts: Iterable[Fact], bounds: Mapping[str, int], dropped: Collection[str] = ()) -> None:
    for s, attempts in explored(bounds, dropped):
        for fact in facts:
            fact(s, attempts)


@pytest.mark.slow
@pytest.mark.parametrize("bounds", LARGE, ids=str)
def test_rules_agree_with_functions_in_larger_bounds(bounds: dict[str, int]) -> None:
    check(FACTS, bounds)


# -- planted faults -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fact", "bounds", "guard"),
    [
        (follower_leaves_isr, MOVED, "follower is out of sync"),
        (controller_commits_eligible_members, CUT_OFF, "every member is eligible"),
        (leader_appends, {"brokers": 2}, "ISR is large enough"),
        (fetch_is_answered, MOVED, "leader has records, or the fetch was parked"),
    ],
)
def test_a_rule_without_its_guard_disagrees(fact: Fact, bounds: dict[str, int], guard: str) -> None:
    with pytest.raises(AssertionError):
        check([fact], bounds, {guard})


@pytest.mark.parametrize(
    ("fact", "name", "fault"),
    [
        (high_watermark_advances, "leader_hw", lambda hw, ends: max(hw, *ends)),
        (follower_joins_isr, "reaches_isr", lambda progress, hw, epoch_start: True),
        (records_are_acknowledged, "ALL", -2),
        (consumers_read_committed_records, "appended", lambda items, *more: items),
    ],
)
def test_a_wrong_step_disagrees(
    monkeypatch: pytest.MonkeyPatch,
    fact: Fact,
    name: str,
    fault: Any,
) -> None:
    monkeypatch.setattr(rules_of_leader, name, fault)
    with pytest.raises(AssertionError):
        check([fact], {"brokers": 2, "min_insync": 1})
