"""`kspec check` at the prompt."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import itf_py
import pytest

from kspec.checkers.cli import report
from kspec.checkers.cli.main import summaries
from kspec.checkers.engine import search
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.models.find import find_model
from kspec.traces import story
from tests.cli.conftest import Kspec, wait_until_it_has_worked

Shell = Callable[[str], subprocess.CompletedProcess[str]]


def test_the_violation_of_kip_101_is_one_json_object(kspec: Kspec) -> None:
    ran = kspec("check", "replication", "--variant", "kip-101", "--json")
    assert ran.code == 12
    verdict = json.loads(ran.out)
    assert verdict["violations"][0]["property"] == "StrongIsr"
    assert verdict["violations"][0]["states"] == 12
    assert len(verdict["violations"][0]["steps"]) == 11
    assert verdict["verdict"] == "violated"
    for key in ("model", "variant", "bounds", "engine", "distinct", "generated", "depth"):
        assert verdict[key], key
    assert verdict["seconds"]["total"] >= verdict["seconds"]["explore"] > 0
    assert "bytes_per_state" in verdict
    assert ran.err == ""


def test_kip_320_holds_within_bounds(kspec: Kspec) -> None:
    ran = kspec("check", "replication", "--set", "brokers=2", "--json")
    verdict = json.loads(ran.out)
    assert (ran.code, verdict["verdict"], verdict["variant"]) == (0, "holds", "kip-320")
    assert (verdict["distinct"], verdict["generated"], verdict["depth"]) == (957, 1801, 15)
    assert verdict["violations"] == []
    assert verdict["bounds"] == {"brokers": 2, "log_size": 2, "max_records": 2, "max_epoch": 1}


@pytest.mark.slow
def test_a_liveness_property_that_the_bounds_cannot_decide_is_named(kspec: Kspec) -> None:
    small = ("check", "group", "--set", "consumers=1", "--set", "crashes=0")
    ran = kspec(*small)
    assert "Not checked, since these bounds are too small to decide it: GroupSettles." in ran.out
    assert json.loads(kspec(*small, "--json").out)["not_checked"] == ["GroupSettles"]
    for others in (("--property", "LeaderIsMember"), ("--set", "generations=9", "--set", "ids=4")):
        assert json.loads(kspec(*small, *others, "--json").out)["not_checked"] == []


def test_a_report_has_the_counterexample_and_the_verdict(kspec: Kspec) -> None:
    ran = kspec("check", "replication", "--variant", "truncate-to-hw")
    assert "WeakIsr fails at offset 0 on broker" in ran.out
    assert "Violated: WeakIsr (9 states), StrongIsr (9 states)." in ran.out
    assert ran.out.count("   1  initial") == 1, "a behaviour that violates both is drawn once"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["counter"], 0),
        (["two-phase-lock"], 11),
        (["die-hard"], 12),
        (["corridor"], 13),
        (["counter", "--max-states", "3", "--set", "top=900"], 4),
        (["counter", "--max-depth", "3"], 4),
    ],
)
def test_exit_codes_are_those_of_tlc(kspec: Kspec, arguments: list[str], code: int) -> None:
    assert kspec("check", *arguments).code == code


def test_property_none_explores_only(kspec: Kspec) -> None:
    ran = kspec("check", "die-hard", "--property", "none", "--json")
    assert (ran.code, json.loads(ran.out)["distinct"]) == (0, 16)


@pytest.mark.slow
def test_only_the_named_properties_are_checked(kspec: Kspec) -> None:
    ran = kspec(
        "check",
        "replication",
        "--variant",
        "kip-101",
        "--property",
        "WeakIsr",
        "--json",
        "--set",
        "brokers=2",
    )
    assert json.loads(ran.out)["properties"] == ["WeakIsr"]
    ran = kspec("check", "replication", "--set", "brokers=2", "--property", "CurrentLeaderKnowsIsr")
    assert ran.code == 0


def test_property_all_includes_consistency_invariants(kspec: Kspec) -> None:
    ran = kspec("check", "replication", "--set", "brokers=1", "--property", "all", "--json")
    asked = set(json.loads(ran.out)["properties"])
    too_large = {"RecordIsCommittedByAllBrokers", "FollowerLearnsHighWatermark", "IsrExpands"}
    stated = {p.name for p in find_model("replication").all_properties}
    assert (ran.code, asked) == (0, stated - too_large)
    both = ["--property", "all", "--witness", "EveryReplicaLearnsHighWatermark"]
    assert json.loads(kspec("check", "watermarks", *both, "--json").out)["witnesses"]


def test_a_witness_is_shown_and_written(kspec: Kspec) -> None:
    ran = kspec(
        "check",
        "watermarks",
        "--witness",
        "EveryReplicaLearnsHighWatermark",
        "--out-itf",
        "t.itf.json",
    )
    assert ran.code == 0
    assert "leader      HW 0→1  remote LEO 0→1" in ran.out
    assert len(itf_py.trace_from_json(json.loads(Path("t.itf.json").read_text())).states) == 4


def test_a_deadlock_is_reported_with_the_blocking_guards(kspec: Kspec) -> None:
    ran = kspec("check", "two-phase-lock")
    assert "lock_in_own_order transaction=0 is blocked by: row is free" in ran.out


def test_coverage_lists_rules_and_guards(kspec: Kspec) -> None:
    ran = kspec("check", "replication", "--set", "brokers=2", "--coverage")
    assert "leader_advances_hw" in ran.out
    assert "every ISR member holds a record there" in ran.out


def test_a_counterexample_is_written_for_other_tools_and_as_a_page(kspec: Kspec) -> None:
    ran = kspec("check", "die-hard", "--out-itf", "t.itf.json", "--html", "t.html")
    assert ran.code == 12
    states = itf_py.trace_from_json(json.loads(Path("t.itf.json").read_text())).states
    assert states[-1].values["big"] == 4
    assert "pour_big_into_small" in Path("t.html").read_text()


def test_without_a_counterexample_no_file_is_written(kspec: Kspec) -> None:
    ran = kspec("check", "counter", "--html", "t.html")
    assert (ran.code, Path("t.html").exists()) == (0, False)
    assert "t.html was not written" in ran.err


# -- variants that must fail, where they do not --------------------------------------------------


@pytest.mark.slow
def test_the_bounds_that_show_an_expected_violation_are_reported(kspec: Kspec) -> None:
    ran = kspec("check", "replication", "--variant", "kip-320-first-try", "--set", "brokers=2")
    assert ran.code == 0
    hint = ran.out.splitlines()[-1]
    said, _, command = hint.partition(": kspec ")
    assert said == "This variant is expected to violate WeakIsr"
    assert kspec(*command.split()).code == 12, "the command that it names shows the failure"


def test_the_property_that_shows_an_expected_violation_is_reported(kspec: Kspec) -> None:
    asked = ["check", "two-phase-lock.py", "--property", "none", "--max-states", "1"]
    Path("two-phase-lock.py").write_text("from examples import TWO_PHASE_LOCK")
    assert "violate deadlock: kspec check two-phase-lock.py --variant own-order\n" in (
        kspec(*asked).out
    )
    ran = kspec("check", "corridor", "--property", "none")
    assert "--variant both-polite --property TheyPass" in ran.out
    record = json.loads(kspec("check", "corridor", "--property", "none", "--json").out)
    assert record["expected"] == [{"property": "TheyPass", "states": 2, "bounds": {}}]


def test_walks_without_a_violation_report_the_expected_one(kspec: Kspec) -> None:
    asked = ["simulate", "die-hard", "--walks", "1", "--max-depth", "2"]
    assert "expected to violate GoalIsNeverMeasured: kspec check die-hard" in kspec(*asked).out


@pytest.mark.parametrize(
    "asked", [["replication", "--set", "brokers=2"], ["corridor"], ["two-phase-lock"]]
)
def test_no_violation_is_expected_of_a_variant_that_holds_or_has_failed(
    kspec: Kspec, asked: list[str]
) -> None:
    ran = kspec("check", *asked, "--json")
    assert json.loads(ran.out)["expected"] == []
    assert "expected to violate" not in kspec("check", *asked).out


# -- bad input: one line, the right code -------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["check", "replicaton"], 151, "did you mean replication"),
        (["check", "replication", "--variant", "kip320"], 151, "did you mean kip-320"),
        (["check", "replication", "--property", "strongisr"], 151, "did you mean StrongIsr"),
        (["check", "replication", "--set", "broker=2"], 151, "did you mean brokers"),
        (["check", "replication", "--set", "brokers=9"], 151, "may be 1 to 5"),
        (["check", "replication", "--set", "brokers=two"], 151, "whole number"),
        (["check", "replication", "--set", "brokers"], 2, "name=value"),
        (["check", "replication", "--engine", "warp"], 2, "warp"),
        (["check", "replication", "--max-states", "0"], 2, "max-states"),
        (["check", "replication", "--propery", "x"], 2, "--property"),
        (["check"], 2, "MODEL"),
        (["chekc", "replication"], 2, "did you mean check"),
        (["check", "no_such_module:model"], 151, "no module no_such_module"),
        (["check", "nowhere.py"], 151, "no file nowhere.py"),
        (["check", "/dev/null"], 151, "/dev/null is a device or a pipe"),
        (["check", ":x"], 151, "type module:attribute"),
        (["check", "json:dumps"], 151, "dumps in json is not a Model"),
        (["check", "examples:CORRIDR"], 151, "did you mean CORRIDOR"),
        (["check", "examples:"], 151, "examples:COUNTER"),
        (["check", "counter", "--out-itf", "no/such/folder/t.json"], 151, "cannot write"),
        (["check", "counter", "--html", "."], 151, "is a directory"),
        (["check", "counter", "--property", "none", "--property", "NeverNegative"], 2, "excludes"),
        (["check", "counter", "--witness", "NeverNegative"], 151, "not a reachability property"),
    ],
)
def test_bad_input_is_refused_in_one_line_with_its_exit_code(
    kspec: Kspec, arguments: list[str], code: int, says: str
) -> None:
    ran = kspec(*arguments)
    assert ran.code == code
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("kspec: ")
    assert ran.out == ""


def test_an_output_file_is_tested_before_the_exploration(
    kspec: Kspec,
) -> None:
    ran = kspec("check", "counter", "--set", "top=1000000", "--html", "no/folder/t.html")
    assert (ran.code, ran.out) == (151, "")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("x = ", "line 1: invalid syntax"),
        ("\nimport no_such_thing", "no_such_thing, which is not installed"),
        ("\n\n1 / 0", "line 3: ZeroDivisionError"),
        ("x = 1", "own.py defines no Model"),
        ("from examples import COUNTER, CORRIDOR", "own.py:COUNTER or own.py:CORRIDOR"),
        (
            "from examples import DIE_HARD\nMINE = DIE_HARD.variants[0].derive('mine', why='')",
            "own.py: the variant mine is in no Model; add it: evolve(DIE_HARD, variants=",
        ),
    ],
)
def test_a_model_file_that_does_not_load_is_reported_with_its_line(
    kspec: Kspec, source: str, says: str
) -> None:
    Path("own.py").write_text(source)
    ran = kspec("check", "own.py")
    assert ran.code == 151
    assert says in ran.err
    assert ran.err.count("\n") == 1


def test_a_rule_that_raises_is_reported_with_a_trace(kspec: Kspec) -> None:
    Path("own.py").write_text(OWN)
    ran = kspec("check", "own.py", "--html", "t.html")
    assert ran.code == 151
    assert ran.err == "kspec: rule step raised KeyError: 2 (own.py, line 11), in state 3\n"
    assert "   3  step" in ran.out
    assert Path("t.html").exists()


def test_no_json_is_printed_if_the_model_raises(kspec: Kspec) -> None:
    Path("own.py").write_text(OWN)
    for command in ("check", "simulate"):
        ran = kspec(command, "own.py", "--json")
        assert (ran.code, ran.out, ran.err.count("\n")) == (151, "", 1)


OWN = """
import attrs
from kspec.spec.core import Model, Variant, rule

@attrs.frozen
class State:
    n: int = 0

@rule(by="nobody")
def step(s):
    return State({0: 1, 1: 2}[s.n])

MODEL = Model(name="own", doc="", initial=lambda b: [State()], properties=(),
              variants=(Variant("own", (step,), why=""),))
"""


def test_one_model_in_a_file_needs_no_name(kspec: Kspec) -> None:
    Path("own.py").write_text(OWN.replace("{0: 1, 1: 2}[s.n]", "1 - s.n"))
    for reference in ("own.py", "own.py:MODEL", "./own.py", "own:MODEL"):
        assert kspec("check", reference).code == 0


# -- with a real shell -------------------------------------------------------------------------


@pytest.mark.slow
def test_a_closed_pipe_is_not_an_error(shell: Shell, tmp_path: Path) -> None:
    ran = shell("kspec check die-hard --out-itf t.json | head -1; echo ${PIPESTATUS[0]}")
    assert ran.stdout.splitlines() == ["die-hard, die-hard: small 3, big 5, goal 4", "12"]
    assert ran.stderr == ""
    assert (tmp_path / "t.json").exists()


@pytest.mark.slow
def test_a_full_disk_is_reported_in_one_line(shell: Shell) -> None:
    ran = shell("kspec check die-hard --json > /dev/full; echo $?")
    assert ran.stdout == "151\n"
    assert ran.stderr.count("\n") == 1
    assert "No space left" in ran.stderr


@pytest.mark.slow
def test_sigterm_ends_a_run_with_what_was_found() -> None:
    command = [sys.executable, "-m", "kspec", "check", "counter", "--set", "top=1000000"]
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True) as running:
        wait_until_it_has_worked(running.pid, seconds=4)
        running.terminate()
        verdict = json.loads(running.communicate(timeout=600)[0])
    assert running.returncode == 4
    assert (verdict["verdict"], verdict["stopped_by"]) == ("inconclusive", "interrupted")
    assert verdict["distinct"] > 1000


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal_only(shell: Shell) -> None:
    assert shell("kspec check counter --set top=20000").stderr == ""


def test_help_imports_nothing_heavy(shell: Shell) -> None:
    ran = shell("python3 -X importtime -m kspec --help 2>&1 >/dev/null | grep -c rich || true")
    assert ran.stdout.strip() == "0"


def test_version_and_help_are_printed(kspec: Kspec) -> None:
    assert kspec("--version").out.startswith("kspec, version")
    assert kspec("-V").out == kspec("--version").out
    for command in ([], *([name] for name in summaries())):
        ran = kspec(*command, "--help")
        assert ran.code == 0
        assert "kspec " in ran.out.split("Options")[0].split("Usage")[1], "an example"
        assert r"\b" not in ran.out, "examples are lines of their own"
    assert kspec().code == 2


def test_a_limit_on_memory_ends_a_run_as_inconclusive(kspec: Kspec) -> None:
    ran = kspec("check", "replication", "--set", "max_epoch=2", "--max-memory", "1M")
    assert ran.code == 4
    assert "Inconclusive, stopped by max-memory 1M." in ran.out


def test_an_invalid_memory_limit_is_wrong_usage(kspec: Kspec) -> None:
    ran = kspec("check", "replication", "--max-memory", "lots")
    assert ran.code == 2
    assert "'lots' is not a size such as 500M or 8G" in ran.err


def test_workers_that_were_not_used_are_named(kspec: Kspec) -> None:
    ran = kspec("check", "counter", "--workers", "3")
    assert ran.err == "kspec: --workers 3 was not used: the reference engine had 1\n"
    for engine in ("reference", "learned"):
        assert kspec("check", "counter", "--engine", engine, "--workers", "3").err == ""


def test_symmetry_reports_the_number_of_states_represented(kspec: Kspec) -> None:
    ran = kspec("check", "replication", "--symmetry")
    assert ran.code == 0
    assert "6,713 distinct states up to symmetry, for 39,619" in ran.out
    told = json.loads(
        kspec("check", "replication", "--set", "brokers=2", "--symmetry", "--json").out
    )
    assert told["symmetry"]
    assert told["distinct"] < told["stands_for"] == 957


def test_symmetry_is_refused_for_a_model_that_declares_none(kspec: Kspec) -> None:
    for arguments in (["counter"], ["watermarks", "--engine", "reference"]):
        ran = kspec("check", *arguments, "--symmetry")
        assert (ran.code, ran.out, ran.err.count("\n")) == (151, "", 1)


@pytest.mark.slow
def test_rules_that_were_never_enabled_are_listed_after_a_complete_run(kspec: Kspec) -> None:
    never = "Rules that were never enabled"
    run = ("check", "replication", "--set", "brokers=1")
    whole, cut = kspec(*run), kspec(*run, "--max-depth", "2")
    assert (whole.code, cut.code) == (0, 4)
    assert never in whole.out
    assert never not in cut.out
    early = kspec("check", "offsets-topic", "--variant", "oldest-wins")
    assert early.code == 12
    assert never not in early.out
    record = json.loads(kspec(*run, "--max-depth", "2", "--json").out)
    assert record["silent_rules"]


@pytest.mark.parametrize(
    "place", [(search.Search, "verdict"), (Learnable, "keep"), (report, "outcome")]
)
def test_a_signal_after_the_exploration_does_not_discard_its_result(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str]
) -> None:
    late = getattr(*place)

    def interrupted(*of: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return late(*of)

    run = ("check", "die-hard", "--engine", "learned")
    whole = kspec(*run)
    monkeypatch.setattr(*place, interrupted)
    ran = kspec(*run)
    assert (ran.code, ran.err) == (whole.code, whole.err)
    assert without_times(ran.out) == without_times(whole.out)


def without_times(out: str) -> list[str]:
    """The lines of a report, without that of its effort."""
    return [line for line in out.splitlines() if " states/s" not in line]


def test_a_state_that_is_written_and_printed_is_drawn_once(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[object] = []
    draw = story.picture_of

    def counted(*of: Any) -> Any:
        drawn.append(of)
        return draw(*of)

    monkeypatch.setattr(story, "picture_of", counted)
    ran = kspec("check", "die-hard", "--html", "page.html", "--json")
    assert len(drawn) == 7
    assert kspec("check", "die-hard", "--html", "page.html").code == ran.code
    assert len(drawn) == 2 * 7
