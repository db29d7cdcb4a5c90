"""Models with states of two hundred bits whose answers are known, and kernels for them.

There are as many states of `dials` as ways to set them, and as many at each depth as ways to
have turned that often. `counter` is the specification's own toy, packed so that all its states
have the same code, and differ in the highest bits only.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any

import attrs
import numpy as np
import pytest
from kspec.impl.packed.kernel import Kernel
from kspec.impl.packed.kernels import KERNELS, WrittenFor, kernel_for
from kspec.impl.packed.layout import Layout, layout

from kspec.checkers.engine.packed import by_kernel
from kspec.checkers.engine.packed.codes import coding_of, decode
from kspec.examples.counter import Counter
from kspec.impl.compiled import Words
from kspec.spec.core import (
    Claims,
    Model,
    Step,
    System,
    Taken,
    Variant,
    always,
    bound,
    constant,
    limit,
    rule,
)

LANES, LANE_BITS = 10, 5
"""Of each word. So some lanes cross from one 64 bits of a state into the next."""
WORDS = 4
UNTURNED = 21
"""Where the dials stand that nobody turns."""


def four_words() -> Layout:
    """The layout of both models."""
    return layout(*([(f"word {w}", 1 << LANE_BITS, LANES)] for w in range(WORDS)))


# -- dials ----------------------------------------------------------------------------------------


@attrs.frozen
class DialBounds:
    """Which of forty dials are turned, and how far."""

    dials: int = bound(5, 1, 40, "how many dials are turned")
    top: int = bound(3, 1, 31, "how far each is turned")
    first: int = bound(0, 0, 39, "the first of them")
    apart: int = bound(1, 1, 39, "how far each is from the next")
    alarm: int = bound(0, 0, 1000, "how many turns are too many; 0 if none are")
    stuck: int = bound(0, 0, 1000, "after how many turns the dials are stuck; 0 if never")


@attrs.frozen
class Dials:
    """The dials that are turned."""

    turned: tuple[int, ...]
    """How far each is."""
    bounds: DialBounds = constant()
    """Which they are."""


@rule(by="hand", dial=lambda s: range(s.bounds.dials))
def turn(s: Dials, dial: int) -> Step[Dials]:
    """Turn one dial on by one."""
    yield limit("dial is below its top"), s.turned[dial] < s.bounds.top
    yield "dials are not stuck", s.bounds.stuck == 0 or sum(s.turned) < s.bounds.stuck
    turned = (n + (d == dial) for d, n in enumerate(s.turned))
    return attrs.evolve(s, turned=tuple(turned))


@always
def NoAlarm(s: Dials) -> Claims:
    """Nobody has turned too often."""
    yield "the alarm", s.bounds.alarm == 0 or sum(s.turned) < s.bounds.alarm


DIALS = Model(
    name="dials",
    doc="Dials that are turned up one by one.",
    bounds=DialBounds,
    initial=lambda bounds: [Dials((0,) * bounds.dials, bounds=bounds)],
    properties=(NoAlarm,),
    variants=(Variant("dials", rules=(turn,), why="They turn."),),
)


def dials_kernel(system: System[Dials]) -> Kernel[Dials]:
    """The same in words."""
    bounds: DialBounds = system.bounds
    words_of = four_words()
    lanes = [bounds.first + bounds.apart * d for d in range(bounds.dials)]
    places = [(lane // LANES, lane % LANES * LANE_BITS) for lane in lanes]
    mask = (1 << LANE_BITS) - 1

    def pack(s: Dials) -> tuple[int, ...]:
        values = [UNTURNED] * (WORDS * LANES)
        for lane, turned in zip(lanes, s.turned, strict=True):
            values[lane] = turned
        return words_of.pack({f"word {w}": values[w * LANES :][:LANES] for w in range(WORDS)})

    def unpack(words: Sequence[int]) -> Dials:
        turned = (int(words[word]) >> shift & mask for word, shift in places)
        return Dials(tuple(turned), bounds=bounds)

    def values_of(words: Words) -> Words:
        return np.array([words[word] >> shift & mask for word, shift in places])

    def is_stuck(words: Words) -> Words:
        """Whether the dials are, by state."""
        stuck = (bounds.stuck > 0) & (values_of(words).sum(axis=0) >= bounds.stuck)
        return np.asarray(stuck)

    def expand(
        words: Words, begin: int, end: int, todo: Words, succ: Words, origins: Words, counts: Words
    ) -> tuple[int, int]:
        end = min(end, begin + succ.shape[1] // len(places))
        n = 0
        turns = ~is_stuck(words[:, begin:end])
        for dial, (word, shift) in enumerate(places):
            below = (words[word, begin:end] >> shift & mask) < bounds.top
            at = begin + np.flatnonzero(below & turns)
            succ[:, n : n + len(at)] = words[:, at]
            succ[word, n : n + len(at)] += 1 << shift
            origins[n : n + len(at)] = at << 16 | dial
            n += len(at)
        counts[:] = n
        return end, n

    def check(words: Words, begin: int, end: int, masks: Words) -> int:
        turns = values_of(words[:, begin:end]).sum(axis=0)
        masks[begin:end] = (bounds.alarm > 0) & (turns >= bounds.alarm)
        return int(masks[begin:end].any())

    def stops(words: Words, count: int, stopped: Words) -> None:
        is_top = values_of(words[:, :count]) == bounds.top
        stopped[0, 0] += is_top.sum()
        stopped[0, 1] += (~is_top & is_stuck(words[:, :count])).sum()

    def represent(words: Words, count: int) -> int:
        values = np.sort(values_of(words[:, :count]), axis=0)
        for value, (word, shift) in zip(values, places, strict=True):
            words[word, :count] += value - (words[word, :count] >> shift & mask) << shift
        orders = np.array([factorial(n) for n in range(len(places) + 1)])
        equal = [(values == n).sum(axis=0) for n in range(bounds.top + 1)]
        return int((orders[-1] // np.prod(orders[equal], axis=0)).sum())

    return Kernel(
        layout=words_of,
        fanout=bounds.dials,
        acts=("turn",),
        properties=("NoAlarm",),
        expand=expand,
        check=check,
        pack=pack,
        unpack=unpack,
        taken=lambda origin, _: Taken("turn", {"dial": origin}),
        stops=stops,
        representatives=represent,
    )


def ways_to_turn(bounds: DialBounds) -> list[int]:
    """In how many ways so many turns can be shared out among the dials."""
    ways = np.ones(1, np.int64)
    for _ in range(bounds.dials):
        ways = np.convolve(ways, np.ones(bounds.top + 1, np.int64))
    return [int(n) for n in ways]


# -- a counter all of whose states have one code --------------------------------------------------


def counter_kernel(system: System[Counter]) -> Kernel[Counter]:
    """Number `n` is the state with `n` as its highest bits whose code is that of any other."""
    bounds = system.bounds
    words_of = four_words()
    coding = coding_of(words_of)
    pieces = np.full((bounds.top + 1, coding.pieces), 0xEF, np.uint16)
    pieces[:, -1] = 0
    pieces[:, -2] = np.arange(bounds.top + 1)
    codes = np.full(len(pieces), 0x123456789ABCDEF)
    packed: Words = np.empty((WORDS, len(pieces)), np.int64)
    decode(codes, pieces, 0, len(pieces), coding, packed)
    numbers = {tuple(words): n for n, words in enumerate(packed.T.tolist())}

    def expand(
        words: Words, begin: int, end: int, todo: Words, succ: Words, origins: Words, counts: Words
    ) -> tuple[int, int]:
        n = 0
        for i in range(begin, end):
            value = numbers.get(tuple(words[:, i].tolist()), bounds.top)
            if value < bounds.top:
                succ[:, n] = packed[:, value + 1]
                origins[n] = i << 16
                n += 1
        counts[:] = n
        return end, n

    def check(words: Words, begin: int, end: int, masks: Words) -> int:
        masks[begin:end] = 0
        return 0

    return Kernel(
        layout=words_of,
        fanout=1,
        acts=("count",),
        properties=("NeverNegative",),
        expand=expand,
        check=check,
        pack=lambda s: tuple(packed[:, s.value].tolist()),
        unpack=lambda words: Counter(numbers[tuple(int(w) for w in words)], bounds=bounds),
        taken=lambda origin, _: Taken("count", {}),
    )


# -- for the engine -------------------------------------------------------------------------------

MADE_BY: dict[str, Any] = {"dials": dials_kernel, "counter": counter_kernel}


@pytest.fixture
def wide_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The native engine knows these models, too."""

    def kernel_of(system: System[Any]) -> Kernel[Any]:
        return MADE_BY.get(system.model.name, kernel_for)(system)

    monkeypatch.setattr(by_kernel, "kernel_for", kernel_of)
    for name in MADE_BY:
        written_for = WrittenFor(files=(), variants=(name,), fingerprint="")
        monkeypatch.setitem(KERNELS, name, written_for)  # type: ignore[arg-type]
