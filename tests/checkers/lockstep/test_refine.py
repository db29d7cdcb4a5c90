"""Refinement: a subject that differs from the rules is detected, with a shortest trace."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import attrs
import numpy as np
import pytest

import kspec.impl.packed.replication as packed
from kspec.checkers.cli.options import Asked
from kspec.checkers.engine.reference import explore
from kspec.checkers.lockstep import Compared
from kspec.checkers.lockstep.refine import Refinement, Work, ready, refine
from kspec.checkers.models.named import Named
from kspec.impl.packed.compiled import Words
from kspec.impl.packed.kernel import Kernel
from kspec.impl.packed.kernels import kernel_for
from kspec.impl.packed.replication import words
from kspec.impl.packed.replication.facts import facts_and_tables
from kspec.impl.packed.replication.words import Facts
from kspec.impl.partition.generations import KIP_279, KIP_320
from kspec.spec.core import SpecError
from kspec.spec.replication import REPLICATION
from kspec.traces import itf
from kspec.traces.replay import replay
from tests.impl.partition.adapter import PartitionAdapter

SMALL = ("brokers=2", "log_size=1", "max_records=1")
HERE = "tests.checkers.lockstep.test_refine"


@cache
def kernel_with(plant: Callable[[Facts, Words], Facts] | None) -> Kernel[Any]:
    """A kernel of the small model, with a fault in its facts."""
    system = Asked("replication", None, SMALL).system()
    with pytest.MonkeyPatch.context() as patch:
        if plant:
            told = plant

            def planted(*given: Any) -> tuple[Facts, Words]:
                facts, tables = facts_and_tables(*given)
                return told(facts, tables), tables

            patch.setattr(packed, "facts_and_tables", planted)
        return kernel_for(system)


def unfenced(facts: Facts, tables: Words) -> Facts:
    """Followers of another epoch are not fenced."""
    return facts._replace(variant=words.KIP_279)


def one_record_less(facts: Facts, tables: Words) -> Facts:
    """A limit is missed by one."""
    return facts._replace(max_records=facts.max_records - 1)


def wrong_properties(kernel: Kernel[Any]) -> Kernel[Any]:
    """The kernel sees WeakIsr violated where the first broker has a record."""

    def check(words: Words, begin: int, end: int, masks: Words) -> int:
        masks[begin:end] = words[0, begin:end] & 1
        return int(np.bitwise_or.reduce(masks[begin:end]))

    return attrs.evolve(kernel, check=check)


FAULTLESS = kernel_with(None)
UNFENCED = kernel_with(unfenced)
ONE_RECORD_LESS = kernel_with(one_record_less)
WRONG_PROPERTIES = wrong_properties(FAULTLESS)


def refined(subject: str, model: str = "replication", settings: Any = SMALL) -> Refinement:
    """The subject against the rules."""
    return refine(Work(Named.of(model, Asked(model, None, settings).system()), subject))


@pytest.mark.slow
@pytest.mark.parametrize("subject", ["kernel", f"{HERE}:FAULTLESS"])
def test_a_correct_kernel_has_no_differences(subject: str) -> None:
    found = refined(subject)
    verdict = explore(REPLICATION.system(bounds={"brokers": 2, "log_size": 1, "max_records": 1}))
    assert found.compared.differences == []
    assert found.levels == verdict.levels
    assert found.compared.steps == verdict.generated - 1
    assert found.compared.refused > found.compared.steps


@pytest.mark.parametrize(
    ("subject", "says"),
    [
        ("UNFENCED", "the kernel takes this step"),
        ("ONE_RECORD_LESS", "the kernel does not take this step"),
        ("WRONG_PROPERTIES", "WeakIsr is violated here, not by the specification"),
    ],
)
def test_a_fault_is_reported_with_a_shortest_trace(subject: str, says: str) -> None:
    found = refined(f"{HERE}:{subject}")
    assert any(says in line for d in found.compared.differences for line in d.says)
    assert len(found.compared.differences) <= 3
    nearest = len(found.levels)
    for difference, trace in zip(found.compared.differences, found.traces, strict=True):
        assert len(difference.steps) in (nearest - 1, nearest)
        assert replay(trace.system, itf.document(itf.to_itf(trace), "")).states == trace.states


def test_differences_of_several_kinds_come_first() -> None:
    rules = [d.steps[-1].rule for d in refined(f"{HERE}:UNFENCED").compared.differences]
    assert len(set(rules)) > 1


# -- other subjects -------------------------------------------------------------------------------


def agrees(system: Any, states: Any, at_most: int) -> Compared:
    """A subject that is a function, of a model without a kernel."""
    return Compared(steps=sum(1 for state in states for _ in system.steps(state)))


NO_SUBJECT = 7


def test_a_model_without_a_kernel_is_compared_with_a_given_subject() -> None:
    found = refined(f"{HERE}:agrees", "die-hard", ())
    assert found.states == explore(found.system.with_properties([])).distinct
    assert found.compared.steps > found.states


@pytest.mark.parametrize(
    ("subject", "model", "says"),
    [
        ("kernel", "die-hard", "die-hard has no kernel"),
        (f"{HERE}:NO_SUBJECT", "die-hard", "is not a subject"),
        (f"{HERE}:NOSUBJECT", "die-hard", "did you mean NO_SUBJECT"),
        ("agrees", "die-hard", "neither module:attribute"),
    ],
)
def test_an_invalid_subject_is_reported_in_one_line(subject: str, model: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        ready(Work(Named.of(model, Asked(model, None, ()).system()), subject))


REPLICAS = PartitionAdapter(KIP_320)
OLD_REPLICAS = PartitionAdapter(KIP_279)


@pytest.mark.slow
def test_replicas_agree_with_the_rules_over_every_step_of_small_bounds() -> None:
    found = refined(f"{HERE}:REPLICAS")
    assert found.compared.differences == []
    assert found.levels == refined("kernel").levels


def test_replicas_of_an_older_generation_differ_from_the_rules() -> None:
    found = refined(f"{HERE}:OLD_REPLICAS")
    assert found.compared.differences
