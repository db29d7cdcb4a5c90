"""The oracle of the coordinator, held to the coordinator of `impl` in requests and in time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kspec.field.oracle import group
from kspec.field.oracle.draws import Draw
from kspec.field.oracle.group import (
    CommittedOffset,
    GroupOracle,
    OffsetFetchResponse,
    Sending,
    Sent,
    oracle,
)
from kspec.field.oracle.histories import GROUP, history
from kspec.impl.coordinator import Deadlines, GroupCoordinator, Outcome
from kspec.spec.core import SpecError
from kspec.spec.messages import (
    JoinGroup,
    OffsetFetch,
    OffsetsTopicRecord,
    Settings,
)
from kspec.spec.messages import OffsetFetchResponse as Fetched

QUESTIONS = oracle().questions


class Broker:
    """The coordinator of `impl`, with a clock and a log; it takes the steps of a history."""

    def __init__(self) -> None:
        self.start(Settings())

    def start(self, settings: Settings) -> None:
        """Start with an empty log."""
        self.settings = settings
        self.log: list[OffsetsTopicRecord] = []
        self.clock = Deadlines()
        self.new_id = ""
        self.begin()

    def begin(self) -> None:
        """Start a coordinator with nothing in memory."""
        self.coordinator = GroupCoordinator(self.settings, self.clock, lambda _: self.new_id)

    def take(self, step: dict[str, Any]) -> list[Any]:
        """The responses to a step, with the ids of their requests."""
        params = QUESTIONS[step["method"]].params.decode(step["params"])
        match step["method"]:
            case "reset":
                self.start(params["settings"])
                return []
            case "advance":
                return self.passed(params["ms"])
            case "disconnect":
                self.coordinator.disconnect(params["request"])
                return []
            case "failover":
                sent = self.came(self.coordinator.unload())
                self.clock = Deadlines(self.clock.now)
                self.begin()
                self.came(self.coordinator.load(self.log))
                return sent
            case "OffsetFetch":
                request: Any = OffsetFetch(params["partitions"])
            case _:
                request = params["request"]
        if isinstance(request, JoinGroup):
            self.new_id = step["new_id"]
        sent = self.came(self.coordinator.handle(params["group_id"], step["id"], request))
        return sent + self.passed(0)

    def passed(self, ms: int) -> list[Any]:
        """The responses of the timers that expire while time passes."""
        fired = self.clock.advance(self.clock.now + ms, self.coordinator.fire)
        return [sent for outcome in fired for sent in self.came(outcome)]

    def came(self, outcome: Outcome) -> list[Any]:
        """The responses; every write completes at once."""
        self.log += outcome.records
        sent = list(outcome.responses)
        if outcome.pending is not None:
            sent += self.came(self.coordinator.stored(outcome.pending))
        return sent


def as_sent(responses: list[Any]) -> list[Any]:
    """Responses as the oracle writes them, in a fixed order."""
    sent = []
    for caller, response in responses:
        if isinstance(response, Fetched):
            found = sorted((tp, o) for tp, o in response.offsets if o is not None)
            partitions = (
                CommittedOffset(*tp, o.offset, o.leader_epoch, o.metadata) for tp, o in found
            )
            response = OffsetFetchResponse(tuple(partitions))
        sent.append(Sent(caller, type(response).__name__.removesuffix("Response"), response))
    return in_order(QUESTIONS["Heartbeat"].result.encode(Sending(0, tuple(sent)))["responses"])


def in_order(responses: list[Any]) -> list[Any]:
    """Responses in a fixed order: Kafka's order means nothing."""
    return sorted(responses, key=repr)


def compare(steps: list[dict[str, Any]], seen: Counter[str]) -> None:
    """Take the steps of a history by the coordinator of `impl` too."""
    broker = Broker()
    issued = 0
    for step in steps[:-1]:
        if step["method"] == "JoinGroup":
            issued += 1
            params = step["params"]
            instance = params["groupInstanceId"]
            step["new_id"] = f"{'consumer' if instance is None else instance}-{issued}"
        expected = in_order(step["result"].get("responses", []))
        assert as_sent(broker.take(step)) == expected, step
        seen.update(f"{step['method']} {response['api']}" for response in expected)
    described = steps[-1]["result"]
    group = broker.coordinator.groups.get(GROUP)
    assert described["groupState"] == (group.state.value if group else "Dead")
    if group:
        assert described["generationId"] == group.generation
        assert {m["memberId"] for m in described["members"]} == set(group.members)
    armed = {(t["timer"], t["memberId"], t["expires"]) for t in described["timers"]}
    parked = {m["memberId"] for m in described["members"] if m["parked"]}
    deadlines = {
        (key.kind.value, key.member, deadline) for key, deadline in broker.clock._deadlines.items()
    }
    # The session timer of a parked member may be armed there; it has no effect.
    useful = {d for d in deadlines if d[0] != "session" or d[1] not in parked or d in armed}
    assert armed == useful


@pytest.mark.slow
def test_histories_and_deadlines_equal_those_of_the_coordinator() -> None:
    seen: Counter[str] = Counter()
    for number in range(40):
        compare(history(Draw(1, number)), seen)
    assert {"advance JoinGroup", "SyncGroup SyncGroup", "failover JoinGroup"} <= seen.keys()


@pytest.mark.slow
def test_many_histories_equal_those_of_the_coordinator() -> None:
    seen: Counter[str] = Counter()
    for number in range(3_000):
        compare(history(Draw(2, number)), seen)


# -- requests by hand ------------------------------------------------------------------------------

RANGE = [{"name": "range", "metadata": "m"}]


class Session:
    """A session, whose requests are numbered from 1."""

    def __init__(self, **settings: Any) -> None:
        self.oracle = GroupOracle()
        self.number = 0
        self.ask("reset", **settings)

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a request."""
        result = self.oracle.ask(self.number, method, params)
        self.number += 1
        return result

    def sent(self, method: str, **params: Any) -> list[tuple[int | str, str]]:
        """The requests that are answered now, and the errors."""
        responses = self.ask(method, groupId="g", **params)["responses"]
        return [(each["id"], each["response"]["error"]) for each in responses]

    def joins(self, **params: Any) -> list[tuple[int | str, str]]:
        """A client joins at once."""
        return self.sent("JoinGroup", protocols=RANGE, version=3, **params)


def test_a_parked_request_is_answered_by_a_later_one() -> None:
    session = Session()
    assert session.joins() == []
    assert session.joins() == []
    [*_] = responses = session.ask("advance", ms=6_000)["responses"]
    assert [each["id"] for each in responses] == [1, 2]
    [leads, follows] = [each["response"] for each in responses]
    assert [each["memberId"] for each in leads["members"]] == ["consumer-1", "consumer-2"]
    assert follows["members"] == []


def test_a_timer_without_a_duration_expires_at_once() -> None:
    session = Session(**{"group.initial.rebalance.delay.ms": 0})
    assert session.joins() == [(1, "NONE")]


def test_a_new_member_gets_the_id_that_the_request_names() -> None:
    session = Session(**{"group.initial.rebalance.delay.ms": 0})
    [joined] = session.ask(
        "JoinGroup", groupId="g", protocols=RANGE, newMemberId="mine", version=3
    )["responses"]
    assert joined["response"]["memberId"] == "mine"
    with pytest.raises(SpecError, match="the group has a member of this id"):
        session.joins(newMemberId="mine")


def test_a_client_that_disconnected_receives_no_response() -> None:
    session = Session()
    session.joins()
    assert session.ask("disconnect", request=1)["responses"] == []
    assert session.ask("advance", ms=3_000)["responses"] == []
    assert session.ask("describe", groupId="g")["groupState"] == "CompletingRebalance"


def test_a_failover_answers_parked_requests_and_keeps_what_was_stored() -> None:
    session = Session(**{"group.initial.rebalance.delay.ms": 0})
    session.joins()
    who = {"memberId": "consumer-1", "generationId": 1}
    assert session.sent("SyncGroup", **who) == [(2, "NONE")]
    session.ask(
        "OffsetCommit",
        groupId="g",
        **who,
        partitions=[{"topic": "t", "partition": 1, "committedOffset": 5}],
    )
    session.joins()
    assert [(r["id"], r["response"]["error"]) for r in session.ask("failover")["responses"]] == [
        (4, "NOT_COORDINATOR")
    ]
    assert session.sent("Heartbeat", **who) == [(6, "NONE")]
    [fetched] = session.ask("OffsetFetch", groupId="g")["responses"]
    [offset] = fetched["response"]["partitions"]
    assert (offset["partition"], offset["committedOffset"]) == (1, 5)
    asked = [{"topic": "t", "partition": 0}]
    [fetched] = session.ask("OffsetFetch", groupId="g", partitions=asked)["responses"]
    assert fetched["response"]["partitions"][0]["committedOffset"] == -1


def test_an_empty_group_id_is_invalid() -> None:
    [sent] = Session().ask("Heartbeat", groupId="", memberId="m", generationId=1)["responses"]
    assert sent["response"]["error"] == "INVALID_GROUP_ID"


def test_a_session_refuses_to_hold_more_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "MOST_HELD", 20_000)
    session = Session(**{"group.initial.rebalance.delay.ms": 0})
    for _ in range(200):  # what a group no longer holds does not count
        session.joins()
        session.ask("advance", ms=3_000_000)
    large = [{"name": "range", "metadata": "x" * 9_000}]
    session.ask("JoinGroup", groupId="a", protocols=large)
    session.ask("JoinGroup", groupId="b", protocols=large, version=3)
    with pytest.raises(SpecError, match="reset them"):
        session.ask("JoinGroup", groupId="c", protocols=large, version=3)
    session.ask("reset")
    session.ask("JoinGroup", groupId="c", protocols=large, version=3)


def test_cancelled_timers_are_forgotten() -> None:
    session = Session(**{"group.initial.rebalance.delay.ms": 0})
    session.joins()
    session.sent("SyncGroup", memberId="consumer-1", generationId=1)
    for _ in range(3_000):
        session.ask("advance", ms=1)
        session.sent("Heartbeat", memberId="consumer-1", generationId=1)
    assert len(session.oracle.due) <= 1_001
