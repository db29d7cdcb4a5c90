"""Rules: what can happen, under which named guards, to what effect."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping
from itertools import product
from types import GeneratorType
from typing import Any, Concatenate, Generic, TypeAlias, TypeVar

import attrs

from spec.core.errors import SpecError
from spec.core.text import first_paragraph, guards_in_text

S = TypeVar("S", bound=Hashable)

Step: TypeAlias = Generator[tuple[str, bool], None, S]
"""What a rule with guards is: the guards, one after the other, and in the end the next state."""

Choice: TypeAlias = tuple[Any, ...]
"""One value for each thing that a rule chooses, in the order of its parameters."""


class Limit(str):
    """The name of a guard that only keeps a run within its bounds; Kafka has no such guard.

    A state in which limits alone stop every rule is the edge of the bounds, not a deadlock.
    No mutation drops a limit: the exploration would not end.
    """

    __slots__ = ()


def limit(name: str) -> Limit:
    """Mark a guard as one that only the bounds need, where the rule names it."""
    return Limit(name)


@attrs.frozen
class Blocked:
    """What an attempt answers when a guard does not hold."""

    guard: str
    """The first guard that does not hold."""


@attrs.frozen(eq=False)
class Rule(Generic[S]):
    """One named thing that can happen."""

    name: str
    """The name of the function that states it."""
    by: str
    """Who does it: the leader, the controller, a member."""
    choices: Mapping[str, Callable[[S], Iterable[Any]]]
    """What it chooses, and from which values in a given state, in the order of its parameters."""
    body: Callable[..., Any]
    """The function itself: guards, then the effect; a rule without guards just returns."""
    ignored: frozenset[str] = frozenset()
    """Guards that do not count: none, except in a mutant."""
    effect: Callable[[S, S], S] | None = None
    """What a mutant makes of the outcome, given the state before and the state after."""

    @property
    def doc(self) -> str:
        """What the rule says of itself."""
        return inspect.getdoc(self.body) or ""

    @property
    def summary(self) -> str:
        """The first sentence or two of that."""
        return first_paragraph(self.body)

    def guard_names(self) -> list[tuple[str, bool]]:
        """The guards as the function's text names them, and whether each is a limit."""
        return guards_in_text(self.body)

    def instances(self, s: S) -> Iterator[Choice]:
        """Every combination of choices in this state, in a fixed order."""
        return product(*[domain(s) for domain in self.choices.values()])

    def attempt(self, s: S, choice: Choice, *, beyond_limits: bool = False) -> S | Blocked:
        """Return the next state, or the guard that stands in the way."""
        step = self.body(s, *choice)
        if type(step) is GeneratorType:
            try:
                while True:
                    asked = next(step)
                    try:
                        guard, holds = asked
                    except (TypeError, ValueError):
                        raise without_a_name(f"rule {self.name}", asked) from None
                    if holds is True:
                        continue
                    if holds is not False:
                        raise not_a_guard(self.name, guard, holds)
                    if guard not in self.ignored:
                        if beyond_limits and isinstance(guard, Limit):
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
        """The guards that are asked here, up to the first that does not hold."""
        asked = []
        step = self.body(s, *choice)
        if type(step) is GeneratorType:
            for guard, holds in step:
                asked.append((guard, holds))
                if not holds:
                    break
        return asked


def not_a_guard(name: str, guard: object, holds: object) -> SpecError:
    """What to say of a rule that yields something else than a guard."""
    return SpecError(
        f"rule {name} yields ({guard!r}, {holds!r}): a guard is its name, and True or False"
    )


def without_a_name(who: str, told: object) -> SpecError:
    """What to say of a rule or a property that yields a condition alone."""
    return SpecError(f'{who} yields {told!r}: say what is asked, too: yield "name", condition')


def rule(
    *, by: str, **choices: Callable[[Any], Iterable[Any]]
) -> Callable[[Callable[Concatenate[S, ...], Step[S] | S]], Rule[S]]:
    """Make a rule of a function of the state and of what is chosen.

    Each further keyword names a parameter and gives the function that lists its values.
    """

    def decorate(body: Callable[Concatenate[S, ...], Step[S] | S]) -> Rule[S]:
        assert_chooses(f"rule {body.__name__}", body, choices)
        return Rule(name=body.__name__, by=by, choices=choices, body=body)

    return decorate


def assert_chooses(what: str, body: Callable[..., Any], choices: Mapping[str, Any]) -> None:
    """SpecError where a function takes other choices than its decorator lists."""
    chosen = list(inspect.signature(body).parameters)[1:]
    if chosen != list(choices):
        raise SpecError(
            f"{what} takes {chosen or 'no choices'}, "
            f"but its decorator lists {list(choices) or 'none'}"
        )
