"""Models, variants and systems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NewType

import attrs

from kspec.spec.core.baseline import Baseline
from kspec.spec.core.bounds import Bound, NoBounds
from kspec.spec.core.errors import SpecError, assert_hashable, code_of, look_up
from kspec.spec.core.liveness import Liveness
from kspec.spec.core.properties import Property, Reachable
from kspec.spec.core.rules import Blocked, Choice, Rule, S
from kspec.spec.core.sets import ordered


@attrs.frozen
class Violated:
    """The expected violation of a property by a variant that must fail."""

    states: int
    """The number of states of its shortest counterexample."""
    bounds: Mapping[str, int] = attrs.field(factory=dict)
    """Bounds that show the violation, where the defaults do not."""


@attrs.frozen(eq=False)
class Variant(Generic[S]):
    """A set of rules for a model, and the violations expected of it."""

    name: str
    rules: tuple[Rule[S], ...]
    why: str
    """Why it exists: what was wrong with its parent."""
    violates: Mapping[str, Violated] = attrs.field(factory=dict)
    """The properties that it is expected to violate; all others are expected to hold."""
    parent: str | None = None

    def __attrs_post_init__(self) -> None:
        rules: tuple[object, ...] = self.rules
        for given in rules:
            if not isinstance(given, Rule):
                name = getattr(given, "__name__", repr(given))
                raise SpecError(
                    f"{name} in {self.name} is not a rule: decorate it with @rule(by=...)"
                )

    def derive(
        self,
        name: str,
        *,
        why: str,
        replace: Mapping[Rule[S], Rule[S]] | None = None,
        add: Sequence[Rule[S]] = (),
        remove: Sequence[Rule[S]] = (),
        violates: Mapping[str, Violated] | None = None,
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
        )


@attrs.frozen
class Taken:
    """A step of a behaviour: a rule and its choices."""

    rule: str
    choices: Mapping[str, Any]
    before: Any = attrs.field(default=None, eq=False, repr=False)
    """The state in which it was taken, for pictures; steps are compared without it."""


@attrs.frozen(eq=False)
class Model(Generic[S]):
    """Initial states, properties, bounds and variants."""

    name: str
    doc: str
    """The protocol that it models, in a sentence or two."""
    initial: Callable[[Any], Iterable[S]]
    """The initial states, given the bounds."""
    properties: Sequence[Property[S]]
    """The properties that are checked by default."""
    variants: Sequence[Variant[S]]
    on_request: Sequence[Property[S]] = ()
    """Properties that are checked only where they are named: those that cost more than the rest."""
    bounds: type[Any] = NoBounds
    """The class of its bounds: an attrs class of `bound` fields."""
    default_variant: str | None = None
    """The default variant; the first one if None."""
    final: Callable[[S], bool] | None = None
    """Whether a behaviour may end in a state; if not, a state without steps is a deadlock."""
    picture: Callable[[S, Taken | None], Any] | None = None
    """Draws a state as a `kspec.spec.core.picture.Picture`, given the step that led to it."""
    answers: Mapping[str, str] = attrs.field(factory=dict)
    """By name of a guard that checks a request: the error of the response where it fails."""
    not_modelled: Sequence[str] = ()
    """What the model leaves out although a reader might expect it, each in a few words."""
    baseline: Baseline = attrs.field(factory=Baseline)
    """What mutation needs: consistency invariants, bounds, equivalent mutants."""
    symmetric: Mapping[Any, Callable[[S], Iterable[Any]]] = attrs.field(factory=dict)
    """Interchangeable values: a NewType that state classes use, and a function that lists them."""

    def __attrs_post_init__(self) -> None:
        for kind in self.symmetric:
            if not isinstance(kind, NewType):
                raise SpecError(f"symmetric in {self.name} has {kind!r}, which is no NewType")
        if self.default_variant is not None:
            table = {v.name: v for v in self.variants}
            look_up(f"variant of {self.name}, in default_variant,", self.default_variant, table)
        known = {p.name: p for p in self.all_properties} | {"deadlock": None}
        for variant in self.variants:
            for name in variant.violates:
                look_up(f"property of {self.name}, in violates of {variant.name},", name, known)

    @property
    def all_properties(self) -> tuple[Property[S], ...]:
        """Its properties, those that are checked on request, and its consistency invariants."""
        return (*self.properties, *self.on_request, *self.baseline.invariants)

    def variant(self, name: str | None = None) -> Variant[S]:
        """The variant of that name, or the default variant."""
        table = {v.name: v for v in self.variants}
        found: Variant[S] = look_up(
            f"variant of {self.name}", name or self.default_variant or self.variants[0].name, table
        )
        return found

    def bound_ranges(self) -> list[Bound]:
        """All bounds, with their defaults, ranges and meanings."""
        return [
            Bound(field.name, field.default, *field.metadata["bound"])
            for field in attrs.fields(self.bounds)
        ]

    def system(
        self, variant: str | None = None, bounds: Mapping[str, int] | None = None
    ) -> System[S]:
        """The system of a variant and bounds; both default to those of the model."""
        for name in bounds or {}:
            look_up(f"bound of {self.name}", name, attrs.fields_dict(self.bounds))
        chosen = self.variant(variant)
        limits = self.bounds(**(bounds or {}))
        return System(
            model=self,
            variant=chosen,
            bounds=limits,
            rules=chosen.rules,
            properties=askable(self.properties, limits),
        )


def askable(properties: Iterable[Property[S]], bounds: Any) -> tuple[Property[S], ...]:
    """The properties that are checked by default in these bounds."""
    return tuple(
        p for p in properties if not isinstance(p, Reachable | Liveness) or p.within(bounds)
    )


@attrs.frozen(eq=False)
class System(Generic[S]):
    """A model with one variant and bounds: an engine explores it."""

    model: Model[S]
    variant: Variant[S]
    bounds: Any
    rules: tuple[Rule[S], ...]
    """The variant's rules, or those of a mutant."""
    properties: tuple[Property[S], ...]
    """The properties that are checked."""

    def initial(self) -> list[S]:
        """The initial states, each once."""
        what = f"the initial states of {self.model.name}"
        with code_of(what, self.model.initial):
            states = list(map(ordered, self.model.initial(self.bounds)))
            for state in states:
                assert_hashable(state, f"{what} include")
            return list(dict.fromkeys(states))

    def with_properties(self, names: Iterable[str]) -> System[S]:
        """The same system with these properties only."""
        table = {p.name: p for p in self.model.all_properties}
        kind = f"property of {self.model.name}"
        return attrs.evolve(self, properties=tuple(look_up(kind, name, table) for name in names))

    def too_small_for(self) -> tuple[Property[S], ...]:
        """The liveness properties that these bounds leave out of the model's own list."""
        default = askable(self.model.properties, self.bounds)
        if not set(default) <= set(self.properties):
            return ()  # others were chosen
        left_out = (p for p in self.model.properties if isinstance(p, Liveness))
        return tuple(p for p in left_out if p not in self.properties)

    def with_all_properties(self) -> System[S]:
        """The same system with every property that its model states."""
        known = {*self.properties, *askable(self.model.properties, self.bounds)}
        others = tuple(
            p
            for p in self.model.all_properties
            if p not in known and not (isinstance(p, Reachable) and not p.within(self.bounds))
        )
        return attrs.evolve(self, properties=(*self.properties, *others))

    def steps(self, s: S) -> Iterator[tuple[Rule[S], Choice, S]]:
        """All steps that are enabled in a state, rule by rule and choice by choice."""
        for r in self.rules:
            for choice in r.instances(s):
                after = r.attempt(s, choice)
                if not isinstance(after, Blocked):
                    yield r, choice, after

    def is_final(self, s: S) -> bool:
        """Whether a behaviour may end in this state."""
        return self.model.final is not None and self.model.final(s)

    def is_deadlock(self, s: S, rules: Sequence[Rule[S]] | None = None) -> bool:
        """Whether the state is not final and every rule is blocked, also beyond the limits.

        Given rules, only these must be blocked.
        """
        return not self.is_final(s) and all(
            isinstance(r.outcome(s, choice, beyond_limits=True), Blocked)
            for r in (self.rules if rules is None else rules)
            for choice in r.instances(s)
        )
