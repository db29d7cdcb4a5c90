"""What the checker asks of a mapping: initial states, successors, hidden steps, and reasons."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, TypeAlias

import attrs

from kspec.spec.core import SpecError

Content: TypeAlias = Mapping[str, Any]
"""An event as the file has it: a JSON object."""


class BadEvent(SpecError):
    """An event that the mapping cannot read: malformed, or of an unknown kind."""


@attrs.frozen
class Event:
    """An event of a trace, and where it was found."""

    number: int
    """Its number in the trace; the first event is 1."""
    content: Content
    """Its JSON object."""
    file: str = ""
    line: int = 0
    """Where it is written: the line of an adapter's source if it names one."""
    unread: int = 0
    """How many lines before it could not be read."""

    @property
    def node(self) -> str:
        """The node that recorded it."""
        return str(self.content.get("node", ""))


@attrs.frozen
class Difference:
    """A variable whose value in the specification is not the one that was observed."""

    variable: str
    """A path such as `views[1].high_watermark`."""
    expected: Any
    """The specification's value, as JSON."""
    observed: Any
    """The value in the trace."""

    def __str__(self) -> str:
        return f"{self.variable} is {self.observed!r}, but would be {self.expected!r}"


@attrs.frozen
class Reason:
    """Why a state does not explain an event."""

    guard: str | None = None
    """The guard that blocks the event; None if a value alone differs."""
    differences: tuple[Difference, ...] = ()
    """How the nearest successor differs from the observation."""
    allowed: tuple[str, ...] = ()
    """What is allowed in this state instead; empty: `TraceMapping.allowed`."""
    distance: float = 0
    """How far the state is from one that explains the event; the nearest state is reported."""


@attrs.frozen
class Schemas:
    """JSON Schemas of a mapping's keys, beside those that every trace has."""

    title: str
    event: Mapping[str, Any] = attrs.field(factory=dict)
    header: Mapping[str, Any] = attrs.field(factory=dict)
    definitions: Mapping[str, Any] = attrs.field(factory=dict)
    """What the others refer to as `#/$defs/…`."""


def read_schemas(name: str) -> Schemas:
    """The schemas of a mapping, or of the keys of every `trace`: `schemas/NAME.json`."""
    file = files("kspec.field.recorded").joinpath("schemas", f"{name}.json")
    return Schemas(name, **json.loads(file.read_text(encoding="utf-8")))


class TraceMapping(ABC):
    """How the events of a kind of trace correspond to states of the specification.

    A state is any hashable value. A mapping is made of a header: its class, in `find.MAPPINGS`, is
    called with it. It does not change afterwards: all traces with an equal header share it.
    """

    name: str
    """The name in a header, such as `replica`."""
    hidden_names: Sequence[str] = ()
    """The steps that a trace of this kind cannot show; they may happen before an event."""
    most_hidden: int = 0
    """How many hidden steps may happen between two events."""
    setting_names: Sequence[str] = ()
    """What the `settings` of a header may have."""
    may_lack_events: bool = False
    """Whether any event may be missing: then a line that cannot be read leads to no false
    rejection."""

    @abstractmethod
    def initial(self) -> Iterable[Any]:
        """The states in which a trace may begin."""

    def not_initial(self) -> tuple[Content, Reason]:
        """Where there is no initial state: what the header observed, and why none agrees."""
        raise SpecError(f"{self.name} has no initial state")

    def read(self, content: Content) -> Any:
        """The event as `successors` needs it, parsed once; BadEvent if that is impossible."""
        return content

    @abstractmethod
    def successors(self, state: Any, event: Any) -> Iterable[Any]:
        """The states after an event that the specification allows in a state."""

    def hidden(self, state: Any, event: Any) -> Iterable[Any]:
        """The states after one hidden step, of those that may matter for the event.

        The event is None at the end of the trace.
        """
        return ()

    def reason(self, state: Any, event: Any) -> Reason:
        """Why a state has no successor for an event. BadEvent if the event makes no sense."""
        return Reason()

    def allowed(self, state: Any) -> Sequence[str]:
        """The steps that the specification allows in a state, as text."""
        return ()

    def missing(self, state: Any) -> str:
        """What must still follow if the trace is whole; empty if it may end in this state."""
        return ""

    def undecided(self, state: Any) -> str:
        """Why an accepted trace is inconclusive all the same; empty if it is not."""
        return ""

    def show(self, state: Any) -> Any:
        """A state as JSON."""
        return repr(state)

    def describe(self) -> Mapping[str, Any]:
        """What the verdict says about the specification: model, variant, bounds, settings."""
        return {}

    @classmethod
    def schema(cls) -> Schemas:
        """The schemas of its events' keys and its header's, for `kspec validate --schema`."""
        return Schemas(cls.name)

    def is_local(self, event: Any) -> bool:
        """Whether the event commutes with every event of other nodes and with hidden steps.

        Merging then tries it first and alone. Only say yes if that holds in every state.
        """
        return False
