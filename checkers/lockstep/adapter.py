"""The adapter that makes an implementation comparable: how to load, drive and observe it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from kspec.spec.core import Blocked, Taken
from kspec.spec.core.rules import S

Subject = TypeVar("Subject")
"""The implementation that is compared with the specification: a mutable object, or several."""


class NotModelled(Exception):
    """Raised by `Adapter.apply`, before it changes anything, where the model does not cover a step.

    A model simplifies. Where the subject rightly does something else, the step is skipped, and
    counted under the given reason.
    """


class Adapter(ABC, Generic[S, Subject]):
    """How one implementation is compared with one model.

    The subject may be a part of the model's state, such as a coordinator without its members. Then
    `view` returns that part, and `apply` does nothing in steps of other actors.
    """

    @abstractmethod
    def load(self, state: S) -> Subject:
        """Build the subject that corresponds to a state of the specification."""

    @abstractmethod
    def apply(self, subject: Subject, taken: Taken) -> Any:
        """Have the subject take this step, and return its answer.

        `taken.before` is the specification's state before it, for the parts of the state that are
        not the subject's: what a message says, what another actor has decided.
        """

    @abstractmethod
    def abstract(self, subject: Subject) -> Any:
        """The subject's state, which must equal `view` of the specification's state."""

    def view(self, state: S) -> Any:
        """The part of the specification's state that the subject must equal; by default all."""
        return state

    def answer(self, before: S, taken: Taken, outcome: S | Blocked) -> Any:
        """The answer that the subject should give, for the outcome by the specification.

        The outcome is the state after the step, or the guard that blocks it.
        """
        return None

    def refuses(self, rule: str, guard: str) -> bool:
        """Whether the subject itself should refuse a step of this rule that this guard blocks.

        Such steps are tried: the answer must equal `answer`, and the state must not change. A guard
        that another actor checks, or a limit, is not for the subject to check.
        """
        return False
