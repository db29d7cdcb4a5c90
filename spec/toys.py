"""Models of a few lines whose answers are known: they test the checkers, and teach by example.

`counter` counts, `die-hard` has a known shortest solution, `two-phase-lock` has a known
deadlock and a variant without it, `corridor` is a livelock and a variant that ends.
"""

from __future__ import annotations

from typing import Any

import attrs

from spec.core import (
    Claims,
    Model,
    Step,
    Variant,
    Violated,
    always,
    bound,
    constant,
    evolve,
    leads_to,
    limit,
    reachable,
    rule,
)

# -- counter: as many states as the bound says, plus one ----------------------------------


@attrs.frozen
class CounterBounds:
    """How far it counts."""

    top: int = bound(5, 0, 1_000_000, "the number at which counting stops")


@attrs.frozen
class Counter:
    """One number."""

    value: int
    """How often it was counted up."""
    bounds: CounterBounds = constant()
    """How far it counts."""


@rule(by="counter")
def count(s: Counter) -> Step[Counter]:
    """Count up by one."""
    yield limit("there is a next number"), s.value < s.bounds.top
    return evolve(s, value=s.value + 1)


@always
def NeverNegative(s: Counter) -> bool:
    """A counter that only counts up stays above zero."""
    return s.value >= 0


@reachable
def ReachesTop(s: Counter) -> bool:
    """Counting gets where it is going."""
    return s.value == s.bounds.top


COUNTER = Model(
    name="counter",
    doc="A counter that counts up to a bound: the smallest model there is.",
    bounds=CounterBounds,
    initial=lambda bounds: [Counter(0, bounds=bounds)],
    properties=(NeverNegative, ReachesTop),
    variants=(Variant("counter", rules=(count,), why="It counts up."),),
)


# -- die hard: four litres with a jug of three and a jug of five ----------------------------


@attrs.frozen
class JugBounds:
    """What the jugs hold, and what is to be measured."""

    small: int = bound(3, 1, 99, "litres that the small jug holds")
    big: int = bound(5, 1, 99, "litres that the big jug holds")
    goal: int = bound(4, 0, 99, "litres to be measured in the big jug")


@attrs.frozen
class Jugs:
    """Two jugs without marks."""

    small: int
    """Litres in the small jug."""
    big: int
    """Litres in the big jug."""
    bounds: JugBounds = constant()
    """What the jugs hold."""


@rule(by="hero")
def fill_small(s: Jugs) -> Jugs:
    """Fill the small jug from the tap."""
    return evolve(s, small=s.bounds.small)


@rule(by="hero")
def fill_big(s: Jugs) -> Jugs:
    """Fill the big jug from the tap."""
    return evolve(s, big=s.bounds.big)


@rule(by="hero")
def empty_small(s: Jugs) -> Jugs:
    """Empty the small jug on the floor."""
    return evolve(s, small=0)


@rule(by="hero")
def empty_big(s: Jugs) -> Jugs:
    """Empty the big jug on the floor."""
    return evolve(s, big=0)


@rule(by="hero")
def pour_small_into_big(s: Jugs) -> Jugs:
    """Pour until the small jug is empty or the big one is full."""
    poured = min(s.small, s.bounds.big - s.big)
    return evolve(s, small=s.small - poured, big=s.big + poured)


@rule(by="hero")
def pour_big_into_small(s: Jugs) -> Jugs:
    """Pour until the big jug is empty or the small one is full."""
    poured = min(s.big, s.bounds.small - s.small)
    return evolve(s, small=s.small + poured, big=s.big - poured)


@always
def GoalIsNeverMeasured(s: Jugs) -> Claims:
    """The riddle, turned round: its counterexample is the solution."""
    yield f"{s.big} litres in the big jug", s.big != s.bounds.goal


DIE_HARD = Model(
    name="die-hard",
    doc="Measure four litres with two jugs; the shortest solution has seven states.",
    bounds=JugBounds,
    initial=lambda bounds: [Jugs(0, 0, bounds=bounds)],
    properties=(GoalIsNeverMeasured,),
    variants=(
        Variant(
            "die-hard",
            rules=(
                fill_small,
                fill_big,
                empty_small,
                empty_big,
                pour_small_into_big,
                pour_big_into_small,
            ),
            why="The riddle of the film.",
            violates={"GoalIsNeverMeasured": Violated(states=7)},
        ),
    ),
)


# -- two-phase lock: two transactions that lock the same two rows ---------------------------

ROWS = ("accounts", "orders")


@attrs.frozen
class Locks:
    """Who holds the lock of each row, and which transactions are done."""

    holder: tuple[int | None, ...] = (None, None)
    """For each row the transaction that has locked it."""
    done: frozenset[int] = frozenset()
    """The transactions that have committed."""


def transactions(s: Locks) -> range:
    """There are two."""
    return range(2)


def held(s: Locks, transaction: int) -> int:
    """How many rows the transaction has locked."""
    return s.holder.count(transaction)


def take(s: Locks, transaction: int, row: int) -> Step[Locks]:
    """Lock one row, if it is the transaction's turn to do so and nobody else has it."""
    yield "transaction is not done", transaction not in s.done
    yield "transaction wants this row", row < len(s.holder) and s.holder[row] != transaction
    yield "row is free", s.holder[row] is None
    return evolve(s, holder=tuple(transaction if i == row else h for i, h in enumerate(s.holder)))


@rule(by="transaction", transaction=transactions)
def lock_in_own_order(s: Locks, transaction: int) -> Step[Locks]:
    """Lock the next row: the first transaction begins with accounts, the second with orders."""
    yield "rows are missing", held(s, transaction) < len(ROWS)
    first = transaction
    return (yield from take(s, transaction, first if held(s, transaction) == 0 else 1 - first))


@rule(by="transaction", transaction=transactions)
def lock_in_one_order(s: Locks, transaction: int) -> Step[Locks]:
    """Lock the next row: every transaction begins with accounts."""
    yield "rows are missing", held(s, transaction) < len(ROWS)
    return (yield from take(s, transaction, held(s, transaction)))


@rule(by="transaction", transaction=transactions)
def commit(s: Locks, transaction: int) -> Step[Locks]:
    """Once all rows are locked, commit and give them back."""
    yield "all rows are locked", held(s, transaction) == len(ROWS)
    return Locks(tuple(None if h == transaction else h for h in s.holder), s.done | {transaction})


@reachable
def BothCommit(s: Locks) -> bool:
    """Both transactions can get done."""
    return len(s.done) == 2


OWN_ORDER = Variant(
    "own-order",
    rules=(lock_in_own_order, commit),
    why="Each transaction locks in the order in which it needs the rows.",
    violates={"deadlock": Violated(states=3)},
)

TWO_PHASE_LOCK = Model(
    name="two-phase-lock",
    doc="Two transactions lock the same two rows; in opposite order, they may wait for ever.",
    initial=lambda bounds: [Locks()],
    properties=(BothCommit,),
    variants=(
        OWN_ORDER,
        OWN_ORDER.derive(
            "one-order",
            replace={lock_in_own_order: lock_in_one_order},
            why="With one order for all, whoever has the first row gets the others.",
        ),
    ),
    final=lambda s: len(s.done) == 2,
)


# -- corridor: two people who step aside for each other --------------------------------------


@attrs.frozen
class Corridor:
    """Two people face each other in a corridor with two sides."""

    side: tuple[int, int] = (0, 0)
    """On which side each of them walks: 0 or 1."""
    passed: bool = False
    """Whether they have passed each other."""


def people(s: Corridor) -> range:
    """There are two."""
    return range(2)


@rule(by="both")
def step_aside_together(s: Corridor) -> Step[Corridor]:
    """Both are polite, at the same moment."""
    yield "they face each other", s.side[0] == s.side[1] and not s.passed
    return evolve(s, side=(1 - s.side[0], 1 - s.side[1]))


@rule(by="person", person=people)
def step_aside(s: Corridor, person: int) -> Step[Corridor]:
    """One of them steps aside; the other sees it and does not."""
    yield "they face each other", s.side[0] == s.side[1] and not s.passed
    side = list(s.side)
    side[person] = 1 - side[person]
    return evolve(s, side=(side[0], side[1]))


@rule(by="both")
def pass_by(s: Corridor) -> Step[Corridor]:
    """On different sides, they pass each other."""
    yield "they walk on different sides", s.side[0] != s.side[1] and not s.passed
    return evolve(s, passed=True)


@leads_to(weakly_fair=[step_aside_together, step_aside, pass_by])
def TheyPass(s: Corridor) -> tuple[bool, bool]:
    """Whoever meets in the corridor gets by in the end."""
    return True, s.passed


BOTH_POLITE = Variant(
    "both-polite",
    rules=(step_aside_together, pass_by),
    why="Both step aside at once, and face each other again: each moves, and nobody gets on.",
    violates={"TheyPass": Violated(states=2)},
)

CORRIDOR: Model[Any] = Model(
    name="corridor",
    doc="Two people step aside for each other for ever: a livelock, without any deadlock.",
    initial=lambda bounds: [Corridor()],
    properties=(TheyPass,),
    variants=(
        BOTH_POLITE,
        BOTH_POLITE.derive(
            "one-steps-aside",
            replace={step_aside_together: step_aside},
            why="One at a time is enough: then they stand on different sides, and pass.",
        ),
    ),
    final=lambda s: s.passed,
)
