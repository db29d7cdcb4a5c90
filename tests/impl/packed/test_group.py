"""The group's kernel says what the specification says: in every state, about every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.engines import has_kernel, run
from checkers.limits import Limits
from impl.packed.compiled import Words
from impl.packed.group import fields as at
from impl.packed.group.lists import Lists
from impl.packed.group.sheet import new_sheet
from impl.packed.group.states import Packing
from impl.packed.kernels import KERNELS, kernel_for
from impl.packed.layout import LayoutError
from spec.core import System
from spec.group import GROUP
from spec.group.world import World
from tests.impl.packed.agreement import assert_same, assert_same_everywhere, reachable

VARIANTS = KERNELS["group"].variants
ALONE = {"consumers": 1, "ids": 1, "generations": 2, "crashes": 0, "failovers": 0}
EVERY_FAULT = {"early": 1, "losses": 1, "stalls": 1, "leaves": 1, "growths": 1}
TWO = {"crashes": 0, "failovers": 0}

# -- every state ------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_state_of_small_bounds_has_the_same_successors_and_failures(variant: str) -> None:
    system = GROUP.system(variant, ALONE | {"early": 1})
    assert_same_everywhere(system, kernel_for(system))


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "bounds",
    [
        {"consumers": 1},
        {"consumers": 1, "static": 1, "crashes": 0, "early": 1},
        TWO,
        ALONE | EVERY_FAULT,
    ],
    ids=str,
)
def test_the_nearest_states_of_larger_bounds_have_the_same_successors_and_failures(
    variant: str, bounds: dict[str, int]
) -> None:
    system = GROUP.system(variant, bounds)
    kernel = kernel_for(system)
    for state in islice(reachable(system), 5_000 if variant == "eager" else 1_000):
        assert_same(system, kernel, state)


# -- states on the way of a walk --------------------------------------------------------------

walks = st.lists(st.integers(0, 1 << 16), min_size=20, max_size=80)
bounds_that_fit = st.fixed_dictionaries(
    {
        "consumers": st.integers(1, 3),
        "static": st.integers(0, 2),
        "partitions": st.integers(1, 3),
        "ids": st.integers(1, 2),
        "generations": st.integers(1, 4),
    }
    | {
        name: st.integers(0, 1)
        for name in ("growths", "crashes", "failovers", "losses", "early", "stalls", "leaves")
    }
).filter(lambda bounds: has_kernel(GROUP.system(bounds=bounds)))


def walk(system: System[World], choices: list[int]) -> Iterator[World]:
    """The states on one way; what changes nothing is not taken."""
    [state] = system.initial()
    yield state
    for choice in choices:
        steps = [after for _, _, after in system.steps(state) if after != state]
        if not steps:
            return
        state = steps[choice % len(steps)]
        yield state


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(VARIANTS), bounds_that_fit, walks)
def test_random_states_of_large_bounds_have_the_same_successors_and_failures(
    variant: str, bounds: dict[str, int], choices: list[int]
) -> None:
    system = GROUP.system(variant, bounds)
    [*_, last] = walk(system, choices)
    assert_same(system, kernel_for(system), last)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.sampled_from(VARIANTS), bounds_that_fit, walks)
def test_every_state_of_random_walks_has_the_same_successors_and_failures(
    variant: str, bounds: dict[str, int], choices: list[int]
) -> None:
    system = GROUP.system(variant, bounds)
    kernel = kernel_for(system)
    for state in walk(system, choices):
        assert_same(system, kernel, state)


# -- the whole of an exploration --------------------------------------------------------------


@pytest.mark.parametrize(
    "bounds",
    [TWO, pytest.param({"consumers": 1}, marks=pytest.mark.slow)],
    ids=str,
)
def test_both_engines_find_the_same_levels(bounds: dict[str, int]) -> None:
    system = GROUP.system(bounds=bounds)
    native, reference = (run(engine, system, Limits()) for engine in ("native", "reference"))
    assert native.engine == "native"
    assert native.levels == reference.levels
    assert native.generated == reference.generated
    fired = {name: rule.fired for name, rule in native.rules.items()}
    assert fired == {name: rule.fired for name, rule in reference.rules.items()}


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_what_a_variant_violates_is_found_as_far_away_as_expected(variant: str) -> None:
    always = {p.name for p in GROUP.properties}
    for name, expected in GROUP.variant(variant).violates.items():
        if name in always:
            system = GROUP.system(variant, expected.bounds).with_properties([name])
            [violation] = run("native", system, Limits()).violations
            assert violation.trace is not None
            found = violation.trace.property, len(violation.trace.states)
            assert found == (name, expected.states)


# -- errors are found -------------------------------------------------------------------------

Planted = Callable[[Words], None]


def one_more_generation(sheet: Words) -> None:
    """A limit is missed by one."""
    sheet[at.GENERATIONS] -= 1


def nobody_is_static(sheet: Words) -> None:
    """Instance ids are overlooked."""
    sheet[at.STATIC] = 0


def wrong_variant(sheet: Words) -> None:
    """A static member that comes back begins no other round."""
    sheet[at.VARIANT] = at.BEFORE_9801


def wrong_list(sheet: Words) -> None:
    """The list with the first member has another's number."""
    sheet[sheet[at.LONGER_AT]] += 1


def one_bit_off(sheet: Words) -> None:
    """A field is read where another one is."""
    sheet[at.SHIFT + at.GENERATION] += 1


@pytest.mark.parametrize(
    "plant",
    [one_more_generation, nobody_is_static, wrong_variant, wrong_list, one_bit_off],
)
def test_a_planted_error_is_caught(plant: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*given: Any) -> Words:
        sheet = new_sheet(*given)
        plant(sheet)
        return sheet

    monkeypatch.setattr("impl.packed.group.new_sheet", wrong)
    bounds = ALONE | {"static": 1, "early": 1, "ids": 2}
    system = GROUP.system("eager", bounds)
    with pytest.raises((AssertionError, LayoutError, IndexError)):
        assert_same_everywhere(system, kernel_for(system))


# -- what has words, and what has none --------------------------------------------------------


def test_every_list_is_longer_by_its_last_member_than_another() -> None:
    lists = Lists(4)
    members, longer = lists.tables()
    for number in range(1, lists.count):
        listed = lists.members(number)
        assert members[number] == sum(i + 1 << 4 * k for k, i in enumerate(listed))
        assert longer[lists.number(listed[:-1]), listed[-1]] == number


def test_a_state_that_no_rules_lead_to_is_refused() -> None:
    system = GROUP.system()
    kernel = kernel_for(system)
    [initial] = system.initial()
    a, b = initial.consumers
    for state in (
        attrs.evolve(initial, group=attrs.evolve(initial.group, protocol="range")),
        attrs.evolve(initial, group=attrs.evolve(initial.group, leader="a1")),
        attrs.evolve(initial, consumers=(attrs.evolve(a, owned=(0,), told=(1,)), b)),
        attrs.evolve(initial, consumers=(attrs.evolve(a, member="b1"), b)),
    ):
        with pytest.raises(LayoutError, match="no rules lead to this state"):
            kernel.pack(state)


def test_bounds_without_room_are_refused_in_one_line() -> None:
    for bounds, says in (
        ({"consumers": 3, "ids": 3}, "9 member ids, 8 at most"),
        ({"consumers": 4, "partitions": 4}, "a state takes"),
    ):
        with pytest.raises(LayoutError, match=says):
            Packing.of(GROUP.system(bounds=bounds).bounds)


def test_cooperative_members_are_left_to_the_reference_engine() -> None:
    assert not has_kernel(GROUP.system("cooperative"))
