"""Two transactions lock the same two rows: in opposite orders they deadlock, in one order not.

It shows rules with a choice, guards shared by `yield from`, a deadlock, `final`, and a variant
that repairs another.
"""

from __future__ import annotations

import attrs

from kspec.spec.core import Model, Step, Variant, Violated, evolve, reachable, replaced, rule

ROWS = ("accounts", "orders")


@attrs.frozen
class Locks:
    """The lock on each row, and the transactions that have committed."""

    holder: tuple[int | None, ...] = (None, None)
    """For each row, the transaction that holds its lock."""
    done: frozenset[int] = frozenset()
    """The transactions that have committed."""


def transactions(s: Locks) -> range:
    """The two transactions."""
    return range(2)


def held(s: Locks, transaction: int) -> int:
    """How many rows the transaction has locked."""
    return s.holder.count(transaction)


def take(s: Locks, transaction: int, row: int) -> Step[Locks]:
    """Lock one row for the transaction."""
    yield "transaction is not done", transaction not in s.done
    yield "transaction wants this row", row < len(s.holder) and s.holder[row] != transaction
    yield "row is free", s.holder[row] is None
    return evolve(s, holder=replaced(s.holder, row, transaction))


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
    """Commit once all rows are locked, and release them."""
    yield "all rows are locked", held(s, transaction) == len(ROWS)
    return Locks(tuple(None if h == transaction else h for h in s.holder), s.done | {transaction})


@reachable
def BothCommit(s: Locks) -> bool:
    """Both transactions can commit."""
    return len(s.done) == 2


OWN_ORDER = Variant(
    "own-order",
    rules=(lock_in_own_order, commit),
    why="Each transaction locks the rows in the order in which it needs them.",
    violates={"deadlock": Violated(states=3)},
)

ONE_ORDER = OWN_ORDER.derive(
    "one-order",
    replace={lock_in_own_order: lock_in_one_order},
    why="Locking in one global order cannot form a cycle of transactions that wait.",
)

TWO_PHASE_LOCK = Model(
    name="two-phase-lock",
    doc="Two transactions lock the same two rows; in opposite orders they may deadlock.",
    initial=lambda bounds: [Locks()],
    properties=(BothCommit,),
    variants=(OWN_ORDER, ONE_ORDER),
    final=lambda s: len(s.done) == 2,
)
