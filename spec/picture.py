"""What a state looks like: lanes with bands, cells, marks and facts, and arrows between lanes.

A model says how its states are drawn by returning a `Picture`; the terminal and the page
both draw from it. Whatever carries a `place` is found again when a property names that place
as the one where it fails: `offset 0 on broker 2`, say, which is on the lane `broker 2`. What
follows a comma in the property's words is explanation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs


@attrs.frozen
class Cell:
    """One box in a lane: a record of a log, a partition that a member holds."""

    text: str
    """What stands in it; nothing, where the lane has room and there might be something."""
    colour: int | None = None
    """Cells of one colour belong together: for a record, its leader epoch."""
    place: str = ""
    """What a property calls this cell when it fails there."""
    title: str = ""
    """A longer text for someone who points at it."""


@attrs.frozen
class Mark:
    """A line between two cells: the high watermark, the end offset."""

    label: str
    at: int
    """How many cells stand before it."""


@attrs.frozen
class Band:
    """A state that a lane stays in for some steps. The page has a strip of them over all steps."""

    name: str
    colour: int | None = None


@attrs.frozen
class Lane:
    """One broker, one member, or the controller."""

    name: str
    role: str = ""
    """What it is at this moment: leader, follower."""
    facts: Mapping[str, str] = attrs.field(factory=dict)
    """What else it knows, as name and value."""
    cells: Sequence[Cell] = ()
    marks: Sequence[Mark] = ()
    place: str = ""
    """What a property calls this lane when it fails there."""
    band: Band | None = None
    """Which of its states it is in, where it goes through some."""


@attrs.frozen
class Arrow:
    """A message that the last step carried from one lane to another."""

    source: str
    target: str
    label: str


@attrs.frozen
class Picture:
    """One state as people look at it."""

    lanes: Sequence[Lane]
    arrows: Sequence[Arrow] = ()
    words: Mapping[str, str] = attrs.field(factory=dict)
    """What the names in it mean, for someone who does not know them."""
    colour: str = ""
    """What cells of one colour have in common; the colour is the number of it."""
