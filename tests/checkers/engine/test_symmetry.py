"""Symmetry by declaration: orbits match brute force, and false declarations are rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import permutations, product
from random import Random
from typing import Annotated, Any, NamedTuple, NewType

import attrs
import pytest

from kspec.checkers.engine.learned import orbits
from kspec.checkers.engine.learned.orbits import plain_changes, walk_of
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore
from kspec.checkers.engine.run import run
from kspec.checkers.engine.symmetry import NotSymmetric, Symmetry
from kspec.checkers.engine.verdict import Verdict
from kspec.examples.two_phase_commit import TWO_PHASE_COMMIT
from kspec.spec.core import (
    Model,
    Rule,
    SpecError,
    Step,
    System,
    Variant,
    always,
    bound,
    constant,
    evolve,
    leads_to,
    reachable,
    replaced,
    rule,
)
from kspec.spec.delivery import DELIVERY
from kspec.spec.replication import REPLICATION
from kspec.traces.trace import Trace

ENGINES = [("reference", 1), ("learned", 1), ("learned", 2)]

Node = NewType("Node", int)
Color = NewType("Color", str)
NONE = Node(-1)


@attrs.frozen
class Bounds:
    """The size of a network."""

    nodes: int = bound(3, 1, 9, "nodes")
    colors: int = bound(1, 1, 3, "colors")


class Message(NamedTuple):
    """A message."""

    sender: Node
    text: int


@attrs.frozen
class Network:
    """Nodes and colors, in every place where a state can have them."""

    cells: Annotated[tuple[int, ...], Node]
    links: Annotated[tuple[Node, ...], Node]
    """For each node another one, or NONE."""
    leader: Node | None = None
    chosen: frozenset[Node] = frozenset()
    messages: frozenset[Message] = frozenset()
    history: tuple[Node | bool, ...] = ()
    """Its length varies, so it is one component."""
    paint: tuple[Color, int] = (Color(""), 0)
    seen: Annotated[tuple[Annotated[tuple[bool, ...], Color], ...], Node] = ()
    """By node, then by color; behind the nodes stands an item that no renaming moves."""
    bounds: Bounds = constant()


def nodes(s: Network) -> Iterable[Node]:
    """Every node."""
    return map(Node, range(s.bounds.nodes))


def colors(s: Network) -> list[Color]:
    """Every color."""
    return [Color(color) for color in ("red", "green", "blue")[: s.bounds.colors]]


def network(bounds: Bounds) -> list[Network]:
    """The initial state."""
    return [
        Network(
            cells=(0,) * bounds.nodes,
            links=(NONE,) * bounds.nodes,
            seen=((False,) * bounds.colors,) * (bounds.nodes + 1),
            bounds=bounds,
        )
    ]


def random_rule(random: Random, number: int) -> Rule[Any]:
    """A rule that treats all nodes alike, and all colors."""
    cell, text = random.randrange(2), random.randrange(2)
    guards = random.sample(range(6), random.choice([0, 1, 1, 2]))
    effects = random.sample(range(9), random.choice([1, 1, 2]))

    def body(s: Network, one: Node, other: Node, color: Color) -> Step[Network]:
        place = colors(s).index(color)
        holds = {
            0: lambda: s.cells[one] == cell,
            1: lambda: s.leader != one,
            2: lambda: other in s.chosen,
            3: lambda: one != other,
            4: lambda: Message(other, text) in s.messages,
            5: lambda: not s.seen[one][place],
        }
        for guard in guards:
            yield f"guard {guard}", holds[guard]()
        for effect in effects:
            if effect == 0:
                s = evolve(s, cells=replaced(s.cells, one, 1 - cell))
            elif effect == 1:
                s = evolve(s, leader=None if s.leader == one else one)
            elif effect == 2:
                s = evolve(s, chosen=s.chosen ^ {one})
            elif effect == 3 and len(s.messages) < 2:
                s = evolve(s, messages=s.messages | {Message(one, text)})
            elif effect == 4 and len(s.history) < 2:
                s = evolve(s, history=(*s.history, other))
            elif effect == 5:
                s = evolve(s, links=replaced(s.links, one, NONE if one == other else other))
            elif effect == 6:
                s = evolve(s, paint=(color, cell))
            elif effect == 7:
                row = replaced(s.seen[one], place, True)
                s = evolve(s, seen=replaced(s.seen, one, row))
            elif effect == 8:
                s = evolve(s, history=())
        return s

    choices = {"one": nodes, "other": nodes, "color": colors}
    return Rule(name=f"rule {number}", by="node", choices=choices, body=body)


def random_model(seed: int) -> Model[Any]:
    """A model that treats all nodes alike, and all colors."""
    random = Random(seed)
    rules = [random_rule(random, number) for number in range(random.randint(1, 4))]
    wanted, size = random.randrange(2), random.randint(1, 3)

    @always
    def Kept(s: Network) -> bool:
        """Not too many nodes of one kind."""
        return sum(cell == wanted for cell in s.cells) + len(s.chosen) < 3 + size

    @always(one=nodes)
    def Led(s: Network, one: Node) -> bool:
        """No leader that is linked to itself."""
        return s.leader != one or s.links[one] != one or len(s.history) < size

    @reachable
    def Shown(s: Network) -> bool:
        """Something that may be reached."""
        return s.leader is not None and s.leader in s.chosen

    return Model(
        name="random",
        doc="",
        bounds=Bounds,
        initial=network,
        properties=(Kept, Led, Shown),
        variants=(Variant("random", tuple(rules), why=""),),
        symmetric={Node: nodes, Color: colors},
    )


def renamed(s: Network, to: tuple[int, ...], paint: dict[str, str]) -> Network:
    """The state with other names, spelled out."""

    def name(node: Any) -> Any:
        return to[node] if node in range(len(to)) and type(node) is not bool else node

    back = [to.index(node) for node in range(len(to))]
    order = list(paint)
    rows = [s.seen[b] for b in back] + list(s.seen[len(to) :])
    shuffled = [order.index(next(c for c in order if paint[c] == color)) for color in order]
    return attrs.evolve(
        s,
        cells=tuple(s.cells[b] for b in back),
        links=tuple(name(s.links[b]) for b in back),
        leader=name(s.leader),
        chosen=frozenset(map(name, s.chosen)),
        messages=frozenset(Message(name(m.sender), m.text) for m in s.messages),
        history=tuple(map(name, s.history)),
        paint=(Color(paint.get(s.paint[0], s.paint[0])), s.paint[1]),
        seen=tuple(tuple(row[i] for i in shuffled) for row in rows),
    )


def orbit(s: Network) -> frozenset[Network]:
    """Every state that differs from this one by names only."""
    names = [str(color) for color in colors(s)]
    return frozenset(
        renamed(s, to, dict(zip(names, paint, strict=True)))
        for to, paint in product(permutations(range(len(s.cells))), permutations(names))
    )


def levels_of(system: System[Any], options: Options) -> tuple[Verdict, list[set[Any]]]:
    """A plain run, and the states of each level."""
    level, seen, found = set(system.initial()), set[Any](), []
    verdict = explore(system, options)
    for _ in verdict.levels:
        found.append(level)
        seen |= level
        level = {after for state in level for _, _, after in system.steps(state)} - seen
    return verdict, found


def assert_orbits(system: System[Any], engine: str, workers: int, *, keep_going: bool) -> bool:
    """Orbits are the classes of reachable states; False if there are too many to compare."""
    plain, states = levels_of(system, Options(max_states=1_500, keep_going=keep_going))
    if plain.stopped_by:
        return False
    options = Options(
        engine,
        keep_going=keep_going,
        workers=workers,
        symmetry=True,
        check_learning=True,
    )
    found = run(system, options)
    assert found.levels == [len({orbit(state) for state in level}) for level in states]
    assert found.stands_for == sum(map(len, states))
    assert lengths(found) == lengths(plain)
    assert_real(found)
    return True


def lengths(verdict: Verdict) -> Any:
    """What was found, and how long the way to it is."""
    witnesses = {name: len(trace.states) for name, trace in verdict.witnesses.items()}
    return verdict.verdict, sorted((v.name, v.states) for v in verdict.violations), witnesses


def assert_real(verdict: Verdict) -> None:
    """Every trace is a behaviour of the system."""
    system = verdict.system
    traces = [v.trace for v in verdict.violations if v.trace] + [*verdict.witnesses.values()]
    for trace in traces:
        assert trace.states[0] in system.initial()
        for before, taken, after in zip(trace.states, trace.steps, trace.states[1:], strict=False):
            steps = [(r.name, tuple(c), s) for r, c, s in system.steps(before)]
            assert (taken.rule, tuple(taken.choices.values()), after) in steps


@pytest.mark.parametrize(
    "seed", [*(pytest.param(seed, marks=pytest.mark.slow) for seed in range(16)), *range(16, 24)]
)
def test_orbits_match_brute_force(seed: int) -> None:
    bounds = {"nodes": 2 + seed % 2, "colors": 1 + seed % 3 // 2}
    engine, workers = ENGINES[seed % 3]
    assert_orbits(random_model(seed).system(bounds=bounds), engine, workers, keep_going=True)


@pytest.mark.slow
@pytest.mark.parametrize("nodes", range(1, 5))
def test_orbits_of_many_random_models(nodes: int, chance: Random) -> None:
    for seed in chance.sample(range(24, 10**6), 5):
        print(f"model: {seed}")
        system = random_model(seed).system(bounds={"nodes": nodes, "colors": 1 + seed % 3})
        for engine, workers in ENGINES:
            assert_orbits(system, engine, workers, keep_going=seed % 2 == 0)


@pytest.mark.slow
def test_the_random_models_are_not_all_too_large_or_trivial() -> None:
    sizes = []
    for seed in range(24):
        system = random_model(seed).system(bounds={"nodes": 2 + seed % 2})
        sizes.append(explore(system, Options(max_states=1_500, keep_going=True)).distinct)
    assert sum(20 < size < 1_500 for size in sizes) >= 8


@pytest.mark.slow
def test_keys_do_not_affect_representatives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without keys all orders are tried, and the same representatives are found."""
    system = TWO_PHASE_COMMIT.system(bounds={"managers": 4})
    with_keys = run(system, Options("learned", symmetry=True))
    monkeypatch.setattr(orbits, "mix", lambda one, other: 0)
    without = run(system, Options("learned", symmetry=True))
    assert with_keys.levels == without.levels
    assert with_keys.stands_for == without.stands_for == 1_568


@pytest.mark.slow
def test_the_reference_engine_finds_as_many_orbits() -> None:
    system = REPLICATION.system("truncate-to-hw", {"max_epoch": 0})
    verdicts = [run(system, Options(e, symmetry=True)) for e in ("reference", "learned")]
    assert len({(v.distinct, v.generated, v.depth, v.stands_for) for v in verdicts}) == 1
    assert verdicts[0].stands_for == run(system).distinct


@pytest.mark.slow
@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(variant.name, marks=[pytest.mark.slow] if number % 3 else [])
        for number, variant in enumerate(DELIVERY.variants)
    ],
)
def test_members_and_partitions_are_interchangeable(variant: str) -> None:
    system = DELIVERY.system(variant, {"partitions": 2, "records": 1})
    options = Options("learned", keep_going=True, max_depth=14, workers=2)
    plain = run(system, options)
    found = run(system, attrs.evolve(options, symmetry=True))
    assert found.stands_for == plain.distinct
    assert found.distinct < plain.distinct / 3
    assert lengths(found) == lengths(plain)


def test_counts_do_not_depend_on_workers() -> None:
    system = DELIVERY.system("unfenced")
    one, three = (run(system, Options("learned", workers=n, symmetry=True)) for n in (1, 3))
    assert (one.levels, one.generated, one.stands_for) == (
        three.levels,
        three.generated,
        three.stands_for,
    )
    traces = [[v.trace.states for v in run.violations if v.trace] for run in (one, three)]
    assert traces[0] == traces[1]


@pytest.mark.slow
def test_auto_counts_orbits_whichever_engine_it_chooses() -> None:
    for managers, engine in ((2, "reference"), (5, "learned")):
        system = TWO_PHASE_COMMIT.system(bounds={"managers": managers})
        verdict = run(system, Options(symmetry=True))
        assert verdict.engine == engine
        assert verdict.stands_for == run(system).distinct


# -- false declarations ----------------------------------------------------------------------------


@rule(by="node", one=nodes)
def joins(s: Network, one: Node) -> Step[Network]:
    """A node is chosen."""
    yield "not chosen", one not in s.chosen
    return evolve(s, chosen=s.chosen | {one})


@rule(by="node", one=nodes)
def leads(s: Network, one: Node) -> Step[Network]:
    """The first node that is chosen leads."""
    yield "nobody leads", s.leader is None
    yield "first of those chosen", bool(s.chosen) and one == min(s.chosen)
    return evolve(s, leader=one)


@always
def FirstIsChosen(s: Network) -> bool:
    """Whoever leads is the first: a property that compares names."""
    return s.leader is None or len(s.chosen) < 2 or s.leader == 0


@reachable
def LastLeads(s: Network) -> bool:
    """The last node leads."""
    return s.leader == s.bounds.nodes - 1


@rule(by="node", one=nodes)
def leads_fairly(s: Network, one: Node) -> Step[Network]:
    """Any node that is chosen leads."""
    yield "nobody leads", s.leader is None
    yield "chosen", one in s.chosen
    return evolve(s, leader=one)


FAIR = Model(
    name="fair",
    doc="",
    bounds=Bounds,
    initial=network,
    properties=(),
    variants=(Variant("fair", (joins, leads_fairly), why=""),),
    final=lambda s: s.leader is not None,
    symmetric={Node: nodes},
)
UNFAIR = attrs.evolve(FAIR, variants=(Variant("unfair", (joins, leads), why=""),))


def half_initial(bounds: Bounds) -> list[Network]:
    """Initial states in which one node is chosen already."""
    return [attrs.evolve(network(bounds)[0], chosen=frozenset({Node(0)}))]


def nodes_not_chosen(s: Network) -> Iterator[Node]:
    """Other nodes in each state."""
    return (node for node in nodes(s) if node not in s.chosen)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (UNFAIR, "rule leads does not treat"),
        (attrs.evolve(FAIR, properties=(FirstIsChosen,)), "property FirstIsChosen"),
        (attrs.evolve(FAIR, properties=(LastLeads,)), "property LastLeads"),
        (attrs.evolve(FAIR, final=lambda s: s.leader == 0), "where a behaviour may end"),
        (attrs.evolve(FAIR, initial=half_initial), "the set of initial states"),
        (attrs.evolve(FAIR, symmetric={Node: nodes_not_chosen}), "lists other values of Node"),
    ],
    ids=["rule", "always", "reachable", "final", "initial", "values"],
)
@pytest.mark.parametrize(("engine", "workers"), ENGINES)
@pytest.mark.parametrize("everything", [False, True])
def test_a_false_declaration_is_rejected_with_its_cause(
    model: Model[Any], says: str, engine: str, workers: int, everything: bool
) -> None:
    options = Options(
        engine,
        keep_going=True,
        workers=workers,
        symmetry=True,
        check_learning=everything,
    )
    with pytest.raises(SpecError, match=says):
        run(model.system(bounds={"nodes": 3}), options)


def test_a_counterexample_without_its_violation_is_rejected() -> None:
    model = attrs.evolve(FAIR, properties=(FirstIsChosen,))
    symmetry = Symmetry(model.system())
    start = network(Bounds(nodes=3))[0]
    fine = attrs.evolve(start, leader=Node(0), chosen=frozenset({Node(0), Node(1)}))
    with pytest.raises(NotSymmetric, match="property FirstIsChosen is not symmetric"):
        symmetry.check_end(Trace(model.system(), (fine,), (), "FirstIsChosen"))


Unused = NewType("Unused", int)


@leads_to(weakly_fair=[joins])
def SomebodyJoins(s: Network) -> tuple[bool, bool]:
    """In the end a node is chosen."""
    return True, bool(s.chosen)


@attrs.frozen
class Wrong:
    """A field that is not what its annotation says."""

    who: frozenset[Node] | tuple[Node, ...] = ()
    pair: Annotated[tuple[int, ...], Node] = (0,)


def wrong(**given: Any) -> Model[Any]:
    """A model whose only state is declared wrongly."""
    still: Callable[[Wrong], Wrong] = lambda s: s  # noqa: E731
    return Model(
        name="wrong",
        doc="",
        initial=lambda bounds: [Wrong(**given)],
        properties=(),
        variants=(Variant("v", (Rule("still", "x", {}, still),), why=""),),
        symmetric={Node: lambda s: [Node(0), Node(1)]},
    )


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (attrs.evolve(FAIR, symmetric={}), "fair declares no symmetry"),
        (attrs.evolve(FAIR, symmetric={Unused: nodes}), "no field .* is declared as Unused"),
        (attrs.evolve(FAIR, symmetric={Node: lambda s: [0, 0]}), "lists a Node twice"),
        (attrs.evolve(FAIR, properties=(SomebodyJoins,)), "SomebodyJoins is a liveness property"),
        (wrong(who="n", pair=(0, 1)), "is not a value of"),
        (wrong(), "has 1 items, and there are 2 values"),
    ],
)
def test_an_unfitting_declaration_is_rejected(model: Model[Any], says: str) -> None:
    for engine in ("reference", "learned"):
        with pytest.raises(SpecError, match=says) as raised:
            run(model.system(), Options(engine, symmetry=True))
        assert "\n" not in str(raised.value)


def test_too_many_renamings_are_rejected() -> None:
    system = TWO_PHASE_COMMIT.system(bounds={"managers": 9})
    with pytest.raises(SpecError, match="362,880 renamings"):
        run(system, Options("learned", symmetry=True))


def test_only_a_new_type_is_declared_symmetric() -> None:
    with pytest.raises(SpecError, match="which is no NewType"):
        attrs.evolve(FAIR, symmetric={int: nodes})


# -- walks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", range(1, 7))
def test_plain_changes_visit_every_order_once(size: int) -> None:
    order, seen = [*range(size)], {tuple(range(size))}
    for place in plain_changes(size):
        order[place], order[place + 1] = order[place + 1], order[place]
        assert tuple(order) not in seen
        seen.add(tuple(order))
    assert seen == set(permutations(range(size)))


def test_a_walk_visits_all_orders_of_all_blocks() -> None:
    exchange = [0, 1, 2, -1, 3, 4, -1]  # four values of one type, three of another
    order = [*range(7)]
    places = {number: place for place, number in enumerate(exchange) if number >= 0}
    seen = {tuple(order)}
    for number in walk_of(0b11011, exchange):  # 0~1~2, 4~5~6
        place = places[number]
        order[place], order[place + 1] = order[place + 1], order[place]
        assert tuple(order) not in seen
        seen.add(tuple(order))
    assert len(seen) == 36
    assert {o[3] for o in seen} == {3}
