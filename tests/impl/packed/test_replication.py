"""The replication kernel agrees with the specification in every state and step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import kspec.impl.packed.replication as packed
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kspec.impl.packed.kernel import NoKernel
from kspec.impl.packed.kernels import kernel_for
from kspec.impl.packed.layout import LayoutError
from kspec.impl.packed.replication.facts import facts_and_tables
from kspec.impl.packed.replication.words import KIP_279, Facts

from kspec import examples
from kspec.checkers.engine.run import has_kernel
from kspec.checkers.models.find import find_model
from kspec.impl.compiled import Words
from kspec.spec.core import Model, System
from kspec.spec.log import Log, Record
from kspec.spec.replication.state import Cluster
from tests.impl.packed.agreement import assert_same, assert_same_everywhere

REPLICATION = find_model("replication")

VARIANTS = [v.name for v in REPLICATION.variants]
TWO_BROKERS = {"brokers": 2}
ONE_EPOCH = {"max_epoch": 0}
SHORT_LOGS = {"log_size": 1, "max_epoch": 1, "max_records": 1}


@pytest.mark.parametrize(
    "variant",
    [
        *(pytest.param(variant, marks=pytest.mark.slow) for variant in VARIANTS[:-1]),
        VARIANTS[-1],
    ],
)
@pytest.mark.parametrize("bounds", [TWO_BROKERS], ids=str)
def test_every_state_of_small_bounds_has_the_same_successors_and_failures(
    variant: str, bounds: dict[str, int]
) -> None:
    system = REPLICATION.system(variant, bounds)
    kernel = kernel_for(system)
    assert_same_everywhere(system, kernel)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "bounds",
    [ONE_EPOCH, SHORT_LOGS, {"brokers": 2, "log_size": 3, "max_records": 3, "max_epoch": 1}],
    ids=str,
)
def test_every_state_of_larger_bounds_has_the_same_successors_and_failures(
    variant: str, bounds: dict[str, int]
) -> None:
    test_every_state_of_small_bounds_has_the_same_successors_and_failures(variant, bounds)


walks = st.lists(st.integers(0, 1 << 16), max_size=60)
any_bounds = st.fixed_dictionaries(
    {b.name: st.integers(b.low, b.high) for b in REPLICATION.bound_ranges()}
)
large_bounds = any_bounds.filter(lambda bounds: has_kernel(REPLICATION.system(bounds=bounds)))


@pytest.mark.slow
@settings(max_examples=10)
@given(st.sampled_from(VARIANTS), large_bounds, walks)
def test_random_states_of_large_bounds_have_the_same_successors_and_failures(
    variant: str, bounds: dict[str, int], walk: list[int]
) -> None:
    system = REPLICATION.system(variant, bounds)
    kernel = kernel_for(system)
    [state] = system.initial()
    for choice in walk:
        steps = [after for _, _, after in system.steps(state)]
        if not steps:
            break
        state = steps[choice % len(steps)]
    assert_same(system, kernel, state)


# -- errors are found -------------------------------------------------------------------------

Planted = Callable[[Facts, Words], tuple[Facts, Words]]


def wrong_variant(facts: Facts, tables: Words) -> tuple[Facts, Words]:
    """Followers of another epoch are not fenced."""
    return facts._replace(variant=KIP_279), tables


def one_more_record(facts: Facts, tables: Words) -> tuple[Facts, Words]:
    """A limit is missed by one."""
    return facts._replace(max_records=facts.max_records - 1), tables


def isr_of_another(facts: Facts, tables: Words) -> tuple[Facts, Words]:
    """A field is read one bit off."""
    return facts._replace(isrs_at=facts.isrs_at + 1), tables


def forgotten_epochs(facts: Facts, tables: Words) -> tuple[Facts, Words]:
    """The epochs of records that are gone are kept."""
    tables[facts.kept_at :] = tables[-1]
    return facts, tables


def agreement_one_too_far(facts: Facts, tables: Words) -> tuple[Facts, Words]:
    """A follower cuts one record too few."""
    tables[facts.length_at + 1] = 2
    return facts, tables


@pytest.mark.parametrize(
    "plant",
    [wrong_variant, one_more_record, isr_of_another, forgotten_epochs, agreement_one_too_far],
)
def test_a_planted_error_is_caught(plant: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "facts_and_tables", lambda *given: plant(*facts_and_tables(*given)))
    system = REPLICATION.system("kip-320", {"brokers": 2, "max_epoch": 2})
    kernel = kernel_for(system)
    with pytest.raises((AssertionError, LayoutError, IndexError)):
        assert_same_everywhere(system, kernel)


# -- what has no words ------------------------------------------------------------------------


def changed(state: Cluster, **changes: Any) -> Cluster:
    """A state that no rules lead to."""
    return attrs.evolve(state, **changes)


def test_an_unreachable_state_is_rejected() -> None:
    system = REPLICATION.system("kip-320")
    kernel = kernel_for(system)
    [initial] = system.initial()
    two_epochs = (Log((Record(0, 0),)), Log((Record(0, 1),)), Log())
    unheard = attrs.evolve(initial.views[0], leader=1)
    for state in (
        changed(initial, logs=two_epochs),
        changed(initial, views=(unheard, *initial.views[1:])),
        changed(initial, quorum=attrs.evolve(initial.quorum, isr=frozenset())),
    ):
        with pytest.raises(LayoutError, match="no rules reach this state"):
            kernel.pack(state)


def test_a_model_without_a_kernel_is_rejected() -> None:
    model = next(m for m in vars(examples).values() if isinstance(m, Model))
    with pytest.raises(NoKernel, match=f"^{model.name} has no kernel"):
        kernel_for(model.system())


def test_a_mutant_is_rejected() -> None:
    system = REPLICATION.system()
    mutant: System[Cluster] = attrs.evolve(system, rules=system.rules[1:])
    with pytest.raises(NoKernel, match="cannot explore mutants"):
        kernel_for(mutant)


def test_a_property_without_a_kernel_is_rejected() -> None:
    invariant = REPLICATION.baseline.invariants[0].name
    with pytest.raises(NoKernel, match=f"cannot check {invariant}"):
        kernel_for(REPLICATION.system().with_properties([invariant]))
