"""A session: steps, branches, walks, files, and the same steps under another variant."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import pytest

from kspec.checkers.engine.reference import explore
from kspec.checkers.explore.moves import Move, all_moves, enabled_moves, why_nothing
from kspec.checkers.explore.seek import Seeker
from kspec.checkers.explore.session import Node, Session
from kspec.checkers.explore.terminal import as_words
from kspec.checkers.explore.what_if import counterparts, replay_under
from kspec.checkers.models.find import find_model, registered_models
from kspec.checkers.models.stories import STORIES
from kspec.spec.core import Model, Reachable, SpecError, Variant, rule
from kspec.traces.itf import document, to_itf
from kspec.traces.trace import Trace
from tests.known import KIP_101_LOSS

REPLICATION = find_model("replication")
DIE_HARD = find_model("die-hard")
TWO = {"brokers": 2}


def session(variant: str = "kip-101", bounds: Mapping[str, int] | None = None) -> Session:
    return Session(REPLICATION.system(variant, bounds))


def named(of: Session, node: Node, rule: str, **choices: object) -> Move:
    """The move of a rule with these choices."""
    for found, moves in all_moves(node.system, node.state):
        for move in moves:
            if found.name == rule and dict(move.taken.choices) == choices:
                return move
    raise AssertionError(rule)


# -- moves ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", registered_models())
def test_enabled_moves_are_the_steps_of_every_model(name: str) -> None:
    system = find_model(name).system()
    for state in system.initial():
        steps = [(rule, choice, after) for rule, choice, after in system.steps(state)]
        moves = enabled_moves(system, state)
        assert [(move.rule, move.choice, move.after) for move in moves] == steps
        every = [move for _, moves in all_moves(system, state) for move in moves]
        assert {rule.name for rule, _ in all_moves(system, state)} == {r.name for r in system.rules}
        for move in every:
            guards = move.rule.guards(state, move.choice)
            assert move.is_enabled == all(holds for _, holds in guards)
            if not move.is_enabled:
                assert guards[-1] == (move.blocked_by, False)


def test_a_rule_that_raises_is_blocked_by_what_it_raises() -> None:
    @rule(by="nobody")
    def divides(s: int) -> int:
        return 1 // s

    broken = Model(
        name="broken",
        doc="It divides by zero.",
        initial=lambda bounds: [0],
        properties=[],
        variants=[Variant("broken", (divides,), "It is broken.")],
    )
    [(_, [move])] = all_moves(broken.system(), 0)
    assert move.blocked_by.startswith("divides raised ZeroDivisionError: ")
    assert "test_session.py, line" in move.blocked_by


def test_why_nothing_is_enabled() -> None:
    replication = REPLICATION.system("kip-320")
    shrink = next(rule for rule in replication.rules if rule.name == "controller_shrinks_isr")
    state = replication.initial()[0]
    for broker in (0, 2):
        state = shrink.attempt(state, (broker,))
    assert enabled_moves(replication, state) == []
    assert why_nothing(replication, state).startswith("The edge of the bounds: ")
    stuck = attrs.evolve(replication, rules=())
    assert why_nothing(stuck, state).startswith("Deadlock: ")
    final = attrs.evolve(replication, model=attrs.evolve(REPLICATION, final=lambda s: True))
    assert why_nothing(final, state) == "A behaviour may end here: the state is final."


# -- steps and branches ---------------------------------------------------------------------------


def test_a_step_taken_twice_is_one_branch_and_another_step_is_another() -> None:
    visited = session(bounds=TWO)
    first, other = enabled_moves(visited.first.system, visited.first.state)[:2]
    one = visited.take(visited.first, first)
    assert visited.take(visited.first, first) is one
    two = visited.take(visited.first, other)
    assert visited.leaves() == [one, two]
    assert visited.fork(one, two) == 1
    assert [node.number for node in visited.path(two)] == [1, 2]
    assert visited.difference(one, one) == []
    assert [piece.at for piece in visited.difference(one, two)]


def test_a_blocked_move_and_a_wrong_number_are_refused() -> None:
    visited = session(bounds=TWO)
    blocked = named(visited, visited.first, "leader_appends", leader=0)
    with pytest.raises(SpecError, match="leader_appends is blocked by: leader presumes leadership"):
        visited.take(visited.first, blocked)
    with pytest.raises(SpecError, match="there is no state 9"):
        visited.node(9)
    with pytest.raises(SpecError, match="there is no state '0'"):
        visited.node("0")
    with pytest.raises(SpecError, match="did you mean leader_appends"):
        visited.move(visited.first, "leader_append", 0)
    with pytest.raises(SpecError, match="leader_appends has no choice 7"):
        visited.move(visited.first, "leader_appends", 7)


@pytest.mark.slow
def test_a_walk_is_repeated_by_its_seed_and_ends_where_a_property_fails() -> None:
    visited = Session(DIE_HARD.system())
    one, again = (visited.walk(visited.first, 500, 3) for _ in range(2))
    assert one is again
    assert one.failing or one.number == 501
    ends = [visited.walk(visited.first, 500, seed) for seed in range(5)]
    assert any(node.failing for node in ends)
    assert all(not node.failing for end in ends for node in visited.path(end)[:-1])
    with pytest.raises(SpecError, match="a walk has 1 to"):
        visited.walk(visited.first, 0, 1)


@pytest.mark.parametrize("name", STORIES)
def test_a_story_is_visited_and_saved_and_loaded_again(name: str) -> None:
    trace = STORIES[name].played()
    visited = Session(trace.system)
    end = visited.follow(visited.begin(trace.system, trace.states[0]), trace)
    assert end.number == len(trace.states)
    assert bool(end.failing) == bool(trace.property)
    saved = to_itf(visited.trace(end))
    other = Session(trace.system)
    again = other.load(document(saved, "saved"))
    assert [node.state for node in other.path(again)] == list(trace.states)
    assert to_itf(other.trace(again)) == saved


def test_a_file_of_another_model_or_of_other_bounds_is_refused() -> None:
    saved = to_itf(session().trace(session().first))
    with pytest.raises(SpecError, match="the trace has other bounds"):
        session(bounds=TWO).load(document(saved, "saved"))
    with pytest.raises(SpecError, match="the trace is of the model 'replication'"):
        Session(DIE_HARD.system()).load(document(saved, "saved"))


# -- what if --------------------------------------------------------------------------------------


def loss(visited: Session) -> Node:
    """A shortest way to the loss that KIP-101 left, taken by hand."""
    at = visited.first
    for line in KIP_101_LOSS:
        moves = enabled_moves(at.system, at.state)
        at = visited.take(at, next(move for move in moves if as_words(move) == line.split()))
    return at


def test_the_loss_of_kip_101_is_blocked_under_kip_320() -> None:
    visited = session()
    lost = loss(visited)
    assert list(lost.failing) == ["StrongIsr"]
    found = replay_under(visited, lost, "kip-320")
    assert found.node.system.variant.name == "kip-320"
    assert found.taken < found.of == lost.number - 1
    assert "is blocked by: " in found.says
    assert not found.node.failing
    assert found.node.number == found.taken + 1


def test_the_same_variant_takes_the_same_steps() -> None:
    visited = session()
    lost = loss(visited)
    found = replay_under(visited, lost, "kip-101")
    assert found.node is lost
    assert found.says == f"All {found.of} steps are possible. The states are the same."


def test_where_a_counterpart_does_something_else_the_behaviours_part() -> None:
    """A follower truncates to its high watermark, and with leader epochs it does not."""
    trace = STORIES["lost-after-restart"].played()
    visited = Session(trace.system)
    lost = visited.follow(visited.first, trace)
    found = replay_under(visited, lost, "kafka-0.11")
    assert found.parts_at == 13
    assert found.says.startswith("The behaviours diverge at state 13. ")
    assert not found.node.failing


def test_counterparts_are_rules_of_the_same_name_or_in_the_same_place() -> None:
    one, other = (REPLICATION.system(v) for v in ("kip-101", "kip-320"))
    found = counterparts(one, other)
    shared = {rule.name for rule in one.rules} & {rule.name for rule in other.rules}
    assert all(found[name].name == name for name in shared)
    before = find_model("partition").system("kafka-0.10")
    after = find_model("partition").system("kafka-0.11")
    assert counterparts(before, after)["broker_becomes_follower_and_truncates_to_hw"].name == (
        "broker_becomes_follower_of_new_leader"
    )


# -- search ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_search_finds_as_short_a_way_as_the_check() -> None:
    visited = session()
    assert len(KIP_101_LOSS) == 11
    for goal in ("not StrongIsr", "not StrongIsr and quorum.epoch == 1"):
        found = Seeker(visited.first, goal).run()
        assert found.trace is not None
        assert len(found.trace.states) == 12
        assert found.says("it").startswith("11 steps away: it (states explored: ")


def test_a_search_goes_on_from_where_one_is() -> None:
    visited = Session(DIE_HARD.system())
    full = Seeker(visited.first, "small == 3 and big == 5").run()
    assert full.trace is not None
    at = visited.follow(visited.first, full.trace)
    assert at.number == 3
    found = Seeker(at, "big == 4").run()
    assert found.trace is not None
    end = visited.follow(at, found.trace)
    assert end.state.big == 4
    assert list(end.failing) == ["GoalIsNeverMeasured"]
    assert visited.path(end)[: at.number] == visited.path(at)


def test_a_search_says_that_it_is_so_already_or_never() -> None:
    start = Session(DIE_HARD.system()).first
    assert Seeker(start, "small == 0").run().says("x") == "This state already satisfies it: x."
    never = Seeker(start, "small == 4").run()
    assert never.trace is None
    assert never.says("x") == "Not reachable from here: x (states explored: 16)."


def test_a_search_finds_a_deadlock_and_is_not_ended_by_one() -> None:
    lock = find_model("two-phase-lock")
    deadlocks = [v for v in lock.variants if "deadlock" in v.violates]
    assert deadlocks
    system = lock.system(deadlocks[0].name)
    found = Seeker(Session(system).first, "deadlock").run()
    assert found.trace is not None
    assert len(found.trace.states) == deadlocks[0].violates["deadlock"].states
    impossible = Seeker(Session(system).first, "1 == 2").run()
    assert impossible.trace is None
    assert impossible.distinct > found.distinct


def test_a_witness_is_a_goal() -> None:
    watermarks = find_model("watermarks").system()
    shown = next(p for p in watermarks.properties if isinstance(p, Reachable))
    expected = explore(watermarks).witnesses[shown.name]
    found = Seeker(Session(watermarks).first, shown.name).run()
    assert found.trace is not None
    assert len(found.trace.states) == len(expected.states)


def test_a_trace_of_a_node_is_a_trace_of_its_system() -> None:
    visited = session()
    trace = visited.trace(loss(visited))
    assert isinstance(trace, Trace)
    assert trace.property == "StrongIsr"
    assert trace.where
