"""The book: everything learned about a system, as paths of reads that end in a result.

An **instance** is a question about a state: a rule with given choices, the choices of a rule, a
property (with given choices), or whether the state is final. What is learned about it is a set of
paths: the reads of a run, and a leaf with the result. `learn` takes a state that no path of an
instance covers, runs the instance on a stand-in for it, and adds the path.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np

from kspec.checkers.engine.learned import recipes, standins, walk
from kspec.checkers.engine.learned.divided import (
    ABSENT,
    Choices,
    Division,
    Layout,
    Presence,
    Unfit,
    View,
    kind_of,
)
from kspec.checkers.engine.learned.elements import Elements, plain_test
from kspec.checkers.engine.learned.plainly import asks_for_types
from kspec.checkers.engine.learned.recognised import Listed, Recognised
from kspec.checkers.engine.learned.standins import (
    DIVIDED,
    ROOT,
    Items,
    Place,
    ReadTrace,
    Unread,
    Untraceable,
)
from kspec.checkers.engine.learned.values import Unable, Uncompared, Values, is_plain, uncompared
from kspec.checkers.engine.numbered import Numbered
from kspec.impl.compiled import Words
from kspec.spec.core import (
    Always,
    Blocked,
    Choice,
    Limit,
    Liveness,
    OrderedSet,
    Property,
    Reachable,
    Rule,
    SpecError,
    System,
)
from kspec.spec.core.matching import Each, Test

RULE, RULE_CHOICES, BEYOND, PROPERTY, PROPERTY_CHOICES, FINAL = range(6)

DEEP, WHOLE_COMPONENTS, WHOLE_STATE = range(3)
"""How closely the reads of an instance are traced. An instance that cannot run on a stand-in is run
on one whose components are read as a whole, or on the state itself."""


Part: TypeAlias = int | Division
"""A component of the state, or a set of it that is divided into components."""

CLEAR = -1
"""In place of a component of an effect: all elements of division CLEAR - n become absent."""

STATE = ""
"""In place of a field: the whole state is one component, since states have several classes."""


class Impure(SpecError):
    """A rule or a property is not a function of the state."""


@attrs.define(eq=False)
class Component:
    """A part of the state with its own numbering of values."""

    field: str
    index: int | None
    values: list[int] = attrs.field(factory=list)
    """By local number, which states contain: the number in `Values`."""
    ids: dict[int, int] = attrs.field(factory=dict)
    """By the number of the least equal value in `Values`: the local number."""
    division: Division | None = None
    """Of a component for an element: what it is an element of."""

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.field if self.index is None else f"{self.field}[{self.index}]"


@attrs.define(eq=False)
class Instance:
    """A question about a state."""

    kind: int
    asked: Any
    """The rule or property."""
    choice: Choice = ()
    follow: int = DEEP
    runs: int = 0
    paths: int = 0

    @property
    def name(self) -> str:
        """Its name in messages."""
        if self.kind == FINAL:
            return "where a behaviour may end"
        what = "rule" if self.kind in (RULE, RULE_CHOICES, BEYOND) else "property"
        return f"{what} {self.asked.name}"


class Book:
    """Everything learned about a system, and about systems with the same states."""

    def __init__(
        self, system: System[Any], layout: Layout | None = None, *, is_divisible: bool = False
    ) -> None:
        """With `is_divisible`, Divide is raised for a set with many values."""
        self.layout = layout or Layout()
        self.is_divisible = is_divisible
        self.values = Values()
        self.absent, self.present = map(self.values.number, Presence)
        self.system = system
        first = system.initial()
        if not first:
            raise SpecError(f"{system.model.name} has no initial state")
        self.cls: Any = type(first[0])
        same = STATE not in self.layout.whole and all(type(s) is self.cls for s in first)
        self.is_record = same and is_plain(self.cls)
        self.components: list[Component] = []
        self.divisions: list[Division] = []
        self.views: list[View] = []
        self.choices: list[Choices] = []
        """The choices that are elements of a view."""
        self.choices_by: dict[Any, Choices] = {}
        self.parts: list[Part] = []
        """In the order of the state."""
        self.plan: list[Part | list[Part]] = []
        """By part of the state: its component or division, or those of its items."""
        self.root = Place(ROOT, ())
        self.probes: list[tuple[int, int, int, tuple[int | str, ...]]] = []
        """Component, question, the value that the question is about, and the path."""
        self.instances: list[Instance] = []
        self.instance_numbers: dict[Any, int] = {}
        self.reads: list[int] = []
        """Of the runs below."""
        self.runs: list[tuple[int, int, int, int]] = []
        """Those that the tables have not taken yet: instance, where its reads begin and end, and
        the leaf."""
        self.taken = 0
        """The number of reads that are in the tables."""
        self.leaves: Numbered[tuple[int, int, int, int, int]]
        self.leaves = Numbered([(walk.NOTHING, 0, 0, 0, 0)])
        self.lists: list[int] = []
        self.list_numbers: dict[tuple[int, ...], tuple[int, int]] = {}
        self.longest: dict[int, int] = {}
        """By instance that lists choices: the largest number of instances that it has listed."""
        self.writes: list[tuple[int, int, int]] = []
        """Component, recipe, and the component that the recipe starts from."""
        self.widest = 0
        """The largest number of components that one step writes by recipes."""
        self.effects: list[list[tuple[int, int]]] = []
        """By effect: the components that receive a constant value, and the value."""
        self.effect_numbers: dict[Any, tuple[int, int, int]] = {}
        self.recipes: Numbered[tuple[int, int, Any]] = Numbered()
        """The component that it reads, the component that it writes, and the recipe."""
        self.guards: Numbered[tuple[str, str]] = Numbered()
        """The counters of `blocked`: a rule, and the guard that blocks it."""
        self.rules: Numbered[str] = Numbered()
        """The counters of `fired`."""
        self.marks: dict[str, int] = {}
        """The bit of each property."""
        self.recognised = Recognised(functions_of(system) if self.layout.divided else ())
        self.rewritten_as: dict[Any, Any] = {}
        self.by_type: dict[Any, bool] = {}
        """Rules, properties and the model: whether they call `type`."""
        self.seconds = 0.0
        self.plainer: dict[str, str] = {}
        """Instances whose reads are not traced in detail, and why."""
        self.lay_out(first)
        self.fixed = len(self.components)
        """The number of components that are not elements; elements come behind them."""

    # -- components -----------------------------------------------------------------------------

    def lay_out(self, first: Sequence[Any]) -> None:
        """Divide the state into components."""
        if not self.is_record:
            self.parts = [self.new_component("state", None)]
            self.plan = [*self.parts]
            self.root.children["state"] = Place(0, ())
            self.apart: tuple[Any, ...] = ()
            return
        shape = self.values.shape(self.cls)
        self.shape = shape
        self.apart = tuple(getattr(first[0], name) for name in shape.apart)
        for name in shape.names:
            found = [getattr(state, name) for state in first]
            lengths = {len(v) if type(v) is tuple else -1 for v in found}
            if name not in self.layout.whole and len(lengths) == 1 and 0 < min(lengths) <= 64:
                self.plan.append([self.new_part(name, i, v) for i, v in enumerate(found[0])])
            else:
                self.plan.append(self.new_part(name, None, found[0]))
        for name, part in zip(shape.names, self.plan, strict=True):
            if not isinstance(part, list):
                self.root.children[name] = self.part_place(part)
        self.items = {
            name: (Place(ROOT, (name,)), [(part, self.part_place(part)) for part in parts])
            for name, parts in zip(shape.names, self.plan, strict=True)
            if isinstance(parts, list)
        }
        for name, (whole, _) in self.items.items():
            self.root.children[name] = whole
        self.parts = [p for part in self.plan for p in (part if isinstance(part, list) else [part])]
        self.single = [
            (index, part) for index, part in enumerate(self.plan) if isinstance(part, int)
        ]

    def new_part(self, field: str, index: int | None, value: Any) -> Part:
        """A component, or a division, for a field or an item of it, given one of its values."""
        cls = kind_of(value)
        if field not in self.layout.divided or cls is None:
            return self.new_component(field, index)
        division = Division(
            len(self.divisions), field, index, cls, self.values,
            self.new_element, self.new_view, self.value_at,
            is_listable=field not in self.layout.unlistable,
        )  # fmt: skip
        self.divisions.append(division)
        return division

    def is_bit(self, k: int) -> bool:
        """Whether a component is an element of a set, which has one bit."""
        division = self.components[k].division
        return division is not None and division.cls is OrderedSet

    def value_at(self, k: int, local: int) -> int:
        """The number of the value of a component with a local number."""
        return self.components[k].values[local]

    def part_place(self, part: Part) -> Place:
        """The place of a component or a division."""
        if isinstance(part, Division):
            return Place(ROOT, (), division=part)
        return Place(part, ())

    def new_element(self, division: Division) -> int:
        """Add the component of an element, which is absent in all states so far."""
        k = self.new_component(division.field, division.index)
        self.components[k].division = division
        self.id_of(k, self.absent)
        return k

    def new_view(self, division: Division, tests: tuple[Test, ...], summary: str | None) -> View:
        """Add a view."""
        number = len(self.views)
        view = View(number, division, tests, summary, Place(walk.VIEWS - number, ()))
        self.views.append(view)
        return view

    def new_component(self, field: str, index: int | None) -> int:
        """Add a component."""
        self.components.append(Component(field, index))
        return len(self.components) - 1

    def id_of(self, component: int, number: int) -> int:
        """The local number of a value of a component."""
        found = self.components[component]
        same = self.values.same[number]
        known = found.ids.get(same)
        if known is None:
            known = found.ids[same] = len(found.values)
            found.values.append(number)
        return known

    def row_of(self, state: Any) -> list[int]:
        """A state as a number for each component."""
        number = self.values.number
        if not self.is_record:
            return [self.id_of(0, number(state))]
        self.assert_same_apart(tuple(getattr(state, name) for name in self.shape.apart))
        row = [0] * self.fixed
        elements: list[tuple[int, Any]] = []
        for name, parts in zip(self.shape.names, self.plan, strict=True):
            value = getattr(state, name)
            if not isinstance(parts, list):
                parts, value = [parts], (value,)
            elif type(value) is not tuple or len(value) != len(parts):
                raise Unfit(name)
            for part, item in zip(parts, value, strict=True):
                if isinstance(part, Division):
                    elements += part.parts(item)
                else:
                    row[part] = self.id_of(part, number(item))
        row += [0] * (len(self.components) - len(row))
        for k, value in elements:
            row[k] = self.id_of(k, number(value))
        return row

    def rows_of(self, states: Iterable[Any], watch: Callable[[], None] = lambda: None) -> Words:
        """States as rows; `watch` is called for each."""
        rows = []
        for state in states:
            watch()
            rows.append(self.row_of(state))
        found: Words = np.zeros((len(rows), len(self.components)), np.int64)
        for place, row in enumerate(rows):
            found[place, : len(row)] = row
        return found

    def assert_same_apart(self, apart: tuple[Any, ...]) -> None:
        """Raise Uncompared where a state differs from others in a field that is not compared."""
        if apart != self.apart:
            raise uncompared(self.shape, apart, self.apart)

    def state_of(self, row: Sequence[int]) -> Any:
        """The state of a row."""
        value = self.values.value
        parts: list[Any] = [
            value(c.values[i]) for c, i in zip(self.components[: self.fixed], row, strict=False)
        ]
        if not self.is_record:
            return parts[0]
        present: list[list[tuple[int, int]]] = [[] for _ in self.divisions]
        for k in range(self.fixed, len(row)):
            division = self.components[k].division
            if division is not None and row[k]:
                present[division.number].append((k, row[k]))

        def built(part: Part) -> Any:
            if isinstance(part, Division):
                return value(part.value_of(tuple(present[part.number])))
            return parts[part]

        fields: dict[str, Any] = dict(zip(self.shape.apart_aliases, self.apart, strict=True))
        for alias, part in zip(self.shape.aliases, self.plan, strict=True):
            fields[alias] = tuple(map(built, part)) if isinstance(part, list) else built(part)
        return self.cls(**fields)

    # -- instances ------------------------------------------------------------------------------

    def instance(self, kind: int, asked: Any, choice: Choice = ()) -> int:
        """The number of an instance."""
        key = kind, asked, choice
        found = self.instance_numbers.get(key)
        if found is None:
            found = self.instance_numbers[key] = len(self.instances)
            self.instances.append(Instance(kind, asked, choice))
            if self.is_asked_plainly(kind, asked):
                self.instances[found].follow = WHOLE_STATE
                self.plainer[self.instances[found].name] = "it calls type()"
        return found

    def is_asked_plainly(self, kind: int, asked: Any) -> bool:
        """Whether an instance cannot run on stand-ins."""
        if asked not in self.by_type:
            parts = [asked.final] if kind == FINAL else [asked.body]
            parts += getattr(asked, "choices", {}).values()
            self.by_type[asked] = asks_for_types(parts)
        return self.by_type[asked]

    def roots_of(self, system: System[Any]) -> tuple[list[int], list[int], int]:
        """The instances for each state: of the rules, of the properties, and for finality."""
        rules = [
            self.instance(RULE_CHOICES, r) if r.choices else self.instance(RULE, r)
            for r in system.rules
        ]
        properties = [
            self.instance(PROPERTY_CHOICES if isinstance(p, Always) and p.choices else PROPERTY, p)
            for p in system.properties
            if isinstance(p, Always | Reachable)
        ]
        for p in system.properties:
            for name in bits_of(p):
                self.bit(name)
        return rules, properties, self.instance(FINAL, system.model)

    def bit(self, name: str) -> int:
        """The bit of a property in masks; SpecError where there are more than there are bits."""
        found = self.marks.setdefault(name, len(self.marks))
        if found >= walk.FINAL_BIT:
            raise Unable(
                f"the learned engine checks {walk.FINAL_BIT} properties at a time: name some of "
                "them with --property, or use --engine reference"
            )
        return found

    # -- runs -----------------------------------------------------------------------------------

    def new_probe(self, place: Place, what: int, of: int) -> int:
        """Add a probe."""
        self.probes.append((place.component, what, of, place.path))
        return len(self.probes) - 1

    def whole_state(self, trace: ReadTrace) -> Any:
        """The state itself; every component counts as read."""
        for k, number in enumerate(self.numbers[: self.fixed]):
            trace.note(self.component_place(k), walk.WHOLE, -1, number)
        for division in self.divisions:
            division.whole().read(trace)
        return self.state_of(self.row)

    def component_place(self, k: int) -> Place:
        """The place of a component."""
        component = self.components[k]
        if not self.is_record:
            return self.root.child("state")
        if component.division is not None:
            return component.division.places[k]
        if component.index is None:
            return self.root.children[component.field]
        return self.items[component.field][1][component.index][1]

    def standin(self, trace: ReadTrace) -> Any:
        """A stand-in for the state that is being learned."""
        numbers = self.numbers
        parts: list[int] = [0] * len(self.plan)
        for index, k in self.single:
            parts[index] = numbers[k]
        for place, items in self.items.values():
            unread = [Unread(p, numbers[k] if type(k) is int else -1) for k, p in items]
            trace.stands_for(place, Items(trace, unread))
        about = trace, self.root, self.shape, tuple(parts), self.apart
        return standins.new_standin(standins.standin_class(self.cls), about, None)

    def learn(self, number: int, row: Sequence[int]) -> None:
        """Run an instance on a state, and add its reads and its result."""
        begun = time.perf_counter()
        instance = self.instances[number]
        instance.runs += 1
        self.row = row
        self.numbers = [c.values[i] for c, i in zip(self.components, row, strict=False)]
        reads, leaf = self.run(number, instance)
        begin = self.taken + len(self.reads)
        self.reads += reads
        self.runs.append((number, begin, begin + len(reads), leaf))
        instance.paths += 1
        self.seconds += time.perf_counter() - begun

    def run(self, number: int, instance: Instance) -> tuple[list[int], int]:
        """The reads of an instance in the state that is being learned, and its leaf."""
        while True:
            if not self.is_record:
                instance.follow = WHOLE_STATE
            trace = ReadTrace(
                self.values, self.row, self.new_probe, self.whole_state,
                deep=instance.follow == DEEP, has_standins=instance.follow != WHOLE_STATE,
            )  # fmt: skip
            try:
                if instance.follow == WHOLE_STATE:
                    state = self.whole_state(trace)
                else:
                    state = self.standin(trace)
                leaf = self.leaf_of(instance, trace, state)
                if trace.has_iterated and not self.agrees(instance, leaf):
                    raise OrderMatters
                return trace.reads, leaf
            except (Unfit, Uncompared):
                raise
            except OrderMatters:
                self.plainer[instance.name] = "it depends on the order of a set that it builds"
                instance.follow = WHOLE_STATE
                raise Plainer(number) from None
            except Exception as error:
                if instance.follow == WHOLE_STATE:
                    return trace.reads, self.leaves.number((walk.MARK, walk.FAILED_BIT, 0, 0, 0))
                if type(error) is not Untraceable and self.raises_anyway(instance):
                    # with what it has read so far it raises, whatever the rest is
                    return trace.reads, self.leaves.number((walk.MARK, walk.FAILED_BIT, 0, 0, 0))
                self.plainer[instance.name] = f"{type(error).__name__}: {error}"
                instance.follow += 1
                raise Plainer(number) from None
            finally:
                trace.end()

    def agrees(self, instance: Instance, leaf: int) -> bool:
        """Whether an instance gives the same result on the state itself."""
        trace = ReadTrace(
            self.values, self.row, self.new_probe, self.whole_state,
            deep=False, has_standins=False,
        )  # fmt: skip
        state = self.state_of(self.row)
        if self.leaves[leaf][0] != walk.STEP:
            return self.leaf_of(instance, trace, state) == leaf
        after = self.ask(instance, state)
        return type(after) is not Blocked and self.row_of(after) == self.row_after(leaf)

    def row_after(self, leaf: int) -> list[int]:
        """The row of the successor that a leaf describes."""
        _, effect, begin, end, _ = self.leaves[leaf]
        row = [*self.row, *[0] * (len(self.components) - len(self.row))]
        for k, new in self.effects[effect]:
            if k < 0:
                for element in self.divisions[CLEAR - k].member_of:
                    row[element] = 0
            else:
                row[k] = new
        for k, recipe, base in self.writes[begin:end]:
            row[k] = self.apply(recipe, self.row[base])
        return row

    def raises_anyway(self, instance: Instance) -> bool:
        """Whether an instance raises on the state itself."""
        state = self.state_of(self.row)
        try:
            self.ask(instance, state)
        except Exception:
            return True
        return False

    def ask(self, instance: Instance, state: Any) -> Any:
        """The result of an instance for a state."""
        kind, asked = instance.kind, instance.asked
        if kind == FINAL:
            final = self.recognised.body_of(asked.final)
            return final is not None and bool(final(state))
        asked = self.rewritten(asked)
        if kind == RULE:
            return asked.outcome(state, instance.choice)
        if kind == RULE_CHOICES:
            return list(asked.listed(state))
        if kind == BEYOND:
            return isinstance(asked.outcome(state, instance.choice, beyond_limits=True), Blocked)
        if kind == PROPERTY_CHOICES:
            return list(asked.listed(state))
        if isinstance(asked, Always):
            return asked.failure_of(state, instance.choice) is None
        return bool(asked.body(state))

    def leaf_of(self, instance: Instance, trace: ReadTrace, state: Any) -> int:
        """Run an instance, and make a leaf of the result."""
        kind, asked = instance.kind, instance.asked
        if kind in (RULE_CHOICES, PROPERTY_CHOICES):
            return self.choices_of(instance, trace, state)
        answer = self.ask(instance, state)
        if kind == RULE:
            if type(answer) is Blocked:
                edge = -1
                if isinstance(answer.guard, Limit):
                    edge = self.instance(BEYOND, asked, instance.choice)
                guard = self.guards.number((asked.name, answer.guard))
                return self.leaves.number((walk.BLOCKED, guard, edge, 0, 0))
            return self.step(asked, trace, state, answer)
        if kind == BEYOND:
            return self.leaves.number((walk.NOTHING if answer else walk.MARK, 0, 0, 0, 0))
        if kind == FINAL:
            mark = (walk.MARK, walk.FINAL_BIT, 0, 0, 0)
            return self.leaves.number(mark) if answer else 0
        shown = not answer if isinstance(asked, Always) else answer
        return self.leaves.number((walk.MARK, self.bit(asked.name), 0, 0, 0)) if shown else 0

    def choices_of(self, instance: Instance, trace: ReadTrace, state: Any) -> int:
        """The leaf that lists the instances for the choices of a rule or a property."""
        value = self.values.value

        def plain(some: Iterable[Any]) -> tuple[Any, ...]:
            return tuple([value(standins.number_of(trace, one)) for one in some])

        domains = self.rewritten(instance.asked).choices
        place, view = self.elements_chosen(domains, state)
        if view is None:
            begin, end = self.listed(instance, map(plain, self.ask(instance, state)))
            self.note_longest(instance, end - begin)
            return self.leaves.number((walk.CHOICES, begin, end, 0, 0))
        others = tuple(
            [() if at == place else plain(some(state)) for at, some in enumerate(domains.values())]
        )
        key = instance, view.number, others
        found = self.choices_by.get(key)
        if found is None:
            found = Choices(len(self.choices), instance, view, place, others)
            self.choices_by[key] = found
            self.choices.append(found)
            self.catch_up()
        return self.leaves.number((walk.EACH, found.number, 0, 0, 0))

    def listed(self, instance: Instance, choices: Iterable[Choice]) -> tuple[int, int]:
        """Where the instances for some choices of a rule or a property are listed."""
        of = RULE if instance.kind == RULE_CHOICES else PROPERTY
        return self.list_of(
            tuple([self.instance(of, instance.asked, choice) for choice in choices])
        )

    def elements_chosen(self, domains: Mapping[str, Any], state: Any) -> tuple[int, View | None]:
        """The choice of a rule whose values are the elements of a view, and the view."""
        if not self.divisions:
            return -1, None
        for place, domain in enumerate(domains.values()):
            if not isinstance(domain, Each):
                continue
            members = domain.members(state)
            if type(members) not in DIVIDED.values() or not members.is_untouched:
                continue
            view = members.division.view(tuple(map(plain_test, domain.tests)))
            if isinstance(domain, Listed):
                if domain.compares and not view.division.sorts():
                    continue
                if not view.division.lists(view, sorted_too=domain.sorts):
                    continue
            return place, view
        return -1, None

    def rewritten(self, asked: Any) -> Any:
        """A rule or a property with functions that ask divided sets for parts."""
        if not self.divisions:
            return asked
        found = self.rewritten_as.get(asked)
        if found is None:
            found = self.rewritten_as[asked] = self.rewrite(asked)
        return found

    def rewrite(self, asked: Any) -> Any:
        """The same, for the first time."""
        choices = getattr(asked, "choices", {})
        self.recognised.add([asked.body, *choices.values()])
        changes: dict[str, Any] = {"body": self.recognised.body_of(asked.body)}
        if choices:
            changes["choices"] = {
                name: self.recognised.each_of(domain) or self.recognised.body_of(domain)
                for name, domain in choices.items()
            }
        return attrs.evolve(asked, **changes)

    def note_longest(self, instance: Instance, count: int) -> None:
        """Note how many instances an instance lists."""
        me = self.instance(instance.kind, instance.asked)
        self.longest[me] = max(self.longest.get(me, 0), count)

    def catch_up(self) -> None:
        """List the instances for the elements that are new."""
        for choices in self.choices:
            new = choices.view.members[len(choices.begin) :]
            if not new or choices.instance.asked is None:  # it changed since a file was written
                continue
            for member in new:
                some = choices.choices_for(self.values.value(member))
                choices.begin.append(self.listed(choices.instance, some)[0])
            self.note_longest(choices.instance, choices.count * len(choices.begin))

    def step(self, rule: Rule[Any], trace: ReadTrace, before: Any, after: Any) -> int:
        """The leaf of a successor."""
        constants: list[tuple[int, int]] = []
        writes: list[tuple[int, int, int]] = []
        for k, recipe in self.changes(trace, before, after):
            if k < 0:
                constants.append((k, 0))
                continue
            if type(recipe) is int:
                constants.append((k, self.id_of(k, recipe)))
                continue
            found: set[int] = set()
            recipes.components_in(recipe, found)
            base = k if k in found else min(found)
            done = recipes.settled(trace, recipe, base)
            if type(done) is int:
                constants.append((k, self.id_of(k, done)))
            elif done != ("copy", ()) or base != k:
                writes.append((k, self.recipes.number((base, k, done)), base))
        key = tuple(constants), tuple(writes)
        numbers = self.effect_numbers.get(key)
        if numbers is None:
            begin = len(self.writes)
            self.writes += writes
            self.widest = max(self.widest, len(writes))
            numbers = self.effect_numbers[key] = len(self.effects), begin, len(self.writes)
            self.effects.append(constants + [(k, -1) for k, _, _ in writes])
        return self.leaves.number((walk.STEP, *numbers, self.rules.number(rule.name)))

    def changes(self, trace: ReadTrace, before: Any, after: Any) -> Iterable[tuple[int, Any]]:
        """The components that a step may change, and the recipe of each."""
        if after is before:
            return
        if not self.is_record:
            yield 0, self.values.number(standins.real(after))
            return
        cls = type(after)
        if cls in standins.STANDINS and after._kspec_about[1] is self.root:
            changed = after._kspec_changes or {}
            self.assert_same_apart(after._kspec_about[4])
            get = changed.__getitem__
        elif cls is self.cls:
            changed = dict.fromkeys(self.shape.names)
            self.assert_same_apart(tuple(getattr(after, name) for name in self.shape.apart))
            get = lambda name: getattr(after, name)  # noqa: E731
        else:
            raise Unfit(STATE)
        for name, place in zip(self.shape.names, self.plan, strict=True):
            if name not in changed:
                continue
            value = get(name)
            if not isinstance(place, list):
                yield from self.part_changes(trace, place, value)
            else:
                if not isinstance(value, tuple) or len(value) != len(place):
                    raise Unfit(name)
                kind: type = type(value)
                items: Any = value.items if kind is Items else value  # type: ignore[attr-defined]
                for (part, own), item in zip(self.items[name][1], items, strict=True):
                    if type(item) is not Unread or item.place is not own:
                        yield from self.part_changes(trace, part, item)

    def part_changes(self, trace: ReadTrace, part: Part, value: Any) -> Iterable[tuple[int, Any]]:
        """The components of a part of the state that a step may change, and their recipes.

        A division is cleared in place of component CLEAR - its number.
        """
        if not isinstance(part, Division):
            yield part, standins.recipe_of(trace, value)
            return
        if type(value) in DIVIDED.values() and value.division is part and value.value is None:
            yield from self.element_changes(trace, part, value)
            return
        yield CLEAR - part.number, None
        for k, item in part.parts(self.values.value(standins.number_of(trace, value))):
            yield k, self.values.number(item)

    def element_changes(
        self, trace: ReadTrace, part: Division, value: Any
    ) -> Iterable[tuple[int, Any]]:
        """The same for a stand-in for a divided part, with some elements changed."""
        if type(value) is Elements:
            for same in value.less - value.more.keys():
                yield part.component(same), self.absent
            for member in value.more.values():
                yield part.component(member), self.present
            return
        for number, item in value.changes.values():
            recipe = self.absent if item is ABSENT else standins.recipe_of(trace, item)
            yield part.component(number), recipe

    def list_of(self, instances: tuple[int, ...]) -> tuple[int, int]:
        """Where a list of instances stands."""
        found = self.list_numbers.get(instances)
        if found is None:
            begin = len(self.lists)
            self.lists += instances
            found = self.list_numbers[instances] = begin, len(self.lists)
        return found

    def apply(self, recipe: int, old: int) -> int:
        """The local number of the value that a recipe makes."""
        begun = time.perf_counter()
        base, to, how = self.recipes[recipe]
        number = recipes.applied(self.values, how, self.components[base].values[old])
        found = self.id_of(to, number)
        self.seconds += time.perf_counter() - begun
        return found


def bits_of(prop: Property[Any]) -> tuple[str, ...]:
    """The names that stand for a property in masks."""
    if isinstance(prop, Liveness):
        return prop.name, f"{prop.name} is reached"
    return (prop.name,)


def functions_of(system: System[Any]) -> Iterator[Any]:
    """The functions of the rules and properties of a system."""
    for asked in (*system.rules, *system.properties):
        yield from (getattr(asked, "body", None), *getattr(asked, "choices", {}).values())
    yield system.model.final


class OrderMatters(Exception):
    """The result of an instance differs between the stand-in and the state itself."""


class Plainer(Exception):
    """An instance must run on a plainer stand-in; what was learned about it is void."""

    def __init__(self, instance: int) -> None:
        super().__init__(instance)
        self.instance = instance
