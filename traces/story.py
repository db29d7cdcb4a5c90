"""A trace as scenes: one for each state, with what changed in it, ready to be drawn.

The terminal (`traces.terminal`) and the page (`kspec.traces.page`) both draw a `Story`; neither
knows any model.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from kspec.spec.core import Model, Rule, Taken
from kspec.spec.core.picture import Arrow, Band, Cell, Lane, Picture
from kspec.spec.core.schema import evident_classes
from kspec.traces.difference import Piece, pieces
from kspec.traces.itf import ACTION, PICKS, Document, encode, for_readers, text
from kspec.traces.trace import Trace, settings


@attrs.frozen
class SceneFact:
    """A named value of a lane, and its previous value if that was different."""

    name: str
    value: str
    before: str | None = None
    pieces: Sequence[Piece] = ()
    """The value in pieces, if it has parts and only some of them changed."""

    @property
    def leaves(self) -> list[Piece]:
        """The pieces that changed."""
        return [piece for piece in self.pieces if piece.before is not None]


@attrs.frozen
class SceneCell:
    """A box in a lane."""

    text: str
    """Its text, or its last text if it was removed; empty if the cell is."""
    colour: int | None = None
    title: str = ""
    change: str = ""
    """`new`, `gone`, or empty."""
    failing: bool = False
    """Whether the property fails here."""
    sign: str = ""


@attrs.frozen
class SceneMark:
    """A line between two cells."""

    label: str
    at: int
    moved: bool = False


@attrs.frozen
class SceneLane:
    """A lane in one scene."""

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
    """The actor of the rule."""
    choices: Mapping[str, str] = attrs.field(factory=dict)
    doc: str = ""
    """The first paragraph of the rule's docstring."""
    lanes: Sequence[SceneLane] = ()
    arrows: Sequence[Arrow] = ()


@attrs.frozen
class Story:
    """A trace, ready to be drawn."""

    title: str
    """Model and variant, or the name of the file."""
    subtitle: str
    """The bounds, or the model that a file names."""
    verdict: str
    """What the trace shows, in one sentence."""
    scenes: Sequence[Scene]
    violated: bool = False
    """Whether the trace is a counterexample; if not, it is a witness."""
    loop: int | None = None
    """The number of the scene that follows the last one, if the behaviour is a lasso."""
    loop_rule: str = ""
    """The rule that leads back to it."""
    loop_choices: Mapping[str, str] = attrs.field(factory=dict)
    """The choices of that rule."""
    property: str = ""
    """The property that is violated or witnessed."""
    promise: str = ""
    """The docstring of that property."""
    why: str = ""
    """Why the variant exists."""
    words: Mapping[str, str] = attrs.field(factory=dict)
    """The meaning of the names in the scenes."""
    colour: str = ""
    """What cells of one colour have in common."""


# -- from traces ------------------------------------------------------------------------------


def tell(trace: Trace, verdict: str, *, violated: bool) -> Story:
    """The story of a trace of a known system."""
    model = trace.system.model
    rules = {rule.name: rule for rule in trace.system.rules}
    scenes: list[Scene] = []
    previous: Picture | None = None
    for index, state in enumerate(trace.states):
        taken = (
            attrs.evolve(trace.steps[index - 1], before=trace.states[index - 1]) if index else None
        )
        picture = picture_of(model, state, taken)
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
        loop_choices={}
        if trace.loop is None
        else choice_texts(trace.steps[-1].choices, trace.states[-1]),
        property=trace.property,
        promise=promise(trace),
        why=trace.system.variant.why,
        words=last_picture.words,
        colour=last_picture.colour,
    )


def picture_of(model: Model[Any], state: Any, taken: Taken | None) -> Picture:
    """A state as its model draws it; a model without a picture shows its variables."""
    if model.picture is None:
        return plain_picture(for_readers(state))
    drawn: Picture = model.picture(state, taken)
    return drawn


def promise(trace: Trace) -> str:
    """The docstring of the trace's property, if it is one of the model's."""
    for prop in trace.system.model.all_properties:
        if prop.name == trace.property:
            return in_plain(inspect.getdoc(prop.body) or "")
    return ""


def in_plain(doc: str) -> str:
    """A docstring on one line, without Markdown."""
    return " ".join(doc.replace("`", "").split())


def tell_plainly(document: Document, title: str) -> Story:
    """A trace of an unknown model, by its variables and their values."""
    scenes: list[Scene] = []
    previous: Picture | None = None
    for index, state in enumerate(document.states):
        shown = {k: state[k] for k in document.variables if k not in (ACTION, PICKS)}
        picture = plain_picture(shown)
        action = state.get(ACTION)
        picks = state.get(PICKS)
        chosen = picked(picks if isinstance(picks, dict) else {})
        if not index and action in (None, "", "init"):  # Quint's name, which kspec's files have
            action = "initial"
        taken = Taken(str(action or "step"), {})
        drawn = scene(index + 1, taken, {}, picture, previous, "")
        scenes.append(attrs.evolve(drawn, choices=chosen))
        previous = picture
    return Story(
        title=title,
        subtitle=str(document.about.get("model", "")),
        verdict=str(document.about.get("property", "")),
        scenes=scenes,
        loop=None if document.loop is None else document.loop + 1,
    )


def picked(picks: Mapping[str, Any]) -> dict[str, str]:
    """The choices of a rule, without the wrapping that Quint gives them."""
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
    facts = {name: text(value) for name, value in values.items()}
    return Picture([Lane("state", facts=facts, parts=values)])


def choice_text(value: Any, state: Any = None) -> str:
    """A choice in a few characters: its own `__str__`, or its fields.

    Given the state in which it was made, a record says its class if that is not evident.
    """
    if isinstance(value, tuple) and "__str__" in vars(type(value)):
        return str(value)
    return text(encode(value, None if state is None else evident_classes(state)))


def choice_texts(choices: Mapping[str, Any], state: Any = None) -> dict[str, str]:
    """The choices of a step, by name."""
    return {name: choice_text(value, state) for name, value in choices.items()}


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
        choices=choice_texts(taken.choices, taken.before) if taken else {},
        doc=in_plain(rule.doc.split("\n\n")[0]) if rule else "",
        lanes=[
            compared(lane, before.get(lane.name), place, known=previous is not None)
            for lane in picture.lanes
        ],
        arrows=picture.arrows,
    )


def compared(lane: Lane, before: Lane | None, place: str, *, known: bool) -> SceneLane:
    """A lane with what is new in it. In the first scene nothing is (`known` is false)."""
    old = before or (Lane(lane.name) if known else lane)
    facts = [compared_fact(name, lane, old) for name in lane.facts]
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


def compared_fact(name: str, lane: Lane, old: Lane) -> SceneFact:
    """A fact, with its value before if that was another, and where it differs."""
    value, before = lane.facts[name], old.facts.get(name)
    if before == value:
        return SceneFact(name, value)
    if name not in lane.parts or name not in old.parts:
        return SceneFact(name, value, before or "")
    found = pieces(old.parts[name], lane.parts[name])
    return SceneFact(name, value, before or "", found if len(found) > 1 else ())


def compared_cells(cells: Sequence[Cell], old: Sequence[Cell], place: str) -> list[SceneCell]:
    """The cells, with new ones marked, and those that were removed.

    A removed cell is shown in its place if that is empty now, or else after the others. A cell
    that only changed its colour is not new.
    """

    def known(cell: Cell, others: Sequence[Cell]) -> bool:
        return any((cell.text, cell.place) == (other.text, other.place) for other in others)

    def scene_cell(cell: Cell, change: str, *, counts: bool = True) -> SceneCell:
        failing = counts and bool(place) and cell.place == place
        return SceneCell(cell.text, cell.colour, cell.title, change, failing, cell.sign)

    gone = [cell for cell in old if cell.text and not known(cell, cells)]
    scene_cells = []
    for cell in cells:
        emptied = [c for c in gone if not cell.text and c.place == cell.place]
        if emptied:
            gone.remove(emptied[0])
            scene_cells.append(scene_cell(emptied[0], "gone"))
        else:
            scene_cells.append(
                scene_cell(cell, "new" if cell.text and not known(cell, old) else "")
            )
    return scene_cells + [scene_cell(cell, "gone", counts=False) for cell in gone]
