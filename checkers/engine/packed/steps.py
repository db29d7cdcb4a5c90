"""Sources of states and steps that run compiled code; their keys are words as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kspec.checkers.engine.packed.asking import Asking, Repacked
from kspec.checkers.engine.packed.expander import FAILED_BIT, KernelExpander
from kspec.checkers.engine.steps import Key, Numbers, Source
from kspec.impl.packed.compiled import Words
from kspec.impl.packed.kernels import kernel_for
from kspec.spec.core import System, Taken


class PackedSteps(Source[Any]):
    """Keys are the words of states, as bytes."""

    asking: Asking
    width: int

    def keys_of(self, columns: Words) -> list[Key]:
        """The keys of states, given a column of words for each."""
        whole = np.ascontiguousarray(columns.T, np.int64).view(f"V{8 * self.width}")
        keys: list[Key] = whole.ravel().tolist()
        return keys

    def words(self, keys: Sequence[Any]) -> Words:
        """The words of states, a column for each."""
        rows = np.frombuffer(b"".join(keys), np.int64).reshape(-1, self.width)
        return rows.T.copy()

    def words_at(self, places: Numbers) -> Words:
        """The words of the states with these numbers, a column for each."""
        return self.words([self.keys[place] for place in places.tolist()])

    def steps(self, begin: int, end: int) -> tuple[Numbers, Sequence[Key], Numbers]:
        while True:
            try:
                found = self.packed_steps(np.arange(begin, end))
            except Repacked:
                continue  # all states have new words
            origins, labels = (np.concatenate(part) for part in list(zip(*found, strict=True))[:2])
            successors = np.concatenate([columns for _, _, columns in found], axis=1)
            order = np.lexsort((*self.order_of(origins, labels), origins))
            after = self.keys_of(successors[:, order])
            return origins[order], after, self.relabelled(labels[order])

    def packed_steps(self, places: Numbers) -> list[tuple[Numbers, Numbers, Words]]:
        """Steps in any order, in parts: origins, labels, and the words of the states after."""
        found = []
        for answer in self.asking.expand(places, self.words_at):
            self.raise_again(answer.places[answer.masks >> FAILED_BIT & 1 == 1])
            found.append((answer.origins, answer.labels, answer.successors.copy()))
        return found

    def raise_again(self, failed: Numbers) -> None:
        """Run the rules again in a state where one raised an exception, to raise it here."""
        for number in failed.tolist():
            {after for _, _, after in self.system.steps(self.state(number))}

    def order_of(self, origins: Numbers, labels: Numbers) -> tuple[Numbers, ...]:
        """What steps out of one state are ordered by, the last first."""
        return ()

    def relabelled(self, labels: Numbers) -> Numbers:
        """The labels of steps, given those of the expander."""
        return labels


class StepsByKernel(PackedSteps):
    """Runs a hand-written kernel."""

    def __init__(self, system: System[Any]) -> None:
        super().__init__(system)
        self.acts = None
        self.kernel = kernel_for(system)
        self.width = len(self.kernel.layout.widths)
        self.asking = Asking(KernelExpander(self.kernel, system, coverage=False))
        self.begin(map(self.as_key, system.initial()))

    def as_state(self, key: Any) -> Any:
        return self.kernel.unpack(np.frombuffer(key, np.int64).tolist())

    def as_key(self, state: Any) -> Key:
        return np.array(self.kernel.pack(state), np.int64).tobytes()

    def as_taken(self, label: int, before: Any) -> Taken:
        return self.kernel.taken(label, before)
