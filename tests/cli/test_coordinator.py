"""`kspec coordinator` at the prompt."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Kspec

Shell = Callable[[str], subprocess.CompletedProcess[str]]

CASES = json.loads((Path(__file__).parents[1] / "cases" / "placement_sample.json").read_text())

DESCRIBED = """\
Topic: __consumer_offsets	TopicId: pKbJgQ	PartitionCount: 4	ReplicationFactor: 1	Configs: x=y
	Topic: __consumer_offsets	Partition: 0	Leader: 1	Replicas: 1,2	Isr: 1,2	Elr: N/A
	Topic: __consumer_offsets	Partition: 1	Leader: none	Replicas: 2	Isr: 2
	Topic: __consumer_offsets	Partition: 2	Leader: 2	Replicas: 2,1	Isr: 2
	Topic: __consumer_offsets	Partition: 3	Leader: -1	Replicas: 2	Isr:
Topic: orders	TopicId: x	PartitionCount: 1	ReplicationFactor: 1	Configs:
	Topic: orders	Partition: 9	Leader: 7	Replicas: 7	Isr: 7
"""


def groups(kspec: Kspec, *arguments: str) -> list[dict[str, Any]]:
    """What the command prints as JSON."""
    ran = kspec("coordinator", "--json", *arguments)
    assert (ran.code, ran.err) == (0, "")
    found: list[dict[str, Any]] = json.loads(ran.out)["groups"]
    return found


def test_every_known_group_gets_kafkas_partition(kspec: Kspec) -> None:
    for count in {case["num_partitions"] for case in CASES["group_partition"]}:
        cases = [
            case
            for case in CASES["group_partition"]
            if case["num_partitions"] == count and case["id"]
        ]
        found = groups(kspec, f"--partitions={count}", "--", *(case["id"] for case in cases))
        assert [(g["hash"], g["partition"]) for g in found] == [
            (case["java_hash"], case["expect"]) for case in cases
        ]


def test_groups_for_which_the_rules_differ_are_reported(kspec: Kspec) -> None:
    ran = kspec("coordinator", "my-group", "polygenelubricants")
    assert ran.out.splitlines() == [
        "group                      hash  partition",
        "my-group            -1906497762         12",
        "polygenelubricants  -2147483648          0",
        "",
        "Rule: Utils.abs(hash) % n, n = 50 (the default).",
        (
            "The rules differ for polygenelubricants: Utils.abs(hash) % n gives 0, "
            "Math.abs(hash % n) gives 48, Math.abs(hash) % n gives -48."
        ),
    ]


@pytest.mark.parametrize(
    ("rule", "partition"), [("kafka", 0), ("remainder-first", 48), ("abs-first", -48)]
)
def test_each_rule_can_be_chosen(kspec: Kspec, rule: str, partition: int) -> None:
    (found,) = groups(kspec, "polygenelubricants", "--rule", rule)
    assert found["partition"] == partition
    assert found["rules"] == {"kafka": 0, "remainder-first": 48, "abs-first": -48}


def test_leaders_give_the_broker(kspec: Kspec) -> None:
    Path("leaders.txt").write_text(DESCRIBED)
    found = groups(kspec, "a", "b", "c", "d", "--leaders", "leaders.txt")
    assert [(g["partition"], g["broker"]) for g in found] == [(1, None), (2, 2), (3, None), (0, 1)]
    ran = kspec("coordinator", "a", "b", "--leaders", "leaders.txt")
    assert "none: the partition has no leader" in ran.out
    assert "n = 4." in ran.out


def test_leaders_are_read_from_json_too(kspec: Kspec) -> None:
    Path("leaders.json").write_text('{"0": 11, "1": 12, "2": null}')
    found = groups(kspec, "a", "b", "c", "--leaders", "leaders.json")
    assert [(g["partition"], g["broker"]) for g in found] == [(1, 12), (2, None), (0, 11)]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "no partitions of __consumer_offsets are listed"),
        ("Topic: orders\tPartition: 0\tLeader: 1\n", "no partitions of"),
        ("Topic: __consumer_offsets\tPartition: 0\tLeader: 1\n", "PartitionCount, is missing"),
        ('{"1": 1}', "partition 0 of"),
        ('{"0": 1, "0": 2}', "'0' is given twice"),
        ('{"0": 1, "00": 2}', "partition 0 is given twice"),
        ('{"0": "one"}', "led by a broker's id, not 'one'"),
        ('{"first": 1}', "a whole number, not 'first'"),
        ("{", "not JSON"),
    ],
)
def test_invalid_leaders_are_refused_in_one_line(kspec: Kspec, content: str, says: str) -> None:
    Path("leaders").write_text(content)
    ran = kspec("coordinator", "a", "--leaders", "leaders")
    assert (ran.code, ran.out, ran.err.count("\n")) == (151, "", 1)
    assert says in ran.err


def test_a_count_that_contradicts_the_leaders_is_refused(kspec: Kspec) -> None:
    Path("leaders.txt").write_text(DESCRIBED)
    ran = kspec("coordinator", "a", "--leaders", "leaders.txt", "--partitions", "50")
    assert (ran.code, ran.err.count("\n")) == (151, 1)
    assert "4 partitions of __consumer_offsets are listed, not 50" in ran.err


def test_many_groups_come_from_a_file(kspec: Kspec) -> None:
    names = [f"group-{number}" for number in range(20_000)]
    Path("groups.txt").write_text("\r\n".join(names) + "\n\n")
    found = groups(kspec, "--file", "groups.txt")
    assert [g["group"] for g in found] == names
    assert found[7] == groups(kspec, "group-7")[0]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 2, "missing GROUP or --file"),
        (["a", "--rule", "kafk"], 151, "did you mean kafka?"),
        (["a", "--partitions", "0"], 2, "--partitions"),
        (["--file", "nowhere"], 151, "cannot read nowhere: No such file"),
        (["a", "--leaders", "nowhere"], 151, "cannot read nowhere: No such file"),
    ],
)
def test_wrong_usage_is_reported_in_one_line(
    kspec: Kspec, arguments: list[str], code: int, says: str
) -> None:
    ran = kspec("coordinator", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert says in ran.err


def test_groups_come_through_a_pipe_that_may_close_early(shell: Shell) -> None:
    ran = shell("seq 1000 | kspec coordinator - | head -2; echo ${PIPESTATUS[1]}")
    assert ran.stdout.splitlines() == [
        "group     hash  partition",
        "1           49         49",
        "0",
    ]
    assert ran.stderr == ""


def test_bytes_that_are_not_utf_8_are_reported_with_their_line(shell: Shell) -> None:
    ran = shell(r"printf 'a\n\xff\n' | kspec coordinator --file -; echo $?")
    assert ran.stdout == "151\n"
    assert ran.stderr == "kspec: standard input, line 2: not UTF-8\n"
