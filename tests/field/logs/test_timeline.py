"""The timeline of real logs: why each round began, who was late, how leaders and ISRs changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kspec.field.logs.adapter import BROKER_LINES, Reading
from kspec.field.logs.causes import trigger_of
from kspec.field.logs.page import timeline_page
from kspec.field.logs.rounds import Group, Round, groups_of
from kspec.field.logs.timeline import Timeline, lines, timeline_of
from tests.field.logs.recorded import VERSIONS, brokers, clients, read, read_brokers

JOINED, BACK, CLOSED = "member joined", "member came back", "member closed"
SESSION, POLL, LEFT = "session.timeout.ms", "max.poll.interval.ms", "member left"

SCENARIO = [JOINED, JOINED, JOINED, SESSION, POLL, BACK, JOINED, BACK, CLOSED]
"""What recording/record.py lets the consumers of group billing do, until a broker is killed."""


def billing(timeline: Timeline) -> Group:
    """The group that most happens to."""
    return next(group for group in timeline.groups if group.name == "billing")


def rounds(version: str, *, with_clients: bool = False) -> list[Round]:
    """The rounds of the scenario."""
    more = clients(version) if with_clients else []
    return billing(timeline_of(read(*brokers(version), *more))).rounds[: len(SCENARIO)]


@pytest.mark.parametrize("version", ["3.9.1", "4.0.0"])
def test_each_round_has_its_trigger(version: str) -> None:
    assert [one.trigger.cause.name for one in rounds(version)] == SCENARIO
    assert [one.generation for one in rounds(version)] == list(range(1, 10))
    assert [one.members for one in rounds(version)] == [1, 2, 3, 2, 1, 2, 2, 3, 2]


def test_clients_tell_what_brokers_before_3_2_do_not_log() -> None:
    alone = [one.trigger.cause.name for one in rounds("2.8.2")]
    assert alone == [LEFT if cause in (POLL, CLOSED) else cause for cause in SCENARIO]
    both = [one.trigger.cause.name for one in rounds("2.8.2", with_clients=True)]
    assert both == [LEFT if cause == CLOSED else cause for cause in SCENARIO]


@pytest.mark.parametrize("version", VERSIONS)
def test_who_was_late_is_told_with_the_timeout(version: str) -> None:
    late = {
        departure.cause.name: departure
        for one in rounds(version, with_clients=True)
        for departure in one.departed
        if departure.cause.is_timeout
    }
    assert set(late) == {SESSION, POLL, "rebalance timeout"}
    assert late[SESSION].member.startswith("c3-")
    assert late[POLL].member.startswith("c1-")
    assert late["rebalance timeout"].member.startswith("c2-")
    timeouts = [late[name].timeout_ms for name in (SESSION, POLL)]
    assert timeouts == [6_000, 8_000]
    # 8 s by its setting or, where no line tells that, by how long the round waited
    assert 7_900 < (late["rebalance timeout"].timeout_ms or 0) < 9_000
    assert late[SESSION].late_ms is None  # it never came back
    assert 2_000 < (late[POLL].late_ms or 0) < 4_000  # it stalled for 11 s


def test_who_was_waited_for_is_told_by_clients_and_requests() -> None:
    waited = {one.generation: one.waited_for for one in rounds("4.0.0")}
    assert waited[3].startswith("c1-") or waited[3].startswith("c2-")
    third = rounds("4.0.0", with_clients=True)[2]
    assert third.waited_ms is not None
    assert third.took_ms is not None
    assert third.waited_ms <= third.took_ms


@pytest.mark.parametrize("version", VERSIONS)
def test_the_logs_of_clients_alone_have_each_round(version: str) -> None:
    found = billing(timeline_of(read(*clients(version))))
    assert {one.generation for one in found.rounds} >= set(range(1, 10))
    causes = {one.trigger.cause.name for one in found.rounds}
    assert {POLL, "cooperative follow-up"} <= causes


@pytest.mark.parametrize("version", VERSIONS)
def test_leaders_and_isrs_have_a_history(version: str) -> None:
    timeline = timeline_of(read_brokers(version))
    found = {one.name: one for one in timeline.partitions}
    offsets = found["__consumer_offsets-0"]
    assert [one.epoch for one in offsets.epochs] == sorted({one.epoch for one in offsets.epochs})
    assert len({one.leader for one in offsets.epochs}) == 2  # the coordinator was killed
    assert any(change["left"] for change in offsets.isrs)
    assert all("orders" in name or "__consumer_offsets" in name for name in found)


def test_the_consumer_protocol_of_kip_848_has_its_epochs() -> None:
    prefix = (
        "[2024-05-01 12:00:00,000] INFO [GroupCoordinator id=1 topic=x partition=0] [GroupId g] "
    )
    texts = [
        "Member m1 joins the consumer group using the consumer protocol.",
        "Bumped group epoch to 1 with metadata hash 7.",
        "Member m1 fenced from the group because the member session expired.",
        "Bumped group epoch to 2 with metadata hash 7.",
        "Member m2 fenced from the group because it failed to transition from epoch 1 within 30ms.",
        "Bumped group epoch to 3 with metadata hash 7.",
    ]
    events = []
    for number, text in enumerate(texts):
        found = BROKER_LINES.read(prefix + text)
        assert found is not None
        source = {"file": "server.log", "line": number + 1}
        event = {"event": found[0].event, **found[1], "node": "1", "time_ms": number}
        events.append({**event, "source": source})
    [group] = groups_of(events)
    told = [(one.generation, one.trigger.cause.name, one.trigger.members) for one in group.rounds]
    assert told == [
        (1, JOINED, ("m1",)),
        (2, "group.consumer.session.timeout.ms", ("m1",)),
        (3, "partitions not revoked", ("m2",)),
    ]


def test_a_client_that_left_at_a_timeout_and_has_not_returned_is_told(tmp_path: Path) -> None:
    log = tmp_path / "consumer.log"
    log.write_text(
        "2024-03-05 09:05:10,000 [main] WARN o.a.k.ConsumerCoordinator - [Consumer clientId=c1, "
        "groupId=g] consumer poll timeout has expired. This means the time between subsequent "
        "calls to poll() was longer than the configured max.poll.interval.ms, which typically "
        "implies that the poll loop is spending too much time processing messages. You can address "
        "this either by increasing max.poll.interval.ms or by reducing the maximum size of batches "
        "returned in poll() with max.poll.records.\n"
    )
    found = timeline_of(read(log))
    [one] = found.groups[0].rounds
    assert (one.generation, one.trigger.cause.name, one.trigger.members) == (None, POLL, ("c1",))
    assert "generation ?, not ended: c1 did not poll" in "\n".join(lines(found))
    assert "None" not in timeline_page(found)


def test_of_clients_that_share_an_id_none_is_said_to_come_back() -> None:
    """By default, each process with one Java consumer has the client id consumer-GROUP-1."""

    def rounds(*members: str) -> list[str]:
        times = iter(range(0, 10_000, 1_000))
        common = {"group": "g", "node": "1", "source": {"file": "server.log", "line": 1}}
        events = []
        for change, *member in (one.split() for one in members):
            event = {"event": f"member_{change}", "member": f"c-{UUIDS[member[0]]}"}
            events.append({**common, **event, "time_ms": next(times)})
            reason = f"Adding new member {event['member']}" if change == "added" else ""
            events.append(
                {
                    **common,
                    "event": "preparing",
                    "generation": len(events),
                    "reason": reason,
                    "time_ms": next(times),
                }
            )
        [group] = groups_of(events)
        return [one.trigger.cause.name for one in group.rounds]

    assert rounds("added a", "left a", "added b")[-1] == BACK
    assert rounds("added a", "added b", "left a", "added c")[-1] == JOINED
    assert rounds("added a", "left b", "added c")[-1] == JOINED


UUIDS = {
    name: f"00000000-0000-0000-0000-{number:012}" for number, name in enumerate(("a", "b", "c"))
}

REASONS = {
    "Adding new member a-1 with group instance id None": JOINED,
    "Adding new member a-1 with group instanceid Some(x)": JOINED,
    "removing member a-1 on heartbeat expiration": SESSION,
    "removing member a-1 on heartbeat expiration.": SESSION,
    "removing member a-1 on LeaveGroup": LEFT,
    "Removing member a-1 on LeaveGroup; client reason: the consumer is being closed": CLOSED,
    "Removing member a-1 on LeaveGroup; client reason: consumer poll timeout has expired.": POLL,
    "explicit `LeaveGroup` request for (a-1) members.": LEFT,
    "Downgrade group g from consumer to classic.": "protocol downgraded",
    "Removing Set(a-1) on pending sync request expiration": "pending sync",
    "leader a-1 re-joining group during Stable": "leader re-joined",
    "Updating metadata for member a-1 during Stable; client reason: rebalance enforced by user": (
        "enforced"
    ),
    "Leader a-1 re-joining group during Stable; client reason: need to revoke partitions [t-1] "
    "as indicated by the current assignment and re-join": "cooperative follow-up",
    "Leader a-1 re-joining group during Stable; client reason: cached metadata has changed from "
    "x at the beginning of the rebalance to y": "metadata changed",
    "Updating metadata for member a-1": "subscription changed",
    "Updating metadata for member a-1 during Stable; client reason: not provided": (
        "subscription changed"
    ),
    "Updating metadata for static member a-1 with instance id x; client reason: no": (
        "static member came back"
    ),
    "Freshly-loaded group g (size 9) is over capacity 4. Rebalancing in order to": "group.max.size",
    "Error NOT_COORDINATOR when storing group assignmentduring SyncGroup (member: a-1).": (
        "assignment not stored"
    ),
    "something else": "not logged",
}


@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_of_the_coordinators_has_a_cause(reason: str) -> None:
    trigger = trigger_of(reason)
    assert trigger.cause.name == REASONS[reason]
    names_it = "a-1" in reason and "Set(" not in reason
    assert trigger.members == (("a-1",) if names_it else ())


def test_the_text_names_cause_setting_and_what_is_not_shown() -> None:
    text = "\n".join(lines(timeline_of(read_brokers("4.0.0"))))
    assert "did not poll within max.poll.interval.ms and left" in text
    assert "lower max.poll.records" in text
    assert "What these logs cannot show:" in text
    assert "leader epoch 1: broker 3 leads at offset 572" in text


def hostile() -> dict[str, Any]:
    """An event whose names are markup."""
    return {
        "event": "preparing",
        "node": "1",
        "group": "<script>alert(1)</script>",
        "generation": 1,
        "time_ms": 1,
        "reason": "Adding new member <img/src=x> with group instance id None",
        "source": {"file": "<b>.log", "line": 1},
    }


def test_the_page_runs_nothing_and_shows_names_as_text() -> None:
    events = [hostile(), {**hostile(), "event": "stabilized", "generation": 2, "members": 1}]
    page = timeline_page(timeline_of(Reading([*events, *read_brokers("4.0.0").events], [])))
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page
    assert page.count('class="band') >= 10
    assert 'class="band fault"' in page
