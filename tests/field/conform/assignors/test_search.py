"""The findings of a search in assignors with one known fault each."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kspec.field.conform.assignors import search
from kspec.field.conform.assignors.findings import Finding, admitted
from kspec.field.conform.assignors.judgement import judge
from kspec.field.conform.assignors.report import as_text, reproduction, to_json
from kspec.field.groups.clients import Target
from kspec.field.groups.groupfile import parse_group
from kspec.field.groups.strategies import AssignorInput
from kspec.spec.assignors import ASSIGNORS, Member, TopicPartition, kafka_order
from tests.spec.assignors.faulty import assign_ignoring_subscriptions

Answer = dict[str, list[TopicPartition]]
Spoil = Callable[[Mapping[str, Member], Answer], Any]


def spoiled(strategy: str, spoil: Spoil) -> Target:
    """Kafka's own strategy, with its assignment changed."""

    def assign(partitions: Mapping[str, int | None], members: Mapping[str, Member]) -> Any:
        answer = {m: list(got) for m, got in ASSIGNORS[strategy](partitions, members).items()}
        spoiled = spoil(members, answer)
        return answer if spoiled is None else spoiled

    return {strategy: assign}


def found(strategy: str, spoil: Spoil, **options: Any) -> list[Finding]:
    """The findings in about forty groups."""
    options = {"max_examples": 40, "seed": 0} | options
    return list(search(spoiled(strategy, spoil), strategy, **options).findings)


@pytest.mark.slow
def test_a_correct_assignor_has_no_findings() -> None:
    for strategy in ASSIGNORS:
        searched = search(ASSIGNORS, strategy, max_examples=12, seed=5)
        assert searched.findings == []
        assert searched.groups >= 10


def lose_the_last(members: Mapping[str, Member], answer: Answer) -> None:
    """Drop the last partition of static members."""
    for name, got in answer.items():
        if members[name].instance_id is not None and got:
            got.pop()


@pytest.mark.slow
def test_a_dropped_partition_is_wrong_and_shown_in_the_smallest_group() -> None:
    (finding,) = found("range", lose_the_last)
    assert finding.disagreement.kind == "wrong"
    assert finding.disagreement.what == "every_partition_is_assigned"
    assert finding.disagreement.says.endswith("Not so: a-0.")
    assert finding.oddities == {"static members"}
    assert finding.group == AssignorInput({"a": 1}, {"m1": Member(["a"], instance_id="i1")})


@pytest.mark.slow
def test_two_faults_of_one_kind_differ_by_the_oddities_of_their_groups() -> None:
    def lose(members: Mapping[str, Member], answer: Answer) -> None:
        lose_the_last(members, answer)
        if any(member.owned for member in members.values()):
            next((got for got in answer.values() if got), [None]).pop()  # type: ignore[list-item]

    odd = [sorted(finding.oddities) for finding in found("range", lose)]
    assert sorted(odd) == [["partitions that are owned already"], ["static members"]]


@pytest.mark.slow
def test_another_list_order_is_different_unless_order_is_ignored() -> None:
    def reverse(_: Mapping[str, Member], answer: Answer) -> None:
        for got in answer.values():
            got.reverse()

    (finding,) = found("range", reverse)
    assert (finding.disagreement.kind, finding.disagreement.what) == ("different", "list order")
    assert finding.group == AssignorInput({"a": 2}, {"m1": Member(["a"])})
    assert found("range", reverse, any_order=True, max_examples=20) == []


@pytest.mark.slow
def test_a_valid_assignment_other_than_kafkas_is_different() -> None:
    target: Target = {"roundrobin": ASSIGNORS["range"]}
    kinds = {
        (f.disagreement.kind, f.disagreement.what)
        for f in search(target, "roundrobin", max_examples=40, seed=0).findings
    }
    assert ("different", "placement") in kinds


def test_round_robin_without_regard_to_subscriptions_is_wrong() -> None:
    target: Target = {"roundrobin": assign_ignoring_subscriptions}
    findings = search(target, "roundrobin", max_examples=40, seed=0).findings
    assert [f.disagreement.what for f in findings] == ["only_subscribers_own_partitions"]


@pytest.mark.slow
def test_a_crash_names_its_exception_and_line_and_each_line_is_a_finding() -> None:
    def fail(members: Mapping[str, Member], _: Answer) -> None:
        if len(members) > 2:
            raise KeyError("too many")
        if any(member.instance_id for member in members.values()):
            raise KeyError("static")

    findings = found("sticky", fail)
    assert len({f.disagreement.place for f in findings}) == 2
    says = sorted(f.disagreement.says for f in findings)
    assert says[0].startswith("KeyError: 'static', raised in test_search.py, line ")
    assert {len(f.group.members) for f in findings} == {1, 3}


def test_an_exit_or_a_malformed_assignment_is_a_crash() -> None:
    def leave(_: Mapping[str, Member], __: Answer) -> None:
        raise SystemExit(3)

    assert [f.disagreement.what for f in found("range", leave, max_examples=5)] == ["SystemExit"]
    assert [f.disagreement.what for f in found("range", lambda *_: 7, max_examples=5)] == [
        "AttributeError"
    ]


def test_an_assignor_that_hangs_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kspec.field.conform.assignors.findings.PATIENCE", 0.05)

    def sleep(members: Mapping[str, Member], _: Answer) -> None:
        if len(members) > 1:
            time.sleep(30)

    (finding,) = found("range", sleep)
    assert (finding.disagreement.kind, finding.disagreement.what) == ("crash", "Hangs")


def test_an_assignment_that_varies_is_reported() -> None:
    asked = iter(range(10**6))

    def waver(_: Mapping[str, Member], answer: Answer) -> Any:
        return {name: [] for name in answer} if next(asked) == 9 else None

    (finding,) = found("range", waver, max_examples=15)
    assert not finding.every_time
    assert "Asked again, the target answered otherwise." in as_text(finding)


def test_output_and_logs_of_a_target_stay_out_of_the_report(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    import logging
    import warnings

    def talk(_: Mapping[str, Member], __: Answer) -> None:
        print("talk")
        logging.getLogger("client").critical("talk")
        warnings.warn("talk", stacklevel=1)

    assert found("range", talk, max_examples=5) == []
    assert capsys.readouterr().out == ""
    assert caplog.records == []


@pytest.mark.slow
def test_the_same_seed_has_the_same_findings() -> None:
    first, again = (found("range", lose_the_last, max_examples=20) for _ in range(2))
    assert first == again


# -- judging one answer ------------------------------------------------------------------------


def test_a_violated_property_counts_only_where_kafka_satisfies_it() -> None:
    members = {
        "a": Member(["u"], [TopicPartition("t", 2)], 1),
        "b": Member(["t"], (), 1),
        "c": Member(["t", "u"], [TopicPartition("u", 0)], 2),
    }
    group = AssignorInput({"t": 3, "u": 1}, members)
    target = spoiled("sticky", lambda _, answer: answer["b"].reverse())
    disagreement = judge(target, "sticky", group)
    assert disagreement is not None
    assert (disagreement.kind, disagreement.what) == ("different", "list order")


def test_groups_on_which_kafka_raises_are_skipped() -> None:
    members = {"a": Member([], [TopicPartition("t", 1)], 1), "b": Member(["t"], (), 1)}
    assert judge({"sticky": lambda *_: {}}, "sticky", AssignorInput({"t": 1}, members)) is None


def test_cooperative_rounds_that_never_end_are_wrong() -> None:
    def restless(partitions: Mapping[str, int | None], members: Mapping[str, Member]) -> Any:
        """Hand t-0 from one to the other, properly, in every generation."""
        to = "ab"[(members["a"].generation or 0) % 2]
        owner = next((n for n in members if TopicPartition("t", 0) in members[n].owned), to)
        given = {to: [("t", 0)]} if owner == to else {}
        return {"a": given.get("a", []), "b": [("u", 0), *given.get("b", [])]}

    members = {
        "a": Member(["t"], [TopicPartition("t", 0)], 1),
        "b": Member(["t", "u"], [TopicPartition("u", 0)], 1),
    }
    group = AssignorInput({"t": 1, "u": 1}, members)
    disagreement = judge({"cooperative-sticky": restless}, "cooperative-sticky", group)
    assert disagreement is not None
    assert (disagreement.kind, disagreement.what) == ("wrong", "rounds_settle")


def test_groups_that_kafka_would_not_admit_are_skipped() -> None:
    static = Member(["t"], instance_id="i")
    group = AssignorInput({"t": 1}, {"a": static, "b": static, "c": Member(["t"])})
    ids = {name: member.instance_id for name, member in admitted(group).members.items()}
    assert ids == {"a": "i", "b": None, "c": None}


# -- how it is told ----------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["range", "sticky"])
def test_a_reproduction_runs_and_prints_what_it_states(strategy: str) -> None:
    (finding,) = found(strategy, lose_the_last)
    code = reproduction(finding, "spec.assignors:ASSIGNORS")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    kafkas, targets = printed.getvalue().splitlines()
    assert kafkas == targets, "the specification itself stands for the target here"
    assert "# by Kafka: {'m1': ['a-0']}" in code
    assert "# the target: {'m1': []}" in code


def test_the_group_of_a_json_finding_can_be_assigned() -> None:
    (finding,) = found("range", lose_the_last)
    record = to_json(finding)
    group = parse_group(record["group"])
    assert group.topics == finding.group.partitions
    assert kafka_order(group.members) == finding.group.members
    assert (record["kafka"], record["target"]) == ({"m1": ["a-0"]}, {"m1": []})
