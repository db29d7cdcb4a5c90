"""What is learned of systems with the same states, by one use of it after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kspec.checkers.engine.learned.book import Book
from kspec.checkers.engine.learned.divided import Layout, Unfit
from kspec.checkers.engine.learned.keep import Keeping
from kspec.checkers.engine.learned.learning import Learning
from kspec.checkers.engine.learned.tables import Tables
from kspec.checkers.engine.symmetry import Symmetry
from kspec.spec.core import System


class Learnable:
    """What is learned of systems with the same states: mutants differ in one rule each."""

    def __init__(
        self,
        tables: Tables | None = None,
        *,
        use_cache: bool = False,
    ) -> None:
        self.tables = tables
        self.layout = tables.book.layout if tables else Layout()
        self.use_cache = use_cache
        """Whether to use the cache folder."""
        self.keeping: Keeping | None = None

    def of(
        self,
        system: System[Any],
        symmetry: Symmetry | None = None,
        watch: Callable[[], None] = lambda: None,
    ) -> Learning:
        """What is known of a system, with its initial states; `watch` is called for each."""
        if self.tables is None and self.use_cache:
            self.tables = self.load(system)
        if self.tables is None:
            book = Book(system, self.layout, is_divisible=symmetry is None)
            self.tables = Tables(book)
        return Learning(system, self.tables, symmetry, watch)

    def load(self, system: System[Any]) -> Tables | None:
        """What earlier runs learned."""
        if self.keeping is None:
            self.keeping = Keeping(system)
        tables = self.keeping.load(self.layout)
        if tables is not None:
            self.layout = tables.book.layout
        return tables

    @property
    def kept_runs(self) -> int:
        """The number of paths from earlier runs."""
        return self.keeping.loaded if self.keeping else 0

    def keep(self) -> None:
        """Save what is known for the next run."""
        if self.keeping and self.tables:
            self.keeping.save(self.tables)

    def discard_kept(self) -> bool:
        """Start again without what earlier runs learned; False if there was nothing."""
        if not self.kept_runs or self.keeping is None:
            return False
        self.keeping.discard()
        self.tables = None
        return True

    def lay_out_anew(self, unfit: Unfit) -> None:
        """Start again with other components."""
        self.layout = self.layout.for_unfit(unfit)
        self.tables = None
