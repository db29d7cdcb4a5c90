"""Which bits of which word hold which field of a state.

A layout is made from a model's bounds: a field with `n` possible values takes as many bits as
`n - 1` does, and a field that several things have (a high watermark for every broker) takes one
lane after the other. A word is a signed 64-bit integer of which 63 bits are used, so that words
are never negative and kernels need no unsigned arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

WORD_BITS = 63
"""How many bits of a word a layout uses."""

STATE_BITS = 256
"""How many bits of a state an engine holds: a code of 64, and above it up to three words."""


class LayoutError(Exception):
    """Bounds for which states do not fit, or a state that the layout has no words for."""


@attrs.frozen
class Field:
    """One field of a state: equally wide lanes, side by side in one word."""

    name: str
    word: int
    shift: int
    """Where the first lane begins."""
    width: int
    """Bits of one lane."""
    lanes: int

    @property
    def mask(self) -> int:
        """The bits of one lane, at the bottom of a word."""
        return (1 << self.width) - 1


@attrs.frozen
class Layout:
    """Every field of a state, word by word."""

    fields: Mapping[str, Field]
    widths: tuple[int, ...]
    """How many bits of each word are used."""

    @property
    def bits(self) -> int:
        """How many bits a state takes."""
        return sum(self.widths)

    def __getitem__(self, name: str) -> Field:
        return self.fields[name]

    def pack(self, values: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
        """The words that hold these values, given as the lanes of every field."""
        words = [0] * len(self.widths)
        for name, field in self.fields.items():
            lanes = values[name]
            if len(lanes) != field.lanes:
                raise LayoutError(f"{name} has {len(lanes)} values, and room for {field.lanes}")
            for lane, value in enumerate(lanes):
                if not 0 <= value <= field.mask:
                    raise LayoutError(f"{name} is {value}, and may be 0 to {field.mask}")
                words[field.word] |= value << (field.shift + lane * field.width)
        return tuple(words)

    def unpack(self, words: Sequence[int]) -> dict[str, list[int]]:
        """The values that these words hold."""
        return {
            name: [
                int(words[field.word]) >> (field.shift + lane * field.width) & field.mask
                for lane in range(field.lanes)
            ]
            for name, field in self.fields.items()
        }


def layout(*words: Iterable[tuple[str, int, int]]) -> Layout:
    """Lay fields out, each given as its name, its number of values and its lanes."""
    fields: dict[str, Field] = {}
    widths = []
    for index, word in enumerate(words):
        shift = 0
        for name, values, lanes in word:
            width = (values - 1).bit_length()
            fields[name] = Field(name, index, shift, width, lanes)
            shift += width * lanes
        if shift > WORD_BITS:
            raise LayoutError(f"word {index} of a state takes {shift} bits, {WORD_BITS} at most")
        widths.append(shift)
    if sum(widths) > STATE_BITS:
        raise LayoutError(f"a state takes {sum(widths)} bits, {STATE_BITS} at most")
    return Layout(fields, tuple(widths))
