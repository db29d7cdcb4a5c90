"""Mappings whose events are observations that `spec.observed` has checks for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from kspec.field.recorded.mapping import Difference, Reason, Schemas, TraceMapping, read_schemas
from kspec.field.recorded.observation import plain
from kspec.spec.core import Checked, decide
from kspec.spec.observed.contradiction import Contradiction


class ObservedMapping(TraceMapping):
    """A state is what is known; an event leads to one other, or fails a check."""

    @abstractmethod
    def observe(self, state: Any, event: Any) -> Checked[Any]:
        """What is known after an event, and the checks that it has to pass."""

    def instead(self, state: Any, event: Any) -> Iterable[str]:
        """What would be allowed in place of an event, as text."""
        return ()

    def successors(self, state: Any, event: Any) -> Iterable[Any]:
        """What is known after an event, if it contradicts nothing."""
        decision = decide(self.observe(state, event))
        return () if decision.failed else (decision.effect,)

    def reason(self, state: Any, event: Any) -> Reason:
        """The check that an event fails, and the value that it contradicts."""
        failed = decide(self.observe(state, event)).failed
        if failed is None:
            return Reason()
        differences = () if failed.error is None else tuple(difference(failed.error))
        return Reason(failed.guard, differences, tuple(self.instead(state, event)))

    @classmethod
    def schema(cls) -> Schemas:
        """The keys of its events and its header."""
        return read_schemas(cls.name)


def difference(found: Contradiction) -> Iterable[Difference]:
    """A contradiction as text and JSON; none if the check is about something else."""
    expected, observed = plain(found.expected), plain(found.observed)
    if found.relation:
        yield Difference(found.variable, f"{found.relation} {expected}", observed)
    elif None not in (expected, observed) and expected != observed:
        yield Difference(found.variable, expected, observed)
