"""Rules: named transitions with guards and an effect."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping
from itertools import product
from types import GeneratorType
from typing import Any, Concatenate, Generic, TypeAlias, TypeVar

import attrs

from kspec.spec.core.checks import Check
from kspec.spec.core.errors import SpecError
from kspec.spec.core.sets import domain, ordered
from kspec.spec.core.text import first_paragraph, guards_in_text

S = TypeVar("S", bound=Hashable)
T = TypeVar("T")

Step: TypeAlias = Generator[tuple[str, bool] | Check, None, S]
"""The body of a rule with guards: it yields the guards, and returns the next state."""

Guarded: TypeAlias = Generator[tuple[str, bool] | Check, None, T]
"""A part of a rule that other rules share: it yields guards, and returns a value."""

Choice: TypeAlias = tuple[Any, ...]
"""A value for each choice of a rule, in the order of its parameters."""


class Limit(str):
    """The name of a guard that only keeps a run within its bounds; Kafka has no such guard.

    A state in which limits alone block every rule is at the edge of the bounds, and no deadlock.
    Mutation does not drop limits, since the exploration would not end.
    """

    __slots__ = ()


def limit(name: str) -> Limit:
    """Mark a guard as a limit of the bounds, where the rule names it."""
    return Limit(name)


class Budget(Limit):
    """The name of a limit on how often something goes wrong.

    Fairness does not require a step that only a budget blocks, since a behaviour in which nothing
    more goes wrong is complete. A step that another limit blocks would be taken beyond the bounds.
    """

    __slots__ = ()


def budget(name: str) -> Budget:
    """Mark a guard of a fair rule as a limit on faults, in its name."""
    return Budget(name)


def present(guard: str, value: T | None) -> Guarded[T]:
    """A guard that holds where there is a value, and that returns it.

    record = yield from present("leader holds a record at the fetch offset", log.at(offset))
    """
    yield guard, value is not None
    assert value is not None, guard
    return value


@attrs.frozen
class Blocked:
    """The result of an attempt where a guard does not hold."""

    guard: str
    """The first guard that does not hold."""


@attrs.frozen(eq=False)
class Rule(Generic[S]):
    """A named transition."""

    name: str
    """The name of its function."""
    by: str
    """The actor: the leader, the controller, a member."""
    choices: Mapping[str, Callable[[S], Iterable[Any]]]
    """By parameter: the function that lists the values to choose from in a state."""
    body: Callable[..., Any]
    """The function: guards, then the effect; a rule without guards only returns."""
    ignored: frozenset[str] = frozenset()
    """Guards that are not evaluated: none, except in a mutant."""
    effect: Callable[[S, S], S] | None = None
    """In a mutant: the next state, given the state before and the one that the rule returns."""

    @property
    def doc(self) -> str:
        """Its docstring."""
        return inspect.getdoc(self.body) or ""

    @property
    def summary(self) -> str:
        """The first paragraph of its docstring."""
        return first_paragraph(self.body)

    def guard_names(self) -> list[tuple[str, bool]]:
        """The guards as the function's text names them, and whether each is a limit."""
        return guards_in_text(self.body)

    def instances(self, s: S) -> Iterator[Choice]:
        """Every combination of choices in this state, in a fixed order."""
        return product(*[domain(values(s)) for values in self.choices.values()])

    def listed(self, s: S) -> Iterator[Choice]:
        """As `instances`, without ordering frozensets."""
        return product(*[values(s) for values in self.choices.values()])

    def attempt(
        self,
        s: S,
        choice: Choice,
        *,
        beyond_limits: bool = False,
        beyond_budgets: bool | None = None,
    ) -> S | Blocked:
        """The next state, or the guard that blocks the rule.

        `beyond_limits` ignores limits, and budgets too unless `beyond_budgets` says otherwise.
        """
        after = self.outcome(s, choice, beyond_limits=beyond_limits, beyond_budgets=beyond_budgets)
        return after if type(after) is Blocked else ordered(after, s)

    def outcome(
        self,
        s: S,
        choice: Choice,
        *,
        beyond_limits: bool = False,
        beyond_budgets: bool | None = None,
    ) -> S | Blocked:
        """As `attempt`, without ordering frozensets: do not explore the result as it is."""
        budgets = beyond_limits if beyond_budgets is None else beyond_budgets
        step = self.body(s, *choice)
        if type(step) is GeneratorType:
            try:
                while True:
                    asked = next(step)
                    try:
                        guard, holds = asked[:2] if type(asked) is Check else asked
                    except (TypeError, ValueError):
                        raise without_a_name(f"rule {self.name}", asked) from None
                    if holds is True:
                        continue
                    if holds is not False:
                        raise not_a_guard(self.name, guard, holds)
                    if guard not in self.ignored:
                        ignored = budgets if isinstance(guard, Budget) else beyond_limits
                        if ignored and isinstance(guard, Limit):
                            continue
                        return Blocked(guard)
            except StopIteration as end:
                after = end.value
        else:
            after = step
        if after is None:
            raise SpecError(f"rule {self.name} returns no state: end it with `return`")
        return after if self.effect is None else self.effect(s, after)

    def guards(self, s: S, choice: Choice) -> list[tuple[str, bool]]:
        """The guards that are evaluated here, up to the first that does not hold."""
        asked = []
        step = self.body(s, *choice)
        if type(step) is GeneratorType:
            for guard, holds, *_ in step:
                asked.append((guard, holds))
                if not holds:
                    break
        return asked


def not_a_guard(name: str, guard: object, holds: object) -> SpecError:
    """The error for a rule that yields something other than a guard."""
    return SpecError(
        f"rule {name} yields ({guard!r}, {holds!r}): a guard is its name, and True or False"
    )


def without_a_name(what: str, yielded: object) -> SpecError:
    """The error for a rule or a property that yields a condition without a name."""
    return SpecError(f'{what} yields {yielded!r} without a name: yield "name", condition')


def rule(
    *, by: str, **choices: Callable[[Any], Iterable[Any]]
) -> Callable[[Callable[Concatenate[S, ...], Step[S] | S]], Rule[S]]:
    """Make a rule of a function of the state and of its choices.

    Each further keyword names a parameter, and gives the function that lists its values.
    """

    def decorate(body: Callable[Concatenate[S, ...], Step[S] | S]) -> Rule[S]:
        assert_chooses(f"rule {body.__name__}", body, choices)
        return Rule(name=body.__name__, by=by, choices=choices, body=body)

    return decorate


def assert_chooses(what: str, body: Callable[..., Any], choices: Mapping[str, Any]) -> None:
    """Raise SpecError if a function's parameters differ from the choices of its decorator."""
    chosen = list(inspect.signature(body).parameters)[1:]
    if chosen != list(choices):
        raise SpecError(
            f"{what} takes {chosen or 'no choices'}, "
            f"but its decorator lists {list(choices) or 'none'}"
        )
