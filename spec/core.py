"""The words a specification is written in: rule, property, bound, variant, model.

A **rule** is one named thing that can happen. It is a function that first yields its guards,
each a name and whether it holds, and then returns the next state:

    @rule(by="leader", leader=brokers)
    def leader_writes(s: Cluster, leader: int) -> Step[Cluster]:
        yield "presumes leadership", s.presumes_leadership(leader)
        yield limit("log has room"), s.logs[leader].end < s.bounds.log_size
        return s.with_log(leader, ...)

The first guard that does not hold stops the rule, so a later guard may rely on an earlier
one. Guards and effect stand together, once; whoever needs the rule (exploration, simulation,
mutation, documentation) goes through `Rule.attempt`. What a rule chooses (`leader`) is
enumerated in a fixed order, from a function of the state (`brokers`).

A **property** is written in the same way: it yields claims, each the place that it speaks of
and whether it is true there. The first claim that is false is where the property fails.

A **model** is initial states, properties, bounds and variants. A **variant** is a set of
rules, given as the smallest difference from its parent. A **system** is a model with variant
and bounds decided: what an engine explores.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import textwrap
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from types import GeneratorType
from typing import Any, Concatenate, Generic, TypeAlias, TypeVar

import attrs

from spec.picture import Picture

S = TypeVar("S", bound=Hashable)

Step: TypeAlias = Generator[tuple[str, bool], None, S]
"""What a rule with guards is: the guards, one after the other, and in the end the next state."""

Claims: TypeAlias = Generator[tuple[str, bool], None, None]
"""What a property is: places, and whether the property is true there."""

Choice: TypeAlias = tuple[Any, ...]
"""One value for each thing that a rule chooses, in the order of its parameters."""


class SpecError(Exception):
    """A model that is not well-formed, or a name or value it does not have; one clear line."""


def look_up(kind: str, name: str, table: Mapping[str, Any]) -> Any:
    """Find `name`, or say which names come near it."""
    if name in table:
        return table[name]
    folded = {known.casefold(): known for known in table}
    near = difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.5)
    if near:
        hint = f"did you mean {' or '.join(folded[n] for n in near)}?"
    elif table:
        hint = f"there is {', '.join(table)}"
    else:
        hint = "there is none"
    raise SpecError(f"no {kind} named {name!r}: {hint}")


def first_paragraph(body: Callable[..., Any]) -> str:
    """The first paragraph of a function's docstring, on one line."""
    return " ".join((inspect.getdoc(body) or "").split("\n\n")[0].split())


# -- rules -------------------------------------------------------------------------------


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
                    guard, holds = next(step)
                    if not holds and guard not in self.ignored:
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


def guards_in_text(body: Callable[..., Any]) -> list[tuple[str, bool]]:
    """The guards that a rule's text yields, in order, and whether each is a limit.

    Read from the text, so that a guard is known before anything has happened.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(body)))
    except (OSError, SyntaxError):
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
            name = node.value.elts[0]
            is_limit = isinstance(name, ast.Call) and bool(name.args)
            text = name.args[0] if isinstance(name, ast.Call) and name.args else name
            if isinstance(text, ast.Constant):
                found.append((node.lineno, str(text.value), is_limit))
    return [(text, is_limit) for _, text, is_limit in sorted(found)]


def rule(
    *, by: str, **choices: Callable[[Any], Iterable[Any]]
) -> Callable[[Callable[Concatenate[S, ...], Step[S] | S]], Rule[S]]:
    """Make a rule of a function of the state and of what is chosen.

    Each further keyword names a parameter and gives the function that lists its values.
    """

    def decorate(body: Callable[Concatenate[S, ...], Step[S] | S]) -> Rule[S]:
        chosen = list(inspect.signature(body).parameters)[1:]
        if chosen != list(choices):
            raise SpecError(
                f"rule {body.__name__} takes {chosen or 'no choices'}, "
                f"but its decorator lists {list(choices) or 'none'}"
            )
        return Rule(name=body.__name__, by=by, choices=choices, body=body)

    return decorate


# -- properties ---------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Always(Generic[S]):
    """What is true in every reachable state."""

    name: str
    body: Callable[[S], Any]

    @property
    def summary(self) -> str:
        """What it says of itself."""
        return first_paragraph(self.body)

    def failure(self, s: S) -> str | None:
        """The place where the property fails in this state, or None where it holds."""
        claims = self.body(s)
        if type(claims) is not GeneratorType:
            return None if claims else "here"
        for place, true in claims:
            if not true:
                return str(place)
        return None


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
    of the rule by itself ("each member that can keep polling polls").
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


def always(body: Callable[[S], Claims | bool]) -> Always[S]:
    """State what is true in every state: yield (place, claim), or return one claim."""
    return Always(body.__name__, body)


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


# -- bounds -------------------------------------------------------------------------------


@attrs.frozen
class Bound:
    """The range of one bound, and what it limits."""

    name: str
    default: int
    low: int
    high: int
    doc: str


def bound(default: int, low: int, high: int, doc: str) -> Any:
    """A field of a model's bounds: a whole number from `low` to `high`."""

    def within(bounds: object, field: attrs.Attribute[int], value: object) -> None:
        if type(value) is not int:
            raise SpecError(f"{field.name} is a whole number, not {value!r}")
        if not low <= value <= high:
            raise SpecError(f"{field.name} is {value}, and may be {low} to {high}")

    return attrs.field(default=default, validator=within, metadata={"bound": (low, high, doc)})


def constant() -> Any:
    """A field that is the same in every state of a run and no part of what tells them apart."""
    return attrs.field(eq=False, repr=False)


@attrs.frozen
class NoBounds:
    """The bounds of a model that is finite by itself."""


# -- models -------------------------------------------------------------------------------


@attrs.frozen
class Violated:
    """What a variant that must fail is expected to do to a property."""

    states: int
    """How many states its shortest counterexample has."""
    bounds: Mapping[str, int] = attrs.field(factory=dict)
    """The bounds that it takes, where the defaults do not show it."""


@attrs.frozen(eq=False)
class Variant(Generic[S]):
    """One set of rules for a model, and what is expected of it."""

    name: str
    rules: tuple[Rule[S], ...]
    why: str
    """Why it exists: what was wrong with its parent."""
    violates: Mapping[str, Violated] = attrs.field(factory=dict)
    """The properties it is expected to violate; every other is expected to hold."""
    parent: str | None = None
    survivors: Mapping[str, str] = attrs.field(factory=dict)
    """Mutants that no property can catch, and why they change nothing that matters."""
    seen_only_in: Mapping[str, Mapping[str, int]] = attrs.field(factory=dict)
    """Mutants that the model's `mutation_bounds` are too small to show, and bounds that do."""

    def derive(
        self,
        name: str,
        *,
        why: str,
        replace: Mapping[Rule[S], Rule[S]] | None = None,
        add: Sequence[Rule[S]] = (),
        remove: Sequence[Rule[S]] = (),
        violates: Mapping[str, Violated] | None = None,
        survivors: Mapping[str, str] | None = None,
        seen_only_in: Mapping[str, Mapping[str, int]] | None = None,
    ) -> Variant[S]:
        """The same rules in the same order, with the differences given."""
        replace = replace or {}
        for gone in [*replace, *remove]:
            if gone not in self.rules:
                raise SpecError(f"{self.name} has no rule {gone.name} for {name} to replace")
        kept = [replace.get(r, r) for r in self.rules if r not in remove]
        return Variant(
            name=name,
            rules=(*kept, *add),
            why=why,
            violates=violates or {},
            parent=self.name,
            survivors=survivors or {},
            seen_only_in=seen_only_in or {},
        )


@attrs.frozen
class Taken:
    """A rule and what it chose: one step of a behaviour."""

    rule: str
    choices: Mapping[str, Any]


@attrs.frozen(eq=False)
class Model(Generic[S]):
    """Initial states, properties, bounds and variants: everything that can be asked about."""

    name: str
    doc: str
    """What it is a model of, in a sentence or two."""
    initial: Callable[[Any], Iterable[S]]
    """The states in which a behaviour may begin, given the bounds."""
    properties: Sequence[Property[S]]
    """What it is for: what is asked about where nothing else is said."""
    variants: Sequence[Variant[S]]
    sanity: Sequence[Property[S]] = ()
    """What any state looks like, whatever the variant: asked about by mutation, and by name."""
    bounds: type[Any] = NoBounds
    """The class of its bounds: an attrs class of `bound` fields."""
    default_variant: str | None = None
    """The variant that is meant when none is named: the first, if not said."""
    final: Callable[[S], bool] | None = None
    """Where a behaviour may end for good; anywhere else, an end is a deadlock."""
    picture: Callable[[S, Taken | None], Picture] | None = None
    """How a state is drawn, given the step that led to it."""
    mutation_bounds: Sequence[Mapping[str, int]] = ({},)
    """Bounds in which mutants are looked at, one after the other while a mutant survives."""

    def variant(self, name: str | None = None) -> Variant[S]:
        """The variant of that name, or the default one."""
        table = {v.name: v for v in self.variants}
        found: Variant[S] = look_up(
            f"variant of {self.name}", name or self.default_variant or self.variants[0].name, table
        )
        return found

    def bound_ranges(self) -> list[Bound]:
        """Every bound with its default, range and meaning."""
        return [
            Bound(field.name, field.default, *field.metadata["bound"])
            for field in attrs.fields(self.bounds)
        ]

    def system(
        self, variant: str | None = None, bounds: Mapping[str, int] | None = None
    ) -> System[S]:
        """Decide variant and bounds; what is not said is as the model has it."""
        for name in bounds or {}:
            look_up(f"bound of {self.name}", name, attrs.fields_dict(self.bounds))
        chosen = self.variant(variant)
        limits = self.bounds(**(bounds or {}))
        return System(
            model=self,
            variant=chosen,
            bounds=limits,
            rules=chosen.rules,
            properties=tuple(
                p for p in self.properties if not isinstance(p, Reachable) or p.within(limits)
            ),
        )


def askable(properties: Iterable[Property[S]], bounds: Any) -> tuple[Property[S], ...]:
    """Those that these bounds are large enough for."""
    return tuple(p for p in properties if not isinstance(p, Reachable) or p.within(bounds))


@attrs.frozen(eq=False)
class System(Generic[S]):
    """A model with variant and bounds decided: what an engine explores."""

    model: Model[S]
    variant: Variant[S]
    bounds: Any
    rules: tuple[Rule[S], ...]
    """The variant's rules, or those of a mutant."""
    properties: tuple[Property[S], ...]
    """The properties that are asked about."""

    def initial(self) -> list[S]:
        """The initial states, each once."""
        return list(dict.fromkeys(self.model.initial(self.bounds)))

    def with_properties(self, names: Iterable[str]) -> System[S]:
        """The same system, asked about these properties only."""
        table = {p.name: p for p in (*self.model.properties, *self.model.sanity)}
        kind = f"property of {self.model.name}"
        return attrs.evolve(self, properties=tuple(look_up(kind, name, table) for name in names))

    def with_sanity(self) -> System[S]:
        """The same system, asked about everything that its model states."""
        sanity = askable(self.model.sanity, self.bounds)
        return attrs.evolve(self, properties=(*self.properties, *sanity))

    def steps(self, s: S) -> Iterator[tuple[Rule[S], Choice, S]]:
        """Everything that can happen in a state, rule by rule and choice by choice."""
        for r in self.rules:
            for choice in r.instances(s):
                after = r.attempt(s, choice)
                if not isinstance(after, Blocked):
                    yield r, choice, after

    def is_final(self, s: S) -> bool:
        """Whether a behaviour may end here for good."""
        return self.model.final is not None and self.model.final(s)

    def is_deadlock(self, s: S) -> bool:
        """Whether nothing can happen here, although limits do not stop it and it is no end."""
        return not self.is_final(s) and all(
            isinstance(r.attempt(s, choice, beyond_limits=True), Blocked)
            for r in self.rules
            for choice in r.instances(s)
        )
