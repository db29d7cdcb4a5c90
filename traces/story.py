"""A trace as it is told: scene by scene, with what changed in each, ready to be drawn.

The terminal (`traces.terminal`) and the page (`traces.page`) both draw a `Story`; neither
knows anything of models.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from spec.core import Rule, Taken
from spec.picture import Arrow, Band, Cell, Lane, Picture
from traces.itf import ACTION, PICKS, Document, encode, text, variables
from traces.trace import Trace, settings


@attrs.frozen
class SceneFact:
    """Something a lane knows, and what it was before if that was something else."""

    name: str
    value: str
    before: str | None = None


@attrs.frozen
class SceneCell:
    """A box in a lane."""

    text: str
    """What stands in it, or did before it was gone; nothing, where the place is empty."""
    colour: int | None = None
    title: str = ""
    change: str = ""
    """`new`, `gone`, or nothing."""
    failing: bool = False
    """Whether the property fails here."""


@attrs.frozen
class SceneMark:
    """A line between two cells."""

    label: str
    at: int
    moved: bool = False


@attrs.frozen
class SceneLane:
    """A lane as it stands in one scene."""

    name: str
    role: str = ""
    role_before: str | None = None
    facts: Sequence[SceneFact] = ()
    cells: Sequence[SceneCell] = ()
    marks: Sequence[SceneMark] = ()
    changed: bool = False
    failing: bool = False
    band: Band | None = None
    band_before: str | None = None


@attrs.frozen
class Scene:
    """One state, and the step that led to it."""

    number: int
    """From 1."""
    rule: str
    """The rule taken, or `initial`."""
    by: str = ""
    """Who did it."""
    choices: Mapping[str, str] = attrs.field(factory=dict)
    doc: str = ""
    """What the rule says of itself, in its first sentence."""
    lanes: Sequence[SceneLane] = ()
    arrows: Sequence[Arrow] = ()


@attrs.frozen
class Story:
    """Everything that is drawn of a trace."""

    title: str
    """Model and variant, or the file's name."""
    subtitle: str
    """The bounds, or whatever else places it."""
    verdict: str
    """What the trace is evidence of, in one sentence."""
    scenes: Sequence[Scene]
    violated: bool = False
    """Whether the last scene is a failure (and not a witness, or merely the end)."""
    loop: int | None = None
    """The number of the scene that follows the last one, in a behaviour without end."""
    loop_rule: str = ""
    """The rule that leads back to it."""
    property: str = ""
    """What is violated, or witnessed."""
    promise: str = ""
    """What that property says, in its own words."""
    why: str = ""
    """What there is to know of the variant beforehand."""
    words: Mapping[str, str] = attrs.field(factory=dict)
    """What the names in the scenes mean."""
    colour: str = ""
    """What cells of one colour have in common."""


# -- from traces ------------------------------------------------------------------------------


def tell(trace: Trace, verdict: str, *, violated: bool) -> Story:
    """The story of a trace of a known system."""
    model = trace.system.model
    rules = {rule.name: rule for rule in trace.system.rules}
    draw = model.picture or (lambda state, _: plain_picture(variables(state)))
    scenes: list[Scene] = []
    previous: Picture | None = None
    for index, state in enumerate(trace.states):
        taken = (
            attrs.evolve(trace.steps[index - 1], before=trace.states[index - 1]) if index else None
        )
        picture = draw(state, taken)
        last = index == len(trace.states) - 1
        failing = trace.where if violated and last else ""
        scenes.append(scene(index + 1, taken, rules, picture, previous, failing))
        previous = picture
    bounds = ", ".join(f"{k} {v}" for k, v in settings(trace.system.bounds).items())
    last_picture = previous or Picture([])
    return Story(
        title=f"{model.name}, {trace.system.variant.name}",
        subtitle=bounds,
        verdict=verdict,
        scenes=scenes,
        violated=violated,
        loop=None if trace.loop is None else trace.loop + 1,
        loop_rule="" if trace.loop is None else trace.steps[-1].rule,
        property=trace.property,
        promise=promise(trace),
        why=trace.system.variant.why,
        words=last_picture.words,
        colour=last_picture.colour,
    )


def promise(trace: Trace) -> str:
    """What the property of the trace says of itself, if it is one of the model's."""
    for prop in (*trace.system.model.properties, *trace.system.model.sanity):
        if prop.name == trace.property:
            return in_plain(inspect.getdoc(prop.body) or "")
    return ""


def in_plain(doc: str) -> str:
    """A docstring as a reader has it: in one line, without the marks of Markdown."""
    return " ".join(doc.replace("`", "").split())


def tell_plainly(document: Document, title: str) -> Story:
    """The story of a trace whose model is not known: variables and values, as they stand."""
    scenes: list[Scene] = []
    previous: Picture | None = None
    for index, state in enumerate(document.states):
        shown = {k: state[k] for k in document.variables if k not in (ACTION, PICKS)}
        picture = plain_picture(shown)
        action = state.get(ACTION)
        picks = state.get(PICKS)
        chosen = picked(picks if isinstance(picks, dict) else {})
        taken = Taken(str(action or ("step" if index else "initial")), {})
        told = scene(index + 1, taken, {}, picture, previous, "")
        scenes.append(attrs.evolve(told, choices=chosen))
        previous = picture
    return Story(
        title=title,
        subtitle=str(document.about.get("model", "")),
        verdict=str(document.about.get("property", "")),
        scenes=scenes,
        loop=None if document.loop is None else document.loop + 1,
    )


def picked(picks: Mapping[str, Any]) -> dict[str, str]:
    """What a rule chose, with or without the wrapping that Quint gives it."""
    chosen = {}
    for name, pick in picks.items():
        wrapped = isinstance(pick, dict) and pick.keys() == {"tag", "value"}
        if not wrapped:
            chosen[name] = text(pick)
        elif pick["tag"] == "Some":
            chosen[name] = text(pick["value"])
    return chosen


def plain_picture(values: Mapping[str, Any]) -> Picture:
    """A single lane with a fact for each variable, of ITF values."""
    return Picture([Lane("state", facts={name: text(value) for name, value in values.items()})])


def choice_text(value: Any) -> str:
    """What a rule chose, in a few characters: as it says itself, or by its fields."""
    if isinstance(value, tuple) and "__str__" in vars(type(value)):
        return str(value)
    return text(encode(value))


# -- what changed ------------------------------------------------------------------------------


def scene(
    number: int,
    taken: Taken | None,
    rules: Mapping[str, Rule[Any]],
    picture: Picture,
    previous: Picture | None,
    failing: str,
) -> Scene:
    """A picture, compared with the one before it."""
    before = {lane.name: lane for lane in previous.lanes} if previous else {}
    place = failing.partition(",")[0]
    rule = rules.get(taken.rule) if taken else None
    return Scene(
        number=number,
        rule=taken.rule if taken else "initial",
        by=rule.by if rule else "",
        choices={k: choice_text(v) for k, v in taken.choices.items()} if taken else {},
        doc=in_plain(rule.doc.split("\n\n")[0]) if rule else "",
        lanes=[
            compared(lane, before.get(lane.name), place, known=previous is not None)
            for lane in picture.lanes
        ],
        arrows=picture.arrows,
    )


def compared(lane: Lane, before: Lane | None, place: str, *, known: bool) -> SceneLane:
    """A lane with what is new in it; nothing is new where nothing came before (`known`)."""
    old = before or (Lane(lane.name) if known else lane)
    facts = [
        SceneFact(name, value, old.facts.get(name, "") if old.facts.get(name) != value else None)
        for name, value in lane.facts.items()
    ]
    cells = compared_cells(lane.cells, old.cells, place)
    moved = {mark.label: mark.at for mark in old.marks}
    marks = [SceneMark(m.label, m.at, moved.get(m.label) != m.at) for m in lane.marks]
    role_before = old.role if old.role != lane.role else None
    was, now = (band.name if band else "" for band in (old.band, lane.band))
    band_before = was if was != now else None
    return SceneLane(
        name=lane.name,
        role=lane.role,
        role_before=role_before,
        band=lane.band,
        band_before=band_before,
        facts=facts,
        cells=cells,
        marks=marks,
        changed=(
            role_before is not None
            or band_before is not None
            or any(f.before is not None for f in facts)
            or any(c.change for c in cells)
            or any(m.moved for m in marks)
        ),
        failing=bool(lane.place) and (place == lane.place or place.endswith(f" on {lane.place}")),
    )


def compared_cells(cells: Sequence[Cell], old: Sequence[Cell], place: str) -> list[SceneCell]:
    """The cells, those that are new marked, and those that are gone.

    What is gone is shown in its own place where that is empty now, and else after the others.
    A cell that has only changed its colour is neither: it stayed.
    """

    def known(cell: Cell, others: Sequence[Cell]) -> bool:
        return any((cell.text, cell.place) == (other.text, other.place) for other in others)

    def told(cell: Cell, change: str, *, counts: bool = True) -> SceneCell:
        failing = counts and bool(place) and cell.place == place
        return SceneCell(cell.text, cell.colour, cell.title, change, failing)

    gone = [cell for cell in old if cell.text and not known(cell, cells)]
    scene_cells = []
    for cell in cells:
        emptied = [c for c in gone if not cell.text and c.place == cell.place]
        if emptied:
            gone.remove(emptied[0])
            scene_cells.append(told(emptied[0], "gone"))
        else:
            scene_cells.append(told(cell, "new" if cell.text and not known(cell, old) else ""))
    return scene_cells + [told(cell, "gone", counts=False) for cell in gone]
