"""The learned engine agrees with the reference engine on random models."""

from __future__ import annotations

from random import Random

import pytest

from tests.checkers.engine.learned.agreement import disagreement
from tests.checkers.engine.learned.random_models import HEADER, compared, model_of, text_of


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.slow) for first in range(8, 96, 8))]
)
def test_engines_agree(first: int) -> None:
    for seed in range(first, first + 8):
        says = compared(seed).says
        assert not says, f"seed {seed}: {says}\n{text_of(seed)}"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_engines_agree_on_many_models(part: int, chance: Random) -> None:
    for seed in chance.sample(range(10**6), 50):
        says = compared(seed, thorough=True).says
        assert not says, f"seed {seed}: {says}\n{text_of(seed)}"


def test_equal_seeds_generate_equal_models() -> None:
    assert text_of(3) == text_of(3) != text_of(4)


FOUND = {
    "states that are frozensets": """
@rule(by="x", c=lambda s: range(4))
def toggle(s, c):
    yield "not too many", len(s ^ {c}) < 3
    return s ^ {c}

RULES, INITIAL = [toggle], [frozenset()]
""",
    "a property that raises an exception in a level after that of its witness": """
@attrs.frozen
class State:
    n: int = 0

@rule(by="x")
def go(s):
    yield limit("room"), s.n < 3
    return evolve(s, n=s.n + 1)

@reachable
def Shown(s):
    return [True][s.n]

@always
def Small(s):
    yield "small", s.n < 2

RULES, INITIAL, PROPERTIES = [go], [State()], (Shown, Small)
""",
    "two properties that raise, of which one has its witness and one its counterexample": """
@attrs.frozen
class State:
    n: int = 0

@rule(by="x", to=lambda s: (1, 2))
def go(s, to):
    yield limit("room"), s.n == 0
    return evolve(s, n=to)

@reachable
def Shown(s):
    return [True, True][s.n]

@always
def Zero(s):
    yield "zero", [True, False][s.n]

RULES, INITIAL, PROPERTIES = [go], [State()], (Shown, Zero)
""",
    "states of two classes": """
@attrs.frozen
class One:
    n: int

@attrs.frozen
class Two:
    n: int

@rule(by="x")
def go(s):
    yield limit("room"), s.n < 4
    return Two(s.n + 1) if isinstance(s, One) else One(s.n + 1)

RULES, INITIAL = [go], [One(0)]
""",
    "dataclasses, which are opaque": """
@dataclasses.dataclass(frozen=True)
class Data:
    n: int

@attrs.frozen
class State:
    data: Any

@rule(by="x", c=lambda s: (s.data, Data(1)))
def go(s, c):
    return evolve(s, data=Data((s.data.n + c.n + 1) % 5))

RULES, INITIAL = [go], [State(Data(0))]
""",
    "more values in the first state's successors than fit in one bit": """
@attrs.frozen
class State:
    n: int = attrs.field(converter=int)

@rule(by="x")
def one(s):
    return State((s.n + 1) % 8)

@rule(by="x")
def two(s):
    return State((s.n + 2) % 8)

RULES, INITIAL = [one, two], [State(0)]
""",
    "a set of bools beside a number that is 1": """
@attrs.frozen
class State:
    n: int
    flags: frozenset

@rule(by="x")
def fly(s):
    return evolve(s, flags=s.flags | {s.n == 1}, n=1)

@rule(by="x")
def land(s):
    yield "it flies", True in s.flags and max(s.flags)
    return evolve(s, flags=frozenset({False}) | (s.flags - {True}), n=0)

RULES, INITIAL = [fly, land], [State(1, frozenset())]
""",
    "a set, which has no hash": """
@attrs.frozen
class State:
    members: frozenset

@rule(by="x")
def add(s):
    return evolve(s, members={1} | s.members)

RULES, INITIAL = [add], [State(frozenset())]
""",
    "a tuple that is a state, with a set that was changed": """
@rule(by="x", k=lambda s: (0, 8, 16, 24, 3))
def add(s, k):
    yield limit("room"), s[1] < 4
    return (s[0] | {k}, s[1] + 1, s[2])

@rule(by="x")
def remove(s):
    yield "some", len(s[0]) > 1
    yield limit("room"), s[1] < 5
    return (s[0] - {max(s[0])}, s[1] + 1, s[2])

@rule(by="x")
def pick(s):
    yield "some", len(s[0]) > 1 and s[2] < 0
    return (s[0], s[1], set(s[0]).pop() * 100 + [*{*s[0]}][-1])

RULES, INITIAL = [add, remove, pick], [(frozenset(), 0, -1)]
""",
    "members that equal others but for the order of their sets": """
@attrs.frozen
class Inner:
    inner: frozenset

@attrs.frozen
class State:
    some: frozenset = frozenset()
    seen: tuple = ()
    n: int = 0

@rule(by="x", k=lambda s: ((0, 8), (8, 0), (16, 0)))
def add(s, k):
    yield limit("room"), s.n < 3
    return evolve(s, some=frozenset([*s.some, Inner(frozenset(k))]), n=s.n + 1)

@rule(by="x")
def rebuild(s):
    yield limit("room"), s.n < 4
    made = frozenset(Inner(frozenset(reversed(list(one.inner)))) for one in s.some)
    return evolve(s, some=made, n=s.n + 1)

@rule(by="x")
def look(s):
    yield "some", bool(s.some) and not s.seen
    return evolve(s, seen=tuple(tuple(one.inner) for one in s.some))

RULES, INITIAL = [add, rebuild, look], [State()]
""",
    "a constant of a rule that becomes part of a state": """
@attrs.frozen
class Inner:
    inner: frozenset

@attrs.frozen
class State:
    record: Any = None
    n: int = 0
    picked: int = -1

BASE = Inner(frozenset([8, 16, 0, 24]))

@functools.cache
def made(n):
    return Inner(frozenset([8, 16, n]))

@rule(by="x")
def put(s):
    yield limit("room"), s.n < 4
    return evolve(s, record=BASE if s.n % 2 else made(s.n), n=s.n + 1)

@rule(by="x")
def pick(s):
    yield limit("room"), s.n < 4
    picked = next(iter(BASE.inner)) * 100 + next(iter(made(0).inner))
    return evolve(s, picked=picked, n=s.n + 1)

RULES, INITIAL = [put, pick], [State()]
""",
    "a named tuple among tuples": """
class Pair(NamedTuple):
    a: int
    b: int

@attrs.frozen
class State:
    pairs: frozenset
    n: int = 0

@rule(by="x")
def count(s):
    yield "it is there", Pair(1, 2) in s.pairs
    yield limit("room"), s.n < 3
    return evolve(s, n=s.n + 1)

RULES, INITIAL = [count], [State(frozenset({(1, 2)}))]
""",
    "asdict and astuple, which look at types": """
@attrs.frozen
class Item:
    n: int

@attrs.frozen
class State:
    items: tuple

@rule(by="x")
def by_tuple(s):
    yield "nothing was done", attrs.astuple(s) == (((0,), (0,)),)
    return evolve(s, items=replaced(s.items, 0, Item(1)))

@rule(by="x")
def by_dict(s):
    yield "the first is done", attrs.asdict(s) == {"items": ({"n": 1}, {"n": 0})}
    return evolve(s, items=replaced(s.items, 1, Item(1)))

RULES, INITIAL = [by_tuple, by_dict], [State((Item(0), Item(0)))]
""",
}
"""Models in which the engines once disagreed."""

MODEL = """
MODEL = Model(
    name="found", doc="Found at random.", initial=lambda bounds: INITIAL,
    properties=globals().get("PROPERTIES", ()),
    variants=(Variant("only", rules=tuple(RULES), why="There is no other."),),
)
"""


@pytest.mark.parametrize("what", FOUND)
def test_engines_agree_on_former_counterexamples(what: str) -> None:
    model = model_of(HEADER + FOUND[what] + MODEL, "found")
    assert not disagreement(model.system(), thorough=True).says
