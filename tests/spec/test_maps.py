"""Maps and bags: they behave as dicts and multisets, and equal ones iterate alike."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NewType, TypeAlias

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from kspec.checkers.engine.learned.plain import Codec
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore
from kspec.checkers.engine.symmetry import Symmetry
from kspec.field.recorded.observation import matches, plain
from kspec.spec.core import (
    Bag,
    Map,
    OrderedSet,
    SpecError,
    System,
    always,
    bound,
    constant,
    count,
    each,
    evolve,
    limit,
    matching,
    ordered,
    reachable,
    rule,
)
from kspec.spec.core.models import Model, Variant
from kspec.spec.core.schema import Mapped, Scalar, fields_of, is_instance, type_of
from kspec.spec.core.sets import Entries, key_of
from kspec.traces.itf import document, encode, text, to_itf
from kspec.traces.replay import replay
from kspec.traces.schema import json_schema
from kspec.traces.trace import Trace
from tests.checkers.engine.learned.test_helpers import agree


class Colour(Enum):
    """Keys whose order is that of their definition."""

    RED = 1
    BLUE = 0


Dict: TypeAlias = dict[Any, Any]

keys = st.integers(-2, 2) | st.sampled_from("ab") | st.sampled_from(Colour) | st.none()
values = st.integers(0, 2) | st.frozensets(keys, max_size=3)
dicts = st.dictionaries(keys, values, max_size=5)
lists = st.lists(keys, max_size=6)


@given(dicts, dicts, keys, values)
def test_a_map_behaves_as_a_dict(one: Dict, other: Dict, key: Any, value: Any) -> None:
    """And its methods return others."""
    made = Map(one)
    assert isinstance(made, Mapping)
    assert made == one == dict(made) == dict(made.items())
    assert len(made) == len(one)
    assert (key in made) == (key in one)
    assert made.get(key, "nothing") == one.get(key, "nothing")
    assert made | other == {**one, **other} == made | Map(other)
    assert made.set(key, value) == {**one, key: value}
    if key in one:
        assert made[key] == one[key]
        assert made.without(key) == {k: v for k, v in one.items() if k != key}
    else:
        for missing in (lambda: made[key], lambda: made.without(key)):
            with pytest.raises(KeyError):
                missing()
    assert made == Map(one)
    assert (made == Map(other)) == (one == other) == (hash(made) == hash(Map(other)))


@given(lists, lists, keys)
def test_a_bag_behaves_as_a_multiset(one: list[Any], other: list[Any], key: Any) -> None:
    """Its length is that of the list it was made of; it lists a member once."""
    made, counts = Bag(one), Counter(one)
    assert len(made) == len(one)
    assert set(made) == set(one)
    assert len(list(made)) == len(counts)
    assert dict(made.items()) == counts
    assert made.count(key) == counts[key]
    assert (key in made) == (key in one)
    assert made + other == Bag(one + other) == made + Bag(other)
    assert made.add(key) == made + {key} == Bag([*one, key])
    assert made - other == Bag((counts - Counter(other)).elements()) == made - Bag(other)
    assert Bag(made) == made
    if key in one:
        assert made.remove(key) == made - {key}
        assert made.remove(key).add(key) == made
    else:
        with pytest.raises(KeyError):
            made.remove(key)
    assert (made == Bag(other)) == (counts == Counter(other)) == (hash(made) == hash(Bag(other)))


@given(dicts, lists, st.randoms())
def test_equal_ones_iterate_alike(entries: Dict, members: list[Any], chance: Any) -> None:
    """In ascending order, however they were made."""
    shuffled = list(entries.items())
    chance.shuffle(shuffled)
    one: Any = Map(entries)
    other: Any = Map()
    for key, value in shuffled:
        other = other.set(key, value)
    assert list(one) == list(other) == list(OrderedSet(entries))
    assert list(one.values()) == [entries[key] for key in one.keys()]  # noqa: SIM118
    bag = Bag(members)
    chance.shuffle(members)
    assert list(bag) == list(Bag(members)) == list(OrderedSet(members))
    for made in (one, bag):
        assert key_of(made) == key_of(type(made)(made))
        assert repr(ordered(made)) == repr(ordered(copy.copy(made)))
        for again in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            assert again == made
            assert hash(again) == hash(made)
            assert repr(ordered(again)) == repr(ordered(made))
    assert key_of(one) != key_of(bag)


@given(dicts, lists)
def test_codec_and_itf_tell_them_apart_by_content(entries: Dict, members: list[Any]) -> None:
    """What is written is the same for equal ones, and is read back."""
    codec = Codec(system_of())
    for made in (Map(entries), Bag(members)):
        content = codec.encode(made)
        assert codec.decode(content) == made
        assert type(codec.decode(content)) is type(made)
        assert content == codec.encode(type(made)(made))
        pairs = encode(made)["#map"]
        assert pairs == encode(dict(made.items()))["#map"]
        assert matches(made, {"#map": pairs})
        assert matches(made, {"#map": pairs[1:]})
        assert not matches(made, {"#map": [["nowhere", True]]})
        assert len(plain(made)) == len({str(plain(key)) for key in made})


def test_sets_inside_are_ordered() -> None:
    """At any depth, in keys and in values."""
    made: Any = ordered((Map({frozenset({2, 1}): frozenset({"b", "a"})}), Bag([frozenset({3})])))
    for one in made:
        assert isinstance(one, Entries)
        assert all(type(key) is OrderedSet for key, _ in one.pairs())
    assert type(made[0][frozenset({1, 2})]) is OrderedSet
    assert repr(made) == (
        "(Map({frozenset({1, 2}): frozenset({'a', 'b'})}), Bag({frozenset({3}): 1}))"
    )
    assert ordered(made, made) is made
    assert ordered(made) is made


def test_they_cannot_change() -> None:
    """Nor can an unhashable value be part of a state."""
    for made in (Map({1: 2}), Bag([1])):
        with pytest.raises(AttributeError, match="cannot change"):
            made._entries = {}
        with pytest.raises(TypeError, match="does not support item assignment"):
            made[1] = 3  # type: ignore[index]
    with pytest.raises(TypeError, match="unhashable"):
        hash(Map({1: []}))
    assert Map({1: 2}) != Bag([1])
    assert Map() != 0


class Unordered(Mapping[int, int]):
    """A mapping of a library, which can be hashed."""

    def __getitem__(self, key: int) -> int:
        return 0

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return 0


class Members(frozenset[int]):
    """A set of a library."""


@pytest.mark.parametrize(
    ("part", "says"),
    [
        (Unordered(), "a Unordered is part of a state, .*: use a Map of spec.core"),
        ({}, "a dict is part of a state, .*: use a Map of spec.core"),
        (set(), "a set is part of a state, .*: use a frozenset"),
        (Members(), "a Members is part of a state, .*: use a frozenset"),
    ],
)
def test_other_mappings_and_sets_are_refused(part: Any, says: str) -> None:
    """Equal ones may iterate in different orders."""
    with pytest.raises(SpecError, match=says):
        ordered((1, part))


# -- a model --------------------------------------------------------------------------------------

Node = NewType("Node", int)


@frozen
class Bounds:
    """How many."""

    nodes: int = bound(2, 1, 3, "nodes")
    sends: int = bound(2, 0, 9, "messages")


@frozen
class Note:
    """A message."""

    to: Node
    word: str = "hello"


@frozen
class Mail:
    """Messages that may be sent twice, and what each node has heard."""

    bounds: Bounds = constant()
    sent: int = 0
    flying: Bag[Note] = Bag()
    heard: Map[Node, frozenset[str]] = Map()


def nodes(s: Mail) -> range:
    """The nodes."""
    return range(s.bounds.nodes)


@rule(by="node", to=nodes)
def node_sends(s: Mail, to: Node) -> Any:
    """A message is sent."""
    yield limit("may send"), s.sent < s.bounds.sends
    return evolve(s, sent=s.sent + 1, flying=s.flying.add(Note(to)))


@rule(by="node", m=each("flying", Note, word="hello"))
def node_hears(s: Mail, m: Note) -> Mail:
    """A message arrives."""
    heard = s.heard.get(m.to, frozenset()) | {m.word}
    return evolve(s, flying=s.flying - {m}, heard=s.heard.set(m.to, heard))


@rule(by="node", node=each("heard"))
def node_forgets(s: Mail, node: Node) -> Mail:
    """A node forgets."""
    return evolve(s, heard=s.heard.without(node))


@always
def FewMessages(s: Mail) -> Any:
    """At most two messages are in flight."""
    yield "in flight", len(s.flying) == count(s.flying, Note) <= 2
    yield "each once", matching(s.flying, Note) == frozenset(s.flying)


@reachable
def BothHear(s: Mail) -> bool:
    """Both nodes can hear."""
    return len(s.heard) == 2 and all("hello" in words for words in s.heard.values())


MAIL: Model[Mail] = Model(
    name="mail",
    doc="Messages and listeners.",
    bounds=Bounds,
    initial=lambda bounds: [Mail(bounds=bounds)],
    properties=(FewMessages, BothHear),
    variants=(Variant("only", rules=(node_sends, node_hears, node_forgets), why="One."),),
    final=lambda s: True,
    symmetric={Node: nodes},
)


def system_of(**bounds: int) -> System[Any]:
    """The system within some bounds."""
    return MAIL.system(bounds=bounds)


@pytest.mark.parametrize("sends", [2, 3])
def test_engines_agree_about_a_model_with_them(sends: int) -> None:
    """The learned engine reads each as a whole."""
    found = agree(system_of(sends=sends))
    assert found["distinct"] == {2: 19, 3: 44}[sends]


def test_a_counterexample_is_written_and_read() -> None:
    """As ITF."""
    system = system_of(sends=3)
    verdict = explore(system, Options())
    (violation,) = verdict.violations
    assert isinstance(violation.trace, Trace)
    again = replay(system, document(to_itf(violation.trace), "mail"))
    assert again.states == violation.trace.states


def test_renaming_reaches_keys_and_values() -> None:
    """Two states are alike up to the names of nodes."""
    system = system_of()
    symmetry = Symmetry(system)
    flying = Bag([Note(Node(0))])
    state = Mail(bounds=system.bounds, flying=flying, heard=Map({Node(1): frozenset()}))
    other = evolve(state, flying=Bag([Note(Node(1))]), heard=Map({Node(0): frozenset()}))
    assert symmetry.orbit(state) == {state, other}


def test_their_types_are_known() -> None:
    """From annotations."""
    types = {field.name: field.type for field in fields_of(Mail)}
    assert types["heard"] == type_of(Map[Node, frozenset[str]])
    assert isinstance(types["flying"], Mapped)
    assert types["flying"].value == Scalar(int)
    assert is_instance(Map(), types["heard"])
    assert not is_instance(Bag(), types["heard"])
    properties = json_schema(MAIL)["$defs"]["Mail"]["properties"]
    assert properties["heard"]["required"] == ["#map"]
    state = Mail(bounds=Bounds(), flying=Bag([Note(Node(1))] * 2))
    assert text(encode(state)) == ("{sent 0, flying {{to 1, word hello}: 2}, heard {}}")
