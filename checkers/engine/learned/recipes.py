"""Recipes: how a value that a rule returns is made of the values that it was given.

`standins.recipe_of` finds the recipe of a value. `settled` makes it a function of one component:
whatever it copies from others is read. `applied` makes the value for another value of that
component, without running the rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kspec.checkers.engine.learned.values import Values
from kspec.checkers.engine.learned.walk import WHOLE

if TYPE_CHECKING:
    from kspec.checkers.engine.learned.standins import ReadTrace

Recipe = Any
"""A number, if the value is known; else ("copy", place, number),
("evolve", place, number, ((index, recipe), ...)), ("record", shape, apart, (recipe, ...)),
("tuple", (recipe, ...)) or ("set", place, number, more, less). The number is that of the value at
the place."""


def components_in(recipe: Recipe, found: set[int]) -> None:
    """The components that a recipe copies from."""
    if type(recipe) is int:
        return
    what = recipe[0]
    parts: list[Recipe] = []
    if what in ("copy", "set", "evolve"):
        found.add(recipe[1].component)
    if what == "evolve":
        parts = [part for _, part in recipe[3]]
    elif what in ("record", "tuple"):
        parts = [*recipe[-1]]
    for part in parts:
        components_in(part, found)


def settled(trace: ReadTrace, recipe: Recipe, base: int | None) -> Recipe:
    """The recipe with everything read that is not copied from the component `base`.

    What remains are tuples of paths and numbers alone: ("copy", path), ("evolve", path,
    ((index, part), ...)), ("record", class, apart, parts), ("tuple", parts), ("set", path,
    more, less).
    """
    if type(recipe) is int:
        return recipe
    values = trace.values
    what = recipe[0]
    if what == "copy":
        _, place, number = recipe
        if place.component == base:
            return ("copy", place.path)
        trace.note(place, WHOLE, -1, number)
        return number
    if what == "tuple":
        parts = tuple([settled(trace, part, base) for part in recipe[1]])
        if all(type(part) is int for part in parts):
            return values.tuple_of(parts)
        return ("tuple", parts)
    if what == "record":
        _, shape, apart, old = recipe
        parts = tuple([settled(trace, part, base) for part in old])
        if all(type(part) is int for part in parts):
            return values.record_of(shape, parts, apart)
        return ("record", shape, apart, parts)
    if what == "set":
        _, place, number, more, less = recipe
        if place.component == base:
            return ("set", place.path, tuple(sorted(more)), tuple(sorted(less)))
        trace.note(place, WHOLE, -1, number)
        return with_members(values, number, more, less)
    _, place, number, changes = recipe
    changes = tuple([(index, settled(trace, part, base)) for index, part in changes])
    if place.component == base:
        return ("evolve", place.path, changes)
    trace.note(place, WHOLE, -1, number)
    if all(type(part) is int for _, part in changes):
        return with_changes(values, number, changes)
    made: list[Recipe] = list(values.parts[number])
    for index, part in changes:
        made[index] = part
    return ("record", values.shape_of(number), values.apart[number], tuple(made))


def with_members(values: Values, number: int, more: Any, less: Any) -> int:
    """A frozenset with some members less, and then some more that it has no equals of."""
    kept = {values.same[part]: part for part in values.parts[number]}
    for part in less:
        kept.pop(values.same[part], None)
    for part in more:
        kept.setdefault(values.same[part], part)
    return values.set_of(tuple(sorted(kept.values())))


def with_changes(values: Values, number: int, changes: Any) -> int:
    """A record with some parts changed."""
    parts = list(values.parts[number])
    for index, part in changes:
        parts[index] = part
    return values.record_of(values.shape_of(number), tuple(parts), values.apart[number])


def applied(values: Values, recipe: Recipe, number: int) -> int:
    """Make a value by a settled recipe from another value of the component."""
    if type(recipe) is int:
        return recipe
    what = recipe[0]
    if what == "copy":
        return values.at(number, recipe[1])
    if what == "evolve":
        old = values.at(number, recipe[1])
        changes = [(index, applied(values, part, number)) for index, part in recipe[2]]
        return with_changes(values, old, changes)
    if what == "tuple":
        return values.tuple_of(tuple([applied(values, part, number) for part in recipe[1]]))
    if what == "record":
        parts = tuple([applied(values, part, number) for part in recipe[3]])
        return values.record_of(recipe[1], parts, recipe[2])
    return with_members(values, values.at(number, recipe[1]), recipe[2], recipe[3])
