"""Ask what is learned of a system about any states; what is missing is learned, and asked again."""

from __future__ import annotations

from collections.abc import Callable

from kspec.checkers.engine.learned.expander import LearnedExpander
from kspec.checkers.engine.learned.learning import Learning
from kspec.checkers.engine.packed.asking import Asking, Repacked
from kspec.checkers.engine.search import Counts
from kspec.impl.packed.compiled import Words


class LearnedAsking(Asking):
    """Asks the tables, which grow."""

    expander: LearnedExpander

    def __init__(
        self,
        learning: Learning,
        held: Callable[[], Words] | None = None,
        hold: Callable[[Words], None] = lambda words: None,
        watch: Callable[[], None] = lambda: None,
    ) -> None:
        """`held` returns the words of all states that the caller holds, if it holds words.

        Where states need more bits, `hold` is given their new words, and Repacked is raised.
        `watch` is called after each run of a rule.
        """
        super().__init__(LearnedExpander(learning))
        self.learning = learning
        self.held = held
        self.hold = hold
        self.watch = watch
        self.counted = Counts()
        """What expanders before this one have counted."""

    def learn(self) -> None:
        missed, self.expander.missed = self.expander.missed, []
        if missed and self.learning.learn(missed, self.watch):
            self.repack()

    def repack(self) -> None:
        """Give states more bits."""
        tables = self.learning.tables
        rows = None if self.held is None else tables.rows_of(self.held())
        self.counted.add(self.expander.take_counts())
        self.learning.repack()
        before, self.expander = self.expander, LearnedExpander(self.learning)
        self.expander.go_on_from(before)
        if rows is not None:
            self.hold(tables.columns_of(rows))
            raise Repacked

    def take_counts(self) -> Counts:
        """The counts since the last call."""
        counts, self.counted = self.counted, Counts()
        counts.add(self.expander.take_counts())
        return counts
