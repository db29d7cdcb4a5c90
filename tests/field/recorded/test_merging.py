"""Traces of several nodes: every order that nodes and messages allow, and no other."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from kspec.field.recorded import Limits, from_objects, validate_recordings
from kspec.field.recorded.checker import after_events, finish
from kspec.field.recorded.find import find_mapping
from kspec.field.recorded.mapping import Event
from kspec.field.recorded.merging import after_merging
from kspec.field.recorded.problems import Problems
from tests.field.recorded.walks import system_of, trace, walk, whole

NAME = "two-phase-commit"
HEADER = {"mapping": NAME}


def walked(seed: int, steps: int = 7) -> list[dict[str, Any]]:
    """A walk of the protocol: each event by the manager or by the transaction manager."""
    events = [whole(step) for step in walk(system_of(NAME), seed, steps)]
    for event in events:
        del event["state"]
        is_manager = event["rule"].startswith("manager")
        event["node"] = f"manager {event['choices']['r']}" if is_manager else "tm"
    return events


def by_node(events: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    names = sorted({event["node"] for event in events})
    return [[event for event in events if event["node"] == name] for name in names]


def orders(nodes: list[list[dict[str, Any]]]) -> Iterator[list[dict[str, Any]]]:
    """Every order that keeps the order of each node."""
    if not any(nodes):
        yield []
    for place, events in enumerate(nodes):
        if events:
            rest = [*nodes[:place], events[1:], *nodes[place + 1 :]]
            yield from ([events[0], *order] for order in orders(rest))


def numbered(events: list[dict[str, Any]]) -> list[Event]:
    return [Event(number, event) for number, event in enumerate(events, 1)]


def in_order(events: list[dict[str, Any]]) -> str:
    mapping = find_mapping(HEADER)
    return finish(mapping, after_events(mapping, numbered(events), Problems())).verdict


def merged(
    nodes: list[list[dict[str, Any]]], states: int = 10_000, skew: float | None = None
) -> str:
    mapping, problems, limits = find_mapping(HEADER), Problems(), Limits(states)
    sources = [numbered(node) for node in nodes]
    frontier = after_merging(mapping, sources, problems, limits, clock_skew_ms=skew)
    return finish(mapping, frontier, problems=problems, limits=limits).verdict


@pytest.mark.parametrize("seed", range(6))
def test_merging_agrees_with_trying_every_order(seed: int) -> None:
    draw, events = random.Random(seed), walked(seed, 5)
    if seed % 2:  # another order within one node
        draw.shuffle(events)
    nodes = by_node(events)
    found = {in_order(order) for order in orders(nodes)}
    assert merged(nodes) == ("accepted" if "accepted" in found else "rejected")


def test_some_order_of_the_nodes_is_possible_and_some_is_not() -> None:
    events = walked(0)
    assert merged(by_node(events)) == "accepted"
    shuffled = [dict(event) for node in by_node(events) for event in node]
    one_file = validate_recordings([from_objects("trace", trace(NAME, shuffled))], {})
    assert one_file.verdict == "accepted"
    in_total = trace(NAME, shuffled, order="total")
    assert validate_recordings([from_objects("trace", in_total)], {}).verdict == "rejected"
    backwards = [list(reversed(node)) for node in by_node(events)]
    assert merged(backwards) == "rejected"


def test_messages_order_events_of_different_nodes() -> None:
    first = {"node": "a", "rule": "manager_prepares", "choices": {"r": 0}, "receives": "m"}
    second = {"node": "b", "rule": "manager_prepares", "choices": {"r": 1}, "sends": "m"}
    assert merged([[first], [second]]) == "accepted"
    cyclic = [[{**first, "sends": "n"}], [{**second, "receives": "n"}]]
    assert merged(cyclic) == "rejected"


def test_a_message_is_sent_first_even_if_it_is_read_later() -> None:
    receiver = [{"node": "a", "rule": "manager_prepares", "choices": {"r": 0}, "receives": "m"}]
    others = [{"node": "a", "rule": "tm_receives_prepared", "choices": {"r": 0}}]
    sender = [{"node": "b", "rule": "tm_aborts", "sends": "m"}]
    events: list[dict[str, Any]] = [*receiver, *others, *sender]
    assert merged(by_node([*others, *sender])) == "rejected"
    found = validate_recordings([from_objects("trace", trace(NAME, events))], {})
    assert found.verdict == "rejected"  # after tm_aborts, no vote is counted
    del receiver[0]["receives"]
    found = validate_recordings([from_objects("trace", trace(NAME, events))], {})
    assert found.verdict == "accepted"


def test_a_message_that_no_event_sends_orders_nothing() -> None:
    alone = [{"node": "a", "rule": "manager_prepares", "choices": {"r": 0}, "receives": "lost"}]
    assert merged([alone, [{"node": "b", "rule": "tm_aborts"}]]) == "accepted"


def test_clocks_limit_the_orders() -> None:
    events = walked(0)
    for place, event in enumerate(events):
        event["time_ms"] = 100 * (len(events) - place)  # the clocks say the reverse
    nodes = by_node(events)
    assert merged(nodes, skew=10_000) == "accepted"
    assert merged(nodes, skew=10) == "rejected"


def test_too_many_orders_are_inconclusive_at_worst() -> None:
    nodes = by_node(walked(0))
    backwards = [list(reversed(node)) for node in nodes]
    assert merged(backwards, states=1) in ("inconclusive", "rejected")
    assert merged(nodes, states=1) in ("accepted", "inconclusive")
