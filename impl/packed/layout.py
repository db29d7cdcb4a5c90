"""Layouts: the bits and words of a state's fields.

A layout is computed from a model's bounds: a field with `n` possible values takes as many bits as
`n - 1` does, and a field with several instances (a high watermark for every broker) takes one lane
for each. A word is a signed 64-bit integer of which 63 bits are used, so that words are never
negative and kernels need no unsigned arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

WORD_BITS = 63
"""The bits of a word that a layout uses."""

STATE_BITS = 256
"""The bits of a state that an engine can hold: a code of 64, and up to three more words."""


class LayoutError(Exception):
    """The bounds are too large for a state, or a state has no words in the layout."""


@attrs.frozen
class Field:
    """One field of a state: equally wide lanes, side by side in one word."""

    name: str
    word: int
    shift: int
    """The lowest bit of the first lane."""
    width: int
    """The bits of one lane."""
    lanes: int

    @property
    def mask(self) -> int:
        """A mask of one lane's width."""
        return (1 << self.width) - 1


@attrs.frozen
class Layout:
    """Every field of a state, word by word."""

    fields: Mapping[str, Field]
    widths: tuple[int, ...]
    """The bits of each word that are used."""

    @property
    def bits(self) -> int:
        """The bits that a state takes."""
        return sum(self.widths)

    def __getitem__(self, name: str) -> Field:
        return self.fields[name]

    def pack(self, values: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
        """The words that hold these values, given as the lanes of every field."""
        words = [0] * len(self.widths)
        for name, field in self.fields.items():
            lanes = values[name]
            if len(lanes) != field.lanes:
                raise LayoutError(f"{name} has {len(lanes)} values for {field.lanes} lanes")
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
    """Lay out fields, each given by its name, its number of values and its number of lanes."""
    fields: dict[str, Field] = {}
    widths = []
    for index, word in enumerate(words):
        shift = 0
        for name, values, lanes in word:
            width = (values - 1).bit_length()
            fields[name] = Field(name, index, shift, width, lanes)
            shift += width * lanes
        if shift > WORD_BITS:
            raise LayoutError(
                f"word {index} of a state takes {shift} bits, but at most {WORD_BITS} fit"
            )
        widths.append(shift)
    if sum(widths) > STATE_BITS:
        raise LayoutError(f"a state takes {sum(widths)} bits, but at most {STATE_BITS} fit")
    return Layout(fields, tuple(widths))
