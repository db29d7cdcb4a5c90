"""A state graph as a diagram: boxes and arrows, whole or folded by some fields of the state.

Whole, each box is a state and each arrow a step. Folded, a box stands for all states in which the
fields have the same values, and an arrow for all steps between two such boxes, with the rules that
take them and how many steps each has. What the diagram says is exact, whatever is folded: there is
an arrow if, and only if, some step of the graph leads from one box to the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import attrs

from kspec.checkers.graph.graph import Graph
from kspec.spec.core import Map, SpecError, look_up
from kspec.spec.core.schema import evident_classes, names_of
from kspec.traces.itf import encode, for_readers, text


@attrs.frozen
class Box:
    """A state, or all states with the same values of the chosen fields."""

    level: int
    """How many steps the nearest of its states is from an initial state."""
    states: int
    """How many states it stands for."""
    values: Mapping[str, str]
    """The fields of the state, or the chosen ones, as text."""
    is_initial: bool
    """Whether one of its states is initial."""
    fails: str = ""
    """A property that fails in one of its states."""


@attrs.frozen
class Arrow:
    """The steps from one box to another."""

    source: int
    """The number of the box that they lead away from."""
    target: int
    """The number of the box that they lead to."""
    steps: Mapping[str, int]
    """How many steps there are, by rule; whole, the rule is written with its choices."""


@attrs.frozen
class Diagram:
    """Boxes and arrows."""

    title: str
    """What it is of."""
    fields: tuple[str, ...]
    """The fields by which it is folded; none if it is whole."""
    boxes: tuple[Box, ...]
    """The boxes, nearest to an initial state first."""
    arrows: tuple[Arrow, ...]
    """The arrows, by source and target."""

    def to_json(self) -> dict[str, object]:
        """The diagram, for a machine."""
        return {
            "folded_by": list(self.fields),
            "boxes": [
                {
                    "box": number,
                    "level": box.level,
                    "states": box.states,
                    "values": dict(box.values),
                    "initial": box.is_initial,
                    "fails": box.fails or None,
                }
                for number, box in enumerate(self.boxes)
            ],
            "arrows": [
                {"from": arrow.source, "to": arrow.target, "steps": dict(arrow.steps)}
                for arrow in self.arrows
            ],
        }


def whole(graph: Graph[Any], title: str, fails: Mapping[int, str]) -> Diagram:
    """Every state and every step. `fails` has, by state, a property that fails there."""
    boxes = []
    for number in range(len(graph.keys)):
        values = {name: text(value) for name, value in for_readers(graph.state(number)).items()}
        boxes.append(box_of(graph, [number], values, fails))
    between = ((origin, to, in_words(graph, step)) for step, origin, to in steps_of(graph))
    return Diagram(title, (), tuple(boxes), arrows_of(between))


def folded(
    graph: Graph[Any], fields: Sequence[str], title: str, fails: Mapping[int, str]
) -> Diagram:
    """One box for each combination of values that these fields have in some state.

    Steps between states of one box are not drawn.
    """
    members: dict[tuple[str, ...], list[int]] = {}
    for number in range(len(graph.keys)):
        members.setdefault(values_of(graph.state(number), fields), []).append(number)
    places = {number: place for place, some in enumerate(members.values()) for number in some}
    boxes = [
        box_of(graph, some, dict(zip(fields, values, strict=True)), fails)
        for values, some in members.items()
    ]
    between = (
        (places[origin], places[to], graph.taken(step).rule)
        for step, origin, to in steps_of(graph)
        if places[origin] != places[to]
    )
    return Diagram(title, tuple(fields), tuple(boxes), arrows_of(between))


def box_of(
    graph: Graph[Any], states: Sequence[int], values: Mapping[str, str], fails: Mapping[int, str]
) -> Box:
    """The box of some states."""
    level = int(graph.levels[states[0]])  # states are numbered level by level
    failing = next((fails[number] for number in states if number in fails), "")
    return Box(level, len(states), values, level == 0, failing)


def steps_of(graph: Graph[Any]) -> Iterator[tuple[int, int, int]]:
    """Each step, with the states that it leads from and to."""
    return zip(count(), graph.origins.tolist(), graph.to.tolist(), strict=False)


def arrows_of(between: Iterable[tuple[int, int, str]]) -> tuple[Arrow, ...]:
    """The arrows, given both boxes and the rule of each step; the most frequent rules first."""
    counted: dict[tuple[int, int], Counter[str]] = {}
    for source, target, rule in between:
        counted.setdefault((source, target), Counter())[rule] += 1
    return tuple(
        Arrow(source, target, dict(sorted(steps.items(), key=lambda one: (-one[1], one[0]))))
        for (source, target), steps in sorted(counted.items())
    )


def in_words(graph: Graph[Any], step: int) -> str:
    """The rule of a step and its choices."""
    taken = graph.taken(step)
    if not taken.choices:
        return taken.rule
    evident = evident_classes(graph.state(int(graph.origins[step])))
    values = {name: text(encode(value, evident)) for name, value in taken.choices.items()}
    chosen = ", ".join(f"{name}={value}" for name, value in values.items())
    return f"{taken.rule}({chosen})"


# -- fields ---------------------------------------------------------------------------------------


def values_of(state: Any, fields: Sequence[str]) -> tuple[str, ...]:
    """The values of these fields, as text."""
    evident = evident_classes(state)
    return tuple(text(encode(value_at(state, field), evident)) for field in fields)


def value_at(state: Any, field: str) -> Any:
    """The value of a field such as `group.state`, `views.0.hw` or `logs.1`.

    A number is a place in a sequence; in a mapping it is a key, as is any other text.
    """
    value = state
    for part in field.split("."):
        value = value_in(value, part, field)
    return value


def value_in(value: Any, part: str, field: str) -> Any:
    """The part of a value, by the name of a field, a key or an index."""
    names = names_of(type(value))
    if names is not None:
        table = {name: name for name in names}
        return getattr(value, look_up(f"field of {type(value).__name__}", part, table))
    if isinstance(value, Mapping):
        table = {text(encode(key)): key for key in value}
        if isinstance(value, Map) and part not in table:
            return None  # other states may have the key
        return value[look_up(f"key in {field}", part, table)]
    if isinstance(value, tuple | list):
        if not part.isdecimal() or int(part) >= len(value):
            places = f"0 to {len(value) - 1}" if value else "none, since it is empty"
            raise SpecError(f"{field}: {part} is not an index of this sequence, which has {places}")
        return value[int(part)]
    raise SpecError(f"{field}: a {type(value).__name__} has no part {part}")
