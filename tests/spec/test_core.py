"""The building blocks of specifications."""

from __future__ import annotations

from collections.abc import Generator
from types import SimpleNamespace

import attrs
import pytest

from kspec import examples
from kspec.checkers.models.find import find_model, registered_models
from kspec.examples.counter import Counter
from kspec.examples.two_phase_lock import OWN_ORDER, Locks
from kspec.spec.core import (
    Blocked,
    Guarded,
    Limit,
    Model,
    Rule,
    SpecError,
    Step,
    Variant,
    always,
    bound,
    limit,
    look_up,
    present,
    rule,
)
from kspec.spec.replication import REPLICATION
from kspec.spec.replication.leader import leader_advances_hw


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


def test_a_rule_returns_the_next_state_or_the_first_blocking_guard() -> None:
    assert open_door.attempt(Door(), ()) == Door(open=True)
    assert open_door.attempt(Door(open=True, locked=True), ()) == Blocked("door is closed")
    assert open_door.attempt(Door(locked=True), ()) == Blocked("door is not locked")


def test_guards_are_evaluated_up_to_the_first_that_fails() -> None:
    assert open_door.guards(Door(locked=True), ()) == [
        ("door is closed", True),
        ("door is not locked", False),
    ]
    assert open_door.guards(Door(open=True), ()) == [("door is closed", False)]


def test_limits_can_be_ignored_and_guards_cannot() -> None:
    assert knock.attempt(Door(), (2,)) == Blocked("not too often")
    assert knock.attempt(Door(), (2,), beyond_limits=True) == Door()
    blocked = open_door.attempt(Door(open=True), (), beyond_limits=True)
    assert blocked == Blocked("door is closed")


def test_guard_names_are_read_from_the_text() -> None:
    assert open_door.guard_names() == [("door is closed", False), ("door is not locked", False)]
    assert knock.guard_names() == [("not too often", True)]
    assert [name for name, _ in leader_advances_hw.guard_names()] == [
        "leader presumes leadership",
        "leader holds a record at the high watermark",
        "every ISR member is in the leader's epoch",
        "every ISR member holds a record there",
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


def test_delegated_guards_are_listed_at_their_call() -> None:
    assert enter.guard_names() == [
        ("door is not locked", False),
        ("somebody is at home", False),
        ("not too late", True),
        ("door is closed", False),
        ("there is room", False),
    ]


def test_every_evaluated_guard_is_known_from_the_text() -> None:
    asked = dict.fromkeys(name for name, _ in enter.guards(Door(), ()))
    assert list(asked) == [name for name, _ in enter.guard_names()]


DOOR_HAS_A_HANDLE = "door has a handle"
THIS_MODULE = SimpleNamespace(is_alone=is_alone)


def has_key(key: int, guard: str) -> Guarded[None]:
    """A guard whose name the caller gives, and one whose name is computed."""
    yield guard, True
    yield f"key {key} fits", key > 0


@rule(by="visitor", key=lambda s: range(2))
def unlock(s: Door, key: int) -> Step[Door]:
    """Turn the key."""
    yield DOOR_HAS_A_HANDLE, True
    yield from THIS_MODULE.is_alone(s)
    yield from has_key(key, guard="visitor has a key")
    label = yield from present("key is labelled", None if key else "front door")
    return attrs.evolve(s, locked=not label)


def test_guard_names_may_be_constants_arguments_or_f_strings() -> None:
    assert unlock.guard_names() == [
        ("door has a handle", False),
        ("not too late", True),
        ("door is closed", False),
        ("visitor has a key", False),
        ("key {key} fits", False),
        ("key is labelled", False),
    ]


def test_a_guard_that_narrows_returns_the_value() -> None:
    def labelled(s: Door, label: str | None) -> Step[Door]:
        found = yield from present("key is labelled", label)
        return attrs.evolve(s, open=found == "front door")

    labels = {"label": lambda s: ("front door", None)}
    narrowing = Rule("labelled", "visitor", labels, labelled)
    assert narrowing.attempt(Door(), ("front door",)) == Door(open=True)
    assert narrowing.attempt(Door(), (None,)) == Blocked("key is labelled")


@pytest.mark.slow
@pytest.mark.parametrize("name", registered_models())
def test_every_guard_evaluated_in_a_model_is_named_in_its_text(name: str) -> None:
    model = find_model(name)
    for variant in model.variants:
        system = model.system(variant.name)
        states = system.initial()
        for _ in range(4):
            states = [after for s in states[:20] for _, _, after in system.steps(s)] or states
        for rule_ in system.rules:
            named = {guard for guard, _ in rule_.guard_names()}
            for s in states[:50]:
                for choice in rule_.instances(s):
                    assert {guard for guard, _ in rule_.guards(s, choice)} <= named


def test_choices_are_enumerated_in_a_fixed_order() -> None:
    system = REPLICATION.system("kip-320")
    (start,) = system.initial()
    shrink = next(r for r in system.rules if r.name == "leader_shrinks_isr")
    assert list(shrink.instances(start)) == [(a, b) for a in range(3) for b in range(3)]


def test_a_rule_whose_parameters_differ_from_its_choices_is_refused() -> None:
    with pytest.raises(SpecError, match="decorator lists"):

        @rule(by="nobody", hammer=lambda s: range(2))
        def build(s: Door, nail: int) -> Door:
            return s


def test_a_rule_without_return_is_an_error() -> None:
    @rule(by="nobody")
    def forgets(s: Door) -> Step[Door]:  # type: ignore[return]
        yield "always", True

    with pytest.raises(SpecError, match="returns no state"):
        forgets.attempt(Door(), ())


def test_a_property_fails_at_its_first_false_claim() -> None:
    @always
    def ShutTight(s: Door):  # type: ignore[no-untyped-def]
        yield "the lock", s.locked
        yield "the leaf", not s.open

    assert ShutTight.failure(Door(locked=True)) is None
    assert ShutTight.failure(Door(open=True)) == "the lock"
    assert ShutTight.failure(Door(open=True, locked=True)) == "the leaf"


def test_a_single_claim_fails_at_its_choices() -> None:
    @always(leaf=lambda s: (0, 1), hinge=lambda s: (0, 1, 2))
    def Shut(s: Door, leaf: int, hinge: int) -> bool:
        return not s.open or (leaf, hinge) < (1, 2)

    @always(leaf=lambda s: (0, 1))
    def Locked(s: Door, leaf: int):  # type: ignore[no-untyped-def]
        yield f"leaf {leaf} of two", leaf < 1

    assert Shut.failure(Door()) is None
    assert Shut.failure(Door(open=True)) == "leaf 1, hinge 2"
    assert Locked.failure(Door()) == "leaf 1 of two"


def test_an_unknown_name_suggests_similar_ones() -> None:
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
        r.name != "broker_becomes_follower_and_truncates" for r in base.rules
    ]


def test_the_default_variant_must_be_one_of_the_variants() -> None:
    own = REPLICATION.variant().derive("own", why="to try it")
    with pytest.raises(SpecError, match=r"in default_variant, named 'lost': there is own"):
        attrs.evolve(REPLICATION, variants=(own,), default_variant="lost")


def test_a_variant_replaces_only_rules_of_its_parent() -> None:
    with pytest.raises(SpecError, match="has no rule open_door"):
        OWN_ORDER.derive("odd", why="", replace={open_door: knock})  # type: ignore[dict-item]


def test_constant_fields_are_not_compared() -> None:
    (small,) = REPLICATION.system(bounds={"log_size": 1}).initial()
    (large,) = REPLICATION.system(bounds={"log_size": 3}).initial()
    assert small == large
    assert hash(small) == hash(large)


def test_the_edge_of_the_bounds_is_no_deadlock() -> None:
    system = examples.COUNTER.system(bounds={"top": 2})
    assert not system.is_deadlock(Counter(2, bounds=system.bounds))


def test_a_final_state_is_no_deadlock() -> None:
    system = examples.TWO_PHASE_LOCK.system()
    assert not system.is_deadlock(Locks(done=frozenset({0, 1})))
    assert system.is_deadlock(Locks(holder=(0, 1)))


def test_a_model_may_have_ten_lines() -> None:
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
