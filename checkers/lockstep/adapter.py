"""What makes an implementation comparable: how it is loaded, driven and looked at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from spec.core import Blocked, Taken
from spec.core.rules import S

Subject = TypeVar("Subject")
"""What is compared with the specification: a mutable object, or several."""


class NotModelled(Exception):
    """Raised by `Adapter.apply`, before it changes anything, where the model says too little.

    A model simplifies. Where the subject would rightly do something else than the simple thing,
    the step is left out, and counted under the reason given.
    """


class Adapter(ABC, Generic[S, Subject]):
    """How one implementation is held to one model.

    The subject may be less than the model's state: a coordinator without its members, say. Then
    `view` is that part of the state, and a step of somebody else is one in which `apply` does
    nothing.
    """

    @abstractmethod
    def load(self, state: S) -> Subject:
        """Build the subject that corresponds to a state of the specification."""

    @abstractmethod
    def apply(self, subject: Subject, taken: Taken) -> Any:
        """Have the subject do what this step says, and return what it answered."""

    @abstractmethod
    def abstract(self, subject: Subject) -> Any:
        """What the subject's state says, to be equal to `view` of the specification's state."""

    def view(self, state: S) -> Any:
        """What of the specification's state the subject has to agree with: all, if not said."""
        return state

    def answer(self, before: S, taken: Taken, outcome: S | Blocked) -> Any:
        """What the subject should answer, given what the step comes to by the specification.

        The outcome is the state after the step, or the guard that forbids it.
        """
        return None

    def refuses(self, rule: str, guard: str) -> bool:
        """Whether the subject itself should refuse a step of this rule that this guard forbids.

        Such steps are tried: the answer must be as `answer` says, and the state stay as it is.
        A guard that another actor looks to, or the bounds, is not the subject's to check.
        """
        return False
