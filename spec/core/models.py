"""Models, their variants, and systems: a model with variant and bounds decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic

import attrs

from spec.core.bounds import Bound, NoBounds
from spec.core.errors import SpecError, look_up
from spec.core.properties import Property, Reachable
from spec.core.rules import Blocked, Choice, Rule, S
from spec.picture import Picture


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

    def __attrs_post_init__(self) -> None:
        rules: tuple[object, ...] = self.rules
        for given in rules:
            if not isinstance(given, Rule):
                name = getattr(given, "__name__", repr(given))
                raise SpecError(f"{name} in {self.name} is no rule: decorate it with @rule(by=...)")

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
        same = {r.name for r in self.rules if r not in replace and r not in remove}
        inherited = {m: why for m, why in self.survivors.items() if m.split()[0] in same}
        kept = [replace.get(r, r) for r in self.rules if r not in remove]
        return Variant(
            name=name,
            rules=(*kept, *add),
            why=why,
            violates=violates or {},
            parent=self.name,
            survivors=inherited | dict(survivors or {}),
            seen_only_in=seen_only_in or {},
        )


@attrs.frozen
class Taken:
    """A rule and what it chose: one step of a behaviour."""

    rule: str
    choices: Mapping[str, Any]
    before: Any = attrs.field(default=None, eq=False, repr=False)
    """The state in which it was taken, for a picture; not part of what tells two steps apart."""


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
    answers: Mapping[str, str] = attrs.field(factory=dict)
    """For a guard that checks a request, by its name: the error that is answered where it fails."""
    mutation_bounds: Sequence[Mapping[str, int]] = ({},)
    """Bounds in which mutants are looked at, one after the other while a mutant survives."""

    def __attrs_post_init__(self) -> None:
        known = {p.name: p for p in (*self.properties, *self.sanity)} | {"deadlock": None}
        for variant in self.variants:
            for name in variant.violates:
                look_up(f"property of {self.name}, in violates of {variant.name},", name, known)

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
            properties=askable(self.properties, limits),
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
        try:
            return list(dict.fromkeys(self.model.initial(self.bounds)))
        except SpecError:
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise SpecError(f"the initial states of {self.model.name} raised {what}") from error

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
