"""One truth per mechanism: the rules of `replication` agree with the functions of a replica.

Truncation agrees with the exchange of `spec.leader_epochs`, the leader's high watermark with
`spec.watermarks.leader_hw`, a truncation with `spec.watermarks.after_truncation`; a follower's
high watermark is computed by `follower_hw` in the rules themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import Reference
from kspec.checkers.engine.search import Search
from kspec.spec.core import Blocked, Rule, evolve
from kspec.spec.leader_epochs import UNDEFINED, EpochEnd, LeaderEpochs, truncation_for
from kspec.spec.log import Log, Record
from kspec.spec.replication import REPLICATION, Cluster
from kspec.spec.replication.state import View, brokers
from kspec.spec.replication.truncation import end_of_agreement, end_of_last_epoch
from kspec.spec.watermarks import Follower, after_truncation, leader_hw

BOUNDS = {"brokers": 2, "max_epoch": 2}


@cache
def states(variant: str) -> list[Cluster]:
    """Every reachable state with two brokers and three leader epochs."""
    search = Reference(REPLICATION.system(variant, BOUNDS))
    Search(search.system, search, Options(keep_going=True)).run()
    return list(search.came_from)


def pair(theirs: Log, own: Log, hw: int = 0) -> Cluster:
    """A leader and a follower with these logs, and the follower's high watermark."""
    (start,) = REPLICATION.system(bounds=BOUNDS).initial()
    return evolve(start, logs=(theirs, own), views=(View(), View(hw=hw)))


def rule_of(variant: str, name: str) -> Rule[Cluster]:
    """A rule of a variant by its name."""
    [found] = [rule for rule in REPLICATION.variant(variant).rules if rule.name == name]
    return found


def epochs_of(log: Log) -> LeaderEpochs:
    """The leader-epoch cache of a replica that has appended these records."""
    epochs = LeaderEpochs()
    for offset, record in enumerate(log.records):
        epochs = epochs.assign(record.epoch, offset)
    return epochs


def truncated_by_asking(leader: LeaderEpochs, end: int, log: Log, hw: int) -> Log:
    """A follower's log after it has asked the leader as often as needed (OffsetForLeaderEpoch)."""
    for _ in range(len(log.records) + 1):
        epochs = epochs_of(log)
        if epochs.latest_epoch is None:
            return log.truncate_to(hw)
        answer = leader.end_of(epochs.latest_epoch, end)
        offset, done = truncation_for(answer, epochs, log.end, hw)
        log = log.truncate_to(offset)
        if done:
            return log
    raise AssertionError("the follower never finds where the logs agree")


def truncations() -> Iterator[tuple[Cluster, Cluster, int, int]]:
    """Each state in which a follower truncates under KIP-320, and the state that follows."""
    rule = rule_of("kip-320", "broker_becomes_follower_and_truncates")
    for s in states("kip-320"):
        for follower, request in rule.instances(s):
            after = rule.attempt(s, (follower, request))
            if not isinstance(after, Blocked):
                yield s, after, request.leader, follower


@pytest.mark.slow
def test_truncation_under_kip_320_is_what_the_exchange_of_epochs_finds() -> None:
    diverging = 0
    for s, after, leader, follower in truncations():
        log, view = s.logs[leader], s.views[leader]
        known = epochs_of(log).assign(view.epoch, log.end)  # at once (KAFKA-7415)
        own, hw = s.logs[follower], s.views[follower].hw
        assert after.logs[follower] == truncated_by_asking(known, log.end, own, hw)
        diverging += after.logs[follower].end < own.end
    assert diverging > 50


@pytest.mark.slow
def test_a_truncation_moves_the_high_watermark_as_after_truncation_does() -> None:
    lowered = 0
    for s, after, _, follower in truncations():
        before = Follower(s.views[follower].hw, s.logs[follower].end)
        expected = after_truncation(before, after.logs[follower].end)
        assert Follower(after.views[follower].hw, after.logs[follower].end) == expected
        lowered += expected.hw < before.hw
    assert lowered == 0  # under KIP-320 no committed record is truncated
    one = Log((Record(0, 0),))
    truncated = pair(one, one, hw=1).with_truncated_log(1, 0)
    assert truncated.views[1].hw == after_truncation(Follower(1, 1), 0).hw == 0


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["kip-320", "truncate-to-hw"])
def test_a_leader_commits_up_to_the_smallest_end_offset_of_its_isr(variant: str) -> None:
    rule = rule_of(variant, "leader_advances_hw")
    advanced = 0
    for s in states(variant):
        for leader in brokers(s):
            view = s.views[leader]
            related = s.follows_epoch if variant == "kip-320" else s.follows
            if not s.presumes_leadership(leader):
                continue
            if not all(related(member, leader) for member in view.isr):
                continue
            reached, after = s, rule.attempt(s, (leader,))
            while not isinstance(after, Blocked):
                reached, after = after, rule.attempt(after, (leader,))
            expected = leader_hw(view.hw, [s.logs[member].end for member in view.isr])
            assert reached.views[leader].hw == expected
            advanced += expected > view.hw
    assert advanced > 50


# -- KIP-101 --------------------------------------------------------------------------------------


def logs(size: int, newest: int) -> list[Log]:
    """Every log of at most `size` records, with leader epochs that never decrease."""
    return [
        Log(tuple(Record(offset, epoch) for offset, epoch in enumerate(epochs)))
        for length in range(size + 1)
        for epochs in product(range(newest + 1), repeat=length)
        if list(epochs) == sorted(epochs)
    ]


@pytest.mark.parametrize("hw", [0, 1])
def test_the_offset_of_kip_101_is_that_of_the_epoch_cache(hw: int) -> None:
    """But for one case: the leader's first epoch is newer than the one asked for.

    `LeaderEpochFileCache.endOffsetFor` of 0.11 then answers that it does not know. The TLA+
    family, and Kafka since KIP-279, answer with the start of the first epoch.
    """
    for theirs, own in product(logs(3, 2), repeat=2):
        s = pair(theirs, own, min(hw, own.end))
        found = end_of_last_epoch(s, leader=0, follower=1)
        latest = epochs_of(own).latest_epoch
        if latest is None:
            assert found == 0
            continue
        answer = epochs_of(theirs).end_of(latest, theirs.end)
        expected = s.views[1].hw if answer.offset == UNDEFINED else answer.offset
        assert found == expected
        if answer.offset != UNDEFINED:  # what a follower of KIP-101 makes of it
            without_epoch = EpochEnd(UNDEFINED, answer.offset)
            cut = truncation_for(without_epoch, epochs_of(own), own.end, s.views[1].hw)
            assert cut == (min(found, own.end), True)


def test_the_ends_of_agreement_and_of_the_last_epoch_differ() -> None:
    """The case of KIP-279: the leader does not have the follower's epoch."""
    theirs = Log((Record(0, 0), Record(2, 2)))
    own = Log((Record(0, 0), Record(1, 1)))
    s = pair(theirs, own)
    assert (end_of_last_epoch(s, 0, 1), end_of_agreement(s, 0, 1)) == (1, 1)
    longer = Log((Record(0, 0), Record(3, 0), Record(4, 0), Record(2, 2)))
    s = pair(longer, own)
    assert (end_of_last_epoch(s, 0, 1), end_of_agreement(s, 0, 1)) == (3, 1)
