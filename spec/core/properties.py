"""Properties: what is always true, what some state shows, and what leads to what."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import product
from types import GeneratorType
from typing import Any, Concatenate, Generic, TypeAlias, overload

import attrs

from spec.core.errors import SpecError
from spec.core.rules import Choice, Rule, S, assert_chooses, without_a_name
from spec.core.text import first_paragraph

Claims: TypeAlias = Generator[tuple[str, bool], None, None]
"""What a property is: places, and whether the property is true there."""


@attrs.frozen(eq=False)
class Always(Generic[S]):
    """What is true in every reachable state."""

    name: str
    body: Callable[..., Any]
    choices: Mapping[str, Callable[[S], Iterable[Any]]] = attrs.field(factory=dict)
    """What it is stated of, each time by itself: as the choices of a rule."""

    @property
    def summary(self) -> str:
        """What it says of itself."""
        return first_paragraph(self.body)

    def instances(self, s: S) -> Iterator[Choice]:
        """Everything that it is stated of in this state, in a fixed order."""
        return product(*[domain(s) for domain in self.choices.values()])

    def failure(self, s: S) -> str | None:
        """The place where the property fails in this state, or None where it holds."""
        if not self.choices:
            return self.failure_of(s, ())
        places = (self.failure_of(s, choice) for choice in self.instances(s))
        return next((place for place in places if place is not None), None)

    def failure_of(self, s: S, choice: Choice) -> str | None:
        """The same for one choice."""
        claims = self.body(s, *choice)
        if type(claims) is not GeneratorType:
            return None if self.judged(claims) else "here"
        for claim in claims:
            try:
                place, true = claim
            except (TypeError, ValueError):
                raise without_a_name(f"property {self.name}", claim) from None
            if not self.judged(true):
                return str(place)
        return None

    def judged(self, claim: object) -> bool:
        """A claim, which is True or False and nothing else: None is a forgotten `return`."""
        if isinstance(claim, bool):
            return claim
        raise SpecError(f"property {self.name} claims {claim!r}, and should claim True or False")


@attrs.frozen(eq=False)
class Reachable(Generic[S]):
    """What is true in at least one reachable state: the model is not empty talk."""

    name: str
    body: Callable[[S], Any]
    within: Callable[[Any], bool] = lambda bounds: True
    """The bounds that are large enough for it; in others it is not asked about."""

    @property
    def summary(self) -> str:
        """What it says of itself."""
        return first_paragraph(self.body)


@attrs.frozen(eq=False)
class LeadsTo(Generic[S]):
    """Whenever the one is true, the other is true then or later, on every fair behaviour.

    Weak fairness of a rule: whoever can take it from some moment on, without pause, takes it.
    Strong fairness: whoever can take it again and again, takes it. Both speak of each choice
    of the rule by itself ("each member that can keep polling polls"). Without any fairness, a
    behaviour still goes on while anything at all can be taken; it does not just stand still.
    """

    name: str
    body: Callable[[S], tuple[bool, bool]]
    weakly_fair: tuple[Rule[S], ...]
    strongly_fair: tuple[Rule[S], ...]

    @property
    def summary(self) -> str:
        """What it says of itself."""
        return first_paragraph(self.body)


Property: TypeAlias = Always[S] | Reachable[S] | LeadsTo[S]


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
    """State what is true in every state: yield (place, claim), or return one claim.

    With choices, as a rule has them, it is stated of each by itself: `@always(leader=brokers)`.
    Then the learned engine keeps what is read for one apart from what is read for another.
    """
    if body is not None:
        return Always(body.__name__, body)

    def decorate(stated: Callable[..., Claims | bool]) -> Always[Any]:
        assert_chooses(f"property {stated.__name__}", stated, choices)
        return Always(stated.__name__, stated, choices)

    return decorate


def reachable(body: Callable[[S], bool]) -> Reachable[S]:
    """State what some state shows, so that a model in which nothing happens is noticed."""
    return Reachable(body.__name__, body)


def reachable_within(
    enough: Callable[[Any], bool],
) -> Callable[[Callable[[S], bool]], Reachable[S]]:
    """State what some state shows where the bounds are large enough for it."""

    def decorate(body: Callable[[S], bool]) -> Reachable[S]:
        return Reachable(body.__name__, body, enough)

    return decorate


def leads_to(
    *, weakly_fair: Sequence[Rule[S]] = (), strongly_fair: Sequence[Rule[S]] = ()
) -> Callable[[Callable[[S], tuple[bool, bool]]], LeadsTo[S]]:
    """State that one thing is followed by another: return the pair, as seen in one state."""

    def decorate(body: Callable[[S], tuple[bool, bool]]) -> LeadsTo[S]:
        return LeadsTo(body.__name__, body, tuple(weakly_fair), tuple(strongly_fair))

    return decorate
