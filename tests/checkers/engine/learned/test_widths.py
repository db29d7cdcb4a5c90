"""No number is cut: at the edge of each width the engines agree, or an error names the limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import pytest

from kspec.checkers.engine.learned import expander, growing, tables
from kspec.checkers.engine.learned.backend import LearnedBackend
from kspec.checkers.engine.learned.book import Book, Impure
from kspec.checkers.engine.learned.checking import Checking
from kspec.checkers.engine.learned.growing import Row, TooMany
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.learning import Learning
from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.learned.tables import Tables
from kspec.checkers.engine.learned.worker import OUTBOX
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore
from kspec.spec.core import (
    Always,
    Model,
    Rule,
    SpecError,
    System,
    Variant,
    always,
    evolve,
    limit,
    reachable,
    replaced,
    rule,
)
from tests.checkers.engine.learned.agreement import summary


def system_of(initial: Callable[[], Iterator[Any]], rules: Any, *properties: Any) -> System[Any]:
    model: Model[Any] = Model(
        name="wide", doc="Wide.", initial=lambda bounds: initial(), properties=properties,
        variants=(Variant("only", rules=tuple(rules), why="There is no other."),),
        final=lambda s: True,
    )  # fmt: skip
    return model.system()


def agree(system: System[Any], *, workers: tuple[int, ...] = (1, 2)) -> dict[str, Any]:
    """What the engines say, which must be the same."""
    expected = summary(explore(system, Options(keep_going=True)))
    for number in workers:
        found = explore_by_learning(system, Options(keep_going=True, workers=number))
        assert summary(found) == expected, f"{number} workers"
    return expected


# -- values of a component ------------------------------------------------------------------------


@attrs.frozen
class Number:
    x: int
    live: bool = True
    y: int = -1


def numbers(top: int, live_from: int) -> Callable[[], Iterator[Number]]:
    return lambda: (Number(i, live=i < 200 or i >= live_from) for i in range(top))


def copying(width: int) -> Rule[Any]:
    """Copies what a width does not hold of a number."""

    @rule(by="a")
    def copy_high(s: Number) -> Any:
        yield "live", s.live
        yield "not done", s.y < 0
        return evolve(s, y=s.x // width)

    return copy_high


@always
def HighIsZero(s: Number) -> bool:
    return s.y < 1


WIDTHS = [1 << 8, *(pytest.param(1 << bits, marks=pytest.mark.slow) for bits in (15, 16))]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_values_of_a_component(width: int, more: int) -> None:
    """A component with about as many values as some number of bits can count."""
    found = agree(system_of(numbers(width + more, width), [copying(width)], HighIsZero))
    assert bool(found["violations"]) == (more == 1)


@pytest.mark.slow
def test_values_of_a_component_in_every_form() -> None:
    """Values of initial states and of successors, cold and with what was learned."""
    agree(system_of(numbers(200_000, 65_536), [copying(65_536)], HighIsZero), workers=(2,))
    top = 66_000

    @rule(by="a")
    def spread(s: Number) -> Any:
        yield "not done", s.y < 0
        return evolve(s, y=(s.x * 7 + 1) % top)

    system = system_of(numbers(top, 0), [spread], HighIsZero)
    expected = agree(system, workers=(1,))
    learned = Learnable()
    for _ in range(2):
        found = explore_by_learning(system, Options(keep_going=True), learned)
        assert summary(found) == expected


def test_a_table_that_is_wrong_from_some_number_on_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if an answer had eight bits: the last values are checked, and with them properties."""
    take = Tables.take_probes

    def cut(self: Tables) -> None:
        take(self)
        for k, count in enumerate(self.component_count.tolist()):
            at, stride = int(self.answers_at[k]), int(self.stride[k])
            held = self.answers.array[at : at + stride * count].reshape(count, stride)
            if count > 256:
                held[256:] = held[: count - 256]

    system = system_of(numbers(257, 256), [copying(256)], HighIsZero)
    assert explore(system).violations
    monkeypatch.setattr(Tables, "take_probes", cut)
    with pytest.raises(Impure, match="rule copy_high is not a function of the state"):
        explore_by_learning(system, Options(workers=1))

    @always
    def FewerThan256(s: Number) -> bool:
        return s.x < 256

    with pytest.raises(Impure, match="property FewerThan256 is not a function of the state"):
        explore_by_learning(
            system_of(numbers(257, 256), [copying(256)], FewerThan256),
            Options(workers=1, max_depth=1),
        )
    monkeypatch.setattr(Checking, "check_latest", lambda *given, **named: None)
    monkeypatch.setattr(Checking, "share", lambda *given: iter(()))
    found = explore_by_learning(system_of(numbers(257, 256), [copying(256)], FewerThan256))
    assert not found.violations, "what these checks are for"


@pytest.mark.parametrize("workers", [1, 2])
def test_the_last_value_of_each_component_is_checked(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where states are packed anew several times on the way."""
    checked: list[tuple[int, ...]] = []
    check = Checking.check

    def noted(self: Checking, learned: Any, words: Any) -> None:
        checked.append(tuple(self.learning.tables.rows_of(words)[0].tolist()))
        check(self, learned, words)

    @rule(by="a", k=lambda s: (1, 2))
    def step(s: Count, k: int) -> Any:
        yield limit("room"), s.n < 300
        return evolve(s, n=s.n + k, m=(s.m * 3 + k) % 40 if s.n < 9 else 1)

    monkeypatch.setattr(Checking, "check", noted)
    learned = Learnable()
    system = system_of(lambda: iter([Count()]), [step])
    explore_by_learning(system, Options(workers=workers), learned)
    assert learned.tables is not None
    last = [len(component.values) - 1 for component in learned.tables.book.components]
    assert [max(column) for column in zip(*checked, strict=True)] == last


# -- rules, choices, properties, components -------------------------------------------------------


@attrs.frozen
class Count:
    n: int = 0
    m: int = 0


def counting(count: int) -> list[Rule[Any]]:
    """So many rules, each of which leads somewhere else."""

    def rule_to(n: int) -> Rule[Any]:
        def go(s: Count) -> Any:
            yield limit("room"), s.n == 0
            return evolve(s, n=n, m=s.m + 1)

        go.__name__ = f"go_{n}"
        return rule(by="a")(go)

    return [rule_to(n) for n in range(1, count + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("count", [255, 256, 257])
def test_rules(count: int) -> None:
    found = agree(system_of(lambda: iter([Count()]), counting(count)))
    assert found["distinct"] == count + 1
    assert found["fired"][f"go_{count}"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("count", [255, 256, 257, 65_535, 65_536, 65_537])
def test_choices(count: int) -> None:
    @rule(by="a", to=lambda s: range(1, count + 1) if s.n == 0 else (0,))
    def go(s: Count, to: int) -> Any:
        yield limit("room"), to > 0
        return evolve(s, n=to)

    @reachable
    def Last(s: Count) -> bool:
        return s.n == count

    found = agree(system_of(lambda: iter([Count()]), [go], Last), workers=(2,))
    assert found["fired"] == {"go": count}
    assert found["blocked"] == {"go": {"room": count}}
    assert found["witnesses"] == {"Last": 2}


def claims(count: int) -> list[Always[Any]]:
    return [Always(f"Less{n}", lambda s, n=n: s.n != n) for n in range(1, count + 1)]


def test_properties() -> None:
    @rule(by="a")
    def step(s: Count) -> Any:
        yield limit("room"), s.n < 60
        return evolve(s, n=s.n + 1)

    found = agree(system_of(lambda: iter([Count()]), [step], *claims(59)))
    assert len(found["violations"]) == 59
    with pytest.raises(SpecError, match="checks 59 properties at a time"):
        explore_by_learning(system_of(lambda: iter([Count()]), [step], *claims(60)))


@attrs.frozen
class Wide:
    items: tuple[Any, ...]
    turn: int = 0


@pytest.mark.parametrize("count", [63, 64, 65, 255, 256, 257])
def test_items_of_a_tuple(count: int) -> None:
    @rule(by="a", at=lambda s: (0, 62, count - 1))
    def turn(s: Wide, at: int) -> Any:
        yield limit("room"), s.turn < 3
        return evolve(s, items=replaced(s.items, at, s.items[at] + 1), turn=s.turn + 1)

    agree(system_of(lambda: iter([Wide((0,) * count)]), [turn]), workers=(2,))


@pytest.mark.parametrize("rules", [1, 5])
def test_steps_that_write_many_components(rules: int) -> None:
    """Each step needs the results of sixty recipes, and each of them is a miss at first."""

    @rule(by="a", by_=lambda s: range(1, rules + 1))
    def rotate(s: Wide, by_: int) -> Any:
        yield limit("room"), s.turn < 2
        return evolve(s, items=s.items[by_:] + s.items[:by_], turn=s.turn + 1)

    states = [Wide(tuple((n * 7 + k * k) % 61 for k in range(60))) for n in range(40)]
    agree(system_of(lambda: iter(states), [rotate]))


def test_room_for_misses_depends_on_what_steps_write() -> None:
    @rule(by="a")
    def rotate(s: Wide) -> Any:
        return evolve(s, items=s.items[1:] + s.items[:1])

    states = [Wide(tuple((n * 7 + k * k) % 61 for k in range(60))) for n in range(40)]
    system = system_of(lambda: iter(states), [rotate])
    learned = Learnable()
    explore_by_learning(system, Options(max_depth=3), learned)
    learning = Learning(system, learned.tables)
    assert learning.book.widest == 60
    assert learning.most_misses >= 60 * learning.most_steps


@pytest.mark.parametrize("size", [7, 8, 9])
def test_members_of_a_set(size: int) -> None:
    @attrs.frozen
    class Sets:
        members: frozenset[int] = frozenset()
        n: int = 0

    @rule(by="a", k=lambda s: (1, 3))
    def join(s: Sets, k: int) -> Any:
        yield limit("room"), len(s.members) < size and s.n < size + 2
        return evolve(s, members=s.members | {s.n * k}, n=s.n + 1)

    agree(system_of(lambda: iter([Sets()]), [join]), workers=(2,))


# -- states ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_initial_states_that_fill_an_outbox(workers: int, more: int) -> None:
    @rule(by="a")
    def stay(s: Number) -> Any:
        return s

    count = OUTBOX + more
    system = system_of(numbers(count, 0), [stay])
    assert explore_by_learning(system, Options(workers=workers)).distinct == count


@pytest.mark.slow
def test_initial_states_of_many_workers() -> None:
    """Each has room for a few hundred states in an outbox."""

    @rule(by="a")
    def stay(s: Number) -> Any:
        return s

    system = system_of(numbers(2000, 0), [stay])
    assert explore_by_learning(system, Options(workers=256)).distinct == 2000


def test_uses_of_a_list_are_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards that block are counted by use, in 32 bits."""

    @rule(by="a")
    def never(s: Count) -> Any:
        yield "never", s.m > 0
        return s

    @rule(by="a")
    def step(s: Count) -> Any:
        yield limit("room"), s.n < 50
        return evolve(s, n=s.n + 1)

    monkeypatch.setattr(expander, "MOST_USES", 2)
    agree(system_of(lambda: iter([Count(), Count(m=0, n=7)]), [never, step]))


def test_many_branches_of_few_answers_each() -> None:
    """Nodes of trees are sparse where a value has few of all answers, and dense where it has many.

    With room for each answer in each node, the second model would need 8 GB.
    """

    @always
    def SumIsSmall(s: Count) -> bool:
        return s.n + s.m < 4_000

    @rule(by="a")
    def stay(s: Count) -> Any:
        yield "sum is even", (s.m + s.n) % 2 == 0
        return s

    for values in (lambda: (Count(i % 10, i * 97 % 3001) for i in range(2000)),
                   lambda: (Count(i, -i) for i in range(1500))):  # fmt: skip
        learned = Learnable()
        system = system_of(values, [stay], SumIsSmall)
        agree(system, workers=(1,))
        explore_by_learning(system, Options(), learned)
        assert learned.tables is not None
        assert learned.tables.sizes[0] < 100_000


@pytest.mark.slow
def test_the_way_back_from_a_level_that_was_cut_short() -> None:
    """It expands states that were not reached before, which have more values than there are bits
    for.
    """

    @rule(by="a")
    def copy(s: Number) -> Any:
        yield "not done", s.y < 0
        return evolve(s, y=s.x)

    @always
    def NotThree(s: Number) -> bool:
        return s.y != 3

    system = system_of(numbers(20_000, 0), [copy], NotThree)
    found = explore_by_learning(system, Options(max_states=20_100, workers=1, keep_going=True))
    assert found.stopped_by == "max-states 20100"
    [violation] = found.violations
    assert violation.trace is not None
    assert [state.y for state in violation.trace.states] == [-1, 3]


# -- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int16, np.int32])
def test_a_row_holds_what_fits_and_refuses_the_rest(kind: Any) -> None:
    about = np.iinfo(kind)
    row = Row(kind=kind)
    row.extend([about.min, about.max - 1, about.max])
    assert row.array[: row.count].tolist() == [about.min, about.max - 1, about.max]
    for wrong in (about.max + 1, about.min - 1):
        with pytest.raises(TooMany, match=f"more than {about.max + 1:,} different numbers"):
            row.extend([0, wrong])
        with pytest.raises(TooMany):
            row.extend(np.array([wrong], np.int64))
    assert row.count == 3


def few_tables() -> Tables:
    system = system_of(numbers(3, 0), [copying(2)], HighIsZero)
    learned = Learnable()
    explore_by_learning(system, Options(), learned)
    assert learned.tables is not None
    return learned.tables


def test_more_values_than_there_are_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    held = few_tables()
    held.assert_room()
    for most in (len(held.book.values.kinds), len(held.book.values.kinds) - 1):
        monkeypatch.setattr(tables, "MOST", most)
        if most < len(held.book.values.kinds):
            with pytest.raises(
                TooMany, match="of the learned engine: use smaller bounds, or --engine"
            ):
                held.sync()
        else:
            held.sync()


def test_trees_do_not_outgrow_their_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    held = few_tables()
    size = len(held.tree.array)
    monkeypatch.setattr(tables, "MOST_IN_TREES", 2 * size)
    held.grow_trees()
    assert len(held.tree.array) == 2 * size
    with pytest.raises(TooMany, match="entries in decision trees"):
        held.grow_trees()


def test_without_room_for_lists_instances_are_asked_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system = system_of(lambda: iter([Count(), Count(m=3)]), counting(40))
    monkeypatch.setattr(expander, "FIRST_ENTRIES", 1)
    monkeypatch.setattr(expander, "MOST_ENTRIES", 1)
    agree(system)
    monkeypatch.setattr(expander, "MOST_ENTRIES", 1 << 24)
    agree(system)


def test_keys_of_answers_have_room_for_every_probe_and_answer() -> None:
    """The last probe, and the largest and smallest answers, have keys of their own."""
    from kspec.checkers.engine.learned.walk import answer_number

    keys: Any = np.full(64, -1, np.int64)
    numbers_: Any = np.zeros(64, np.int32)
    ends = [-(1 << 31), -1, 0, 1, (1 << 31) - 1]
    probes = [0, 1, (1 << 16) - 1, 1 << 16, growing.MOST - 1]

    counts: Any = np.zeros(8, np.int64)
    seen = set()
    for place, probe in enumerate(probes):
        for answer in ends:
            key = (probe << 33) + answer + (1 << 32)
            assert 0 <= key < 1 << 63
            seen.add(key)
            if probe < 2:
                got = answer_number(place, answer, keys, numbers_, counts)
                assert got == ends.index(answer)
    assert len(seen) == len(probes) * len(ends)


@pytest.mark.slow
def test_room_grows_for_every_component(monkeypatch: pytest.MonkeyPatch) -> None:
    """States are packed anew whenever a component outgrows its bits, at each power of two."""
    repacked: list[int] = []
    repack = LearnedBackend.repack

    def counted(self: LearnedBackend, levels: int) -> None:
        repacked.append(levels)
        repack(self, levels)

    monkeypatch.setattr(LearnedBackend, "repack", counted)

    @rule(by="a", k=lambda s: (1, 2))
    def step(s: Count, k: int) -> Any:
        yield limit("room"), s.n < 150
        return evolve(s, n=s.n + k, m=(s.m * 3 + k) % 150)

    agree(system_of(lambda: iter([Count()]), [step]), workers=(2,))
    assert len(repacked) == 3


def test_a_book_numbers_each_value_once() -> None:
    system = system_of(numbers(300, 0), [copying(2)])
    book = Book(system)
    rows = [book.row_of(state) for state in system.initial()]
    assert [row[0] for row in rows] == list(range(300))
