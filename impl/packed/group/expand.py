"""All successors of states: each rule, for each choice, on a copy of the state."""

from __future__ import annotations

from impl.packed.compiled import Words, compiled
from impl.packed.group.consuming import (
    expand_beats,
    expand_faults,
    expand_polling,
)
from impl.packed.group.coordinating import (
    expand_asks,
    expand_timers,
    expand_world,
)
from impl.packed.group.fields import (
    FANOUT,
    HOW_MANY,
)
from impl.packed.group.group import (
    place,
)
from impl.packed.group.holding import (
    polls,
)
from impl.packed.group.writing import (
    Out,
    lay_down,
)
from impl.packed.pointer import pointer_to


@compiled
def expand(
    words: Words, begin: int, end: int, whole: Words, succ: Words, origins: Words, counts: Words
) -> tuple[int, int]:
    """Write all successors of the states from `begin` to `end`.

    Returns how far it came before there was no more room for the successors of a state, and
    how many successors there are. `counts` gets the number of each act's.
    """
    sheet = pointer_to(whole)
    out = Out(pointer_to(succ), succ.shape[1], pointer_to(origins))
    counts[:] = 0
    n = 0
    stop = end
    for i in range(begin, end):
        if n + sheet[FANOUT] > len(origins):
            stop = i
            break
        lay_down(words, i, sheet)
        n = expand_asks(sheet, i << 16, out, n)
        n = expand_timers(sheet, i << 16, out, n)
        n = expand_world(sheet, i << 16, out, n)
        for consumer in range(sheet[HOW_MANY]):
            if polls(sheet, place(consumer)):
                n = expand_polling(sheet, consumer, i << 16, out, n)
            n = expand_beats(sheet, consumer, i << 16, out, n)
            n = expand_faults(sheet, consumer, i << 16, out, n)
    for k in range(n):
        counts[origins[k] >> 8 & 255] += 1
    return stop, n
