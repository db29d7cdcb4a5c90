"""Which systems have a kernel, and which are left to the rules themselves."""

from __future__ import annotations

import attrs
import pytest

from checkers.engines import Options, has_kernel, run
from impl.packed import kernels
from impl.packed.kernel import NoKernel
from impl.packed.kernels import KERNELS, fingerprint, kernel_for
from spec import toys
from spec.core import SpecError
from spec.replication import REPLICATION


@pytest.mark.parametrize("model", KERNELS)
def test_every_kernel_was_compared_with_the_rules_as_they_are_now(model: str) -> None:
    """After an edit: run the tests of tests/impl/packed, with -m 'slow or not slow'. Where they
    pass, kernel and rules are equal; note the new fingerprint in impl/packed/kernels.py.
    """
    written_for = KERNELS[model]
    assert fingerprint(written_for.files) == written_for.fingerprint


def test_edited_rules_are_explored_by_themselves_and_not_by_the_kernel(
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


def test_what_the_native_engine_cannot_do_is_said_in_one_line() -> None:
    system = REPLICATION.system()
    mutant = attrs.evolve(system, rules=system.rules[1:])
    for given, says in (
        (toys.COUNTER.system(), "counter has no kernel"),
        (mutant, "no mutants"),
        (system.with_properties(["QuorumIsLastDecision"]), "cannot check QuorumIsLastDecision"),
    ):
        with pytest.raises(NoKernel, match=says):
            kernel_for(given)
