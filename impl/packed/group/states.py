"""States of the specification to words, and back.

Less is laid out than a state says, since some of it follows from the rest:

- What a member is configured with, and the instance of a static one, follow from its consumer.
- Who waits for the answer to a member's request is its consumer, or nobody.
- A group has a protocol type once somebody joined, and a protocol while it has a generation.
- A request on its way has the sender's member id and generation, and what a plan says follows
  from who is in it and how many partitions there were.
- A consumer owns partitions, or was told of some, or is about to hear of some: one of these.

`pack` refuses a state of which this is not true.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from impl.packed.group import fields as at
from impl.packed.group.ids import Ids
from impl.packed.group.layout import group_layout
from impl.packed.group.packing import sheet_of
from impl.packed.group.unpacking import world_of
from impl.packed.layout import Layout, LayoutError
from spec.group.world import Bounds, World


@attrs.frozen
class Packing:
    """How states of some bounds are packed and unpacked."""

    layout: Layout
    places: dict[str, int]
    """By field: its place on the sheet."""
    ids: Ids

    @classmethod
    def of(cls, bounds: Bounds) -> Packing:
        """For these bounds; LayoutError where they have no room."""
        layout, places = group_layout(bounds)
        return cls(layout, places, Ids.of(bounds))

    def pack(self, s: World) -> tuple[int, ...]:
        """The words of a state."""
        try:
            sheet = sheet_of(self.ids, s)
            words = self.layout.pack({name: [sheet[p]] for name, p in self.places.items()})
            same = self.unpack(words) == s
        except (ValueError, LookupError) as error:
            raise LayoutError(f"no rules lead to this state, so it has no words: {s}") from error
        if not same:
            raise LayoutError(f"no rules lead to this state, so it has no words: {s}")
        return words

    def unpack(self, words: Sequence[int]) -> World:
        """The state that these words stand for."""
        values = self.layout.unpack(words)
        sheet = [0] * at.STATE_SIZE
        for name, place in self.places.items():
            sheet[place] = values[name][0]
        return world_of(self.ids, sheet)
