"""The stories: each is a behaviour of its model, and ends as it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from kspec.checkers.models.script import Script
from kspec.checkers.models.stories import STORIES
from kspec.spec.core import Always, SpecError
from kspec.spec.group.state import World
from kspec.spec.messages import GroupState
from kspec.spec.partition import Cluster

LOST = [name for name in STORIES if name.startswith("lost-")]
HEALTHY = {name: story for name, story in STORIES.items() if story.is_healthy}
KEPT = [name for name in STORIES if name.startswith("kept-")]


def end_of(name: str) -> Cluster:
    state: Cluster = STORIES[name].played().states[-1]
    return state


def logs(s: Cluster) -> list[list[int]]:
    """The ids in each broker's log."""
    return [[record.id for record in replica.log.records] for replica in s.replicas]


def entries(s: Cluster, broker: int) -> list[tuple[int, int]]:
    """A broker's leader-epoch cache."""
    return [(entry.epoch, entry.start) for entry in s.replicas[broker].epochs.entries]


def test_the_four_moments_of_a_high_watermark() -> None:
    """The leader's HW, LEO and remote LEO, and the follower's HW and LEO, at T1 to T4."""
    moments = []
    for s in STORIES["four-moments"].played().states:
        leader, follower = s.replicas
        assert leader.leadership is not None
        remote = leader.leadership.ends[1]
        moments.append((leader.hw, leader.log.end, remote, follower.hw, follower.log.end))
    assert moments == [
        (0, 0, -1, 0, 0),  # T1; Kafka's leader knows no remote LEO before the first fetch
        (0, 1, -1, 0, 0),  # T2: written
        (0, 1, 0, 0, 1),  # T3: fetched from offset 0
        (1, 1, 1, 0, 1),  # T4: the next fetch, from offset 1, is counted, and parked
        (1, 1, 1, 1, 1),  # and its response has the new HW
    ]


@pytest.mark.parametrize("name", LOST)
def test_an_acknowledged_record_ends_on_no_replica(name: str) -> None:
    trace = STORIES[name].played()
    assert trace.property == "AcknowledgedRecordsKept"
    assert trace.where.startswith("record 1")
    s = trace.states[-1]
    assert s.ghosts.acknowledged == {0, 1}
    assert all(replica.is_up for replica in s.replicas)
    assert logs(s) == [[0]] * s.bounds.brokers


@pytest.mark.parametrize("name", LOST)
def test_the_loss_needs_no_min_insync_replicas_of_one(name: str) -> None:
    """When the lost record is acknowledged, two brokers of the ISR hold it, and two are asked."""
    for s in STORIES[name].played().states:
        if 1 in s.ghosts.acknowledged:
            break
    assert s.bounds.min_insync == 2
    assert s.bounds.acks == -1
    holders = {b for b, log in enumerate(logs(s)) if 1 in log}
    assert len(s.registration.isr) >= 2
    assert s.registration.isr <= holders


@pytest.mark.parametrize("name", KEPT)
def test_with_leader_epochs_the_same_events_lose_nothing(name: str) -> None:
    trace = STORIES[name].played()
    assert (trace.property, trace.where) == ("", "")
    before = STORIES[name.replace("kept", "lost")]
    failures = {"broker_crashes", "broker_restarts", "controller_fences_broker"}
    happened = [line for line in STORIES[name].lines() if line.split()[0] in failures]
    told = [line for line in before.lines() if line.split()[0] in failures]
    assert happened == told[: len(happened)]
    s = trace.states[-1]
    assert {0, 1} < s.ghosts.acknowledged
    assert all(log == [0, 1, 2] for b, log in enumerate(logs(s)) if s.replicas[b].is_up)


def test_the_entry_of_the_next_epoch_says_where_it_began() -> None:
    assert entries(end_of("kept-in-clean-elections"), 1) == [(0, 0), (1, 2)]
    assert entries(end_of("kept-after-restart"), 1) == [(0, 0), (2, 2)]


def changed(name: str, **changes: Any) -> Script:
    return attrs.evolve(STORIES[name], **changes)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ("leader_appendz leader=0", "did you mean leader_appends"),
        ("leader_appends leader=7", "leader_appends has no choice leader=7"),
        ("leader_appends", "leader_appends has no choice without values"),
        ("leader_appends leader=1", "step 1, leader_appends leader=1, is blocked by: "),
    ],
)
def test_a_step_that_the_rules_do_not_allow_is_named(steps: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        changed("four-moments", steps=steps).played()


def test_clean_elections_alone_do_not_lose_the_record_of_two_brokers() -> None:
    """The restart's story needs an unclean election, the default until 0.11 (KIP-106)."""
    with pytest.raises(SpecError, match="is blocked by: successor is eligible"):
        changed("lost-after-restart", bounds={"brokers": 2, "records": 3, "crashes": 2}).played()


def test_a_record_is_written_twice_in_2_5_and_once_in_4_5() -> None:
    twice, once = STORIES["written-twice"].played(), STORIES["written-once"].played()
    assert (twice.property, twice.where) == ("RecordsWrittenOnce", "record 1")
    assert [entry.record for entry in twice.states[-1].log] == [1, 0, 1]
    assert [entry.record for entry in once.states[-1].log] == [0, 1]


# -- stories in which nothing is lost -------------------------------------------------------------


def groups(name: str) -> list[World]:
    return list(STORIES[name].played().states)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_story_violates_no_property_in_any_state(name: str) -> None:
    trace = HEALTHY[name].played()
    always = [p for p in trace.system.properties if isinstance(p, Always)]
    assert always
    assert [p.name for s in trace.states for p in always if p.failure(s) is not None] == []


def test_the_page_states_how_long_the_healthy_stories_are() -> None:
    page = (Path(__file__).parents[3] / "docs" / "healthy.md").read_text(encoding="utf-8")
    for name, script in HEALTHY.items():
        assert f"[{len(script.lines()) + 1} states](stories/{name}.html)" in page


def test_a_first_join_ends_with_every_partition_owned() -> None:
    end = groups("first-join")[-1]
    assert (end.group.generation, end.consumers[0].owned) == (1, (0, 1))


def test_static_members_restart_without_a_rebalance() -> None:
    states = groups("rolling-restart-static")
    first = next(i for i, s in enumerate(states) if s.group.state is GroupState.STABLE)
    assert {s.group.state for s in states[first:]} == {GroupState.STABLE}
    assert states[-1].group.generation == 1
    assert states[-1].faults.crashes == 2
    assert [c.owned for c in states[-1].consumers] == [(0,), (1,)]


def test_dynamic_members_are_replaced_in_four_rebalances() -> None:
    states = groups("rolling-restart-dynamic")
    assert states[-1].group.generation == 5
    assert [c.owned for c in states[-1].consumers] == [(), (), (0,), (1,)]
    paused = [s for s in states if s.group.generation > 1 and not any(c.owned for c in s.consumers)]
    assert paused, "an eager rebalance stops every member"


def test_a_cooperative_member_keeps_reading_what_does_not_move() -> None:
    states = groups("cooperative-handover")
    first = next(i for i, s in enumerate(states) if s.consumers[0].owned)
    assert all(0 in s.consumers[0].owned for s in states[first:])
    assert [c.owned for c in states[-1].consumers] == [(0,), (1,)]
    assert states[-1].group.generation == 3


def test_a_leader_change_loses_nothing() -> None:
    end = end_of("leader-change")
    assert end.ghosts.acknowledged == {0, 1}
    assert logs(end) == [[0, 1]] * 3
    assert (end.registration.leader, end.registration.isr) == (1, {0, 1, 2})
