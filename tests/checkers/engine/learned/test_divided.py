"""Sets, mappings and bags by element: what a later element may change, and what it may not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from attrs import frozen

from kspec.checkers.engine.learned import tables
from kspec.checkers.engine.learned.keep import Keeping
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.packing import RESERVE, packing_for
from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore
from kspec.checkers.engine.search import RuleFailed
from kspec.spec.core import Bag, Map, Model, System, Variant, always, each, evolve, reachable, rule
from tests.checkers.engine.learned.agreement import summary


@pytest.fixture(autouse=True)
def divided_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field is divided when it has more than two values."""
    monkeypatch.setattr(tables, "FROM", 2)


@frozen
class State:
    """A clock, and what is by element."""

    time: int = 0
    sent: frozenset[Any] = frozenset()
    boxes: tuple[frozenset[int], ...] = (frozenset(), frozenset())
    owners: Map[Any, Any] = Map()
    counts: Bag[Any] = Bag()


def system_of(*rules: Any, properties: Sequence[Any] = ()) -> System[Any]:
    """A system of some rules."""
    model: Model[Any] = Model(
        name="parts", doc="Parts.", initial=lambda bounds: [State()], properties=properties,
        variants=(Variant("all", tuple(rules), why="All."),), final=lambda s: True,
    )  # fmt: skip
    return model.system()


def agreed(system: System[Any], *fields: str) -> dict[str, Any]:
    """What both engines say, with one worker and with two; these fields were divided."""
    expected = summary(explore(system, Options(keep_going=True)))
    for workers in (1, 2):
        learned = Learnable()
        options = Options(workers=workers, keep_going=True, check_learning=True)
        assert summary(explore_by_learning(system, options, learned)) == expected
        assert set(fields) <= learned.layout.divided
    return expected


@rule(by="clock")
def clock_sends(s: State) -> Any:
    """One more message, which no state before has."""
    yield "there is time", s.time < 9
    return evolve(s, time=s.time + 1, sent=s.sent | {s.time})


@rule(by="clock")
def clock_clears(s: State) -> Any:
    """No messages, whichever there were."""
    return evolve(s, sent=frozenset())


def test_a_cleared_set_has_no_element_that_was_found_later() -> None:
    found = agreed(system_of(clock_sends, clock_clears), "sent")
    assert found["distinct"] == 1 + sum(range(2, 11))


@rule(by="clock", n=lambda s: range(9))
def clock_removes(s: State, n: int) -> Any:
    """One message less, perhaps one that was never sent so far."""
    return evolve(s, sent=s.sent - {n})


def test_an_element_that_was_removed_before_it_was_found_is_removed_later() -> None:
    assert agreed(system_of(clock_sends, clock_removes), "sent")["distinct"] == 2**10 - 1


@rule(by="clock", n=lambda s: range(9))
def clock_counts_down(s: State, n: int) -> Any:
    """Asks for a message that may come later."""
    yield "it was sent", n in s.sent
    yield "the next one was not", n + 1 not in s.sent
    return evolve(s, sent=s.sent - {n})


def test_an_element_that_was_asked_for_before_it_was_found_counts_later() -> None:
    agreed(system_of(clock_sends, clock_counts_down), "sent")


@rule(by="box", n=lambda s: range(5))
def box_is_filled(s: State, n: int) -> Any:
    """Into the first box."""
    return evolve(s, boxes=(s.boxes[0] | {n}, s.boxes[1]))


@rule(by="box")
def boxes_change_places(s: State) -> Any:
    """Each set of a tuple is divided by itself."""
    return evolve(s, boxes=s.boxes[::-1])


@rule(by="box", n=lambda s: range(5))
def box_is_emptied(s: State, n: int) -> Any:
    """Into the other box, if it is not in both."""
    first, second = s.boxes
    yield "it is in the first", n in first and n not in second
    return evolve(s, boxes=(first - {n}, second | {n}))


def test_sets_in_a_tuple_are_divided() -> None:
    system = system_of(box_is_filled, boxes_change_places, box_is_emptied)
    assert agreed(system, "boxes")["distinct"] == 4**5


@rule(by="owner", k=lambda s: "abc", n=lambda s: range(2))
def owner_claims(s: State, k: str, n: int) -> Any:
    """A key has an owner, and how often it was renewed."""
    yield "it has none", k not in s.owners
    return evolve(s, owners=s.owners.set(k, (n, 0)))


@rule(by="owner", k=each("owners"))
def owner_renews(s: State, k: str) -> Any:
    """Another value for the key."""
    n, times = s.owners[k]
    yield "it may be renewed", times < 3
    return evolve(s, owners=s.owners.set(k, (n, times + 1)))


@rule(by="owner", k=each("owners"))
def owner_leaves(s: State, k: str) -> Any:
    """The owner of the least key takes over, and the key is left."""
    least = min(s.owners)
    yield "another key is less", least < k
    return evolve(s, owners=s.owners.set(least, s.owners[k]).without(k))


@always
def RenewalsAreBounded(s: State) -> bool:
    """No value exceeds the limit."""
    return all(times <= 3 for _, times in s.owners.values())


@reachable
def AllAreOwned(s: State) -> bool:
    """Every key has an owner."""
    return len(s.owners) == 3 and s.owners.get("c", (0, 0))[1] == 3


def test_mappings_are_divided_by_key() -> None:
    rules = owner_claims, owner_renews, owner_leaves
    found = agreed(system_of(*rules, properties=(RenewalsAreBounded, AllAreOwned)), "owners")
    assert found["distinct"] == (2 * 4 + 1) ** 3


@rule(by="bag", n=lambda s: range(3))
def bag_grows(s: State, n: int) -> Any:
    """Once more."""
    yield "there is room", s.counts.count(n) < 3 and len(s.counts) < 7
    return evolve(s, counts=s.counts.add(n))


@rule(by="bag", n=each("counts"))
def bag_shrinks(s: State, n: int) -> Any:
    """Once less."""
    return evolve(s, counts=s.counts.remove(n))


@rule(by="bag", n=each("counts"))
def bag_moves(s: State, n: int) -> Any:
    """All of one become another."""
    yield "there are two", s.counts.count(n) == 2
    return evolve(s, counts=s.counts - [n, n] + [0])


def test_bags_are_divided_by_member() -> None:
    agreed(system_of(bag_grows, bag_shrinks, bag_moves), "counts")


@rule(by="clock")
def clock_sends_words(s: State) -> Any:
    """A message that cannot be compared with the others, late."""
    yield "there is time", s.time < 5
    return evolve(s, time=s.time + 1, sent=s.sent | {s.time if s.time < 4 else "late"})


@rule(by="reader", m=lambda s: sorted(s.sent))
def reader_takes(s: State, m: Any) -> Any:
    """Lists the messages in order."""
    yield "it is even", m % 2 == 0
    return evolve(s, sent=s.sent - {m})


def test_a_late_element_that_cannot_be_sorted_fails_as_with_the_rules_themselves() -> None:
    system = system_of(clock_sends_words, reader_takes)
    failures = []
    for run in (explore, explore_by_learning):
        with pytest.raises(RuleFailed) as failed:
            run(system, Options(workers=1))
        failures.append(str(failed.value))
    assert failures[0] == failures[1]
    assert "'<' not supported" in failures[0]


@rule(by="clock")
def clock_sends_a_list(s: State) -> Any:
    """A field that is sometimes a set and sometimes none."""
    yield "there is time", s.time < 7
    sent: Any = None if s.time == 6 else frozenset(range(s.time))
    return evolve(s, time=s.time + 1, sent=sent)


def test_a_field_that_is_not_always_a_set_is_one_component_again() -> None:
    system, learned = system_of(clock_sends_a_list), Learnable()
    found = explore_by_learning(system, Options(workers=1), learned)
    assert summary(found) == summary(explore(system, Options()))
    assert learned.layout.whole == {"sent"}
    assert not learned.layout.divided


@rule(by="clock", n=lambda s: range(3 * RESERVE))
def clock_sends_any(s: State, n: int) -> Any:
    """More elements at once than there are free bits."""
    yield "few were sent", s.time < 2
    return evolve(s, time=s.time + 1, sent=s.sent | {n})


def test_states_get_more_bits_for_more_elements() -> None:
    agreed(system_of(clock_sends_any), "sent")


def test_elements_take_bits_when_they_are_first_present() -> None:
    packing = packing_for([4, 1, 2], [True, True])
    assert packing.room.tolist()[1:] == [1, 2]
    placed = packing.place_elements(attrs.evolve(packing).room + 1, lambda k: k > 0)
    assert placed == [1]
    assert packing.room.tolist()[1:] == [2, 2]


@always
def FewAreSent(s: State) -> bool:
    """Fails in many states of one level."""
    return len(s.sent) < 3


def test_the_counterexample_depends_neither_on_workers_nor_on_dividing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system = system_of(clock_sends, clock_removes, properties=(FewAreSent,))
    found = []
    for first in (2, 1000):
        monkeypatch.setattr(tables, "FROM", first)
        for workers in (1, 2):
            (violation,) = explore_by_learning(system, Options(workers=workers)).violations
            assert violation.trace is not None
            found.append(violation.trace.states)
    assert all(states == found[0] for states in found)


def test_what_was_learned_of_elements_is_kept(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run asks no rule, except to check answers."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("kspec.checkers.engine.learned.keep.LEAST_SECONDS", 0)
    rules = clock_sends, clock_removes, reader_takes, owner_claims, owner_renews, bag_grows
    system = system_of(*rules, properties=(RenewalsAreBounded,))
    limits = Options(max_depth=6, use_cache=True, workers=1)
    runs = []
    for _ in range(2):
        learned = Learnable(use_cache=True)
        verdict = explore_by_learning(system, limits, learned)
        runs.append((verdict.statistics["learned"]["runs"], summary(verdict)))
        assert Keeping(system).path is not None
    assert runs[0][1] == runs[1][1]
    assert runs[1][0] < runs[0][0] / 10
