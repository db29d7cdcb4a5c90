"""A plan is what Kafka's tool would do, and its CSV what the tool takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from kspec.field.groups.describe import parse_describe
from kspec.field.groups.groups import Group, GroupPartition
from kspec.field.groups.plan import (
    Plan,
    Target,
    in_scope,
    parse_csv,
    plan_of,
    to_csv,
    with_others,
)
from kspec.field.groups.times import parse_datetime, parse_duration
from kspec.spec.consumer import reset
from kspec.spec.core import SpecError
from kspec.spec.vocabulary import TopicPartition
from tests.field.groups.record import PLANS
from tests.field.groups.recorded import COMMITTED, ENDS, STARTS, name_of, offsets, outputs

NOW = 1_800_000_000_000
"""Some time after the last record."""
CSV = re.compile(r'("?[\w ]+"?,)?[\w.-]+,\d+,\d+')


def group(name: str) -> Group:
    """A recorded group, with the log starts."""
    found = []
    for place, committed in COMMITTED[name].items():
        topic, _, index = place.rpartition("-")
        where = TopicPartition(topic, int(index))
        found.append(GroupPartition(where, committed, ENDS[place], STARTS.get(place, 0)))
    return Group(name, "empty", found)


def target(arguments: list[str], name: str) -> Target:
    """The reset that the arguments ask for."""
    option = next(word for word in arguments if word in TARGETS)
    value = arguments[arguments.index(option) + 1]
    return lambda p, where: TARGETS[option](offsets(name, str(where)), value)


TARGETS: dict[str, Callable[[reset.PartitionOffsets, str], int]] = {
    "--to-earliest": lambda p, _: reset.to_earliest(p),
    "--to-latest": lambda p, _: reset.to_latest(p),
    "--to-current": lambda p, _: reset.to_current(p),
    "--to-offset": lambda p, value: reset.to_offset(p, int(value)),
    "--shift-by": lambda p, value: reset.shift_by(p, int(value)),
    "--to-datetime": lambda p, value: reset.to_datetime(p, parse_datetime(value)),
    "--by-duration": lambda p, value: reset.by_duration(p, NOW, parse_duration(value)),
}


def rows(text: str) -> set[str]:
    """The lines of CSV in an output, in any order."""
    return {line for line in text.split("\n") if CSV.fullmatch(line)}


RESETS = list(outputs("--reset-offsets", without=("shipping", "missing", "--from-file")))


@pytest.mark.parametrize("each", RESETS, ids=name_of)
def test_a_plan_is_the_one_that_kafkas_tool_makes(each: dict[str, Any]) -> None:
    arguments = each["arguments"]
    names = [arguments[i + 1] for i, word in enumerate(arguments) if word == "--group"]
    topics = ["orders"] if "--topic" in arguments else []
    ends = {TopicPartition("orders", index): ENDS[f"orders-{index}"] for index in range(3)}
    plans = []
    for name in names:
        whole = with_others(group(name), topics, {}, ends)
        plans.append(plan_of(whole, in_scope(whole, topics), target(arguments, name)))
    assert rows(to_csv(plans)) == rows(each["output"])
    assert rows(each["output"])


@pytest.mark.parametrize("each", outputs("--reset-offsets", "shipping"), ids=name_of)
def test_a_group_with_members_is_not_reset(each: dict[str, Any]) -> None:
    assert "can only be reset if the group 'shipping' is inactive" in each["output"]
    assert not rows(each["output"])


def planned(text: str, names: list[str]) -> list[Plan]:
    """The plans in a CSV."""
    found = parse_csv(text, names)
    plans = []
    for name in names:
        of_group = found[name]
        own = [p for p in group(name).partitions if p.partition in of_group]
        plans.append(
            plan_of(group(name), own, lambda p, w, to=of_group: reset.to_offset(p, to[w]))  # type: ignore[misc]
        )
    return plans


@pytest.mark.parametrize("each", outputs("--from-file"), ids=name_of)
def test_kafkas_tool_takes_the_csv_and_clamps_it_alike(each: dict[str, Any]) -> None:
    """Until 2.2 it resets one group at a time."""
    several = "several.csv" in each["arguments"]
    names = ["billing", "my group", "old"] if several else ["billing"]
    plans = planned((PLANS / ("several.csv" if several else "one.csv")).read_text(), names)
    if several and each["release"] < "2.3":
        assert "Found multiple arguments for option group" in each["output"]
    else:
        assert rows(to_csv(plans)) == rows(each["output"])


def test_csv_is_written_as_it_is_read() -> None:
    names = ['a "b", c', "my group", "billing"]
    where = GroupPartition(TopicPartition("orders", 3), 5, 9, 0)
    plans = [plan_of(Group(name, None, [where]), [where], lambda p, _: 7) for name in names]
    text = to_csv(plans)
    assert text.splitlines()[1] == '"my group",orders,3,7'
    assert parse_csv(text, names) == {name: {where.partition: 7} for name in names}
    assert parse_csv(text.replace("\n", "\r\n"), names) == parse_csv(text, names)
    assert to_csv(plans[:1]) == "orders,3,7\n"
    assert parse_csv("orders,3,7\n", [None]) == {None: {where.partition: 7}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the plan is empty"),
        ("orders,0,12", "the last line has no line ending"),
        ("topic,partition,offset\n", "the partition is partition"),
        ("orders,0\n", "topic,partition,offset or"),
        ("g,orders,0,1,2\n", "topic,partition,offset or"),
        ("orders,0,-\n", "numbers that are not negative"),
        ("orders,0,1\n\norders,1,1\n", "line 2: topic,partition,offset or"),
        ("orders,0,1\ng,orders,1,1\n", "line 2: it has a group"),
        ("orders,0,1\norders,0,1\n", "line 2: orders-0 appears twice"),
        ("or ders,0,1\n", "not a topic name"),
        ('"g,orders,0,1\n', "line 1: not CSV"),
    ],
)
def test_a_plan_that_kafka_would_not_take_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        parse_csv(text, ["g"])


def test_a_group_id_with_an_end_of_line_has_no_csv() -> None:
    where = GroupPartition(TopicPartition("orders", 3), 5, 9, 0)
    plans = [plan_of(Group(name, None, [where]), [where], lambda p, _: 7) for name in ("a\nb", "c")]
    with pytest.raises(SpecError, match="has a line ending"):
        to_csv(plans)


def test_a_plan_without_groups_is_for_one() -> None:
    with pytest.raises(SpecError, match="choose it with --group"):
        parse_csv("orders,0,1\n", ["a", "b"])


def test_a_partition_that_is_not_listed_is_refused() -> None:
    billing = group("billing")
    assert [str(p.partition) for p in in_scope(billing, ["orders:1"])] == ["orders-1"]
    for topics, reason in (
        (["orders:7"], "does not list orders-7"),
        (["payments"], "does not list payments"),
        (["orders:x"], "orders or orders:0,2 is expected"),
    ):
        with pytest.raises(SpecError, match=reason):
            in_scope(billing, topics)


def test_a_plan_says_what_it_needs() -> None:
    billing = group("billing")
    nothing = GroupPartition(TopicPartition("orders", 2), None, 3, 0)
    with pytest.raises(SpecError, match="group billing, orders-2: cannot shift"):
        plan_of(billing, [nothing], lambda p, _: reset.shift_by(p, 1))
    unknown = GroupPartition(TopicPartition("orders", 2), None, None)
    with pytest.raises(SpecError, match="the end of orders-2 is unknown"):
        plan_of(billing, [unknown], lambda p, _: 0)


def test_descriptions_and_plans_agree_on_the_groups() -> None:
    [text] = [e["output"] for e in outputs("--all-groups", "--verbose") if e["release"] == "4.1.0"]
    assert {found.name for found in parse_describe(text)} == set(COMMITTED)
