"""Traces as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import itf_py
import pytest

from kspec import examples
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore
from kspec.spec.core import Always, Model, SpecError, Step, Variant, always, evolve, rule
from kspec.spec.replication import REPLICATION
from kspec.traces.itf import BadTrace, Document, document, encode, read, text, to_itf
from kspec.traces.replay import replay
from tests.known import counterexample


@pytest.fixture(scope="module")
def lost_record() -> dict[str, Any]:
    return to_itf(counterexample("truncate-to-hw"))


class Colour(Enum):
    RED = 1


class Pair(NamedTuple):
    left: int
    right: str


@pytest.mark.parametrize(
    ("value", "encoded", "shown"),
    [
        (3, {"#bigint": "3"}, "3"),
        (True, True, "True"),
        ("a", "a", "a"),
        (None, {"#tup": []}, "none"),
        ((1, 2), [{"#bigint": "1"}, {"#bigint": "2"}], "[1, 2]"),
        (
            frozenset({10, 9}),
            {"#set": [{"#bigint": "9"}, {"#bigint": "10"}]},
            "{9, 10}",
        ),
        ({"b": 1}, {"#map": [["b", {"#bigint": "1"}]]}, "{b: 1}"),
        (Pair(1, "x"), {"left": {"#bigint": "1"}, "right": "x"}, "{left 1, right x}"),
        (Colour.RED, "RED", "RED"),
    ],
)
def test_values_have_their_itf_form(value: object, encoded: object, shown: str) -> None:
    assert encode(value) == encoded
    assert text(encoded) == shown


def test_values_without_an_itf_form_are_refused() -> None:
    with pytest.raises(SpecError, match="float"):
        encode(1.5)


@pytest.mark.slow
def test_itf_py_reads_our_files(lost_record: dict[str, Any]) -> None:
    trace = itf_py.trace_from_json(lost_record)
    assert len(trace.states) == 9
    last = trace.states[-1].values
    assert last["mbt::actionTaken"] == lost_record["states"][-1]["mbt::actionTaken"]
    assert last["mbt::nondetPicks"].follower in range(3)
    assert "bounds" not in trace.vars
    assert last["next_record"] == 1
    assert last["quorum"].isr < {0, 1, 2}
    assert sorted(len(log.records) for log in last["logs"]) in ([0, 0, 0], [0, 0, 1])


@pytest.mark.parametrize(
    "variant",
    [
        "truncate-to-hw",
        pytest.param("kip-101", marks=pytest.mark.slow),
        pytest.param("kip-279", marks=pytest.mark.slow),
    ],
)
def test_a_counterexample_replays_and_its_last_state_violates(variant: str) -> None:
    trace = counterexample(variant)
    written = json.loads(json.dumps(to_itf(trace)))
    again = replay(REPLICATION.system(variant), document(written, "trace"))
    assert again.states == trace.states
    assert again.steps == trace.steps
    prop = next(p for p in REPLICATION.properties if p.name == again.property)
    assert isinstance(prop, Always)
    assert [prop.failure(s) is None for s in again.states] == [True] * (len(again.states) - 1) + [
        False
    ]


def test_a_lasso_replays_with_its_loop() -> None:
    trace = explore(examples.CORRIDOR.system()).violations[0].trace
    assert trace is not None
    written = to_itf(trace)
    assert written["loop"] == 0
    again = replay(examples.CORRIDOR.system(), document(written, "trace"))
    assert (again.loop, again.steps) == (0, trace.steps)


def test_every_example_can_be_written_and_replayed() -> None:
    for model in (examples.DIE_HARD, examples.TWO_PHASE_LOCK):
        trace = explore(model.system(), Options(keep_going=True)).violations[0].trace
        assert trace is not None
        assert replay(model.system(), document(to_itf(trace), "t")).states == trace.states


@attrs.frozen
class Ask:
    """A message."""

    node: int


@attrs.frozen
class Vote:
    """Another one, of which ITF shows the same."""

    node: int


@attrs.frozen
class Election:
    """The messages that were sent and read."""

    sent: frozenset[Ask | Vote] = frozenset({Ask(0), Vote(0)})
    read: frozenset[str] = frozenset()


@rule(by="node", m=lambda s: s.sent)
def reads(s: Election, m: Ask | Vote) -> Step[Election]:
    """A node reads a message."""
    yield "message is new", type(m).__name__ not in s.read
    return evolve(s, read=s.read | {type(m).__name__})


@always
def NoVoteIsRead(s: Election) -> bool:
    """It fails when the second of two choices with the same text is made."""
    return "Vote" not in s.read


def test_a_choice_that_looks_like_another_replays() -> None:
    model = Model(
        name="election",
        doc="Messages.",
        initial=lambda bounds: [Election()],
        properties=[NoVoteIsRead],
        variants=[Variant("election", (reads,), "It is the only one.")],
    )
    trace = explore(model.system()).violations[0].trace
    assert trace is not None
    assert replay(model.system(), document(to_itf(trace), "t")).steps == trace.steps


# -- traces that are not behaviours ------------------------------------------------------------


Damage = Callable[[list[dict[str, Any]]], object]


def taken(states: list[dict[str, Any]], rule: str) -> dict[str, Any]:
    """The first state to which a rule leads."""
    return next(state for state in states if state["mbt::actionTaken"] == rule)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda states: states[0].update(next_record={"#bigint": "1"}), "not an initial state"),
        (lambda states: states.pop(3), "state 4: "),
        (lambda states: states[2].update({"mbt::actionTaken": "leader_sleeps"}), "leader_sleeps"),
        (lambda states: states[2].pop("mbt::nondetPicks"), "lacks the choices"),
        (
            lambda states: states[1]["mbt::nondetPicks"].update(broker={"#bigint": "7"}),
            "cannot choose broker=7",
        ),
        (lambda states: states[4].update(next_record={"#bigint": "2"}), "another next_record"),
        (
            lambda states: states.insert(1, taken(states, "leader_appends")),
            "is blocked by: leader presumes leadership",
        ),
    ],
)
def test_a_forbidden_trace_is_rejected_with_the_reason(
    lost_record: dict[str, Any], damage: Damage, says: str
) -> None:
    broken = json.loads(json.dumps(lost_record))
    damage(broken["states"])
    names = [name for name in broken["vars"] if not name.startswith("mbt::")]
    shaped = Document(tuple(names), tuple(broken["states"]), broken["#meta"]["kspec"], None)
    with pytest.raises(BadTrace, match=says):
        replay(REPLICATION.system("truncate-to-hw"), shaped)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not JSON, or cut short"),
        (b'{"vars": ["x"], "states": [{"x"', "not JSON, or cut short"),
        (b"[1, 2]", "not a JSON object"),
        (b"{}", 'no list "states"'),
        (b'{"states": []}', 'list "states" is empty'),
        (b'{"states": [{}]}', 'no list "vars"'),
        (b'{"vars": ["x"], "states": [7]}', "state 0 is not an object"),
        (b'{"vars": ["x"], "states": [{"y": 1}]}', "state 0 has no variable x"),
        (b'{"vars": ["x"], "states": [{"x": {"#unserializable": {"#set": 1}}}]}', "no ITF value"),
        (b'{"vars": [], "states": [{}], "loop": 3}', "loops to 3"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"[" * 100_000, "nested deeper than 100"),
    ],
)
def test_a_malformed_trace_is_refused_in_one_line(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "t.itf.json"
    path.write_bytes(content)
    with pytest.raises(SpecError, match=says) as refusal:
        read(path)
    assert "\n" not in str(refusal.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"nowhere\.json: No such file"):
        read(tmp_path / "nowhere.json")


def test_states_without_fields_are_one_variable() -> None:
    @attrs.frozen
    class Whole:
        n: int

    assert encode(Whole(1)) == {"n": {"#bigint": "1"}}


@pytest.mark.parametrize("kind", ["#set", "#tup", "#map"])
@pytest.mark.parametrize("content", [None, 1, {}])
def test_a_collection_that_is_none_is_shown_as_it_is(kind: str, content: object) -> None:
    assert text({kind: content}).startswith(f"{{{kind} ")
