"""What all shortest paths share is what an enumeration of them shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import attrs
import pytest

from kspec.checkers.graph.passages import Passages, passages
from kspec.checkers.models.find import find_model
from kspec.spec.core import Always, Model, NoBounds, Reachable, System, Variant, always, rule


@attrs.frozen
class Place:
    number: int = 0


def random_system(chance: Random) -> System[Place]:
    """A random graph with two rules; one of its states is bad."""
    size = chance.randint(4, 12)
    near = {n: chance.sample(range(size), chance.randint(0, 3)) for n in range(size)}
    far = {n: chance.sample(range(size), chance.randint(0, 2)) for n in range(size)}
    bad = set(chance.sample(range(1, size), chance.randint(1, 2)))

    def steps(to: dict[int, list[int]]) -> Any:
        return lambda s: range(len(to[s.number]))

    @rule(by="walker", n=steps(near))
    def walk(s: Place, n: int) -> Place:
        """A step."""
        return Place(near[s.number][n])

    @rule(by="walker", n=steps(far))
    def jump(s: Place, n: int) -> Place:
        """Another step."""
        return Place(far[s.number][n])

    @always
    def Good(s: Place) -> bool:
        """No bad state is reached."""
        return s.number not in bad

    return Model(
        name="random",
        doc="Places.",
        initial=lambda bounds: [Place(0)],
        properties=(Good,),
        bounds=NoBounds,
        variants=(Variant("only", (walk, jump), "It is random."),),
    ).system()


def shortest_paths(system: System[Any], prop: Any) -> list[list[tuple[Any, str, Any]]]:
    """All shortest paths to a state in which the property fails, as steps."""
    paths: list[list[tuple[Any, str, Any]]] = [[]]
    ends = {0: system.initial()[0]}
    assert prop.failure(ends[0]) is None
    for _ in range(20):
        longer = []
        for path in paths:
            state = path[-1][2] if path else ends[0]
            longer += [
                [*path, (state, f"{r.name}{choice}", after)]
                for r, choice, after in system.steps(state)
            ]
        found = [path for path in longer if prop.failure(path[-1][2]) is not None]
        if found:
            return found
        paths = [p for p in longer if p[-1][2] not in {s for s, _, _ in p}][:20000]
        if not paths:
            return []
    return []


def steps_of(found: Passages) -> Iterator[tuple[Any, Any]]:
    graph = found.graph
    for step in found.steps:
        yield graph.state(int(graph.origins[step])), graph.state(int(graph.to[step]))


@pytest.mark.parametrize("seed", range(40))
def test_an_enumeration_of_all_shortest_paths_agrees(seed: int) -> None:
    system = random_system(Random(seed))
    (prop,) = system.properties
    assert isinstance(prop, Always)
    expected = shortest_paths(system, prop)
    found = passages(system, prop, max_states=1000)
    if found is None:
        assert not expected
        return
    assert found.paths == len(expected)
    assert found.length == len(expected[0]) + 1
    shared = set.intersection(*({before for before, _, _ in p} | {p[-1][2]} for p in expected))
    rules = [Counter(name.partition("(")[0] for _, name, _ in path) for path in expected]
    least = {rule: min(count[rule] for count in rules) for rule in set().union(*rules)}
    assert found.rules == {rule: count for rule, count in least.items() if count}
    assert found.some_rules == set(least)
    steps = set.intersection(*({(name, a, b) for a, name, b in path} for path in expected))
    assert set(steps_of(found)) == {(before, after) for _, before, after in steps}
    passed = {values["number"] for values in found.values(["number"])}
    assert passed == {str(place.number) for place in shared}


def test_the_random_systems_are_not_trivial() -> None:
    found = [
        passages(s, s.properties[0], max_states=1000)  # type: ignore[arg-type]
        for s in (random_system(Random(seed)) for seed in range(40))
    ]
    several = [one for one in found if one is not None and one.paths > 1]
    assert len(several) > 5
    assert any(len(one.values(["number"])) > 2 for one in several)
    assert any(one.some_rules - one.rules.keys() for one in several)


@pytest.mark.slow
def test_every_loss_of_kip_101_elects_twice() -> None:
    model = find_model("replication")
    system = model.system("kip-101").with_properties(["StrongIsr"])
    (prop,) = system.properties
    assert isinstance(prop, Always)
    found = passages(system, prop, max_states=100_000)
    assert found is not None
    assert (found.length, found.rules["controller_elects_leader"]) == (12, 2)
    assert found.values(["quorum.epoch"]) == [{"quorum.epoch": text} for text in ("-1", "0", "1")]
    levels = [int(found.graph.levels[found.graph.to[step]]) for step in found.steps]
    assert levels == sorted(set(levels))


def test_a_witness_has_passages_too() -> None:
    system = find_model("die-hard").system()
    reached: Reachable[Any] = Reachable("Four", lambda s: s.big == 4)
    found = passages(system, reached, max_states=1000)
    assert found is not None
    assert found.length == 7
    assert passages(system, Reachable("Nine", lambda s: s.big == 9), max_states=1000) is None
