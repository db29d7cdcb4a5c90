"""Properties: invariants and reachability properties; liveness has a module of its own."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import product
from types import GeneratorType
from typing import Any, Concatenate, Generic, TypeAlias, overload

import attrs

from kspec.spec.core.errors import SpecError
from kspec.spec.core.liveness import Liveness
from kspec.spec.core.rules import Choice, S, assert_chooses, without_a_name
from kspec.spec.core.sets import domain
from kspec.spec.core.text import first_paragraph

Claims: TypeAlias = Generator[tuple[str, bool], None, None]
"""The body of a property: it yields places, and whether the property is true there."""

HERE = "here"
"""The place of a claim about a whole state, or about the choices of its property."""


@attrs.frozen(eq=False)
class Always(Generic[S]):
    """An invariant: true in every reachable state."""

    name: str
    body: Callable[..., Any]
    choices: Mapping[str, Callable[[S], Iterable[Any]]] = attrs.field(factory=dict)
    """By parameter: the function that lists its values; it is evaluated for each separately."""

    @property
    def summary(self) -> str:
        """The first paragraph of its docstring."""
        return first_paragraph(self.body)

    def instances(self, s: S) -> Iterator[Choice]:
        """Every combination of choices in this state, in a fixed order."""
        return product(*[domain(values(s)) for values in self.choices.values()])

    def listed(self, s: S) -> Iterator[Choice]:
        """As `instances`, without ordering frozensets."""
        return product(*[values(s) for values in self.choices.values()])

    def failure(self, s: S) -> str | None:
        """The place where the property fails in this state, or None where it holds."""
        if not self.choices:
            return self.failure_of(s, ())
        for choice in self.instances(s):
            place = self.failure_of(s, choice)
            if place == HERE:
                chosen = zip(self.choices, choice, strict=True)
                return ", ".join(f"{name} {value}" for name, value in chosen)
            if place is not None:
                return place
        return None

    def failure_of(self, s: S, choice: Choice) -> str | None:
        """The first place where it fails for one choice, or None."""
        claims = self.body(s, *choice)
        if type(claims) is not GeneratorType:
            return None if self.judged(claims) else HERE
        for claim in claims:
            try:
                place, true = claim
            except (TypeError, ValueError):
                raise without_a_name(f"property {self.name}", claim) from None
            if not self.judged(true):
                return str(place)
        return None

    def judged(self, claim: object) -> bool:
        """The claim, which must be True or False: None is a forgotten `return`."""
        if isinstance(claim, bool):
            return claim
        raise SpecError(f"property {self.name} claims {claim!r}, and should claim True or False")


@attrs.frozen(eq=False)
class Reachable(Generic[S]):
    """A reachability property: true in some reachable state, so the model is not vacuous."""

    name: str
    body: Callable[[S], Any]
    within: Callable[[Any], bool] = lambda bounds: True
    """Whether bounds are large enough for it; in smaller bounds it is not checked."""

    @property
    def summary(self) -> str:
        """The first paragraph of its docstring."""
        return first_paragraph(self.body)


Property: TypeAlias = Always[S] | Reachable[S] | Liveness[S]


@overload
def always(body: Callable[[S], Claims | bool], /) -> Always[S]: ...


@overload
def always(
    **choices: Callable[[Any], Iterable[Any]],
) -> Callable[[Callable[Concatenate[S, ...], Claims | bool]], Always[S]]: ...


def always(
    body: Callable[..., Claims | bool] | None = None,
    /,
    **choices: Callable[[Any], Iterable[Any]],
) -> Any:
    """Make an invariant of a function that yields (place, claim), or returns one claim.

    With choices, as a rule has them (`@always(leader=brokers)`), it is evaluated for each choice
    separately, which the learned engine learns faster. A single claim fails at its choices:
    `leader 0`.
    """
    if body is not None:
        return Always(body.__name__, body)

    def decorate(stated: Callable[..., Claims | bool]) -> Always[Any]:
        assert_chooses(f"property {stated.__name__}", stated, choices)
        return Always(stated.__name__, stated, choices)

    return decorate


def reachable(body: Callable[[S], bool]) -> Reachable[S]:
    """Make a reachability property, which a model without behaviour violates."""
    return Reachable(body.__name__, body)


def reachable_within(
    enough: Callable[[Any], bool],
) -> Callable[[Callable[[S], bool]], Reachable[S]]:
    """Make a reachability property for bounds that are large enough for it."""

    def decorate(body: Callable[[S], bool]) -> Reachable[S]:
        return Reachable(body.__name__, body, enough)

    return decorate
