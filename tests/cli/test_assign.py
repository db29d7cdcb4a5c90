"""`kspec assign` at the prompt."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kspec.spec.assignors import ASSIGNORS, Member, kafka_order
from tests.cli.conftest import Kspec

GROUP: dict[str, Any] = {
    "topics": {"orders": 6, "payments": 4},
    "members": {
        "c1": ["orders", "payments"],
        "c2": {"topics": ["orders"], "owned": {"orders": [0, 1]}, "generation": 3, "rack": "east"},
        "c3": {"topics": ["orders", "payments"], "instance_id": "host-3"},
    },
}


def write(document: object, name: str = "group.json") -> str:
    """A file for the command to read."""
    Path(name).write_text(json.dumps(document), encoding="utf-8")
    return name


def rounds(kspec: Kspec, *arguments: str) -> list[dict[str, Any]]:
    """The rounds that the command prints as JSON."""
    ran = kspec("assign", *arguments, "--json")
    assert (ran.code, ran.err) == (0, "")
    found: list[dict[str, Any]] = json.loads(ran.out)["rounds"]
    return found


def assigned(of: dict[str, Any]) -> dict[str, list[str]]:
    """Who got what, by names of partitions."""
    return {
        name: [f"{topic}-{index}" for topic, index in member["assigned"]]
        for name, member in of["members"].items()
    }


@pytest.mark.parametrize("strategy", ASSIGNORS)
def test_the_assignment_equals_the_specifications_in_list_order(
    kspec: Kspec, strategy: str
) -> None:
    members = kafka_order(
        {
            "c1": Member(["orders", "payments"]),
            "c2": Member(["orders"], [("orders", 0), ("orders", 1)], 3),  # type: ignore[list-item]
            "c3": Member(["orders", "payments"], instance_id="host-3"),
        }
    )
    expected = ASSIGNORS[strategy](GROUP["topics"], members)
    (only,) = rounds(kspec, strategy, write(GROUP))
    assert assigned(only) == {m: [str(tp) for tp in got] for m, got in expected.items()}
    assert list(only["members"]) == list(expected)


def test_a_report_has_kept_added_and_revoked_partitions_moves_and_balance(kspec: Kspec) -> None:
    ran = kspec("assign", "range", write(GROUP))
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "range, members in Kafka's order",
        "",
        "member  partitions  kept  added  revoked  assigned",
        "c3               4     0      4        0  payments 0-1, orders 0-1",
        "c1               4     0      4        0  payments 2-3, orders 2-3",
        "c2               2     0      2        2  orders 4-5",
        "",
        "Balance: 10 partitions for 3 members, 2 to 4 each: unbalanced.",
        "Moves: 2 partitions change owner, 0 stay.",
        "    orders-0  c2 → c3",
        "    orders-1  c2 → c3",
    ]


def test_options_replace_the_file(kspec: Kspec) -> None:
    ran = kspec(
        *("assign", "range", "--topic", "t=3", "--member", "a=t", "--member", "b=t,u"),
        *("--member", "c="),
    )
    assert "a                2  t 0-1" in ran.out
    assert "b                1  t 2" in ran.out
    assert "3 partitions for 3 members, 0 to 2 each: unbalanced" in ran.out


def test_yaml_and_json_give_the_same_assignment(kspec: Kspec) -> None:
    Path("group.yaml").write_text(
        """
        topics: {orders: 6, payments: 4}
        members:
          c1: [orders, payments]
          c2:
            topics: [orders]
            owned: [orders-0, orders-1]   # the other way to write it
            generation: 3
            rack: east
          c3: {topics: [orders, payments], instance_id: host-3}
        """
    )
    assert rounds(kspec, "sticky", "group.yaml") == rounds(kspec, "sticky", write(GROUP))


def test_a_missing_yaml_reader_is_reported_with_its_extra(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("group.yaml").write_text("members: {}")
    monkeypatch.setitem(sys.modules, "yaml", None)
    ran = kspec("assign", "range", "group.yaml")
    assert (ran.code, ran.err.count("\n")) == (151, 1)
    assert "pip install -e '.[yaml]'" in ran.err


def test_members_are_in_kafkas_order_unless_order_given_is_set(kspec: Kspec) -> None:
    group = write({"topics": {"t": 2}, "members": {"b": ["t"], "c": ["t"], "a": ["t"]}})
    (kafka,) = rounds(kspec, "range", group)
    (given,) = rounds(kspec, "range", group, "--order", "given")
    assert list(kafka["members"]) == ["a", "b", "c"]
    assert list(given["members"]) == ["b", "c", "a"]


# -- members come and go -----------------------------------------------------------------------


def test_after_a_rebalance_members_own_what_they_were_assigned(kspec: Kspec) -> None:
    before = write({"topics": {"t": 4}, "members": {"a": ["t"], "b": ["t"]}})
    after = write({"members": {"b": ["t"], "c": ["t"]}}, "after.json")
    first, second = rounds(kspec, "sticky", before, "--after", after)
    assert assigned(first) == {"a": ["t-0", "t-2"], "b": ["t-1", "t-3"]}
    assert assigned(second) == {"b": ["t-1", "t-3"], "c": ["t-0", "t-2"]}
    assert second["members"]["b"]["keeps"] == [["t", 1], ["t", 3]]
    assert second["moves"] == [], "who left owns nothing any more"


def test_cooperative_rounds_end_when_no_partition_is_revoked(kspec: Kspec) -> None:
    before = write({"topics": {"t": 4}, "members": {"a": ["t"]}})
    after = write({"members": {"a": ["t"], "b": ["t"]}}, "after.json")
    first, handing_over, last = rounds(kspec, "cooperative-sticky", before, "--after", after)
    assert assigned(first) == {"a": ["t-0", "t-1", "t-2", "t-3"]}
    assert assigned(handing_over) == {"a": ["t-0", "t-1"], "b": []}
    assert handing_over["withheld"] == [["t", 2], ["t", 3]]
    assert assigned(last) == {"a": ["t-0", "t-1"], "b": ["t-2", "t-3"]}
    ran = kspec("assign", "cooperative-sticky", before, "--after", after)
    assert "Round 3" in ran.out
    assert "Withheld: 2 partitions, until their owners revoke them" in ran.out


def test_a_member_that_missed_a_round_can_name_what_it_owns(kspec: Kspec) -> None:
    before = write({"topics": {"t": 2}, "members": {"a": ["t"], "b": ["t"]}})
    stale = {"topics": ["t"], "owned": ["t-0"], "generation": 0}
    after = write({"members": {"a": ["t"], "b": stale}, "topics": {"t": 3}}, "after.json")
    _, second = rounds(kspec, "sticky", before, "--after", after)
    assert second["members"]["a"]["keeps"] == [["t", 0]]
    assert assigned(second)["b"] == ["t-1"]


# -- odd groups, and files that mean nothing ---------------------------------------------------


def test_an_empty_group_is_valid(kspec: Kspec) -> None:
    ran = kspec("assign", "sticky", write({"topics": {"t": 2}, "members": {}}))
    assert (ran.code, ran.err) == (0, "")
    assert "No members: nothing is assigned." in ran.out


def test_an_unknown_topic_is_ignored_and_reported(kspec: Kspec) -> None:
    ran = kspec("assign", "sticky", "--topic", "orders=3", "--member", "c=order")
    assert (ran.code, ran.err) == (
        0,
        "kspec: unknown topics, ignored as Kafka does: order\n",
    )
    assert "No partitions: nothing is assigned." in ran.out
    told = write({"topics": {"t": None}, "members": {"a": ["t"]}})
    assert kspec("assign", "sticky", told, "--json").err == "", "null says that it has no metadata"


def test_owned_partitions_that_are_unsubscribed_or_deleted_are_revoked(kspec: Kspec) -> None:
    claims = {"topics": ["t"], "owned": ["t-0", "u-0", "gone-7"], "generation": 1}
    group = write({"topics": {"t": 1, "u": 1}, "members": {"a": claims, "b": ["u", "u"]}})
    (only,) = rounds(kspec, "sticky", group)
    assert assigned(only) == {"a": ["t-0"], "b": ["u-0"]}
    assert only["members"]["a"]["lets_go"] == [["u", 0], ["gone", 7]]


def test_names_in_any_script_are_aligned_and_escaped(kspec: Kspec) -> None:
    members = {"\x1b[31m": ["😀"], "日本": ["😀"]}
    ran = kspec("assign", "range", write({"topics": {"😀": 2}, "members": members}))
    assert "\x1b" not in ran.out
    lines = [line for line in ran.out.splitlines() if line.endswith(("😀 0", "😀 1"))]
    assert sorted(lines) == [
        r"\x1b[31m           1  😀 0",
        "日本               1  😀 1",
    ]


def test_an_exception_of_kafkas_assignor_is_reported_in_one_line(kspec: Kspec) -> None:
    claims = {"topics": [], "owned": ["t-1"], "generation": 1}
    group = write({"topics": {"t": 1}, "members": {"a": claims, "b": ["t"]}})
    ran = kspec("assign", "sticky", group)
    assert (ran.code, ran.out, ran.err.count("\n")) == (151, "", 1)
    assert "Kafka raises IllegalStateException here" in ran.err


def test_many_partitions_are_assigned_quickly_and_reported_in_few_lines(kspec: Kspec) -> None:
    topics = {f"t{number}": 1000 for number in range(50)}
    members = {f"m{number}": list(topics) for number in range(50)}
    ran = kspec("assign", "roundrobin", write({"topics": topics, "members": members}))
    assert "50000 partitions for 50 members, 1000 each: balanced." in ran.out
    assert max(map(len, ran.out.splitlines())) < 5000


def member(**fields: object) -> dict[str, object]:
    """A group of one member."""
    return {"topics": {"t": 1}, "members": {"a": fields}}


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ([], "a group is given by name"),
        ({"members": {}}, "names no topics"),
        ({"topics": {}}, "there are no members"),
        ({"topic": {}, "members": {}}, "did you mean topics?"),
        ({"topics": {"t": -1}, "members": {}}, "topic 't' has -1 partitions"),
        ({"topics": {"t": "6"}, "members": {}}, "a whole number of partitions, not '6'"),
        ({"topics": {"t": True}, "members": {}}, "a whole number of partitions, not True"),
        ({"topics": {"t": 10**30}, "members": {}}, "more than 10,000,000 partitions"),
        ({"topics": ["t"], "members": {}}, "topics is given by name"),
        ({"topics": {}, "members": ["a"]}, "members is given by name"),
        ({"topics": {}, "members": {"a": "t"}}, "member 'a' is given by name"),
        (member(topics="t"), "topics is a list of names, not 't'"),
        (member(owned=["t-0"]), "topics is a list of names, not None"),
        (member(topics=["t"], instanceid="x"), "did you mean instance_id?"),
        (member(topics=["t"], owned=["t"]), "a partition is named like orders-0, not 't'"),
        (member(topics=["t"], owned={"t": [-1]}), "a whole number from 0 on, not -1"),
        (member(topics=["t"], owned=3), "owned lists partitions by topic, not 3"),
        (member(topics=["t"], generation=-1), "generation is a whole number from 0 on"),
        (member(topics=["t"], instance_id=7), "instance_id is a string, not 7"),
        (
            {
                "topics": {},
                "members": {n: {"topics": [], "instance_id": "i"} for n in ("a", "b")},
            },
            "members 'a' and 'b' have one instance_id, 'i'",
        ),
    ],
)
def test_an_invalid_group_is_refused_in_one_line(kspec: Kspec, document: object, says: str) -> None:
    ran = kspec("assign", "range", write(document))
    assert (ran.code, ran.out, ran.err.count("\n")) == (151, "", 1)
    assert ran.err.startswith("kspec: group.json: ")
    assert says in ran.err


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("g.json", '{"topics": {"t": 1, "t": 2}, "members": {}}', "'t' is given twice"),
        ("g.yaml", "topics: {t: 1, t: 2}\nmembers: {}", "'t' is given twice"),
        ("g.yaml", "topics: {1: 1}\nmembers: {}", "a name is a string, not 1: put it in quotes"),
        ("g.yaml", "topics: {a: [\n", "not YAML"),
        ("g.yaml", "a: !!python/object:os.system x", "not YAML"),
        ("g.yaml", "", "a group is given by name"),
        ("g.json", "{", "line 1, column 2: not JSON"),
        ("g.json", "[" * 100_000, "nested deeper than 100"),
        ("g.json", b'{\n"\xff": 1}', "line 2: not UTF-8"),
    ],
)
def test_an_unreadable_file_is_refused_in_one_line(
    kspec: Kspec, name: str, content: str | bytes, says: str
) -> None:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    ran = kspec("assign", "range", name)
    assert (ran.code, ran.out, ran.err.count("\n")) == (151, "", 1)
    assert says in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["stiky", "g.json"], 151, "did you mean sticky"),
        (["range", "nowhere.json"], 151, "cannot read nowhere.json: No such file"),
        (["range"], 2, "give a FILE, or --topic and --member"),
        (["range", "g.json", "--topic", "t=1"], 2, "not both"),
        (["range", "--topic", "t"], 2, "--topic takes name=value, not 't'"),
        (["range", "--topic", "t=x"], 151, "whole number of partitions, not 'x'"),
        (["range", "--topic", "t=-1", "--member", "a=t"], 151, "topic 't' has -1 partitions"),
        (["range", "--member", "a=t", "--member", "a=u"], 151, "'a' is given twice"),
        (["range", "--topic", "t=1", "--order", "random"], 2, "random"),
    ],
)
def test_wrong_usage_is_reported_in_one_line(
    kspec: Kspec, arguments: list[str], code: int, says: str
) -> None:
    ran = kspec("assign", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert says in ran.err
