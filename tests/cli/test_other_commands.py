"""`kspec show`, `models`, `simulate` and `mutate` at the prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kspec.checkers.models.find import find_model, registered_models
from kspec.checkers.mutation.mutate import Mutant, Outcome, Run, mutate
from kspec.spec.group import GROUP
from kspec.traces.schema import json_schema
from tests.cli.conftest import Kspec

# -- show --------------------------------------------------------------------------------------


def test_a_trace_that_check_wrote_is_shown(kspec: Kspec) -> None:
    checked = kspec("check", "die-hard", "--out-itf", "t.itf.json")
    shown = kspec("show", "t.itf.json", "--html", "t.html")
    assert shown.code == 0
    story = checked.out[checked.out.index("   1  initial") :].split("\n\n")[0]
    assert story in shown.out
    assert "GoalIsNeverMeasured fails at 4 litres in the big jug." in shown.out
    assert "GoalIsNeverMeasured" in Path("t.html").read_text(encoding="utf-8")


def test_a_trace_of_another_tool_is_shown_as_variables(kspec: Kspec) -> None:
    Path("t.itf.json").write_text(
        json.dumps(
            {
                "#meta": {"format": "ITF"},
                "vars": ["pos", "seen"],
                "states": [
                    {"pos": {"#bigint": "0"}, "seen": {"#set": []}},
                    {"pos": {"#bigint": "1"}, "seen": {"#set": [{"#bigint": "0"}]}},
                ],
            }
        )
    )
    ran = kspec("show", "t.itf.json")
    assert ran.code == 0
    assert "pos 0→1  seen +0" in ran.out


def test_a_trace_that_the_rules_do_not_allow_is_shown_and_rejected(kspec: Kspec) -> None:
    kspec("check", "die-hard", "--out-itf", "t.itf.json")
    trace = json.loads(Path("t.itf.json").read_text())
    del trace["states"][2]
    Path("t.itf.json").write_text(json.dumps(trace))
    ran = kspec("show", "t.itf.json")
    assert ran.code == 3
    assert "state 3: empty_small leads to a state with another" in ran.err
    assert "empty_small" in ran.out


def test_code_named_in_a_trace_is_not_executed(kspec: Kspec) -> None:
    Path("own.py").write_text("open('executed', 'w').close()")
    kspec("check", "die-hard", "--out-itf", "t.itf.json")
    trace = json.loads(Path("t.itf.json").read_text())
    trace["#meta"]["kspec"]["model"] = "own.py:MODEL"
    Path("t.itf.json").write_text(json.dumps(trace))
    assert kspec("show", "t.itf.json").code == 0
    assert not Path("executed").exists()


@pytest.mark.parametrize(
    ("content", "says"), [("", "cut short"), ("{}", "states"), (None, "No such file")]
)
def test_a_file_that_is_not_a_trace_is_refused(
    kspec: Kspec, content: str | None, says: str
) -> None:
    if content is not None:
        Path("t.json").write_text(content)
    ran = kspec("show", "t.json")
    assert (ran.code, ran.err.count("\n"), ran.out) == (151, 1, "")
    assert says in ran.err


@pytest.mark.parametrize(
    "about", [{"variant": "kip-999"}, {"bounds": {"brokers": 99}}, {"bounds": {"brokers": "x"}}]
)
def test_a_trace_of_a_variant_or_bounds_that_do_not_exist_is_rejected(
    kspec: Kspec, about: dict[str, object]
) -> None:
    kspec("check", "replication", "--variant", "truncate-to-hw", "--out-itf", "t.itf.json")
    trace = json.loads(Path("t.itf.json").read_text())
    trace["#meta"]["kspec"].update(about)
    Path("t.itf.json").write_text(json.dumps(trace))
    ran = kspec("show", "t.itf.json")
    assert (ran.code, ran.err.count("\n")) == (3, 1)


def test_a_trace_is_printed_as_json(kspec: Kspec) -> None:
    kspec("check", "die-hard", "--out-itf", "t.itf.json")
    record = json.loads(kspec("show", "t.itf.json", "--json").out)
    assert (record["states"], record["replayed"], record["rejected"]) == (7, True, None)
    assert record["steps"][0] == {"rule": "fill_big", "choices": {}}


# -- models ------------------------------------------------------------------------------------


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of a known width."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.usefixtures("wide")
def test_every_model_is_listed_in_a_few_lines(kspec: Kspec) -> None:
    ran = kspec("models")
    for name in registered_models():
        assert f"\n{name}: " in f"\n{ran.out}"
        assert all(v.name in ran.out for v in find_model(name).variants)
    assert len(ran.out.splitlines()) < 5 * len(registered_models())


def test_a_model_is_listed_with_variants_bounds_and_properties(kspec: Kspec) -> None:
    ran = kspec("models", *registered_models())
    for name in registered_models():
        model = find_model(name)
        for word in (
            *(v.name for v in model.variants),
            *(b.name for b in model.bound_ranges()),
            *(p.name for p in model.properties),
        ):
            assert word in ran.out
    assert "brokers=3  (1 to 5)" in ran.out
    assert "expected: StrongIsr violated in 12 states" in ran.out
    assert "example: kspec check replication --variant truncate-to-hw" in ran.out


@pytest.mark.usefixtures("wide")
def test_a_derived_variant_is_listed_with_the_violations_in_which_it_differs(kspec: Kspec) -> None:
    said = kspec("models", "partition").out
    assert said.count("expected: FencedBrokerNotInIsr violated in 8 states") == 1
    assert "\n        expected as in kafka-2.7: FencedBrokerNotInIsr, WritesAccepted\n" in said


@pytest.mark.usefixtures("wide")
def test_a_derived_variant_is_listed_with_the_rules_in_which_it_differs(kspec: Kspec) -> None:
    said = kspec("models", "group", "--rules").out
    assert "\n        rules: those of eager, without coordinator_issues_member_id; of" in said
    assert "\n        rules: those of eager, without coordinator_expires_pending_sync\n" in said
    assert said.count("\n        consumer_heartbeats(consumer), by the consumer: ") == 1
    assert said.count("\n        coordinator_adds_member_at_once(request), by ") == 1


@pytest.mark.usefixtures("wide")
def test_one_variant_is_listed_with_all_its_rules(kspec: Kspec) -> None:
    asked = ["models", "group", "--variant", "before-kip-394", "--rules"]
    said = kspec(*asked).out
    for rule in find_model("group").variant("before-kip-394").rules:
        assert f"\n        {rule.name}(" in said
    assert "eager (default)" not in said
    (record,) = json.loads(kspec(*asked, "--json").out)["models"]
    assert [v["name"] for v in record["variants"]] == ["before-kip-394"]


def test_variant_requires_one_model(kspec: Kspec) -> None:
    assert kspec("models", "--variant", "eager").code == 2
    assert kspec("models", "group", "--variant", "eagre").code == 151


def test_models_are_listed_as_json(kspec: Kspec) -> None:
    (record,) = json.loads(kspec("models", "replication", "--rules", "--json").out)["models"]
    assert record["default_variant"] == "kip-320"
    kip_101 = next(v for v in record["variants"] if v["name"] == "kip-101")
    assert kip_101["violates"]["StrongIsr"] == {"states": 12, "bounds": {}}
    assert "leader presumes leadership" in kip_101["rules"][3]["guards"]


@pytest.mark.usefixtures("wide")
def test_guards_of_requests_are_listed_with_their_errors(kspec: Kspec) -> None:
    said = {line.strip() for line in kspec("models", "group", "--rules").out.splitlines()}
    for check, error in GROUP.answers.items():
        assert f"- {check} (else {error})" in said
    (record,) = json.loads(kspec("models", "group", "--json").out)["models"]
    assert record["answers"]["generation is current"] == "ILLEGAL_GENERATION"


def test_rules_are_listed_with_their_docstrings(kspec: Kspec) -> None:
    said = " ".join(kspec("models", "group", "--rules").out.split())
    for rule in find_model("group").variant().rules:
        assert " ".join(rule.doc.split()) in said


def test_an_unknown_model_is_refused(kspec: Kspec) -> None:
    ran = kspec("models", "replicatoin")
    assert (ran.code, ran.err.count("\n")) == (151, 1)


# -- simulate and mutate -----------------------------------------------------------------------


def test_a_simulation_reports_seed_and_statistics(kspec: Kspec) -> None:
    ran = kspec("simulate", "replication", "--walks", "20", "--seed", "4", "--json")
    verdict = json.loads(ran.out)
    assert (ran.code, verdict["verdict"], verdict["seed"]) == (0, "sampled", 4)
    assert verdict["statistics"]["walks"] == 20


def test_a_simulation_draws_a_violation(kspec: Kspec) -> None:
    ran = kspec("simulate", "die-hard", "--html", "t.html")
    assert ran.code == 12
    assert "Violated: GoalIsNeverMeasured" in ran.out
    assert Path("t.html").exists()


@pytest.mark.parametrize(("step", "claim"), [("[1, 2][s]", "True"), ("s + 1", "[1, 1][s]")])
def test_a_model_that_raises_on_a_walk_is_reported_with_a_trace(
    kspec: Kspec, step: str, claim: str
) -> None:
    Path("own.py").write_text(OWN.format(step=step, claim=claim))
    ran = kspec("simulate", "own.py")
    assert ran.code == 151
    assert "raised IndexError: list index out of range (own.py, line " in ran.err
    assert "   3  step" in ran.out
    assert ran.err.endswith("in state 3\n")


OWN = """
from kspec.spec.core import Model, Variant, always, rule

@rule(by="nobody")
def step(s):
    return {step}

@always
def Fine(s):
    return bool({claim})

MODEL = Model(name="own", doc="", initial=lambda b: [0], properties=(Fine,),
              variants=(Variant("own", (step,), why=""),))
"""


@pytest.mark.slow
def test_mutation_lists_survivors(kspec: Kspec) -> None:
    ran = kspec("mutate", "counter")
    assert ran.code == 0
    assert "3 mutants, 3 killed, 0 equivalent, 0 survived. Mutation score 100.0%;" in ran.out
    assert "Killed by: ReachesTop (3)." in ran.out
    ran = kspec("mutate", "replication", "--set", "brokers=1", "--rule", "leader_appends")
    assert ran.code in (0, 12)
    assert "mutants" in ran.out


def test_an_interrupted_mutation_reports_the_mutants_that_were_explored(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = Run.judge

    def judge_all_but_the_last(self: Run, mutant: Mutant) -> Outcome:
        if mutant == self.mutants[-1]:
            raise KeyboardInterrupt
        return judge(self, mutant)

    monkeypatch.setattr(Run, "judge", judge_all_but_the_last)
    ran = kspec("mutate", "counter", "--workers", "1")
    assert (ran.code, ran.err) == (4, "")
    assert "Inconclusive, interrupted: 2 of 3 mutants were explored." in ran.out
    assert "Killed by: ReachesTop (2)." in ran.out
    report = json.loads(kspec("mutate", "counter", "--workers", "1", "--json").out)
    assert (report["stopped_by"], report["mutants"], len(report["outcomes"])) == (
        "interrupted",
        3,
        2,
    )


def test_mutants_that_an_interrupted_mutation_skipped_are_not_stale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(self: Run, workers: int) -> Iterator[Outcome]:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(Run, "outcomes", interrupted)
    model = find_model("replication")
    report = mutate(model, model.variant(), [{"brokers": 1}])
    assert model.baseline.equivalent
    assert (report.stale, report.stopped_by) == ([], "interrupted")


@pytest.mark.slow
def test_a_mutation_report_is_printed_as_json(kspec: Kspec) -> None:
    report = json.loads(kspec("mutate", "counter", "--json").out)
    assert {o["fate"] for o in report["outcomes"]} == {"killed"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["mutate", "counter", "--rule", "cuont"], "did you mean count"),
        (["mutate", "counter", "--set", "tap=1"], "did you mean top"),
        (["simulate", "replication", "--variant", "x"], "no variant"),
    ],
)
def test_wrong_names_are_refused_in_one_line(kspec: Kspec, arguments: list[str], says: str) -> None:
    ran = kspec(*arguments)
    assert (ran.code, ran.err.count("\n"), ran.out) == (151, 1, "")
    assert says in ran.err


def test_models_prints_the_schema_of_a_model(kspec: Kspec) -> None:
    ran = kspec("models", "group", "--schema")
    assert ran.code == 0
    assert json.loads(ran.out)["$id"] == "urn:kspec:trace:group:1"
    assert json.loads(ran.out) == json.loads(json.dumps(json_schema(find_model("group"))))
    assert kspec("models", "--schema").code == 2
    assert kspec("models", "group", "--variant", "eager", "--schema").code == 2
