"""What may be observed, as functions: `tests/field` has a trace for each check."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from kspec.spec.core import decide
from kspec.spec.core.text import guards_in_text
from kspec.spec.leader_epochs import EpochEntry, LeaderEpochs
from kspec.spec.observed import consumer, group_log, replica
from kspec.spec.observed.contradiction import Contradiction

PARTITION = ("t", 0)


def test_what_a_replica_reported_bounds_its_next_report() -> None:
    first = replica.Report("state", PARTITION, 1, leader=1, leader_epoch=3, end=8, hw=5)
    known = decide(replica.broker_reports(replica.Known(), first)).effect
    assert known is not None
    assert known.replicas[1] == replica.Replica(3, end=8, hw=5)
    next_leader = replica.Report("state", PARTITION, 2, leader=2, leader_epoch=4, end=4)
    failed = decide(replica.broker_reports(known, next_leader)).failed
    assert failed is not None
    assert failed.guard == "leader holds the committed records"
    assert failed.error == Contradiction("log_end_offset", 5, 4, "at least")


def test_a_lineage_continues_another_in_its_last_epoch() -> None:
    older = LeaderEpochs((EpochEntry(0, 0), EpochEntry(2, 10)))
    cut = LeaderEpochs((EpochEntry(2, 14), EpochEntry(5, 20)))  # segments before 14 are deleted
    every = LeaderEpochs((EpochEntry(0, 0), EpochEntry(2, 10), EpochEntry(5, 20)))
    assert replica.joined(older, cut) == every
    assert replica.agree(every, cut, end=30)
    assert not replica.agree(every, LeaderEpochs((EpochEntry(3, 14),)), end=30)
    assert replica.agree(every, LeaderEpochs((EpochEntry(3, 14),)), end=14)


def test_a_group_keeps_the_owners_of_few_generations() -> None:
    group = consumer.Group()
    for generation in range(2 * consumer.MOST_GENERATIONS):
        event = consumer.Event(
            "assigned", "c", "g", None, generation, None, frozenset({"t-0"}), {}, {}, False, None
        )
        after = decide(consumer.consumer_acts(group, event, is_whole=True)).effect
        assert after is not None
        group = after
    assert sorted(group.owners) == [*range(consumer.MOST_GENERATIONS, 16)]
    assert group.consumer("c").generation == group.generation


def test_a_line_that_names_an_older_generation_does_not_follow() -> None:
    life = group_log.GroupLife(group_log.PREPARING, 3)
    failed = decide(
        group_log.coordinator_logs(life, {"event": "stabilized", "generation": 3})
    ).failed
    assert failed is not None
    assert failed.error == Contradiction("generation", 4, 3)


def handlers(module: ModuleType) -> list[Callable[..., Any]]:
    """The functions of a module that yield checks."""
    found = [f for _, f in inspect.getmembers(module, inspect.isfunction) if guards_in_text(f)]
    return [f for f in found if f.__module__ == module.__name__]


@pytest.mark.parametrize("module", [replica, consumer, group_log], ids=lambda m: m.__name__)
def test_each_handler_names_its_source_in_kafka(module: ModuleType) -> None:
    for handler in handlers(module):
        assert "Kafka:" in (handler.__doc__ or ""), handler.__name__
