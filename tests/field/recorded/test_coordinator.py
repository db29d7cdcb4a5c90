"""The mapping coordinator: real clients are accepted, and what Kafka never answers is rejected."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from kspec.field.recorded.coordinator import CoordinatorMapping
from kspec.spec.messages import JAVA, SCALA
from tests.field.recorded.recorded import (
    CASES,
    Line,
    check,
    index_of,
    load,
    names,
    rejected_at,
    thinned,
)

TRACE = "coordinator-kafka-python-range"


def is_response(api: str, error: int = 0) -> Any:
    """Whether an event is a response with this error."""

    def holds(line: Line) -> bool:
        fields = line.get("fields") or {}
        found = line.get("event") == "response" and line.get("api") == api
        return found and fields.get("errorCode") == error

    return holds


@pytest.mark.parametrize("name", names("coordinator"))
def test_real_clients_are_accepted(name: str) -> None:
    verdict = check(load(name))
    assert verdict.verdict == "accepted", verdict.to_json()
    assert verdict.events > 100


@pytest.mark.parametrize("kept", [0.9, 0.5, 0.1])
@pytest.mark.parametrize("is_numbered", [True, False])
def test_a_trace_with_missing_events_is_never_rejected(kept: float, is_numbered: bool) -> None:
    for seed, name in enumerate(names("coordinator")):
        lines = thinned(load(name), seed, kept)
        if not is_numbered:
            lines = [{k: v for k, v in line.items() if k != "sequence"} for line in lines]
        assert check(lines).verdict == "accepted", (name, seed)


# -- alterations ------------------------------------------------------------------------------

ALTERATIONS: dict[str, tuple[str, int, dict[str, Any], str | None]] = {
    "a heartbeat is refused": ("Heartbeat", 0, {"errorCode": 22}, None),
    "a member is forgotten": ("Heartbeat", 0, {"errorCode": 25}, None),
    "a rebalance without a reason": ("SyncGroup", 0, {"errorCode": 27}, None),
    "another assignment": ("SyncGroup", 0, {"assignment": "AAAA"}, None),
    "another leader": ("JoinGroup", 0, {"leader": "nobody"}, None),
    "another protocol": ("JoinGroup", 0, {"protocolName": "sticky"}, None),
    "a member without an id": (
        "JoinGroup",
        79,
        {"errorCode": 0, "generationId": 1},
        "a client without a member id is issued one (KIP-394)",
    ),
}


@pytest.mark.parametrize("alteration", ALTERATIONS)
def test_an_altered_response_is_rejected_at_once(alteration: str) -> None:
    api, error, changes, guard = ALTERATIONS[alteration]
    lines = load(TRACE)
    for count in (1, 3):
        altered = deepcopy(lines)
        place = index_of(altered, is_response(api, error), count)
        altered[place]["fields"].update(changes)
        assert rejected_at(altered) == (place, guard)


def test_an_older_generation_that_is_accepted_is_rejected() -> None:
    lines = load(TRACE)
    place = index_of(lines, is_response("Heartbeat"), 10)
    key = lines[place]["connection"], lines[place]["correlation"]
    pair = [e for e in lines[1:] if (e["connection"], e.get("correlation")) == key]
    pair[0]["fields"]["generationId"] -= 1
    assert rejected_at(lines) == (place, "generation is current")
    # Even if half of the other events are missing: one stored assignment shows the generation.
    synced = [e for e in lines[1:place] if e.get("api") == "SyncGroup"]
    for seed in range(5):
        some = thinned(lines, seed, 0.5)
        rejection = check([e for e in lines if e in some or e in pair or e in synced]).rejection
        assert rejection is not None
        assert rejection.guard == "generation is current"


def test_a_generation_that_begins_too_early_is_rejected() -> None:
    """A second client joins, and is answered before the first one has joined again."""
    lines = [HEADER, *joining(1), *sync(3, 1)]
    joined = joining(2)[2:]
    joined[0]["fields"]["memberId"] = ""
    for line in joined:
        line |= {"version": 3, "connection": 2}
    at_once = [{**line, "time_ms": 1} for line in (*lines[1:], *joined)]
    guard = "every member has joined, or the rebalance timeout has expired"
    assert rejected_at([HEADER, *at_once]) == (len(at_once), guard)


def test_a_response_before_its_request_is_rejected() -> None:
    lines = [HEADER, *joining(1)]
    lines[-2:] = reversed(lines[-2:])
    assert rejected_at(lines) == (3, "a response follows its request")
    assert check([{**HEADER, "observed": "some"}, *lines[1:]]).verdict == "accepted"


def test_swapped_lines_are_rejected() -> None:
    lines = load(TRACE)
    place = index_of(lines, is_response("Heartbeat"), 5)
    lines[place], lines[place + 1] = lines[place + 1], lines[place]
    assert rejected_at(lines) == (place + 1, "events are in the order of their sequence")


@pytest.mark.slow
def test_a_session_does_not_expire_early() -> None:
    """The clients' session timeout is six seconds; the killed one is removed after it."""
    lines = load(TRACE)
    times = {line["time_ms"] for line in lines[1:]}
    for line in lines[1:]:
        line["time_ms"] = min(times)  # as if no time had passed
    assert check(lines).verdict == "rejected"
    for line in lines[1:]:
        del line["time_ms"]
    assert check(lines).verdict == "accepted"


# -- small traces -----------------------------------------------------------------------------

HEADER: Line = {"kspec_trace": 1, "mapping": "coordinator", "observed": "all"}


def call(correlation: int, api: str, fields: Line, answer: Line, **keys: Any) -> list[Line]:
    """A request of a group `g` and its response."""
    common = {"connection": 1, "correlation": correlation, "api": api, "version": 5, **keys}
    request = {"groupId": "g", **fields}
    return [
        {"event": "request", **common, "fields": request},
        {"event": "response", **common, "fields": answer},
    ]


def joining(generation: int, session: int = 10_000) -> list[Line]:
    """A client becomes the only member."""
    protocols = [{"name": "range", "metadata": ""}]
    fields = {"sessionTimeoutMs": session, "protocolType": "consumer", "protocols": protocols}
    joined = {
        "errorCode": 0,
        "generationId": generation,
        "protocolName": "range",
        "leader": "m",
        "memberId": "m",
        "members": [{"memberId": "m", "metadata": ""}],
    }
    return [
        *call(1, "JoinGroup", {**fields, "memberId": ""}, {"errorCode": 79, "memberId": "m"}),
        *call(2, "JoinGroup", {**fields, "memberId": "m"}, joined),
    ]


def sync(correlation: int, generation: int) -> list[Line]:
    """The leader's SyncGroup."""
    given = [{"memberId": "m", "assignment": "AAAA"}]
    fields = {"memberId": "m", "generationId": generation, "assignments": given}
    return call(
        correlation,
        "SyncGroup",
        {**fields, "protocolType": "consumer", "protocolName": "range"},
        {
            "errorCode": 0,
            "assignment": "AAAA",
            "protocolType": "consumer",
            "protocolName": "range",
        },
    )


def heartbeat(correlation: int, generation: int, error: int = 0) -> list[Line]:
    """A heartbeat."""
    fields = {"memberId": "m", "generationId": generation}
    return call(correlation, "Heartbeat", fields, {"errorCode": error})


def test_a_group_may_be_older_than_the_trace() -> None:
    lines = [HEADER, *joining(17), *sync(3, 17), *heartbeat(4, 17)]
    assert check(lines).verdict == "accepted"


def test_a_failover_explains_what_its_errors_show() -> None:
    started = [HEADER, *({**line, "time_ms": 1} for line in (*joining(1), *sync(3, 1)))]
    moved = heartbeat(4, 1, error=16)
    assert check([*started, *moved, *heartbeat(5, 1)]).verdict == "accepted"
    assert check([*started, *moved, *heartbeat(5, 1, error=25)]).verdict == "accepted"
    forgotten = [{**line, "time_ms": 1} for line in heartbeat(5, 1, error=25)]
    assert check([*started, *forgotten]).verdict == "rejected"


def test_a_broker_that_crashes_says_nothing_and_its_successor_may_not_know_the_member() -> None:
    """The second generation was not stored: only the first one is loaded, without the member."""
    at_once = {"time_ms": 1, "broker": "b1"}
    started = [HEADER, *({**line, **at_once} for line in (*joining(1), *sync(3, 1)))]
    forgotten = heartbeat(5, 1, error=25)
    same = [{**line, **at_once} for line in forgotten]
    elsewhere = [{**line, **at_once, "connection": 2, "broker": "b2"} for line in forgotten]
    again = [{**line, **at_once, "connection": 2} for line in forgotten]
    closed = {"event": "disconnect", "connection": 1, "time_ms": 1}
    assert check([*started, *same]).verdict == "rejected"
    assert check([*started, *elsewhere]).verdict == "accepted"
    assert check([*started, *again]).verdict == "rejected"
    assert check([*started, closed, *again]).verdict == "accepted"


def test_rights_and_settings_may_refuse_a_request() -> None:
    lines = [HEADER, *joining(1), *heartbeat(3, 1, error=30), *heartbeat(4, 1)]
    assert check(lines).verdict == "accepted"


def test_the_initial_delay_is_checked_if_it_is_known() -> None:
    lines = joining(1)
    for number, line in enumerate(lines):
        line["time_ms"] = 1_000 + number
    assert check([HEADER, *lines]).verdict == "accepted"
    settings = {"group.initial.rebalance.delay.ms": 3_000}
    assert check([HEADER, *lines], settings=settings).verdict == "rejected"


def test_librdkafkas_mock_cluster_adds_a_member_without_an_id() -> None:
    """It does not implement KIP-394; a difference that docs/recording.md names."""
    text = (CASES / "mock-cluster.ndjson").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    assert rejected_at(lines) == (2, "a client without a member id is issued one (KIP-394)")


@pytest.mark.parametrize(
    "line",
    [
        {"event": "guess"},
        {"event": "request", "api": "Heartbeat", "connection": 1, "fields": {}},
        {"event": "request", "api": "Heartbeat", "correlation": 1, "version": 1, "fields": []},
        heartbeat(1, "one")[0],  # type: ignore[arg-type]
        {"event": "disconnect", "time_ms": "noon"},
        {"event": "disconnect", "sequence": -1},
    ],
)
def test_a_malformed_event_is_named(line: Line) -> None:
    verdict = check([HEADER, *joining(1), line])
    assert verdict.verdict == "inconclusive"
    assert verdict.problems.counts == {"malformed event": 1}


def test_the_schema_has_every_setting_and_variant() -> None:
    header = CoordinatorMapping.schema().header
    assert list(header["settings"]["properties"]) == list(CoordinatorMapping.setting_names)
    assert header["variant"]["enum"] == [JAVA.name, SCALA.name]
