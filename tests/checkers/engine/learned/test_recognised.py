"""Rewritten functions give what the originals give, and ask sets for parts where they can."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import GeneratorType, ModuleType
from typing import Any

import pytest

from kspec.checkers.engine.learned.recognised import Listed, Recognised
from kspec.spec.core import OrderedSet
from kspec.spec.core.errors import place_to_blame
from kspec.spec.core.matching import Test, sorts

HEAD = '''
"""Functions of many kinds."""
from __future__ import annotations
from functools import cache
from attrs import frozen
from kspec.spec.core import Map

@frozen(order=True)
class Vote:
    voter: int
    term: int
    voted: int | None = 0

@frozen(order=True)
class Ask:
    term: int

def is_old(m, term):
    return m.term < term

LEAST = 1
'''

PARTS = {
    "list": "def f(s, n):\n return [m for m in s if isinstance(m, Vote) and m.term == n]",
    "lambda": "f = lambda s, n: [m.term for m in s if m.term != n]",
    "two conditions": "def f(s, n):\n return [m for m in s if isinstance(m, Vote) if m.voter == n]",
    "set": "def f(s, n):\n return {m.voter for m in s if isinstance(m, Vote) and m.term == n}",
    "dict": "def f(s, n):\n return {m.voter: m for m in s if isinstance(m, Vote) and n <= m.term}",
    "any": "def f(s, n):\n return any(m.term == n for m in s)",
    "any of a list": "def f(s, n):\n return any([m.term == n and m.term for m in s])",
    "all": "def f(s, n):\n return all(m.term >= n or isinstance(m, Ask) for m in s)",
    "all not": "def f(s, n):\n return all(not (isinstance(m, Vote) and m.voter == n) for m in s)",
    "sum": "def f(s, n):\n return sum(1 for m in s if m.term == n)",
    "sum of claims": "def f(s, n):\n return sum(m.term == n and m.term for m in s)",
    "len": "def f(s, n):\n return len([0 for m in s if not m.term > n]) * 2 > n",
    "max": "def f(s, n):\n return max((m.term for m in s if m.term > n), default=-1)",
    "next": "def f(s, n):\n return next((m for m in s if m.term == n), None)",
    "helper": "def f(s, n):\n return [m for m in s if is_old(m, n)]",
    "constant": "def f(s, n):\n return [m for m in s if m.term == LEAST]",
    "expression": "def f(s, n):\n return [m for m in s if m.term == max(n, LEAST) + 1]",
    "item": "def f(s, n):\n return [m for m in s if m.term == (n, 2)[0]]",
    "either": "def f(s, n):\n return [m for m in s if m.term == n or m.term == LEAST]",
    "chain": "def f(s, n):\n return [m for m in s if LEAST <= m.term <= n]",
    "equal": "def f(s, n):\n return [m for m in s if m == Vote(n, n)]",
    "is": "def f(s, n):\n return [m for m in s if isinstance(m, Vote) and m.voted is None]",
    "map": "def f(s, n):\n k = Map({1: n})\n return [m for m in s if m.term == k.get(1)]",
    "map itself": "def f(s, n):\n k = Map({1: n})\n return [m for m in s if k.get(m.term) == n]",
    "tuple of the state": "def f(s, n):\n return [m for m in s if m.term in (n, n + 1)]",
    "list of it": "def f(s, n):\n return [m for m in list(s) if m.term == n]",
    "sorted": "def f(s, n):\n return [m for m in sorted(s) if m.term == n]",
    "sorted, in a loop": (
        "def f(s, n):\n r = []\n for m in tuple(sorted(s)):\n  if m.term == n:\n   r.append(m)"
        "\n return r"
    ),
    "second": "def f(s, n):\n return [(a, m) for a in range(n) for m in s if m.term == a]",
    "in a condition": (
        "def f(s, n):\n return [a for a in range(4) if any(m.term == a for m in s if m.term < n)]"
    ),
    "inner": (
        "def f(s, n):\n return [m for m in s if m.term == n and any(a == m.term for a in (n, 1))]"
    ),
    "shadowing": "def f(s, n):\n m = n\n return [m for m in s if m.term == n], m",
    "key": "def f(s, n):\n return max((m for m in s if m.term == n), key=lambda m: m.term)",
    "loop": ("def f(s, n):\n r = []\n for m in s:\n  if m.term == n:\n   r.append(m)\n return r"),
    "loop with continue": (
        "def f(s, n):\n r = []\n for m in s:\n  if isinstance(m, Ask) or m.term != n:\n"
        "   continue\n  if m.voter < 1:\n   continue\n  r.append(m)\n return r"
    ),
    "loop with break": (
        "def f(s, n):\n for m in s:\n  if m.term == n:\n   break\n else:\n  return 0\n return 1"
    ),
    "two loops": (
        "def f(s, n):\n r = []\n for m in s:\n  if m.term == n: r.append(m)\n"
        " for m in s:\n  if m.term == 1: r.append(m)\n return r"
    ),
    "rule": (
        "def f(s, n):\n yield 'n', n > 0\n votes = [m for m in s if m.term == n]\n"
        " yield 'some', bool(votes)\n for m in s:\n  if m.term < n:\n   yield 'm', m\n return votes"
    ),
    "called": "def g(s, n):\n return [m for m in s if m.term == n]\ndef f(s, n):\n return g(s, n)",
    "calling itself": (
        "def f(s, n):\n return [m for m in s if m.term == n] + (f(s, n - 1) if n else [])"
    ),
    "nested": "def f(s, n):\n def g(t):\n  return [m for m in s if m.term == t]\n return g(n)",
    "closure": (
        "def h(k):\n def f(s, n):\n  return [m for m in s if m.term == k + n]\n return f\nf = h(1)"
    ),
    "defaults": "def f(s, n, k=1, *, t=2):\n return [m for m in s if m.term in (n, k, t)]",
    "two on a line": "e, f = lambda s, n: 0, lambda s, n: [m for m in s if m.term == n]",
    "text": "def f(s, n):\n return [m for m in s if f'{m.term}' == f'{n}']",
    "tuples": "def f(s, n):\n return [a for (a, b) in s if b == n]",
    "raises later": "def f(s, n):\n return [m for m in s if m.term == n and m.voter > 0]",
    "raises first": "def f(s, n):\n return [m for m in s if m.voter > 0 and m.term == n]",
    "divides": "def f(s, n):\n return [m for m in s if 1 // m.term == n]",
    "raises outside": "def f(s, n):\n return [m for m in s if m.term == 1 // n]",
    "unbound": "def f(s, n):\n if n: x = 1\n return [m for m in s if m.term == x]",
    "not a name": "def f(s, n):\n return [m for m in s if m.term == nowhere]",
}
"""Functions of a set and a number that ask for a part, in some set at least."""

WHOLE = {
    "no condition": "def f(s, n):\n return [m.term for m in s]",
    "late": "def f(s, n):\n g = (m for m in s if m.term == n)\n n = 1\n return list(g)",
    "late, by a name": (
        "def any(g):\n return g\ndef f(s, n):\n g = any(m.term == n for m in s)\n n = 1\n"
        " return list(g)"
    ),
    "another condition": "def f(s, n):\n r = []\n return [m for m in s if r or m.term == n]",
    "a list that grows": (
        "def f(s, n):\n r = [1]\n for m in s:\n  if m.term == r[-1]:\n   r.append(r[-1] + 1)\n"
        " return r"
    ),
    "a number that grows": ("def f(s, n):\n for m in s:\n  if m.term == n:\n   n += 1\n return n"),
    "last member": "def f(s, n):\n for m in s:\n  if m.term == n:\n   pass\n return m",
    "last member, inside": (
        "def f(s, n):\n r = []\n for m in (0, 1):\n  for m in s:\n   if m.term == n:\n    pass\n"
        "  r.append(m)\n return r"
    ),
    "kept functions": (
        "def f(s, n):\n r = []\n for m in s:\n  if m.term == n:\n   r.append(lambda: m)\n"
        " return [g() for g in r]"
    ),
    "else": "def f(s, n):\n for m in s:\n  if m.term == n: pass\n  else: return m\n return 0",
    "walrus": "def f(s, n):\n return [k for m in s if (k := m.term) == n]",
    "count": "def f(s, n):\n k = iter(range(9))\n return [m for m in s if next(k) == n]",
    "side effect": (
        "def f(s, n):\n r = set()\n return any(m.term in r or r.add(m.term) for m in s), r"
    ),
    "other sort": "def f(s, n):\n return [m for m in sorted(s, key=repr) if m.term == n]",
    "copy": "def f(s, n):\n return [m for m in frozenset(s) if m.term == n]",
    "nonlocal": (
        "def f(s, n):\n def g():\n  nonlocal n\n  n += 1\n  return n\n"
        " return [g() for m in s if m.term == n]"
    ),
    "later variable": "def f(s, n):\n return [a for m in s if a == m.term for a in (1, 2)]",
    "class": (
        "def f(s, n):\n class A:\n  k = n\n  r = [m for m in s if m.term == 1]\n return A.r, A.k"
    ),
    "cached": (
        "@cache\ndef g(s, n):\n return [m for m in s if m.term == n]\ndef f(s, n):\n return g(s, n)"
    ),
    "locals": "def f(s, n):\n return [m for m in s if m.term == n], sorted(locals())",
    "yield": "def f(s, n):\n r = []\n for m in s:\n  if (yield m) == n: r.append(m)\n return r",
    "sum of numbers": "def f(s, n):\n return sum(m.term for m in s)",
}
"""Functions that ask for no part."""


class Divided(frozenset[Any]):
    """A set that can be asked for parts, as an engine's may."""

    iterated = 0
    asked: list[tuple[Test, ...]]

    def __iter__(self) -> Iterator[Any]:
        self.iterated += 1
        return iter(OrderedSet(super().__iter__()))

    def _kspec_selected(self, tests: tuple[Test, ...]) -> OrderedSet[Any]:
        self.asked.append(tests)
        return OrderedSet([m for m in super().__iter__() if all(t.holds(m) for t in tests)])

    def _kspec_sorts(self) -> bool:
        return sorts(super().__iter__())


def divided(members: Any) -> Divided:
    """Such a set."""
    made = Divided(members)
    made.asked = []
    return made


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Any]:
    """Make modules of sources."""
    names: list[str] = []

    def make(source: str, head: str = HEAD) -> ModuleType:
        name = f"recognised_{len(names)}"
        names.append(name)
        (tmp_path / f"{name}.py").write_text(head + source + "\n")
        spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        return made

    yield make
    for name in names:
        del sys.modules[name]


def sets_for(names: Any, source: str) -> list[OrderedSet[Any]]:
    """Sets of messages of some kinds."""
    if "(a, b)" in source:
        return [OrderedSet(s) for s in ([], [(1, 2), (2, 1), (3, 2)], [(1, 2), (0, 1, 2)])]
    votes = [names.Vote(i, t, None if i else 0) for i in range(2) for t in range(3)]
    asks = [names.Ask(0), names.Ask(2)]
    return [OrderedSet(s) for s in ([], asks[:1], votes[:1], votes, votes + asks, votes[4:] + asks)]


def told(function: Any, *arguments: Any) -> Any:
    """What a function returns or yields, or the exception with its line."""
    yielded = []
    try:
        found = function(*arguments)
        if isinstance(found, GeneratorType):
            while True:
                try:
                    yielded.append(next(found))
                except StopIteration as end:
                    found = end.value
                    break
        kind = list(found) if isinstance(found, set | dict) else None
    except Exception as error:
        place = place_to_blame(error, [function])
        return yielded, type(error), str(error), place
    return yielded, type(found), found, kind


def assert_alike(function: Any, rewritten: Any, sets: list[OrderedSet[Any]]) -> tuple[int, int]:
    """Compare a function with the rewritten one; returns how often that asked and iterated."""
    asked = iterated = 0
    for members, number in itertools.product(sets, range(4)):
        wanted = told(function, members, number)
        assert told(rewritten, members, number) == wanted
        one = divided(members)
        assert told(rewritten, one, number) == wanted
        asked += len(one.asked)
        iterated += one.iterated
    return asked, iterated


@pytest.mark.parametrize("kind", PARTS)
def test_a_rewritten_function_asks_for_a_part_and_gives_the_same(kind: str, module: Any) -> None:
    """It gives the same results in the same order, and the same exceptions from the same lines."""
    names = module(PARTS[kind])
    recognised = Recognised([names.f])
    rewritten = recognised.body_of(names.f)
    assert rewritten is not names.f
    about = ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__")
    assert [getattr(rewritten, a) for a in about] == [getattr(names.f, a) for a in about]
    assert rewritten.__code__.co_filename == names.f.__code__.co_filename
    assert rewritten.__code__.co_firstlineno == names.f.__code__.co_firstlineno
    assert rewritten.__code__.co_qualname == names.f.__code__.co_qualname
    sets = sets_for(names, PARTS[kind])
    asked, iterated = assert_alike(names.f, rewritten, sets)
    assert asked
    whole = {"sorted", "sorted, in a loop", "raises outside", "unbound"}
    assert bool(iterated) == (kind in whole)
    for site in recognised.sites:
        assert Recognised([names.f]).test_of(site) is not None


@pytest.mark.parametrize("kind", WHOLE)
def test_a_function_stays_as_it_is_where_that_is_not_certain(kind: str, module: Any) -> None:
    """Its conditions may change while it iterates, or it needs all members."""
    names = module(WHOLE[kind])
    rewritten = Recognised([names.f]).body_of(names.f)
    if kind == "cached":
        assert rewritten is names.f
        return
    asked, _ = assert_alike(names.f, rewritten, sets_for(names, WHOLE[kind]))
    assert asked == 0


def test_mixed_members_raise_where_they_are_sorted(module: Any) -> None:
    """The part that is asked for could be sorted, and all members could not."""
    names = module(PARTS["sorted"])
    rewritten = Recognised([names.f]).body_of(names.f)
    with pytest.raises(TypeError, match="'<' not supported"):
        rewritten(divided({names.Vote(0, 1), names.Ask(2)}), 1)


def test_conditions_are_known_by_their_sites(module: Any) -> None:
    """The same site and values name the same condition, in every process."""
    source = PARTS["list"]
    names, others = module(source), module(source.replace("== n", "!= n"))
    recognised = Recognised([names.f])
    members = divided({names.Vote(0, 1), names.Vote(0, 2), names.Ask(2)})
    assert recognised.body_of(names.f)(members, 2) == [names.Vote(0, 2)]
    ((test,),) = members.asked
    assert test.values == (2,)
    again = Recognised([names.f]).test(test.site, test.values)
    assert again == test
    assert again is not None
    assert again.holds(names.Vote(0, 2))
    assert not again.holds(names.Vote(0, 1))
    assert not again.holds(names.Ask(2))
    assert Recognised([others.f]).test(test.site, test.values) is None
    assert recognised.test("", ((names.Ask,), ())) == Test("", ((names.Ask,), ()))


CHOICES = {
    "lambda s: s.sent": [],
    "lambda s: sorted(s.sent)": [],
    "lambda s: tuple(s.sent)": [],
    "lambda s: list(sorted(s.net.sent))": [],
    "lambda s: [m for m in s.sent if isinstance(m, Vote) and m.term == LEAST]": [1],
    "lambda s: sorted(m for m in s.sent if m.term > 1)": [1],
    "lambda s: (m for m in tuple(s.sent))": [],
    "lambda s: [m for m in s.sent if m.term == s.term]": None,
    "lambda s: [m.term for m in s.sent]": None,
    "lambda s: sorted(s.sent, key=str)": None,
    "lambda s: s": None,
    "lambda s: s.sent | {1}": None,
    "lambda s, n=1: s.sent": None,
    "lambda s: set(s.sent)": None,
    "lambda s: range(3)": None,
}


@pytest.mark.parametrize("source", CHOICES)
def test_choices_that_only_list_members_are_recognised(source: str, module: Any) -> None:
    """They are listed as `each` lists them."""
    names = module(
        f"f = {source}\n@frozen\nclass S:\n sent: object\n net: object = None\n term: int = 1"
    )
    recognised = Recognised([names.f])
    each, tests = recognised.each_of(names.f), CHOICES[source]
    if tests is None:
        assert each is None
        return
    assert isinstance(each, Listed)
    assert len(each.tests) == len(tests)
    members = OrderedSet({names.Vote(0, 1), names.Vote(1, 1), names.Vote(1, 2)})
    state = names.S(members, names.S(members))
    assert each.members(state) == members
    listed = [m for m in members if all(test.holds(m) for test in each.tests)]
    assert list(names.f(state)) == listed == list(each(state))
    assert recognised.each_of(each) is each
    assert each.compares == ("sorted(s" in source)
    assert each.sorts == ("sorted" in source)


def test_a_listing_function_may_have_a_docstring(module: Any) -> None:
    """And raises where a test raises."""
    names = module('def f(s):\n "The votes."\n return [m for m in s.sent if m.voter]')
    each = Recognised([]).each_of(names.f)
    assert each is not None
    (test,) = each.tests
    assert test.raises(names.Ask(1))
    assert not test.raises(names.Vote(1, 1))


def test_code_without_a_file_stays_as_it_is(module: Any) -> None:
    """Nor is a function rewritten whose file has changed."""
    space: dict[str, Any] = {"__name__": "nowhere"}
    exec(PARTS["list"], space)
    assert Recognised([space["f"]]).body_of(space["f"]) is space["f"]
    names = module(PARTS["list"])
    Path(names.__file__).write_text(HEAD + PARTS["list"].replace("== n", "!= n"))
    assert Recognised([names.f]).body_of(names.f) is names.f
    assert Recognised([len, "no function"]).body_of(len) is len
