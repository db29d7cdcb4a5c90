"""Which systems have a kernel, and which are explored by their rules."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
from kspec.impl.packed import kernels
from kspec.impl.packed.kernel import NoKernel
from kspec.impl.packed.kernels import KERNELS, fingerprint, kernel_for

from kspec import examples
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.run import has_kernel, run
from kspec.checkers.models.find import find_model
from kspec.spec.core import SpecError

REPLICATION = find_model("replication")


@pytest.mark.parametrize("model", KERNELS)
def test_every_kernel_was_compared_with_the_current_rules(model: str) -> None:
    """After an edit: run the tests of tests/impl/packed, with -m 'slow or not slow'. Where they
    pass, kernel and rules are equal; note the new fingerprint in impl/packed/kernels.py.
    """
    written_for = KERNELS[model]
    assert fingerprint(written_for.files) == written_for.fingerprint


@pytest.mark.slow
def test_edited_rules_are_not_explored_by_their_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edited = attrs.evolve(KERNELS["replication"], fingerprint="that of another text")
    monkeypatch.setattr(kernels, "KERNELS", {"replication": edited})
    system = REPLICATION.system(bounds={"brokers": 2})
    assert not has_kernel(system)
    assert run(system).engine == "reference"
    assert run(system, Options("native")).engine == "learned"
    with pytest.raises(SpecError, match=r"the rules of replication were edited since .*learned$"):
        run(system, Options("kernel"))


def test_a_model_of_the_same_name_has_no_kernel() -> None:
    namesake = attrs.evolve(REPLICATION, doc="somebody's own")
    assert not has_kernel(namesake.system())
    assert has_kernel(REPLICATION.system())


def test_unsupported_systems_have_no_kernel() -> None:
    system = REPLICATION.system()
    mutant = attrs.evolve(system, rules=system.rules[1:])
    for given, says in (
        (examples.COUNTER.system(), "counter has no kernel"),
        (mutant, "cannot explore mutants"),
        (
            system.with_properties(["QuorumMatchesLastRequest"]),
            "cannot check QuorumMatchesLastRequest",
        ),
    ):
        with pytest.raises(NoKernel, match=says):
            kernel_for(given)


def test_only_an_edit_of_code_makes_a_kernel_outdated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "__file__", str(tmp_path / "impl" / "packed" / "kernels.py"))
    rules = tmp_path / "rules.py"

    def of(text: str) -> str:
        rules.write_text(text, encoding="utf-8")
        return fingerprint(["rules.py"])

    code = of('"""Rules."""\n\ndef leads(s, b):\n    """It leads."""\n    return s + b\n')
    assert of('"""Other."""\ndef leads(s, b):\n    return (s +  b)  # why\n') == code
    assert of("class C:\n    x: int\n    '''A field.'''\n") == of("class C:\n    x: int\n")
    for edited in ("def leads(s, b):\n    return s - b\n", "def leads(s, a):\n    return s + a\n"):
        assert of(edited) != code
    assert of("x = 1\n") != of("x = True\n")
