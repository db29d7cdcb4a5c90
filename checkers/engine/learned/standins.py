"""Stand-ins: objects that record what a rule reads.

A stand-in replaces a record, a tuple or a frozenset. It behaves like the value, and records each
read in the trace of the run. Scalars are not replaced. Parts that are copied by `evolve`, by slices
and `+` of tuples, or by `|` and `-` of frozensets are not read: the copy is a stand-in, too, and in
the end it becomes a recipe for the new value.

A stand-in that is hashed is **settled**: all of it is read, and from then on it behaves as the
value, so nothing more is read of it. A helper with `functools.cache` therefore reads the same on a
hit as on a miss. Its cache outlives the run: a stand-in of a finished run equals only itself, so
later lookups miss it.

A place is a component of the state and a path inside it. A **probe** is a question about a place:
the shape of its value (a scalar itself, the class of a record, or the length of a tuple), the whole
value, the size of a frozenset, whether it has a member, whether it equals a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, cast

import attrs

from kspec.checkers.engine.learned.recipes import Recipe, settled
from kspec.checkers.engine.learned.values import RECORD, TUPLE, Shape, Values, is_plain, uncompared
from kspec.checkers.engine.learned.walk import EQUALS, HAS, SHAPE, SIZE, WHOLE
from kspec.spec.core import OrderedSet, SpecError, ordered
from kspec.spec.core.schema import names_of
from kspec.spec.core.sets import KEPT, TRANSIENT, Entries

if TYPE_CHECKING:
    from kspec.checkers.engine.learned.divided import Division

ROOT = -1
"""The component of the place of the whole state."""

SETS = frozenset({frozenset, OrderedSet})

ATOMS = frozenset({int, str, bool, type(None), float, bytes, complex})


class Untraceable(Exception):
    """A rule made an object that may contain a stand-in; it must run on a plainer one."""


class Outlived(SpecError):
    """A stand-in is used after its run has ended."""

    def __init__(self) -> None:
        """Set the message."""
        super().__init__(KEPT)


@attrs.define(eq=False)
class Place:
    """The position of a value in the state."""

    component: int
    path: tuple[int | str, ...]
    children: dict[int | str, Place] = attrs.field(factory=dict)
    probes: dict[Any, int] = attrs.field(factory=dict)
    shape_probe: int = -1
    """The probe of its shape, the most frequent."""
    read_by: ReadTrace | None = None
    """The last run that read its shape."""
    standin: Any = None
    standin_by: ReadTrace | None = None
    """The run that the stand-in belongs to."""
    division: Division | None = None
    """What the field here is divided into, if it is."""

    def child(self, step: int | str) -> Place:
        """The place of a part."""
        found = self.children.get(step)
        if found is None:
            found = self.children[step] = Place(self.component, (*self.path, step))
        return found


@attrs.define(eq=False)
class ReadTrace:
    """The reads of one run, in order: pairs of the number of a probe and its answer."""

    values: Values
    row: Sequence[int]
    """The state that the run is for."""
    new_probe: Callable[[Place, int, int], int]
    whole_state: Callable[[ReadTrace], Any]
    deep: bool = attrs.field(kw_only=True)
    """Whether parts of components are read by themselves."""
    has_standins: bool = attrs.field(kw_only=True)
    """Whether the run is on a stand-in, and not on the state itself."""
    has_iterated: bool = False
    """Whether the run has iterated over a frozenset of several members. It may have made a set
    of them, whose own order depends on what it was made of: a stand-in, or the frozenset."""
    is_over: bool = False
    """Whether the run has ended: its stand-ins must not be used any more."""
    reads: list[int] = attrs.field(factory=list)
    seen: set[int] = attrs.field(factory=set)

    def end(self) -> None:
        """End the run. Stand-ins that somebody keeps need little memory from now on."""
        self.is_over, self.reads, self.seen = True, [], set()

    def note(self, place: Place, what: int, of: int, answer: int) -> None:
        """Record a read."""
        if self.is_over:
            raise Outlived
        key = what if of < 0 else (what, of)
        probe = place.probes.get(key)
        if probe is None:
            probe = place.probes[key] = self.new_probe(place, what, of)
        if probe not in self.seen:
            self.seen.add(probe)
            self.reads.append(probe)
            self.reads.append(answer)

    def read(self, place: Place, number: int) -> Any:
        """The scalar at a place, or a stand-in for the value there."""
        if place.standin_by is self:
            return place.standin
        if self.is_over:
            raise Outlived
        if place.division is not None:
            return self.divided(place, place.division)
        if not self.deep:
            return self.whole(place, number)
        shape = self.values.shapes[number]
        if place.read_by is not self:
            place.read_by = self
            if place.shape_probe < 0:
                place.shape_probe = self.new_probe(place, SHAPE, -1)
            reads = self.reads
            reads.append(place.shape_probe)
            reads.append(shape)
        if shape >= 0:
            return self.values.objects[number]
        kind = self.values.kinds[number]
        made: Any
        if kind == RECORD:
            values = self.values
            made = standin_for(self, place, values.records[shape], number)
        elif kind == TUPLE:
            parts = self.values.parts[number]
            items = [Unread(place.child(i), part) for i, part in enumerate(parts)]
            made = Items(self, items, (place, number))
        else:
            made = Members(self, (place, number))
        self.stands_for(place, made)
        return made

    def divided(self, place: Place, division: Division) -> Any:
        """A stand-in for a divided field, or its value."""
        whole = division.whole()
        made = DIVIDED[division.cls](self, division) if self.deep else whole.read(self)
        self.stands_for(place, made)
        return made

    def stands_for(self, place: Place, standin: Any) -> None:
        """Use the same stand-in for each later read of this place in this run."""
        place.standin = standin
        place.standin_by = self

    def whole(self, place: Place, number: int) -> Any:
        """The value at a place; all of it counts as read."""
        self.note(place, WHOLE, -1, number)
        return self.values.value(number)


@attrs.define(eq=False)
class Unread:
    """A part that is copied and not read."""

    place: Place
    number: int


# -- records --------------------------------------------------------------------------------------


class Copied(str):
    """The name of a field under which `attrs.evolve` asks for it, to copy and not to read it."""

    __slots__ = ()


class Copying:
    """A field of the class of a stand-in, as `attrs.fields` returns it.

    `attrs.evolve` first reads `init` of a field and then its `name`; it receives a name that marks
    a copy. A loop over the fields that are compared reads `eq` first, and receives the plain name.
    Other functions (`asdict`, `astuple`) read the name only, and may call `type(value)`, for which
    a stand-in is not a tuple; a rule that uses them is run on the state itself.
    """

    def __init__(self, field: attrs.Attribute[Any]) -> None:
        self._field = field
        self._copied = Copied(field.name)
        self._copies = self._is_compared = False

    @property
    def eq(self) -> bool:
        """Whether the field is compared."""
        self._is_compared = bool(self._field.eq)
        return self._is_compared

    @property
    def init(self) -> bool:
        """Every field of a plain class is an argument."""
        self._copies = True
        return True

    @property
    def name(self) -> str:
        """The name of the field."""
        if self._copies:
            self._copies = False
            return self._copied
        if self._is_compared:
            self._is_compared = False
            return self._field.name
        raise Untraceable("a loop over the fields of a class")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._field, name)


def standin_for(trace: ReadTrace, place: Place, shape: Shape, number: int) -> Any:
    """A stand-in for a record."""
    values = trace.values
    about = trace, place, shape, values.parts[number], values.apart[number]
    return new_standin(standin_class(shape.cls), about, None)


About = tuple[ReadTrace, Place, Shape, "tuple[int, ...]", "tuple[Any, ...]"]
"""What a stand-in for a record is for: the run, where the record stands, its fields, the
numbers of its parts, and the fields that are not compared."""


def new_standin(cls: type, about: About, changes: dict[str, Any] | None) -> Any:
    """An instance of a stand-in's class, of which no field has been read."""
    made: Any = object.__new__(cls)
    fill = object.__setattr__
    fill(made, "_kspec_about", about)
    fill(made, "_kspec_changes", changes)
    fill(made, "_kspec_value", None)
    return made


@cache
def standin_class(of: type) -> type:
    """The class of stand-ins for the instances of a plain attrs class.

    It is a subclass whose instances are made without their fields. Python looks for a field
    that is missing in `__getattr__`, which notes that it is read and puts it in its place.
    """
    fields = tuple(Copying(field) for field in attrs.fields(of))
    put = object.__setattr__

    def get(self: Any, name: str) -> Any:
        changes = self._kspec_changes
        if changes is not None and name in changes:
            value = changes[name]
        else:
            trace, place, shape, parts, apart = self._kspec_about
            index = shape.index.get(name)
            if index is None:
                if name not in shape.apart:
                    raise AttributeError(f"{of.__name__!r} object has no attribute {name!r}")
                value = apart[shape.apart.index(name)]
            elif type(name) is Copied:
                return UnreadField(self)
            else:
                child = place.children.get(name)
                if child is None:
                    child = place.child(name)
                value = trace.read(child, parts[index])
        put(self, name, value)
        return value

    def new(cls: type, *args: Any, **changes: Any) -> Any:
        origin = next((c.of for c in changes.values() if type(c) is UnreadField), None)
        if origin is None or args:
            return of(*args, **changes)
        return evolved(
            origin, {name: c for name, c in changes.items() if type(c) is not UnreadField}
        )

    space: dict[str, Any] = {
        "__slots__": ("_kspec_about", "_kspec_changes", "_kspec_value"),
        "__attrs_attrs__": fields,
        "__module__": of.__module__,
        "__qualname__": of.__qualname__,
        "__doc__": of.__doc__,
        "__new__": new,
        "__init__": lambda self, *args, **changes: None,
        "__getattr__": get,
        "__eq__": equals,
        "__ne__": lambda self, other: not equals(self, other),
        "__hash__": lambda self: hash(settle(self)),
        "__replace__": lambda self, /, **changes: evolved(self, changes),
    }
    made = type(of.__name__, (of,), space)
    STANDINS.add(made)
    TRANSIENT.add(made)
    return made


STANDINS: set[type] = set()


class UnreadField:
    """A field that `attrs.evolve` copies and does not read."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def __eq__(self, other: object) -> NoReturn:
        raise Untraceable("a field that is copied")

    __hash__ = __bool__ = __iter__ = __eq__  # type: ignore[assignment]


def evolved(origin: Any, changes: dict[str, Any]) -> Any:
    """A stand-in for the same record with some fields changed, given by their aliases."""
    if origin._kspec_value is not None:
        changed: Any = attrs.evolve(origin._kspec_value, **changes)
        return changed
    trace, place, shape, parts, apart = origin._kspec_about
    named = {}
    for alias, value in changes.items():
        name = shape.alias_names.get(alias)
        if name is None:
            raise TypeError(f"{shape.cls.__name__} has no field {alias!r}")
        named[name] = value
    if origin._kspec_changes:
        named = origin._kspec_changes | named
    if any(name in named for name in shape.apart):
        apart = tuple(
            named.pop(name) if name in named else old
            for name, old in zip(shape.apart, apart, strict=True)
        )
    return new_standin(type(origin), (trace, place, shape, parts, apart), named)


def equals(one: Any, other: Any) -> bool:
    """Whether a stand-in equals a value; if the value has no stand-in in it, that is one read."""
    if one is other:
        return True
    if trace_of(one).is_over:
        return False
    if is_standin(other):
        return not trace_of(other).is_over and bool(real(one) == real(other))
    if is_settled(one):
        return bool(real(one) == other)
    place, number = untouched(one)
    if place is None or not is_known(other):
        return bool(real(one) == real(other))
    trace = trace_of(one)
    values = trace.values
    wanted = values.same[values.number(other)]
    answer = values.same[number] == wanted
    trace.note(place, EQUALS, wanted, int(answer))
    return answer


def is_known(value: Any) -> bool:
    """Whether a value contains no stand-in: an atom, or a tuple or frozenset of atoms."""
    if type(value) in ATOMS or isinstance(value, Enum):
        return True
    if type(value) in (tuple, frozenset, OrderedSet):
        return all(is_known(part) for part in value)
    return False


def untouched(standin: Any) -> tuple[Place | None, int]:
    """The place of a stand-in for an unchanged part of the state, and the number of its value."""
    cls = type(standin)
    if cls in MEMBERS and cls is not Members:
        return None, 0
    if cls is Items or cls is Members:
        origin = standin.origin
        if origin is not None and (cls is Items or not (standin.more or standin.less)):
            return cast("tuple[Place, int]", origin)
        return None, 0
    trace, place, shape, parts, _ = standin._kspec_about
    if standin._kspec_changes or place.component == ROOT:
        return None, 0
    return place, trace.values.numbers[shape.cls, parts]


# -- tuples ---------------------------------------------------------------------------------------


class Printed:
    """What stand-ins for tuples and frozensets have in common: as a key or as text, all is read."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(settle(self))

    def __repr__(self) -> str:
        return repr(real(self))

    def __format__(self, how: str) -> str:
        return format(real(self), how)


class Items(Printed):
    """A stand-in for a tuple of known length."""

    __slots__ = ("items", "origin", "trace")
    __class__ = property(lambda self: tuple)  # for isinstance

    def __init__(
        self, trace: ReadTrace, items: list[Any], origin: tuple[Place, int] | None = None
    ) -> None:
        self.trace = trace
        self.items = items
        self.origin = origin

    def got(self, index: int) -> Any:
        item = self.items[index]
        if type(item) is Unread:
            return self.trace.read(item.place, item.number)
        return item

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        for index in range(len(self.items)):
            yield self.got(index)

    def __reversed__(self) -> Iterator[Any]:
        for index in reversed(range(len(self.items))):
            yield self.got(index)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            if index in (slice(None), slice(0, None)):
                return self
            return Items(self.trace, self.items[index])
        return self.got(index)

    def __contains__(self, wanted: object) -> bool:
        return any(self.is_at(index, wanted) for index in range(len(self.items)))

    def is_at(self, index: int, wanted: object) -> bool:
        """Whether an item equals something."""
        item = self.items[index]
        is_unread = type(item) is Unread and item.place.division is None
        if is_unread and self.trace.deep and is_known(wanted):
            values = self.trace.values
            number = values.same[values.number(wanted)]
            answer: bool = values.same[item.number] == number
            self.trace.note(item.place, EQUALS, number, int(answer))
            return answer
        found: Any = self.got(index)
        return found is wanted or bool(found == wanted)

    def count(self, wanted: object) -> int:
        return sum(self.is_at(index, wanted) for index in range(len(self.items)))

    def index(self, wanted: object, start: int = 0, stop: int | None = None) -> int:
        for index in range(len(self.items))[start:stop]:
            if self.is_at(index, wanted):
                return index
        raise ValueError("tuple.index(x): x not in tuple")

    def __add__(self, other: Any) -> Any:
        if type(other) is Items:
            return Items(self.trace, self.items + other.items)
        if isinstance(other, tuple):
            return Items(self.trace, [*self.items, *other])
        return NotImplemented

    def __radd__(self, other: Any) -> Any:
        if isinstance(other, tuple):
            return Items(self.trace, [*other, *self.items])
        return NotImplemented

    def __mul__(self, times: int) -> Any:
        return Items(self.trace, self.items * times)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple):
            return False
        other_is_over = is_standin(other) and trace_of(other).is_over
        if self.trace.is_over or other_is_over:
            return id(self) == id(other)
        if self.origin is not None and is_known(other):
            return equals(self, other)
        if len(self) != len(other):
            return False
        return all(self.is_at(index, item) for index, item in enumerate(other))

    __hash__ = Printed.__hash__

    def __lt__(self, other: Any) -> Any:
        return tuple(self) < tuple(other)

    def __le__(self, other: Any) -> Any:
        return tuple(self) <= tuple(other)

    def __gt__(self, other: Any) -> Any:
        return tuple(self) > tuple(other)

    def __ge__(self, other: Any) -> Any:
        return tuple(self) >= tuple(other)


Sequence.register(Items)


# -- frozensets -----------------------------------------------------------------------------------


NO_MEMBERS: Mapping[int, int] = {}


class Members(Printed):
    """A stand-in for a frozenset: one of the state, with some members more and some less."""

    __slots__ = ("less", "more", "origin", "trace", "value")
    __class__ = property(lambda self: frozenset)  # for isinstance

    def __init__(
        self,
        trace: ReadTrace,
        origin: tuple[Place, int],
        more: Mapping[int, int] = NO_MEMBERS,
        less: Set[int] = frozenset(),
    ) -> None:
        self.trace = trace
        self.origin = origin
        self.more = more
        """The numbers of the members added, which the one of the state may have as well: by the
        least number of their equals."""
        self.less = less
        """The least numbers of those removed, before any is added."""
        self.value: Any = None
        """The frozenset itself, once this is settled."""

    def __contains__(self, wanted: object) -> bool:
        hash(wanted)
        if self.value is not None:
            return real(wanted) in self.value
        values = self.trace.values
        same = values.same[number_of(self.trace, wanted)]
        if same in self.more:
            return True
        if same in self.less:
            return False
        return self.has(same)

    def has(self, same: int) -> bool:
        """Whether the frozenset of the state has a member."""
        values = self.trace.values
        place, own = self.origin
        answer = any(values.same[part] == same for part in values.parts[own])
        self.trace.note(place, HAS, same, int(answer))
        return answer

    def recipe(self) -> Recipe:
        """How this frozenset is made of the one of the state."""
        place, number = self.origin
        if self.more or self.less:
            return ("set", place, number, frozenset(self.more.values()), frozenset(self.less))
        return ("copy", place, number)

    def __len__(self) -> int:
        if self.more or self.less or self.value is not None:
            return len(real(self))
        return self.size()

    def size(self) -> int:
        """The size of the frozenset of the state."""
        place, number = self.origin
        size = len(self.trace.values.parts[number])
        self.trace.note(place, SIZE, -1, size)
        return size

    def __bool__(self) -> bool:
        if self.more:
            return True
        if self.less or self.value is not None:
            return bool(real(self))
        return not self.is_empty()

    def is_empty(self) -> bool:
        """Whether the frozenset of the state has no members."""
        values = self.trace.values
        place, number = self.origin
        empty = values.same[values.set_of(())]
        answer = values.same[number] == empty
        self.trace.note(place, EQUALS, empty, int(answer))
        return answer

    def like(self, more: Mapping[int, int], less: Set[int]) -> Members:
        """The same frozenset of the state with these members more and less."""
        return Members(self.trace, self.origin, more, less)

    def __iter__(self) -> Iterator[Any]:
        members = real(self)
        self.trace.has_iterated |= len(members) > 1
        return iter(members)

    def numbers(self, others: Any) -> dict[int, int]:
        """The numbers of some members of another set, by the least number of their equals."""
        same = self.trace.values.same
        numbers = [number_of(self.trace, other) for other in others]
        return {same[number]: number for number in numbers}

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, set | frozenset):
            return NotImplemented
        if self.value is not None:
            return self.value | real(other)
        return self.like({**self.numbers(other), **self.more}, self.less)

    def __ror__(self, other: Any) -> Any:
        if type(other) not in SETS or self.value is not None:
            return other | real(self)  # a set, which has no hash
        added = self.numbers(other)
        return self.like({**self.more, **added}, self.less | added.keys())

    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, set | frozenset):
            return NotImplemented
        if self.value is not None:
            return self.value - real(other)
        gone = self.numbers(other)
        more = {same: number for same, number in self.more.items() if same not in gone}
        return self.like(more, self.less | gone.keys())

    def union(self, *others: Any) -> Any:
        made: Any = self
        for other in others:
            made = made | frozenset(other)
        return made

    def difference(self, *others: Any) -> Any:
        made: Any = self
        for other in others:
            made = made - frozenset(other)
        return made

    def __rsub__(self, other: Any) -> Any:
        if type(other) not in SETS:
            return other - real(self)
        members = [member for member in other if member not in self]
        made = frozenset(members)
        return made if any(map(is_standin, members)) else ordered(made)

    def __and__(self, other: Any) -> Any:
        return real(self) & real(other)

    def __rand__(self, other: Any) -> Any:
        return other & real(self)

    def __xor__(self, other: Any) -> Any:
        return real(self) ^ real(other)

    def __rxor__(self, other: Any) -> Any:
        return other ^ real(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Set):
            return False
        kind: type = type(other)
        if kind in MEMBERS or self.more or self.less or is_known(other):
            return equals(self, other)
        return not self.trace.is_over and bool(real(self) == other)

    __hash__ = Printed.__hash__

    def __ge__(self, other: Any) -> Any:
        if not isinstance(other, Set):
            return NotImplemented
        return all(member in self for member in other)

    def issuperset(self, other: Any) -> bool:
        return all(member in self for member in other)

    def isdisjoint(self, other: Any) -> bool:
        return not any(member in self for member in other)

    def __le__(self, other: Any) -> Any:
        return real(self) <= real(other)

    def __lt__(self, other: Any) -> Any:
        return real(self) < real(other)

    def __gt__(self, other: Any) -> Any:
        return real(self) > real(other)

    def __getattr__(self, name: str) -> Any:
        return getattr(real(self), name)


Set.register(Members)


MEMBERS: set[type] = {Members}
"""Classes of stand-ins that know themselves how they are made of the state."""

DIVIDED: dict[type, Any] = {}
"""By class of divided fields: the class of stand-ins for them."""

TRANSIENT.update((Items, Members))


# -- from stand-ins to values ---------------------------------------------------------------------


def is_standin(value: Any) -> bool:
    """Whether a value is a stand-in."""
    cls = type(value)
    return cls is Items or cls in MEMBERS or cls in STANDINS


def kind_of(value: Any) -> type:
    """The class of a value, or of the value that a stand-in represents."""
    if isinstance(value, frozenset):
        return frozenset
    kind: Any = type(value).__base__ if type(value) in STANDINS else value.__class__
    return cast(type, kind)


def differing(before: Any, after: Any) -> Iterable[tuple[str | int, Any, Any]] | None:
    """The fields or items in which two values of one class may differ, with both values.

    None where they have neither. Parts that stand-ins only copy are left out, and not read.
    """
    names = names_of(kind_of(after))
    if names is not None:
        if {type(before), type(after)} <= STANDINS and is_of_same(before, after):
            changed = {**(before._kspec_changes or {}), **(after._kspec_changes or {})}
            names = tuple(name for name in names if name in changed)
        return ((name, getattr(before, name), getattr(after, name)) for name in names)
    if not isinstance(after, tuple) or len(before) != len(after):
        return None
    return ((n, before[n], after[n]) for n in range(len(after)) if not is_copied(before, after, n))


def is_of_same(one: Any, other: Any) -> bool:
    """Whether two stand-ins for records are for the same part of the state."""
    return one._kspec_about[1] is other._kspec_about[1]


def is_copied(before: Any, after: Any, index: int) -> bool:
    """Whether an item of two tuples is the same part of the state, not read by the run."""
    if not type(before) is type(after) is Items:
        return False
    one, other = before.items[index], after.items[index]
    return type(one) is Unread and type(other) is Unread and one.place is other.place


def trace_of(standin: Any) -> ReadTrace:
    """The run that a stand-in belongs to."""
    if type(standin) in STANDINS:
        return cast(ReadTrace, standin._kspec_about[0])
    return cast(ReadTrace, standin.trace)


def is_settled(standin: Any) -> bool:
    """Whether a stand-in has been read in full and behaves as its value."""
    if type(standin) is Items:
        return False  # its items are values then
    return (standin.value if type(standin) in MEMBERS else standin._kspec_value) is not None


def settle(standin: Any) -> Any:
    """Read all of a stand-in, and have it behave as the value from now on; returns the value."""
    value, cls = real(standin), type(standin)
    if cls is Items:
        standin.items, standin.origin = list(value), None
    elif cls in MEMBERS:
        standin.value = value
    elif standin._kspec_value is None:
        put = object.__setattr__
        put(standin, "_kspec_value", value)
        for field in attrs.fields(type(value)):
            put(standin, field.name, getattr(value, field.name))
    return value


def real(value: Any) -> Any:
    """The value that a stand-in represents; all parts needed to make it count as read."""
    if is_standin(value):
        if is_settled(value):
            return value.value if type(value) in MEMBERS else value._kspec_value
        trace = trace_of(value)
        if type(value) in STANDINS and value._kspec_about[1].component == ROOT:
            return whole_root(trace, value)
        return trace.values.value(number_of(trace, value))
    return value


def whole_root(trace: ReadTrace, state: Any) -> Any:
    """The whole state with the changes of the rule; every component counts as read."""
    before = trace.whole_state(trace)
    changes = state._kspec_changes
    if not changes:
        return before
    shape = state._kspec_about[2]
    aliases = dict(zip(shape.names, shape.aliases, strict=True))
    return attrs.evolve(
        before,
        **{aliases[n]: trace.values.value(number_of(trace, v)) for n, v in changes.items()},
    )


def number_of(trace: ReadTrace, value: Any) -> int:
    """The number of a value that may be or contain stand-ins; the parts needed count as read."""
    recipe = recipe_of(trace, value)
    number: int = recipe if type(recipe) is int else settled(trace, recipe, None)
    return number


def recipe_of(trace: ReadTrace, value: Any) -> Recipe:
    """The recipe of a value that a rule returned."""
    cls = type(value)
    values = trace.values
    if cls in ATOMS:
        return values.number(value)
    if cls is Unread:
        division = value.place.division
        if division is not None:
            return values.number(division.whole().read(trace))
        return ("copy", value.place, value.number)
    if cls is Items:
        if value.origin is not None:
            return ("copy", *value.origin)
        return tuple_recipe(trace, value.items)
    if cls in STANDINS and value._kspec_value is not None:
        return values.number(value._kspec_value)
    if cls in MEMBERS:
        return values.number(value.value) if value.value is not None else value.recipe()
    if cls in STANDINS:
        _, place, shape, numbers, apart = value._kspec_about
        if place.component == ROOT:
            return values.number(real(value))
        number = values.numbers[shape.cls, numbers]
        if apart != values.apart[number]:
            raise uncompared(shape, apart, values.apart[number])
        changes = value._kspec_changes
        if not changes:
            return ("copy", place, number)
        changed = tuple(
            (index, recipe_of(trace, changes[name]))
            for name, index in shape.index.items()
            if name in changes
        )
        return ("evolve", place, number, changed)
    if id(value) in values.by_identity:
        return values.by_identity[id(value)]
    if cls is tuple:
        return tuple_recipe(trace, value)
    if cls in SETS:
        return values.set_of(tuple(sorted({number_of(trace, part) for part in value})))
    if is_plain(cls):
        shape = values.shape(cls)
        parts = tuple(recipe_of(trace, getattr(value, name)) for name in shape.names)
        apart = tuple(real(getattr(value, name)) for name in shape.apart)
        if all(type(part) is int for part in parts):
            return values.record_of(shape, parts, apart)
        return ("record", shape, apart, parts)
    if issubclass(cls, Entries):
        pairs = values.value(number_of(trace, value.pairs()))
        return values.number(cls.of_pairs(pairs))
    if issubclass(cls, tuple) and hasattr(cls, "_make"):
        return values.number(cls._make([values.value(number_of(trace, part)) for part in value]))
    if issubclass(cls, int | str | float | bytes | Enum) or not trace.has_standins:
        return values.number(value)
    raise Untraceable(f"a {cls.__name__}")


def tuple_recipe(trace: ReadTrace, items: Sequence[Any]) -> Recipe:
    """How a tuple of such values is made."""
    parts = tuple([recipe_of(trace, item) for item in items])
    if all(type(part) is int for part in parts):
        return trace.values.tuple_of(parts)
    return ("tuple", parts)
