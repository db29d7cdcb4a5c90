"""User models: errors in them are reported in one line, and their modules shadow no others."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Kspec, wait_until_it_has_worked

OWN = """
import attrs
from kspec.spec.core import Model, Variant, Violated, always, rule

@attrs.frozen
class State:
    n: object = 0

@rule(by="nobody")
def step(s):
    {step}

@always
def Fine(s):
    {fine}

MODEL = Model(name="own", doc="", initial=lambda b: [State()], properties=(Fine,),
              variants=(Variant("own", ({rules},), why=""{more}),))
"""


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"step": 'yield s.n == 0, "named last"; return s'}, "a guard is its name, and True or"),
        ({"step": "yield s.n == 0; return s"}, "rule step yields True without a name"),
        ({"fine": "yield s.n == 0"}, "property Fine yields True without a name"),
        ({"step": "return State([1])"}, "type: 'list'): use tuples, frozensets"),
        (
            {"step": "return State(frozenset([[1]]))"},
            "type: 'list': use tuples, frozensets",
        ),
        ({"step": "yield 'once', s.n == 0"}, "returns no state"),
        ({"fine": "s.n == 0"}, "property Fine claims None"),
        ({"rules": "len"}, "len in own is not a rule"),
        ({"more": ', violates={"Fien": Violated(1)}'}, "did you mean Fine?"),
        ({"step": "return State({}[s.n])"}, "(own.py, line 11)"),
        ({"step": "return attrs.evolve(s, m=1)"}, "keyword argument 'm' (own.py, line 11)"),
        ({"fine": "return len(attrs.fields(s.n)) == 1"}, "(own.py, line 15)"),
        ({"rules": "step, attrs.fields(1)"}, "own.py, line 18: TypeError"),
    ],
)
def test_a_mistake_in_a_model_is_reported_in_one_line(
    kspec: Kspec, given: dict[str, str], says: str
) -> None:
    parts = {"step": "return s", "fine": "return True", "rules": "step", "more": ""} | given
    Path("own.py").write_text(OWN.format(**parts))
    ran = kspec("check", "own.py")
    assert ran.code == 151
    assert says in ran.err
    assert ran.err.count("\n") == 1


def test_an_initial_state_that_cannot_be_hashed_is_reported_with_a_hint(kspec: Kspec) -> None:
    parts = {"step": "return s", "fine": "return True", "rules": "step", "more": ""}
    Path("own.py").write_text(OWN.format(**parts).replace("[State()]", "[State([1])]"))
    hint = "(unhashable type: 'list'): use tuples, frozensets and Map, not lists, sets and dicts\n"
    expected = f"kspec: the initial states of own include an unhashable state {hint}"
    assert kspec("check", "own.py").err == expected


@pytest.mark.parametrize("command", ["check", "simulate", "mutate"])
def test_initial_states_that_raise_are_reported_in_one_line(kspec: Kspec, command: str) -> None:
    parts = {"step": "return s", "fine": "return True", "rules": "step", "more": ""}
    Path("own.py").write_text(OWN.format(**parts).replace("[State()]", "[State(m=1)]"))
    ran = kspec(command, "own.py")
    assert (ran.code, ran.out, ran.err.count("\n")) == (151, "", 1)
    assert "the initial states of own raised TypeError: " in ran.err
    assert re.search(r" \(own\.py, line \d+\)$", ran.err)


def test_a_missing_file_extension_is_suggested(kspec: Kspec) -> None:
    Path("counter2.py").write_text("")
    assert "did you mean counter2.py?" in kspec("check", "counter2").err


@pytest.mark.slow
def test_modules_in_the_current_folder_shadow_nothing(tmp_path: Path) -> None:
    for name in ("impl", "secrets", "spec"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('shadowed')")
    script = (
        "from kspec.checkers.cli.main import main; "
        "main(['check', 'replication', '--set', 'brokers=2'])"
    )
    ran = subprocess.run(
        [sys.executable, "-P", "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.slow
def test_ctrl_c_ends_a_mutation_and_its_workers_with_what_was_found(tmp_path: Path) -> None:
    running = subprocess.Popen(
        [sys.executable, "-P", "-m", "kspec", "mutate", "replication", "--workers", "2"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    while len(workers := children.read_text().split()) < 2:
        time.sleep(0.1)
    for worker in workers:
        wait_until_it_has_worked(int(worker), seconds=1)
    os.killpg(running.pid, signal.SIGINT)
    said, complained = running.communicate(timeout=600)
    assert (running.returncode, complained) == (4, "")
    assert "Inconclusive, interrupted: " in said
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)


EVOLVED = """
import attrs
from kspec.spec.replication import REPLICATION

MODEL = attrs.evolve(REPLICATION, variants=(
    *REPLICATION.variants, REPLICATION.variant().derive("own", why="to try it")))
"""


def test_a_variant_of_ones_own_is_explored_by_its_own_rules(kspec: Kspec) -> None:
    Path("own.py").write_text(EVOLVED)
    asked = ["check", "own.py", "--variant", "own", "--max-depth", "9", "--json"]
    for bounds, engine in ("brokers=1", "reference"), ("log_size=3", "learned"):
        ran = kspec(*asked, "--set", bounds, "--engine", engine)
        assert (json.loads(ran.out)["engine"], ran.err) == (engine, "")


def test_mutants_that_no_property_can_kill_are_not_explored(kspec: Kspec) -> None:
    parts = {"step": "return s", "fine": "return False", "rules": "step", "more": ""}
    Path("own.py").write_text(OWN.format(**parts))
    ran = kspec("mutate", "own.py")
    assert (ran.code, ran.out) == (151, "")
    assert ran.err == (
        "kspec: no property is left to kill a mutant: Fine fails without any mutation; "
        "repair own, or choose another variant\n"
    )
