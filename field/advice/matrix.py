"""The matrix: every combination of the settings that matter, under every budget.

Combinations that cannot differ are searched once; a test searches them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import attrs

from kspec.field.advice.questions import BUDGETS, Answer, Budget, Durability

MOST_REPLICAS = 3
"""The matrix has replication factors up to this."""

FLUSH_COUNTS = "one-power-loss"
"""The only budget in which flushing each record makes a difference."""

SAME = (
    "min.insync.replicas applies to acks=all only: acks=0 and acks=1 are searched with 1.",
    "min.insync.replicas above replication.factor counts as replication.factor.",
    "With replication.factor=1 there is no other broker to elect: unclean election is false.",
    "Flushing each record matters only if power is lost: otherwise it is false.",
)
"""The combinations that are left out, and why."""


@attrs.frozen
class Cell:
    """One combination under one budget."""

    settings: Durability
    budget: Budget
    answer: Answer

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        s = self.settings
        return {
            "replication.factor": s.factor,
            "acks": acks_text(s.acks),
            "min.insync.replicas": s.min_insync,
            "unclean.leader.election.enable": s.unclean,
            "flush each record": s.flush,
            **self.answer.to_json(),
        }


def acks_text(acks: int) -> str:
    """Acks as an operator writes it."""
    return "all" if acks == -1 else str(acks)


def questions(
    variant: str, budgets: Sequence[Budget] = tuple(BUDGETS.values())
) -> Iterator[tuple[Durability, Budget]]:
    """The combinations that may differ, by increasing replication factor."""
    for factor, acks, unclean in product(range(1, MOST_REPLICAS + 1), (0, 1, -1), (False, True)):
        if factor == 1 and unclean:
            continue
        for min_insync in range(1, factor + 1 if acks == -1 else 2):
            for budget, flush in product(budgets, (False, True)):
                if budget.name == FLUSH_COUNTS or not flush:
                    yield Durability(variant, acks, min_insync, factor, unclean, flush), budget


def rows(cells: Sequence[Cell]) -> dict[Durability, dict[str, Cell]]:
    """The cells by settings without flushing, and by the name of their column."""
    table: dict[Durability, dict[str, Cell]] = {}
    for cell in cells:
        row = table.setdefault(attrs.evolve(cell.settings, flush=False), {})
        row[column(cell)] = cell
    return table


def column(cell: Cell) -> str:
    """The name of a cell's column."""
    return cell.budget.name + (", flushed" if cell.settings.flush else "")


def cell_text(answer: Answer) -> str:
    """A cell in few letters: whether records are kept, and whether writes stop."""
    kept = {True: "kept", False: f"LOST {(answer.states or 1) - 1}", None: "?"}[answer.kept]
    writes = {True: "", False: ", STOP", None: ", ?"}[answer.available]
    return kept + writes
