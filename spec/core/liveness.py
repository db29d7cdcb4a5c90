"""Liveness properties, and the fairness that they assume.

As in TLA+, a behaviour may stutter: at any moment, and forever. Only fairness excludes that.

- **Weak fairness** of a step: if it is enabled from some moment on, it is taken again and again.
- **Strong fairness** of a step: if it is enabled again and again, it is taken again and again.

A step that changes nothing is stuttering, and counts neither as enabled nor as taken (TLA+: the
subscript of `WF_vars`). A fair *rule* is fair for each combination of its choices separately;
`together` makes one condition of several. In TLA+, for a rule `Fetch(l, f)`:

    weakly_fair=[fetch]                              \\A l, f: WF_vars(Fetch(l, f))
    weakly_fair=[together(fetch, each=["f"])]        \\A f: WF_vars(\\E l: Fetch(l, f))
    weakly_fair=[together(fetch)]                    WF_vars(\\E l, f: Fetch(l, f))
    weakly_fair=[together(fetch, truncate)]          WF_vars(Fetches \\/ Truncates)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import GeneratorType
from typing import Any, Generic, TypeAlias

import attrs

from kspec.spec.core.errors import SpecError
from kspec.spec.core.rules import Rule, S
from kspec.spec.core.text import first_paragraph


@attrs.frozen(eq=False)
class Together(Generic[S]):
    """Rules under one fairness condition, enabled and taken if one of them is."""

    rules: tuple[Rule[S], ...]
    each: tuple[str, ...] = ()
    """The choices for whose values there are separate conditions."""


Fair: TypeAlias = "Rule[S] | Together[S]"


def together(*rules: Rule[S], each: Sequence[str] = ()) -> Together[S]:
    """One fairness condition for some rules with all their choices, except those in `each`."""
    for rule in rules:
        for name in each:
            if name not in rule.choices:
                raise SpecError(f"together: {rule.name} has no choice {name}")
    return Together(rules, tuple(each))


def fair_tuple(given: Sequence[Any]) -> tuple[Any, ...]:
    """The fair rules of a property; SpecError if one is not a rule."""
    if isinstance(given, Rule | Together):
        raise SpecError("fair rules are a list, such as weakly_fair=[my_rule]")
    for one in given:
        if not isinstance(one, Rule | Together):
            name = getattr(one, "name", None) or getattr(one, "__name__", repr(one))
            raise SpecError(f"{name} cannot be fair: name a rule, or together(rules)")
    return tuple(given)


@attrs.frozen(eq=False)
class Liveness(Generic[S]):
    """A property of whole behaviours, under fairness."""

    name: str
    body: Callable[[S], Any]
    weakly_fair: tuple[Fair[S], ...] = attrs.field(default=(), converter=fair_tuple)
    strongly_fair: tuple[Fair[S], ...] = attrs.field(default=(), converter=fair_tuple)
    within: Callable[[Any], bool] = lambda bounds: True
    """Whether bounds are large enough to decide it; in smaller bounds it is checked on request."""

    @property
    def summary(self) -> str:
        """The first paragraph of its docstring."""
        return first_paragraph(self.body)

    def begins(self, s: S) -> bool:
        """Whether the property requires something from this state on, and is not satisfied yet."""
        return not self.reached(s)

    def reached(self, s: S) -> bool:
        """Whether this state satisfies it."""
        return self.judged(self.body(s))

    def judged(self, condition: object) -> bool:
        """The condition, which must have a value: None is a forgotten `return`."""
        if condition is None or isinstance(condition, GeneratorType):
            raise self.misstated(condition, "True or False")
        return bool(condition)

    def misstated(self, found: object, expected: str) -> SpecError:
        """The error of a property whose function returns something else."""
        what = "yields claims" if isinstance(found, GeneratorType) else f"returns {found!r}"
        return SpecError(f"property {self.name} {what}, and should return {expected}")


@attrs.frozen(eq=False)
class LeadsTo(Liveness[S]):
    """On every fair behaviour, the first condition leads to the second. TLA+: `P ~> Q`."""

    def begins(self, s: S) -> bool:
        """Whether the first condition holds here, and the second does not."""
        first, second = self.conditions(s)
        return first and not second

    def reached(self, s: S) -> bool:
        """Whether the second condition holds here."""
        return self.conditions(s)[1]

    def conditions(self, s: S) -> tuple[bool, bool]:
        """Both conditions."""
        found = self.body(s)
        if not isinstance(found, tuple) or len(found) != 2:
            raise self.misstated(found, "two conditions")
        return self.judged(found[0]), self.judged(found[1])


@attrs.frozen(eq=False)
class InfinitelyOften(Liveness[S]):
    """On every fair behaviour, the condition holds again and again. TLA+: `[]<>P`."""


@attrs.frozen(eq=False)
class EventuallyAlways(Liveness[S]):
    """On every fair behaviour, the condition holds from some moment on. TLA+: `<>[]P`."""


def leads_to(
    *,
    weakly_fair: Sequence[Fair[S]] = (),
    strongly_fair: Sequence[Fair[S]] = (),
    within: Callable[[Any], bool] = lambda bounds: True,
) -> Callable[[Callable[[S], tuple[bool, bool]]], LeadsTo[S]]:
    """Make a liveness property of a function that returns both conditions for a state."""

    def decorate(body: Callable[[S], tuple[bool, bool]]) -> LeadsTo[S]:
        return LeadsTo(body.__name__, body, weakly_fair, strongly_fair, within)

    return decorate


def infinitely_often(
    *,
    weakly_fair: Sequence[Fair[S]] = (),
    strongly_fair: Sequence[Fair[S]] = (),
    within: Callable[[Any], bool] = lambda bounds: True,
) -> Callable[[Callable[[S], bool]], InfinitelyOften[S]]:
    """Make a liveness property of a condition that must hold again and again."""

    def decorate(body: Callable[[S], bool]) -> InfinitelyOften[S]:
        return InfinitelyOften(body.__name__, body, weakly_fair, strongly_fair, within)

    return decorate


def eventually_always(
    *,
    weakly_fair: Sequence[Fair[S]] = (),
    strongly_fair: Sequence[Fair[S]] = (),
    within: Callable[[Any], bool] = lambda bounds: True,
) -> Callable[[Callable[[S], bool]], EventuallyAlways[S]]:
    """Make a liveness property of a condition that must hold from some moment on."""

    def decorate(body: Callable[[S], bool]) -> EventuallyAlways[S]:
        return EventuallyAlways(body.__name__, body, weakly_fair, strongly_fair, within)

    return decorate
