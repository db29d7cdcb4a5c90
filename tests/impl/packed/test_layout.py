"""Layouts: packing round-trips, and values that do not fit are rejected."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kspec.impl.packed.layout import STATE_BITS, WORD_BITS, Layout, LayoutError, layout

fields = st.tuples(st.integers(1, 40), st.integers(1, 2))


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Layouts of up to three words."""
    shapes = draw(st.lists(st.lists(fields, min_size=1, max_size=3), min_size=1, max_size=3))
    return layout(
        *(
            [(f"field {w}.{f}", values, lanes) for f, (values, lanes) in enumerate(word)]
            for w, word in enumerate(shapes)
        )
    )


@pytest.mark.slow
@given(layouts(), st.data())
def test_unpacking_inverts_packing(words: Layout, data: st.DataObject) -> None:
    values = {
        name: data.draw(st.lists(st.integers(0, f.mask), min_size=f.lanes, max_size=f.lanes))
        for name, f in words.fields.items()
    }
    packed = words.pack(values)
    assert words.unpack(packed) == values
    assert all(0 <= word < 1 << width for word, width in zip(packed, words.widths, strict=True))


@given(layouts())
def test_no_two_fields_share_a_bit(words: Layout) -> None:
    for index in range(len(words.widths)):
        ranges = sorted(
            (f.shift, f.shift + f.width * f.lanes) for f in words.fields.values() if f.word == index
        )
        assert all(end <= begin for (_, end), (begin, _) in pairwise(ranges))
        assert ranges[-1][1] == words.widths[index]


def test_a_field_takes_the_bits_of_its_greatest_value() -> None:
    words = layout([("three values", 3, 1), ("four values", 4, 1), ("five values", 5, 1)])
    assert [f.width for f in words.fields.values()] == [2, 2, 3]
    assert words.bits == 7


@pytest.mark.parametrize("value", [-1, 4])
def test_a_too_large_value_is_rejected(value: int) -> None:
    with pytest.raises(LayoutError, match=r"small is .*, and may be 0 to 3"):
        layout([("small", 4, 1)]).pack({"small": [value]})


def test_a_too_long_word_is_rejected() -> None:
    layout([("long", 2, WORD_BITS)])
    with pytest.raises(LayoutError, match="takes 64 bits"):
        layout([("long", 2, WORD_BITS + 1)])


def test_a_too_long_state_is_rejected() -> None:
    words = [[(f"word {k}", 2, 63)] for k in range(4)]
    layout(*words, [("last", 2, STATE_BITS - 4 * 63)])
    with pytest.raises(LayoutError, match="takes 257 bits, but at most 256 fit"):
        layout(*words, [("last", 2, 5)])
