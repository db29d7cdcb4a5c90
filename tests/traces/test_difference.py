"""The difference of two values, at their leaves."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from kspec.checkers.engine.reference import explore
from kspec.spec.core import Bag, Map, Model, Step, Variant, always, evolve, replaced, rule
from kspec.traces.difference import Piece, changed, pieces
from kspec.traces.itf import encode, for_readers, text
from kspec.traces.page import page
from kspec.traces.story import Story, choice_text, tell
from kspec.traces.terminal import draw


@attrs.frozen
class Node:
    """A node that votes."""

    voted: int = -1
    log: tuple[int, ...] = ()


@attrs.frozen
class Nodes:
    """Several nodes."""

    nodes: tuple[Node, ...] = (Node(), Node())
    term: int = 0


def leaves(before: Any, after: Any) -> list[tuple[str, str | None, str]]:
    """The place, the text before and the text now of each change."""
    return [(p.at, p.before, p.text) for p in changed(encode(before), encode(after))]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (1, 1, []),
        (1, 2, [("", "1", "2")]),
        (None, Node(), [("", "none", "{voted -1, log []}")]),
        ((Node(), Node()), (Node(), Node(1)), [("[1].voted", "-1", "1")]),
        ((Node(),), (Node(log=(7,)),), [("[0].log[0]", "", "7")]),
        ((1, 2, 3), (1, 3), [("[1]", "2", "")]),
        ((1, 3), (1, 2, 3), [("[1]", "", "2")]),
        ((1, 2), (2, 3), [("[0]", "1", "2"), ("[1]", "2", "3")]),
        (frozenset({1, 2}), frozenset({2, 3}), [("", "", "3"), ("", "1", "")]),
        ({"a": 1, "b": 2}, {"a": 3, "c": 2},
         [("[a]", "1", "3"), ("", "", "c: 2"), ("", "b: 2", "")]),
        (Map({1: (7,)}), Map({1: (7, 8), 2: ()}), [("[1][1]", "", "8"), ("", "", "2: []")]),
        (Bag("aab"), Bag("abbc"), [("[a]", "2", "1"), ("[b]", "1", "2"), ("", "", "c: 1")]),
        (Bag("aab"), Bag("b"), [("", "a: 2", "")]),
    ],
)  # fmt: skip
def test_a_change_is_shown_at_its_place(
    before: Any, after: Any, expected: list[tuple[str, str | None, str]]
) -> None:
    assert leaves(before, after) == expected


def test_tuples_of_other_tools_are_compared_item_by_item() -> None:
    before, after = {"#tup": ["a", "b"]}, {"#tup": ["a", "c"]}
    assert pieces(before, after) == [Piece("(a, "), Piece("c", "b", "[1]"), Piece(")")]


VALUES = [
    Nodes(),
    Nodes((Node(1, (1, 2)), Node(), Node(3))),
    Nodes((), 4),
    (Node(), Node(5)),
    frozenset({1, 5}),
    frozenset(),
    {"k": (1, 2)},
    {"k": (2,), "l": ()},
    None,
    "text",
]


@pytest.mark.parametrize("before", VALUES, ids=range(len(VALUES)))
@pytest.mark.parametrize("after", VALUES, ids=range(len(VALUES)))
def test_the_pieces_are_the_text_of_the_value(before: Any, after: Any) -> None:
    found = pieces(encode(before), encode(after))
    assert "".join(piece.text for piece in found) == text(encode(after))
    assert any(piece.before is not None for piece in found) == (before != after)


# -- classes that look alike --------------------------------------------------------------------


@attrs.frozen
class Ask:
    """A message."""

    node: int


@attrs.frozen
class Vote:
    """Another one with the same fields."""

    node: int


@attrs.frozen
class Urgent(Ask):
    """A message of a class that is declared nowhere."""


@attrs.frozen
class Election:
    """A state in which only some records need their class."""

    sent: frozenset[Ask | Vote] = frozenset()
    last: Ask | Vote | None = None
    nodes: tuple[Node, ...] = (Node(),)


@attrs.frozen
class Undeclared:
    """A state whose annotations say little."""

    sent: frozenset = frozenset()  # type: ignore[type-arg]
    nodes: tuple[Node, ...] = ()


def test_a_record_says_its_class_where_it_is_not_evident() -> None:
    shown = for_readers(Election(frozenset({Ask(0), Vote(0), Vote(1)}), Vote(1)))
    assert {name: text(value) for name, value in shown.items()} == {
        "sent": "{Ask {node 0}, Vote {node 0}, Vote {node 1}}",
        "last": "Vote {node 1}",
        "nodes": "[{voted -1, log []}]",
    }
    assert text(for_readers(Election(frozenset({Urgent(0)})))["sent"]) == "{Urgent {node 0}}"
    assert text(for_readers(Undeclared(frozenset({Ask(0)}), (Node(),)))) == (
        "{sent {Ask {node 0}}, nodes [{voted -1, log []}]}"
    )


def test_a_choice_says_its_class_where_it_is_not_evident() -> None:
    assert choice_text(Vote(1), Election()) == "Vote {node 1}"
    assert choice_text(Node(), Election()) == "{voted -1, log []}"
    assert choice_text(Vote(1)) == "{node 1}"


def changes_of(before: Any, after: Any) -> list[tuple[str, str | None, str]]:
    """What changed in the variables of a state."""
    pieces = changed(for_readers(before), for_readers(after))
    return [(piece.at, piece.before, piece.text) for piece in pieces]


def test_a_message_that_looks_like_another_is_new() -> None:
    one, both = Election(frozenset({Ask(0)})), Election(frozenset({Ask(0), Vote(0)}))
    assert changes_of(one, both) == [(".sent", "", "Vote {node 0}")]


def test_a_record_of_the_same_class_is_compared_field_by_field() -> None:
    one, other, vote = Election(last=Ask(0)), Election(last=Ask(1)), Election(last=Vote(1))
    assert changes_of(one, other) == [(".last.node", "0", "1")]
    assert changes_of(other, vote) == [(".last", "Ask {node 1}", "Vote {node 1}")]


# -- a model of one's own -------------------------------------------------------------------------


@rule(by="node", node=lambda s: range(len(s.nodes)))
def votes(s: Nodes, node: int) -> Step[Nodes]:
    """A node votes."""
    yield "node has not voted", s.nodes[node].voted < 0
    return evolve(s, nodes=replaced(s.nodes, node, Node(1, (7,))))


@always
def OneVote(s: Nodes) -> bool:
    """Not both have voted."""
    return any(node.voted < 0 for node in s.nodes)


VOTE = Model(
    name="vote",
    doc="Votes.",
    initial=lambda bounds: [Nodes()],
    properties=[OneVote],
    variants=[Variant("vote", (votes,), "It is the only one.")],
)


def story() -> Story:
    violation = explore(VOTE.system()).violations[0]
    assert violation.trace is not None
    return tell(violation.trace, violation.says, violated=True)


def test_the_terminal_shows_the_leaves_that_changed() -> None:
    lines = [line.plain.strip() for line in draw(story())]
    assert lines[2] == "2  votes  node=0  (node)"
    assert lines[3] == "state  nodes[0].voted -1→1  nodes[0].log[0] +7"
    assert lines[5] == "state  nodes[1].voted -1→1  nodes[1].log[0] +7"


def test_a_scene_has_the_value_in_pieces() -> None:
    told = story()
    [lane] = told.scenes[1].lanes
    fact = next(fact for fact in lane.facts if fact.name == "nodes")
    assert [leaf.at for leaf in fact.leaves] == ["[0].voted", "[0].log[0]"]
    assert "".join(piece.text for piece in fact.pieces) == fact.value
    assert '"pieces":[{"text":"[{voted "' in page(told)
