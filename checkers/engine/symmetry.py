"""Symmetry: values that are interchangeable, and the states that differ by such values only.

A model declares it with a NewType that its state classes use, and the function that lists the
values:

    Broker = NewType("Broker", int)

    @attrs.frozen
    class Cluster:
        logs: Annotated[tuple[Log, ...], Broker]  # indexed by broker
        isr: frozenset[Broker]

    Model(..., symmetric={Broker: brokers})

A **renaming** exchanges the values of each such type among themselves. It is applied to a state
field by field, by the types in its schema; a value that `brokers` does not list, such as
NO_LEADER, keeps its name. An **orbit** is a state with everything that renamings make of it.

That rules and properties treat the values alike is not assumed: `Checks` compares what they answer
for a state with what they answer for a renamed one, for a share of the states of every run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, islice, permutations, product
from math import factorial, prod
from typing import Any, NewType, TypeAlias

import attrs

from kspec.checkers.engine.search import shows
from kspec.spec.core import Always, Blocked, OrderedSet, Reachable, SpecError, System
from kspec.spec.core.schema import (
    Items,
    OneOf,
    Record,
    Scalar,
    Type,
    all_types,
    fields_of,
    is_instance,
    parts_of,
    type_of_class,
)
from kspec.spec.core.sets import Entries
from kspec.traces.trace import Trace

MOST_RENAMINGS = 50_000
"""With more renamings than this, trying them takes longer than the states that they save."""
FIRST = 16
"""The number of states checked at the beginning of each level."""
ONE_IN = 10_000
"""After those, one state in this many is checked."""
WITH_EACH = 120
"""The most renamings per state that a full check tries."""

Renaming: TypeAlias = tuple[tuple[int, ...], ...]
"""For each sort: the new index of each value, by its index."""

Renamer: TypeAlias = Callable[[Any, Renaming], Any]
"""Renames the values in a value."""


class NotSymmetric(SpecError):
    """A rule or a property treats values differently that are declared interchangeable."""


@attrs.frozen(eq=False)
class Sort:
    """Interchangeable values of one type."""

    kind: NewType
    values: tuple[Any, ...]
    first: int
    """The index of its first value in the list of the values of all sorts."""

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.values)

    def place(self, value: Any) -> int | None:
        """The index of a value, or None if it is not one of them."""
        return self.values.index(value) if value in self.values else None


class Symmetry:
    """The symmetry that the model of a system declares."""

    def __init__(self, system: System[Any]) -> None:
        """Find the values; SpecError if a declaration does not fit the states."""
        self.system = system
        declared = system.model.symmetric
        if not declared:
            raise SpecError(f"{system.model.name} declares no symmetry for --symmetry")
        first = system.initial()
        if not first:
            raise SpecError(f"{system.model.name} has no initial state")
        values = [tuple(listed(first[0])) for listed in declared.values()]
        places = accumulate(map(len, values), initial=0)
        self.sorts = tuple(map(Sort, declared, values, places))
        self.kinds: dict[Any, int] = {sort.kind: number for number, sort in enumerate(self.sorts)}
        self.mentioned: dict[Type, bool] = {}
        self.decisions: dict[Any, Type] = {}
        self.renamers: dict[Type, Renamer | None] = {}
        self.fields: dict[type, list[tuple[str, str, Renamer]]] = {}
        orders = [factorial(sort.size) for sort in self.sorts]
        self.order = prod(orders)
        """The number of renamings."""
        if self.order > MOST_RENAMINGS:
            raise SpecError(
                f"{system.model.name} has {self.order:,} renamings, and --symmetry tries at most "
                f"{MOST_RENAMINGS:,}: choose smaller bounds"
            )
        self.exchanges = [*self.find_exchanges()]
        self.check_declaration(first)

    def check_declaration(self, first: Sequence[Any]) -> None:
        """Reject a declaration that is ambiguous, unused, or contradicted by the initial states."""
        name = self.system.model.name
        used = all_types(OneOf(tuple(type_of_class(type(state)) for state in first)))
        kinds = {t.name for t in used if isinstance(t, Scalar)}
        kinds |= {t.by for t in used if isinstance(t, Items)}
        for sort in self.sorts:
            if len(set(sort.values)) < sort.size:
                raise SpecError(f"{name} lists a {sort.kind.__name__} twice")
            if sort.kind not in kinds:
                raise SpecError(f"no field of {name}'s states is declared as {sort.kind.__name__}")
        for renaming in self.exchanges:
            if {self.renamed(state, renaming) for state in first} != set(first):
                raise self.fault("the set of initial states", renaming)

    # -- renamings ------------------------------------------------------------------------------

    def find_exchanges(self) -> Iterator[Renaming]:
        """The renamings that exchange two neighbours; they generate all others."""
        unchanged = [tuple(range(sort.size)) for sort in self.sorts]
        for number, sort in enumerate(self.sorts):
            for place in range(sort.size - 1):
                to = [*range(sort.size)]
                to[place], to[place + 1] = place + 1, place
                yield *unchanged[:number], tuple(to), *unchanged[number + 1 :]

    def renamings(self) -> Iterator[Renaming]:
        """All renamings."""
        return product(*(permutations(range(sort.size)) for sort in self.sorts))

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        """A state with its values renamed."""
        return self.value_renamed(state, type_of_class(type(state)), renaming)

    def orbit(self, state: Any) -> set[Any]:
        """The images of a state under all renamings."""
        found, todo = {state}, [state]
        while todo:
            one = todo.pop()
            for renaming in self.exchanges:
                other = self.renamed(one, renaming)
                if other not in found:
                    found.add(other)
                    todo.append(other)
        return found

    def is_mentioned(self, of: Type) -> bool:
        """Whether renamings change values of a type."""
        found = self.mentioned.get(of)
        if found is None:
            found = self.mentioned[of] = any(
                (isinstance(t, Scalar) and t.name in self.kinds)
                or (isinstance(t, Items) and t.by in self.kinds)
                for t in all_types(of)
            )
        return found

    def value_renamed(self, value: Any, of: Type, renaming: Renaming) -> Any:
        """A value of some type with its values renamed."""
        rename = self.renamer(of)
        return value if rename is None else rename(value, renaming)

    def renamer(self, of: Type) -> Renamer | None:
        """The function that renames values of a type; None if no renaming changes them."""
        if of not in self.renamers:
            self.renamers[of] = self.new_renamer(of) if self.is_mentioned(of) else None
        return self.renamers[of]

    def new_renamer(self, of: Type) -> Renamer:
        """Create that function."""
        if isinstance(of, Scalar):
            return self.scalar_renamer(of)
        if isinstance(of, Items):
            return self.items_renamer(of)
        if isinstance(of, Record):
            return self.record_renamed
        if isinstance(of, OneOf):
            return lambda value, renaming: self.value_renamed(
                value, self.decided(value, of), renaming
            )
        parts = [self.renamer(one) for one in parts_of(of)]

        def each_renamed(values: Iterable[Any], renaming: Renaming) -> tuple[Any, ...]:
            pairs = zip(values, parts, strict=True)
            return tuple([part if to is None else to(part, renaming) for part, to in pairs])

        def rename(value: Any, renaming: Renaming) -> Any:
            self.decided(value, of)
            if isinstance(value, frozenset):
                [member] = parts
                return OrderedSet([member(one, renaming) for one in value]) if member else value
            if isinstance(value, Entries):
                return value.of_pairs([each_renamed(pair, renaming) for pair in value.pairs()])
            return each_renamed(value, renaming)

        return rename

    def scalar_renamer(self, of: Scalar) -> Renamer:
        """Renames an interchangeable value, and leaves others such as NO_LEADER."""
        number = self.kinds[of.name]
        values = self.sorts[number].values
        places = {value: place for place, value in enumerate(values)}

        def rename(value: Any, renaming: Renaming) -> Any:
            place = places.get(value)
            return value if place is None else values[renaming[number][place]]

        return rename

    def items_renamer(self, of: Items) -> Renamer:
        """Renames the items of a tuple, and moves them if the tuple is indexed by their values."""
        item, number = self.renamer(of.item), self.kinds.get(of.by)

        def rename(value: Any, renaming: Renaming) -> Any:
            self.decided(value, of)
            items = value if item is None else [item(one, renaming) for one in value]
            if number is None:
                return tuple(items)
            moved = list(items)
            for place, to in enumerate(renaming[number]):
                moved[to] = items[place]
            return tuple(moved)

        return rename

    def record_renamed(self, value: Any, renaming: Renaming) -> Any:
        """A record with its fields renamed."""
        cls: Any = type(value)
        changed = {}
        for name, alias, rename in self.renamed_fields(cls):
            old = getattr(value, name)
            new = rename(old, renaming)
            if new is not old:
                changed[alias] = new
        if not changed:
            return value
        return attrs.evolve(value, **changed) if attrs.has(cls) else value._replace(**changed)

    def renamed_fields(self, cls: Any) -> list[tuple[str, str, Renamer]]:
        """The fields of a record that renamings change: name, alias, and their renamers."""
        found = self.fields.get(cls)
        if found is None:
            aliases = {f.name: f.alias for f in attrs.fields(cls)} if attrs.has(cls) else {}
            found = self.fields[cls] = []
            for field in fields_of(cls):
                rename = self.renamer(field.type) if field.compared else None
                if rename is not None:
                    found.append((field.name, aliases.get(field.name, field.name), rename))
        return found

    def decided(self, value: Any, of: Type) -> Type:
        """The type among several that a value has; SpecError if none fits, or several do."""
        key = of, type(value), len(value) if type(value) is tuple else 0
        found = self.decisions.get(key)
        if found is None:
            found = self.decisions[key] = self.decide(value, of)
        return found

    def decide(self, value: Any, of: Type) -> Type:
        """The same, without the cache."""
        fitting = [one for one in options_of(of) if is_instance(value, one)]
        if not fitting or (len(fitting) > 1 and any(map(self.is_mentioned, fitting))):
            may_be = "may be of several types in" if fitting else "is not a value of"
            raise SpecError(
                f"symmetry relies on the declared types of fields, and {value!r} {may_be} {of}"
            )
        chosen = fitting[0]
        if isinstance(chosen, Items) and chosen.by in self.kinds:
            sort = self.sorts[self.kinds[chosen.by]]
            if len(value) < sort.size:
                raise SpecError(
                    f"a tuple that is indexed by {sort.kind.__name__} has {len(value)} items, "
                    f"and there are {sort.size} values"
                )
        return chosen

    def false(self) -> NotSymmetric:
        """The error for a step of a representative that its own state does not have."""
        return NotSymmetric(
            f"{self.system.model.name} does not have the symmetry that it declares: a "
            "state has other steps than a renamed one; --check-learning finds the rule"
        )

    def check_end(self, trace: Trace) -> None:
        """Raise NotSymmetric if the last state of a trace does not have its mark."""
        prop = next((p for p in self.system.properties if p.name == trace.property), None)
        if isinstance(prop, Always | Reachable) and not shows(prop, trace.states[-1]):
            raise NotSymmetric(
                f"property {prop.name} is not symmetric as {self.system.model.name} declares: it "
                "differs for a renamed state"
            )

    def fault(self, what: str, renaming: Renaming, detail: str = "") -> NotSymmetric:
        """The error for something that a renaming changes."""
        pairs = [
            f"{sort.values[old]}→{sort.values[new]}"
            for sort, to in zip(self.sorts, renaming, strict=True)
            for old, new in enumerate(to)
            if old != new
        ]
        names = " and ".join(sort.kind.__name__ for sort in self.sorts)
        return NotSymmetric(
            f"{what} does not treat the values of {names} alike, although {self.system.model.name} "
            f"declares them symmetric: renaming {', '.join(pairs)} changes {detail or 'it'}"
        )


def options_of(of: Type) -> tuple[Type, ...]:
    """The types that a value may have."""
    if not isinstance(of, OneOf):
        return (of,)
    return tuple(option for one in of.options for option in options_of(one))


class Checks:
    """Compares the answers of rules and properties for states and for renamed states."""

    def __init__(self, symmetry: Symmetry, *, everything: bool = False) -> None:
        """Check a share of the states, or every state with many renamings."""
        self.symmetry = symmetry
        self.system = symmetry.system
        self.everything = everything
        self.renamings = [*islice(symmetry.renamings(), 1, MOST_RENAMINGS)]
        self.checked = 0

    def share(self, states: Sequence[Any]) -> Iterator[Any]:
        """The states of a level to check."""
        one_in = 1 if self.everything else ONE_IN
        return chain(states[:FIRST], states[FIRST::one_in])

    def check(self, state: Any) -> None:
        """Compare the answers for one state; NotSymmetric names what differs."""
        count = len(self.renamings)
        if not count:
            return
        tried = min(count, WITH_EACH) if self.everything else 1
        begin = self.checked * 7919  # a prime, so that every renaming is used
        self.checked += 1
        here = self.answers(state)
        for number in range(tried):
            renaming = self.renamings[(begin + number * count // tried) % count]
            self.compare(state, here, renaming)

    def compare(self, state: Any, here: dict[str, Hashable], renaming: Renaming) -> None:
        """Compare the answers for a state with those for its renamed state."""
        symmetry = self.symmetry
        other = symmetry.renamed(state, renaming)
        there = self.answers(other)
        for rule in self.system.rules:
            expected = Counter[Any]()
            steps: Any = here[f"rule {rule.name}"]
            for after, times in steps.items():
                if after is not RAISES:
                    after = symmetry.renamed(after, renaming)
                expected[after] += times
            if expected != there[f"rule {rule.name}"]:
                raise symmetry.fault(f"rule {rule.name}", renaming, "the states that it leads to")
        for name, answer in here.items():
            if not name.startswith("rule ") and there.get(name) != answer:
                raise symmetry.fault(name, renaming, "its answer")

    def answers(self, state: Any) -> dict[str, Any]:
        """All answers for one state: the successors by each rule, and the other answers."""
        system = self.system
        found: dict[str, Any] = {}
        for rule in system.rules:
            found[f"rule {rule.name}"] = Counter(successors(rule, state))
        for prop in system.properties:
            if isinstance(prop, Always | Reachable):
                found[f"property {prop.name}"] = answer_of(shows, prop, state)
        found["where a behaviour may end"] = answer_of(system.is_final, state)
        if not any(found[f"rule {rule.name}"] for rule in system.rules):
            found["the deadlock check"] = answer_of(system.is_deadlock, state)
        for sort, listed in zip(self.symmetry.sorts, system.model.symmetric.values(), strict=True):
            if tuple(listed(state)) != sort.values:
                raise SpecError(
                    f"{system.model.name} lists other values of {sort.kind.__name__} in some "
                    "states than in others, so that they are not interchangeable"
                )
        return found


RAISES = object()
"""Stands for an exception in place of an answer."""


def successors(rule: Any, state: Any) -> list[Any]:
    """The successors by a rule."""
    try:
        after = [rule.attempt(state, choice) for choice in rule.instances(state)]
        return [s for s in after if not isinstance(s, Blocked)]
    except Exception:
        return [RAISES]


def answer_of(ask: Any, *given: Any) -> Any:
    """The result of a function, or RAISES."""
    try:
        return ask(*given)
    except Exception:
        return RAISES
