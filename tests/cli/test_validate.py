"""`kspec validate` at the prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kspec.checkers.registered import registered
from kspec.field.recorded.find import MAPPINGS
from tests.cli.conftest import Kspec
from tests.field.recorded.test_replica import FAULTS, HEALTHY
from tests.field.recorded.walks import system_of, trace, walk, whole


def write(path: Path, lines: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def traces(tmp_path: Path) -> None:
    """A healthy trace, one with a fault, and a file that is no trace."""
    header: dict[str, object] = {"kspec_trace": 1, "mapping": "replica"}
    write(tmp_path / "good.ndjson", [header, *HEALTHY])
    write(tmp_path / "bad.ndjson", [header, *FAULTS["leader epoch has one leader"]])
    (tmp_path / "garbage.ndjson").write_text("garbage\n")


@pytest.mark.usefixtures("traces")
def test_verdicts_have_their_exit_codes(kspec: Kspec) -> None:
    ran = kspec("validate", "replica", "good.ndjson")
    assert (ran.code, ran.out) == (0, "good.ndjson: accepted (12 events; replica)\n")
    ran = kspec("validate", "replica", "bad.ndjson")
    assert ran.code == 3
    assert "Event 2 (bad.ndjson, line 3)" in ran.out
    assert "Blocked by: leader epoch has one leader" in ran.out
    ran = kspec("validate", "replica", "garbage.ndjson")
    assert (ran.code, ran.out) == (151, "")
    assert "holds no event of replica; line 1: not JSON" in ran.err


def test_a_setting_of_a_mapping_can_be_given(kspec: Kspec, tmp_path: Path) -> None:
    header: dict[str, object] = {"kspec_trace": 1, "mapping": "replica"}
    write(tmp_path / "lost.ndjson", [header, *FAULTS["leader holds the committed records"]])
    assert kspec("validate", "replica", "lost.ndjson").code == 3
    assert kspec("validate", "replica", "lost.ndjson", "--set", "unclean=true").code == 0


@pytest.mark.usefixtures("traces")
def test_one_bad_file_does_not_hide_the_others(kspec: Kspec) -> None:
    ran = kspec("validate", "replica", "garbage.ndjson", "good.ndjson", "bad.ndjson", "--json")
    record = json.loads(ran.out)
    assert ran.code == 3
    assert [one["verdict"] for one in record["traces"]] == ["accepted", "rejected"]
    assert len(record["unreadable"]) == 1
    fields = ("verdict", "file", "line", "guard", "allowed", "difference", "before")
    assert {*fields, "event", "events"} <= record.keys()
    assert (record["verdict"], record["file"], record["line"]) == ("rejected", "bad.ndjson", 3)
    assert kspec("validate", "replica", "garbage.ndjson", "good.ndjson").code == 151


def test_what_a_trace_lacks_is_named_at_the_prompt(kspec: Kspec, tmp_path: Path) -> None:
    events = [whole(step) for step in walk(system_of("group"), 3, 12)]
    write(tmp_path / "gap.ndjson", trace("group", [*events[:5], *events[6:]]))
    assert kspec("validate", "group", "gap.ndjson").code == 3
    ran = kspec("validate", "group", "gap.ndjson", "--hidden", "all")
    assert ran.code == 0
    lost = kspec("validate", "group", "gap.ndjson", "--hidden", "consumer_crashes")
    assert lost.code == 3
    assert "At most 1 hidden step between two events: consumer_crashes" in lost.out


def test_a_whole_trace_must_end_where_a_behaviour_may(kspec: Kspec, tmp_path: Path) -> None:
    rules = ("lock_in_own_order", "lock_in_own_order", "commit")
    events: list[dict[str, object]] = [
        {"rule": rule, "choices": {"transaction": one}} for one in (0, 1) for rule in rules
    ]
    write(tmp_path / "whole.ndjson", trace("two-phase-lock", events))
    write(tmp_path / "cut.ndjson", trace("two-phase-lock", events[:-1]))
    for file, code in (("whole.ndjson", 0), ("cut.ndjson", 3)):
        assert kspec("validate", "two-phase-lock", file).code == 0
        assert kspec("validate", "two-phase-lock", file, "--complete").code == code


def test_show_names_validate_for_a_trace_that_it_rejects(kspec: Kspec, tmp_path: Path) -> None:
    kspec("check", "die-hard", "--out-itf", "solved.itf.json")
    assert kspec("show", "solved.itf.json", "--set", "big=5").code == 0
    ran = kspec("show", "solved.itf.json", "--set", "big=4")
    assert ran.code == 3
    assert "kspec validate die-hard solved.itf.json" in ran.err.splitlines()[-1]


def test_an_itf_file_may_lack_variables_rules_and_choices(kspec: Kspec, tmp_path: Path) -> None:
    kspec("check", "die-hard", "--out-itf", "solved.itf.json")
    document = json.loads((tmp_path / "solved.itf.json").read_text())
    for state in document["states"]:
        for name in ("mbt::actionTaken", "mbt::nondetPicks", "small"):
            del state[name]
    for file, indent in (("less.itf.json", None), ("flat.json", None), ("pretty.json", 1)):
        (tmp_path / file).write_text(json.dumps(document, indent=indent))
        assert kspec("validate", "die-hard", file).code == 0
    document["states"][0]["big"] = {"#bigint": "4"}
    (tmp_path / "wrong.itf.json").write_text(json.dumps(document))
    ran = kspec("validate", "die-hard", "wrong.itf.json")
    assert ran.code == 3
    assert "the first state is an initial state" in ran.out


@pytest.mark.usefixtures("traces")
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["replicas", "good.ndjson"], 151, "did you mean replica"),
        (["group", "good.ndjson"], 151, "good.ndjson is a trace of replica, not of group"),
        (["replica", "missing.ndjson"], 151, "cannot read missing.ndjson"),
        (["replica"], 2, "name a FILE"),
        (["group", "good.ndjson", "--set", "consumrs=3"], 151, "did you mean consumers"),
        (["group", "good.ndjson", "--hidden", "x"], 151, "trace of replica"),
        (["replica", "good.ndjson", "--set", "uncleam=true"], 151, "did you mean unclean?"),
        (["replica", "good.ndjson", "--set", "unclean=²"], 151, "unclean is true or false"),
        (["consumer", "--set", "a=1", "good.ndjson"], 151, "trace of replica"),
    ],
)
def test_wrong_usage_is_told_in_a_line(
    kspec: Kspec, words: list[str], code: int, told: str
) -> None:
    ran = kspec("validate", *words)
    assert (ran.code, ran.out) == (code, "")
    assert told in ran.err
    assert len(ran.err.splitlines()) == 1


@pytest.mark.usefixtures("traces")
def test_the_page_shows_the_rejected_event(kspec: Kspec, tmp_path: Path) -> None:
    ran = kspec("validate", "replica", "good.ndjson", "bad.ndjson", "--html", "page.html")
    assert ran.code == 3
    page = (tmp_path / "page.html").read_text(encoding="ascii")
    assert "1 accepted, 1 rejected" in page
    assert "leader epoch has one leader" in page
    assert "<script" not in page


def test_every_schema_is_valid_and_describes_traces(kspec: Kspec) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    events = [whole(step) for step in walk(system_of("die-hard"), 1, 5)]
    for name in ("die-hard", "group", *registered(MAPPINGS)):
        schema = json.loads(kspec("validate", name, "--schema").out)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["$id"] == f"urn:kspec:recorded-trace:{name}:1"
        valid = jsonschema.Draft202012Validator(schema)
        plain = {"die-hard": [{"state": {"big": 3}}, {"rule": events[0]["rule"]}]}
        found = {**plain, "replica": HEALTHY, "group": [{"state": {"consumers": {"0": {}}}}]}
        for event in [{"kspec_trace": 1, "mapping": name}, *found.get(name, [])]:
            valid.validate(event)
        if name == "die-hard":
            assert not valid.is_valid({"state": {"big": "three"}})
