"""A session: the tree of the states that were visited, each with the step that led to it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from kspec.checkers.explore.moves import Move, enabled_moves, moves_of
from kspec.spec.core import Always, Model, SpecError, System, Taken, look_up
from kspec.spec.core.errors import code_of
from kspec.spec.core.picture import Picture
from kspec.traces.difference import Piece, changed
from kspec.traces.itf import Document, for_readers
from kspec.traces.replay import replay
from kspec.traces.story import Scene, Story, picture_of, scene, tell
from kspec.traces.trace import Trace, settings

MOST_NODES = 20_000
"""States of a session: more than a person visits."""
LONGEST_WALK = 1_000
"""Steps of one random walk."""


@attrs.frozen(eq=False)
class Node:
    """A visited state. The same state may be visited on several ways."""

    id: int
    parent: Node | None
    """The state before; None for an initial state."""
    system: System[Any]
    state: Any
    taken: Taken | None
    """The step that led here; None for an initial state."""
    number: int
    """The number of states on the way to it, from 1."""
    failing: Mapping[str, str]
    """The invariants that fail here, each with its place."""
    picture: Picture
    scene: Scene


class Session:
    """Everything that was visited."""

    def __init__(self, system: System[Any]) -> None:
        """Start at the initial states of a system."""
        self.model: Model[Any] = system.model
        self.bounds = system.bounds
        self.systems = {system.variant.name: system}
        self.nodes: list[Node] = []
        self.children: dict[int, list[Node]] = {}
        self.first = self.begin(system)

    # -- visiting -------------------------------------------------------------------------------

    def system(self, variant: str) -> System[Any]:
        """The system of another variant, with the same bounds."""
        if variant not in self.systems:
            self.systems[variant] = self.model.system(variant, settings(self.bounds))
        return self.systems[variant]

    def begin(self, system: System[Any], wanted: Any = None) -> Node:
        """Visit the initial states of a system; returns the wanted one, or the first."""
        roots = [node for node in self.nodes if node.parent is None and node.system is system]
        if not roots:
            roots = [self.visit(None, system, state, None) for state in system.initial()]
        if not roots:
            raise SpecError(f"{self.model.name} has no initial state")
        if wanted is None:
            return roots[0]
        return next(node for node in roots if node.state == wanted)

    def visit(
        self, parent: Node | None, system: System[Any], state: Any, taken: Taken | None
    ) -> Node:
        """A new state, or the one that the same step has led to before."""
        for child in self.children.get(parent.id, ()) if parent else ():
            if child.taken == taken and child.state == state:
                return child
        if len(self.nodes) >= MOST_NODES:
            raise SpecError(
                f"a session has at most {MOST_NODES:,} states: save it, and start again"
            )
        number = parent.number + 1 if parent else 1
        failing = failures(system, state)
        before = attrs.evolve(taken, before=parent.state) if taken and parent else None
        with code_of("the picture", system.model.picture or picture_of):
            picture = picture_of(system.model, state, before)
        rules = {rule.name: rule for rule in system.rules}
        place = next(iter(failing.values()), "")
        shown = scene(number, before, rules, picture, parent.picture if parent else None, place)
        node = Node(len(self.nodes), parent, system, state, taken, number, failing, picture, shown)
        self.nodes.append(node)
        if parent:
            self.children.setdefault(parent.id, []).append(node)
        return node

    def node(self, number: Any) -> Node:
        """The node of that number."""
        if type(number) is not int or not 0 <= number < len(self.nodes):
            raise SpecError(f"there is no state {number!r:.20} in this session")
        return self.nodes[number]

    # -- moves ----------------------------------------------------------------------------------

    def move(self, node: Node, rule: str, index: Any) -> Move:
        """An instance of a rule, by its number in the fixed order."""
        table = {each.name: each for each in node.system.rules}
        moves = moves_of(look_up(f"rule of {node.system.variant.name}", rule, table), node.state)
        if type(index) is not int or not 0 <= index < len(moves):
            raise SpecError(f"{rule} has no choice {index!r:.20}")
        return moves[index]

    def take(self, node: Node, move: Move) -> Node:
        """Take a step; SpecError if a guard blocks it."""
        if not move.is_enabled:
            raise SpecError(f"{move.rule.name} is blocked by: {move.blocked_by}")
        return self.visit(node, node.system, move.after, move.taken)

    def walk(self, node: Node, steps: int, seed: int) -> Node:
        """A random walk; it ends where an invariant fails or no rule is enabled."""
        if not 1 <= steps <= LONGEST_WALK:
            raise SpecError(f"a walk has 1 to {LONGEST_WALK:,} steps")
        chance = random.Random(seed)
        for _ in range(steps):
            moves = enabled_moves(node.system, node.state)
            if not moves:
                break
            node = self.take(node, chance.choice(moves))
            if node.failing:
                break
        return node

    def follow(self, node: Node, trace: Trace) -> Node:
        """Visit the states of a trace that begins at a node."""
        for taken, state in zip(trace.steps, trace.states[1:], strict=False):
            step = Taken(taken.rule, taken.choices)
            node = self.visit(node, node.system, state, step)
        return node

    def load(self, document: Document) -> Node:
        """Visit the states of an ITF file under the rules of the variant that it names."""
        about = document.about
        if about.get("model", self.model.name) != self.model.name:
            raise SpecError(f"the trace is of the model {about['model']!r:.60}")
        bounds = about.get("bounds", settings(self.bounds))
        if bounds != settings(self.bounds):
            raise SpecError(f"the trace has other bounds: {bounds!r:.200}")
        variant = about.get("variant", self.first.system.variant.name)
        system = self.system(str(variant))
        with code_of("a rule", *(rule.body for rule in system.rules)):
            trace = replay(system, document)
        return self.follow(self.begin(trace.system, trace.states[0]), trace)

    # -- what is seen ---------------------------------------------------------------------------

    def path(self, node: Node) -> list[Node]:
        """The way to a node, from its initial state."""
        found = [node]
        while found[-1].parent is not None:
            found.append(found[-1].parent)
        return found[::-1]

    def leaves(self) -> list[Node]:
        """The ends of all branches."""
        return [node for node in self.nodes if node.id not in self.children]

    def fork(self, one: Node, other: Node) -> int:
        """How many states two ways have in common from their beginnings on."""
        pairs = zip(self.path(one), self.path(other), strict=False)
        return sum(a is b for a, b in pairs)

    def trace(self, node: Node) -> Trace:
        """The way to a node, as a trace; with the first invariant that fails at its end."""
        way = self.path(node)
        steps = tuple(each.taken for each in way if each.taken)
        states = tuple(each.state for each in way)
        prop, where = next(iter(node.failing.items()), ("", ""))
        return Trace(node.system, states, steps, prop, where)

    def story(self, node: Node, verdict: str) -> Story:
        """The way to a node, ready to be drawn."""
        return tell(self.trace(node), verdict, violated=bool(node.failing))

    def difference(self, one: Node, other: Node) -> list[Piece]:
        """Where two states differ, at the leaves of their variables."""
        left, right = for_readers(one.state), for_readers(other.state)
        found: list[Piece] = []
        for name in dict.fromkeys([*left, *right]):
            pieces = changed(left.get(name, {}), right.get(name, {}))
            found += [attrs.evolve(piece, at=name + piece.at) for piece in pieces]
        return found


def failures(system: System[Any], state: Any) -> dict[str, str]:
    """The invariants that fail in a state, each with its place."""
    found = {}
    for prop in system.properties:
        if isinstance(prop, Always):
            with code_of(f"property {prop.name}", prop.body):
                place = prop.failure(state)
            if place is not None:
                found[prop.name] = place
    return found
