"""The drawing of a state: lanes with bands, cells, marks and facts, and arrows between lanes.

A model's `picture` function returns a `Picture`; the terminal and the page draw it. A lane or
cell with a `place` is marked when a property fails there: `offset 0 on broker 2` is a cell of the
lane `broker 2`. Whatever follows a comma in the name of a claim is explanation, not place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs


@attrs.frozen
class Cell:
    """A box in a lane: a record of a log, a partition that a member owns."""

    text: str
    """The text in the box; empty where the lane has room for something that may be missing."""
    colour: int | None = None
    """Cells that belong together have the same colour, such as records of one leader epoch."""
    place: str = ""
    """The name by which a property refers to this cell."""
    title: str = ""
    """A longer text, shown on hover."""
    sign: str = ""
    """A sign that comes and goes while the cell stays the same, such as ✓ once acknowledged."""


@attrs.frozen
class Mark:
    """A line between two cells: the high watermark, the log end offset."""

    label: str
    """The text at the line."""
    at: int
    """The number of cells before it."""


@attrs.frozen
class Band:
    """A state of a lane over some steps; the page draws them as a strip over all steps."""

    name: str
    """The name of the state."""
    colour: int | None = None
    """Bands of one state have the same colour."""


@attrs.frozen
class Lane:
    """A broker, a member, or the controller."""

    name: str
    """The heading of the lane."""
    role: str = ""
    """Its current role, such as leader or follower."""
    facts: Mapping[str, str] = attrs.field(factory=dict)
    """Further values, by name."""
    cells: Sequence[Cell] = ()
    """Its cells, from left to right."""
    marks: Sequence[Mark] = ()
    """Its marks between cells."""
    place: str = ""
    """The name by which a property refers to this lane."""
    band: Band | None = None
    """Its current state, if it goes through states."""
    parts: Mapping[str, Any] = attrs.field(factory=dict)
    """The ITF values of facts that have parts: a change is shown at the parts that changed."""


@attrs.frozen
class Arrow:
    """A message of the last step, from one lane to another."""

    source: str
    """The name of the lane that sends it."""
    target: str
    """The name of the lane that receives it."""
    label: str
    """What the message is."""


@attrs.frozen
class Picture:
    """The drawing of one state."""

    lanes: Sequence[Lane]
    """The lanes, from top to bottom."""
    arrows: Sequence[Arrow] = ()
    """The messages of the last step."""
    words: Mapping[str, str] = attrs.field(factory=dict)
    """A glossary of the names in the picture."""
    colour: str = ""
    """What cells of one colour have in common."""
