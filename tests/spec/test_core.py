"""The words that specifications are written in."""

from __future__ import annotations

from collections.abc import Generator

import attrs
import pytest

from spec import toys
from spec.core import (
    Blocked,
    Limit,
    Model,
    SpecError,
    Step,
    Variant,
    always,
    bound,
    limit,
    look_up,
    rule,
)
from spec.replication import REPLICATION
from spec.replication.kip_320 import leader_advances_hw


@attrs.frozen
class Door:
    open: bool = False
    locked: bool = False


@rule(by="visitor")
def open_door(s: Door) -> Step[Door]:
    """Push it."""
    yield "door is closed", not s.open
    yield "door is not locked", not s.locked
    return attrs.evolve(s, open=True)


@rule(by="visitor", times=lambda s: range(1, 3))
def knock(s: Door, times: int) -> Step[Door]:
    """Knock, which does nothing."""
    yield limit("not too often"), times < 2
    return s


def test_a_rule_answers_with_the_next_state_or_the_first_guard_in_its_way() -> None:
    assert open_door.attempt(Door(), ()) == Door(open=True)
    assert open_door.attempt(Door(open=True, locked=True), ()) == Blocked("door is closed")
    assert open_door.attempt(Door(locked=True), ()) == Blocked("door is not locked")


def test_guards_are_asked_up_to_the_first_that_does_not_hold() -> None:
    assert open_door.guards(Door(locked=True), ()) == [
        ("door is closed", True),
        ("door is not locked", False),
    ]
    assert open_door.guards(Door(open=True), ()) == [("door is closed", False)]


def test_a_limit_can_be_looked_beyond_and_a_guard_cannot() -> None:
    assert knock.attempt(Door(), (2,)) == Blocked("not too often")
    assert knock.attempt(Door(), (2,), beyond_limits=True) == Door()
    blocked = open_door.attempt(Door(open=True), (), beyond_limits=True)
    assert blocked == Blocked("door is closed")


def test_the_names_of_guards_are_read_from_the_text_of_the_rule() -> None:
    assert open_door.guard_names() == [("door is closed", False), ("door is not locked", False)]
    assert knock.guard_names() == [("not too often", True)]
    assert [name for name, _ in leader_advances_hw.guard_names()] == [
        "presumes leadership",
        "leader holds the offset",
        "isr is in the leader's epoch",
        "isr holds the offset",
    ]


def is_alone(s: Door) -> Generator[tuple[str, bool], None, int]:
    """Guards that a rule takes from elsewhere."""
    yield limit("not too late"), True
    yield "door is closed", not s.open
    return 1


def is_welcome(s: Door, again: bool) -> Generator[tuple[str, bool], None, int]:
    """Guards that take others in their middle, and themselves."""
    yield "somebody is at home", True
    visitors = yield from is_alone(s)
    if again:
        yield from is_welcome(s, False)
    yield "there is room", visitors < 2
    return visitors


@rule(by="visitor")
def enter(s: Door) -> Step[Door]:
    """Go in."""
    yield "door is not locked", not s.locked
    yield from is_welcome(s, True)
    yield "somebody is at home", True
    return attrs.evolve(s, open=True)


def test_guards_that_a_rule_takes_from_a_function_are_read_where_it_takes_them() -> None:
    assert enter.guard_names() == [
        ("door is not locked", False),
        ("somebody is at home", False),
        ("not too late", True),
        ("door is closed", False),
        ("there is room", False),
    ]


def test_every_guard_that_is_asked_is_known_from_the_text() -> None:
    asked = dict.fromkeys(name for name, _ in enter.guards(Door(), ()))
    assert list(asked) == [name for name, _ in enter.guard_names()]


def test_choices_are_enumerated_in_a_fixed_order() -> None:
    system = REPLICATION.system("kip-320")
    (start,) = system.initial()
    shrink = next(r for r in system.rules if r.name == "leader_shrinks_isr")
    assert list(shrink.instances(start)) == [(a, b) for a in range(3) for b in range(3)]


def test_a_rule_whose_parameters_are_not_its_choices_is_refused() -> None:
    with pytest.raises(SpecError, match="decorator lists"):

        @rule(by="nobody", hammer=lambda s: range(2))
        def build(s: Door, nail: int) -> Door:
            return s


def test_a_rule_that_returns_nothing_is_told_so() -> None:
    @rule(by="nobody")
    def forgets(s: Door) -> Step[Door]:  # type: ignore[return]
        yield "always", True

    with pytest.raises(SpecError, match="returns no state"):
        forgets.attempt(Door(), ())


def test_a_property_fails_at_the_first_claim_that_is_false() -> None:
    @always
    def ShutTight(s: Door):  # type: ignore[no-untyped-def]
        yield "the lock", s.locked
        yield "the leaf", not s.open

    assert ShutTight.failure(Door(locked=True)) is None
    assert ShutTight.failure(Door(open=True)) == "the lock"
    assert ShutTight.failure(Door(open=True, locked=True)) == "the leaf"


def test_a_wrong_name_is_answered_with_the_nearest_right_ones() -> None:
    with pytest.raises(SpecError, match="did you mean kip-320"):
        REPLICATION.variant("kip320")
    with pytest.raises(SpecError, match="there is a, b"):
        look_up("thing", "zzzzzz", {"a": 1, "b": 2})
    with pytest.raises(SpecError, match="there is none"):
        look_up("thing", "zzzzzz", {})


def test_bounds_have_a_range_and_are_whole_numbers() -> None:
    with pytest.raises(SpecError, match="brokers is 9, and may be 1 to 5"):
        REPLICATION.system(bounds={"brokers": 9})
    with pytest.raises(SpecError, match="whole number"):
        REPLICATION.system(bounds={"brokers": True})
    with pytest.raises(SpecError, match=r"bound of replication named 'broker'.*brokers"):
        REPLICATION.system(bounds={"broker": 2})


def test_a_variant_replaces_rules_in_their_place() -> None:
    names = [[r.name for r in v.rules] for v in REPLICATION.variants]
    assert names[0] == names[1] == names[2] == names[4]
    assert names[3][-1] == "follower_truncates"
    base, kip_101 = REPLICATION.variant("truncate-to-hw"), REPLICATION.variant("kip-101")
    assert [a is b for a, b in zip(base.rules, kip_101.rules, strict=True)] == [
        r.name != "become_follower_and_truncate" for r in base.rules
    ]


def test_a_variant_cannot_replace_what_its_parent_does_not_have() -> None:
    with pytest.raises(SpecError, match="has no rule open_door"):
        toys.OWN_ORDER.derive("odd", why="", replace={open_door: knock})  # type: ignore[dict-item]


def test_what_is_constant_does_not_tell_states_apart() -> None:
    (small,) = REPLICATION.system(bounds={"log_size": 1}).initial()
    (large,) = REPLICATION.system(bounds={"log_size": 3}).initial()
    assert small == large
    assert hash(small) == hash(large)


def test_the_edge_of_the_bounds_is_no_deadlock() -> None:
    system = toys.COUNTER.system(bounds={"top": 2})
    assert not system.is_deadlock(toys.Counter(2, bounds=system.bounds))


def test_an_end_that_the_model_foresees_is_no_deadlock() -> None:
    system = toys.TWO_PHASE_LOCK.system()
    assert not system.is_deadlock(toys.Locks(done=frozenset({0, 1})))
    assert system.is_deadlock(toys.Locks(holder=(0, 1)))


def test_a_model_of_ten_lines_is_enough() -> None:
    @attrs.frozen
    class Bounds:
        top: int = bound(2, 0, 9, "where it stops")

    model = Model(
        name="ten-lines",
        doc="A door.",
        bounds=Bounds,
        initial=lambda bounds: [Door()],
        properties=(),
        variants=(Variant("a", (open_door,), why="It opens."),),
    )
    assert model.variant().name == "a"
    assert [b.name for b in model.bound_ranges()] == ["top"]
    assert isinstance(limit("x"), Limit)
