"""Convert states between rows of numbers and bytes, in compiled code.

The numbers of components have no meaning in another process; the bytes of a state (`plain`) do.
The bytes of a component's value are created or parsed once: they are a **piece** of every state
that has the value. So a state is written by copying pieces, and read by looking them up.
"""

from __future__ import annotations

import zlib
from typing import Any

import attrs
import numpy as np

from kspec.checkers.engine.learned.book import STATE, Book
from kspec.checkers.engine.learned.divided import Division, Present, Unfit
from kspec.checkers.engine.learned.growing import Row
from kspec.checkers.engine.learned.plain import COUNT, Codec, gathered, sized
from kspec.checkers.engine.packed.codes import SHARD_BITS
from kspec.checkers.engine.packed.intrinsics import SLACK, Bytes, are_equal, copy, hash_of
from kspec.impl.compiled import Words, compiled
from kspec.spec.core import OrderedSet, SpecError

BEGIN, END, COMPONENT, NUMBER, CHECKSUM, KIND = range(6)
"""The columns of a piece: the position of its bytes, the value of its component, its CRC-32 (with
zeros as initial value and final xor), and the number of its length."""

KNOWN, UNKNOWN, MALFORMED = range(3)
"""How far bytes were read: to the end, to a new piece, or to invalid bytes."""

ONES = 0xFFFFFFFF
CRC: Words = np.array([zlib.crc32(bytes([n]), ONES) ^ ONES for n in range(256)], np.int64)
"""The lookup table of CRC-32, by byte."""


@compiled
def crc_of(crc: int, content: Bytes, begin: int, end: int, table: Words) -> int:
    """CRC-32 continued over some bytes; zlib begins with all bits set."""
    for at in range(begin, end):
        crc = crc >> 8 ^ table[(crc ^ int(content[at])) & 255]
    return crc


@compiled
def behind_zeros(length: int, table: Words) -> Words:
    """The effect of appending this many zero bytes on each byte of a checksum."""
    found = np.empty((4, 256), np.int64)
    for row in range(4):
        for byte in range(256):
            crc = byte << 8 * row
            for _ in range(length):
                crc = crc >> 8 ^ table[crc & 255]
            found[row, byte] = crc
    return found


@compiled
def measure(
    rows: Words,
    first: Words,
    written: Words,
    pieces: Words,
    behind: Words,
    lengths: Words,
    shards: Words,
) -> None:
    """The length and shard of each state, computed from those of its pieces."""
    for i in range(len(rows)):
        length, crc = 0, ONES
        for k in range(rows.shape[1]):
            piece = written[first[k] + rows[i, k]]
            length += pieces[piece, END] - pieces[piece, BEGIN]
            zeros = behind[pieces[piece, KIND]]
            crc = (
                pieces[piece, CHECKSUM]
                ^ zeros[0, crc & 255]
                ^ zeros[1, crc >> 8 & 255]
                ^ zeros[2, crc >> 16 & 255]
                ^ zeros[3, crc >> 24 & 255]
            )
        lengths[i] = length
        shards[i] = (crc ^ ONES) & (1 << SHARD_BITS) - 1


@compiled
def write(
    rows: Words,
    order: Words,
    first: Words,
    written: Words,
    pieces: Words,
    content: Bytes,
    out: Bytes,
) -> None:
    """The bytes of states in this order, concatenated."""
    to = 0
    for i in order:
        for k in range(rows.shape[1]):
            piece = written[first[k] + rows[i, k]]
            to = copy(out, to, content, pieces[piece, BEGIN], pieces[piece, END])


@compiled
def slot_of(
    slots: Words, pieces: Words, content: Bytes, component: int, some: Bytes, begin: int, end: int
) -> int:
    """The slot of a component's piece with these bytes, or the empty slot for it."""
    slot = hash_of(some, begin, end, component) & len(slots) - 1
    while slots[slot] >= 0:
        of = pieces[slots[slot]]
        if (
            of[COMPONENT] == component
            and of[END] - of[BEGIN] == end - begin
            and are_equal(content, of[BEGIN], some, begin, end)
        ):
            break
        slot = slot + 1 & len(slots) - 1
    return slot


@compiled
def enter(slots: Words, pieces: Words, content: Bytes, begin: int, end: int) -> None:
    """Enter some pieces into the hash table."""
    for piece in range(begin, end):
        of = pieces[piece]
        slot = slot_of(slots, pieces, content, of[COMPONENT], content, of[BEGIN], of[END])
        if slots[slot] < 0:
            slots[slot] = piece


@compiled
def number_at(some: Bytes, at: int, end: int) -> int:
    """The number in the four bytes at an index; -1 if there are fewer."""
    if at + 4 > end:
        return -1
    number = 0
    for byte in range(4):
        number |= int(some[at + byte]) << 8 * byte
    return number


@compiled
def end_of_item(some: Bytes, at: int, end: int) -> int:
    """The end of a value whose length is at an index; -1 if it is past the end."""
    length = number_at(some, at, end)
    if length < 0 or at + 4 + length > end:
        return -1
    return at + 4 + length


@compiled
def end_of_piece(some: Bytes, at: int, end: int, before: int, is_item: bool) -> int:
    """The end of a component's piece, whose value follows this many bytes."""
    at += before
    if is_item:
        return end_of_item(some, at, end)
    if at >= end:
        return -1
    if some[at] == 46:  # "."
        return end_of_item(some, at + 1, end)
    items = number_at(some, at + 1, end)
    at += 5
    if items < 0:
        return -1
    for _ in range(items):
        at = end_of_item(some, at, end)
        if at < 0:
            break
    return at


@compiled
def read(
    some: Bytes,
    ends: Words,
    i: int,
    befores: Words,
    items: Bytes,
    slots: Words,
    pieces: Words,
    content: Bytes,
    rows: Words,
) -> tuple[int, int, int, int, int]:
    """Read states as rows, from the `i`-th on.

    Returns the outcome, the first state that was not read, and the component, begin and end of its
    new piece.
    """
    while i < len(ends):
        at, end = 0, ends[i]
        if i > 0:
            at = ends[i - 1]
        for k in range(rows.shape[1]):
            behind = end
            if len(items):
                behind = end_of_piece(some, at, end, befores[k], items[k])
                if behind < 0:
                    return MALFORMED, i, k, at, end
            slot = slot_of(slots, pieces, content, k, some, at, behind)
            if slots[slot] < 0:
                return UNKNOWN, i, k, at, behind
            rows[i, k] = pieces[slots[slot], NUMBER]
            at = behind
        if at != end:
            return MALFORMED, i, -1, at, end
        i += 1
    return KNOWN, i, 0, 0, 0


class Frames:
    """The bytes of all values that have numbers in a book."""

    def __init__(self, codec: Codec, book: Book) -> None:
        self.codec = codec
        self.book = book
        count = len(book.parts)
        place = iter(range(count))
        plan = [
            [next(place) for _ in part] if isinstance(part, list) else next(place)
            for part in book.plan
        ]
        tuples = [places for places in plan if isinstance(places, list)]
        self.items = frozenset(p for places in tuples for p in places)
        """The places of parts that are items of a tuple."""
        headers = {places[0]: b"(" + COUNT.pack(len(places)) for places in tuples}
        self.before = [headers.get(p, b"") for p in range(count)]
        """By part: the bytes before its values."""
        if book.is_record:
            self.before[0] = self.codec.head + self.before[0]
        self.fields: dict[int, dict[Present, int]] = {
            p: {} for p, part in enumerate(book.parts) if isinstance(part, Division)
        }
        """By the place of a divided part: the numbers of its values."""
        self.elements: dict[tuple[int, int], bytes] = {}
        """By the component of an element and the local number of its value."""
        self.befores = np.array(list(map(len, self.before)), np.int64)
        self.is_item = np.array(
            [p in self.items for p in range(count)] if book.is_record else [], np.bool_
        )
        self.content = Row(kind=np.uint8)
        self.pieces = Row(6)
        self.kinds: dict[int, int] = {}
        """By length of a piece: its number among all lengths."""
        self.behind: Words = np.zeros((0, 4, 256), np.int64)
        """By that number: the effect of so many zero bytes on a checksum."""
        self.slots: Words = np.full(1 << 10, -1, np.int64)
        self.written: list[list[int]] = [[] for _ in range(count)]
        """By component: the piece of each value."""

    def add(self, component: int, number: int, content: bytes) -> int:
        """Add a piece."""
        piece, begin = self.pieces.count, self.content.count
        self.content.reserve(begin + len(content) + SLACK)
        self.content.extend(np.frombuffer(content, np.uint8))
        known, end = self.content.array, self.content.count
        if len(content) not in self.kinds:
            self.kinds[len(content)] = len(self.kinds)
            self.behind = np.append(self.behind, behind_zeros(len(content), CRC)[None], axis=0)
        crc = crc_of(0, known, begin, end, CRC)
        self.pieces.extend([(begin, end, component, number, crc, self.kinds[len(content)])])
        pieces = self.pieces.array
        if 2 * piece > len(self.slots):
            self.slots = np.full(4 * len(self.slots), -1, np.int64)
            enter(self.slots, pieces, known, 0, piece)
        enter(self.slots, pieces, known, piece, piece + 1)
        return piece

    def catch_up(self) -> None:
        """Add the bytes of all values that have been numbered since."""
        for p, part in enumerate(self.book.parts):
            if not isinstance(part, Division):
                for number in self.book.components[part].values[len(self.written[p]) :]:
                    self.write(p, self.book.values.value(number))

    def write(self, place: int, value: Any) -> None:
        """Add the bytes of the next value of a part."""
        before = self.before[place]
        if not self.book.is_record:
            content = self.codec.encode_state(value)
        elif place in self.items:
            content = before + self.codec.item(value)
        else:
            content = before + self.codec.frame(value)
        self.append(place, content)

    def append(self, place: int, content: bytes) -> None:
        """Add the next value of a part, as bytes."""
        self.written[place].append(self.add(place, len(self.written[place]), content))

    # -- divided parts --------------------------------------------------------------------------

    def narrowed(self, rows: Words) -> Words:
        """Rows with one number for each part, in the order of the state."""
        if not self.fields:
            return rows
        columns = []
        for p, part in enumerate(self.book.parts):
            if not isinstance(part, Division):
                columns.append(rows[:, part])
                continue
            among = [k for k in part.member_of if k < rows.shape[1]]
            found, places = np.unique(rows[:, among], axis=0, return_inverse=True)
            numbers = [
                self.number_of(
                    p, tuple([(among[n], int(row[n])) for n in np.flatnonzero(row).tolist()])
                )
                for row in found
            ]
            columns.append(np.array(numbers, np.int64)[places.reshape(-1)])
        return np.stack(columns, axis=1)

    def number_of(self, place: int, present: Present) -> int:
        """The number of a divided part's value with these elements."""
        numbers, part = self.fields[place], self.book.parts[place]
        assert isinstance(part, Division), "others have components"
        found = numbers.get(present)
        if found is None:
            found = numbers[present] = len(numbers)
            content = sized(gathered(part.cls, (self.element(part, *one) for one in present)))
            start = b"" if place in self.items else b"."
            self.append(place, self.before[place] + start + content)
        return found

    def element(self, part: Division, k: int, local: int) -> bytes:
        """The bytes of an element: of a member, or of a key with its value."""
        found = self.elements.get((k, local))
        if found is None:
            value, encode = self.book.values.value, self.codec.encode
            found = encode(value(part.member_of[k]))
            if part.cls is not OrderedSet:
                found += encode(value(part.value_at(k, local)))
            self.elements[k, local] = found
        return found

    def widened(self, rows: Words) -> Words:
        """Rows with a number for each component, given one for each part."""
        if not self.fields:
            return rows
        wide: Words = np.zeros((len(rows), len(self.book.components)), np.int64)
        for p, part in enumerate(self.book.parts):
            if not isinstance(part, Division):
                wide[:, part] = rows[:, p]
                continue
            fields = list(self.fields[p])
            numbers, places = np.unique(rows[:, p], return_inverse=True)
            among = list(part.member_of)
            column = {k: at for at, k in enumerate(among)}
            found: Words = np.zeros((len(numbers), len(among)), np.int64)
            for place, number in enumerate(numbers.tolist()):
                for k, local in fields[number]:
                    found[place, column[k]] = local
            wide[:, among] = found[places]
        return wide

    # -- writing --------------------------------------------------------------------------------

    def snapshot(self) -> Written:
        """An immutable copy with which to write the states found so far."""
        self.catch_up()
        lengths = list(map(len, self.written))
        flat = [piece for pieces in self.written for piece in pieces]
        first = np.cumsum([0, *lengths[:-1]], dtype=np.int64)
        known = first, np.array(flat, np.int64), self.pieces.array
        return Written(known, self.content.array, self.behind)

    # -- reading --------------------------------------------------------------------------------

    def rows_of(self, content: bytes | memoryview, lengths: Words) -> Words:
        """Read states as rows; new values get numbers."""
        some: Bytes = np.frombuffer(content, np.uint8)
        ends = np.cumsum(lengths, dtype=np.int64)
        if len(some) != (ends[-1] if len(ends) else 0):
            raise SpecError("these bytes are not states: they are truncated")
        rows: Words = np.empty((len(ends), len(self.book.parts)), np.int64)
        i = 0
        while True:
            why, i, k, begin, end = read(
                some, ends, i, self.befores, self.is_item,
                self.slots, self.pieces.array, self.content.array, rows,
            )  # fmt: skip
            if why == KNOWN:
                return self.widened(rows)
            piece = some[begin:end].tobytes()
            if k >= 0:
                self.assert_fits(k, piece)
            if why == MALFORMED:
                raise SpecError("these bytes are not states: their lengths are wrong")
            self.learn(k, piece)

    def assert_fits(self, component: int, piece: bytes) -> None:
        """Raise Unfit for a state of another class, or a tuple of another length, than before."""
        if component == 0 and self.book.is_record and not piece.startswith(self.codec.head):
            raise Unfit(STATE)
        if not piece.startswith(self.before[component]):
            raise Unfit(self.field_of(component))

    def field_of(self, place: int) -> str:
        """The field of a part."""
        part = self.book.parts[place]
        return part.field if isinstance(part, Division) else self.book.components[part].field

    def learn(self, component: int, piece: bytes) -> None:
        """Number a value, given its bytes."""
        codec, content = self.codec, piece[len(self.before[component]) :]
        if not self.book.is_record:
            value = codec.decode_state(content)
        elif component in self.items:
            value = codec.decode(content[COUNT.size :])
        else:
            value = codec.unframe(content)
        number = self.numbered(component, value)
        self.catch_up()
        known = self.written[component][number]
        begin, end = self.pieces.array[known, :2].tolist()
        if self.content.array[begin:end].tobytes() != piece:  # an equal value with other bytes
            self.add(component, number, piece)

    def numbered(self, place: int, value: Any) -> int:
        """The number of a part's value."""
        book, part = self.book, self.book.parts[place]
        if not isinstance(part, Division):
            return book.id_of(part, book.values.number(value))
        elements = [(k, book.id_of(k, book.values.number(one))) for k, one in part.parts(value)]
        return self.number_of(place, tuple(sorted(elements)))


@attrs.frozen(eq=False)
class Written:
    """The bytes of values at one moment; used by another thread."""

    known: tuple[Words, Words, Words]
    """By component, where its values begin; their pieces; and all pieces."""
    content: Bytes
    behind: Words

    def by_shard(self, rows: Words) -> tuple[Words, Words, Bytes]:
        """The shards of states in ascending order, with their lengths and bytes."""
        lengths, shards = self.measured(rows)
        order = np.argsort(shards, kind="stable")
        rows = np.ascontiguousarray(rows)  # one state's numbers are read together
        return shards[order], lengths[order], self.written(rows, order, lengths)

    def states(self, rows: Words) -> list[bytes]:
        """Each state's bytes."""
        lengths, _ = self.measured(rows)
        content = self.written(rows, np.arange(len(rows)), lengths).tobytes()
        ends = np.cumsum(lengths).tolist()
        return [content[end - n : end] for end, n in zip(ends, lengths.tolist(), strict=True)]

    def measured(self, rows: Words) -> tuple[Words, Words]:
        """The length and shard of each state."""
        lengths: Words = np.empty(len(rows), np.int64)
        shards: Words = np.empty(len(rows), np.int64)
        measure(rows, *self.known, self.behind, lengths, shards)
        return lengths, shards

    def written(self, rows: Words, order: Words, lengths: Words) -> Bytes:
        """The bytes of states in this order."""
        out: Bytes = np.empty(int(lengths.sum()) + SLACK, np.uint8)
        write(rows, order, *self.known, self.content, out)
        return out[:-SLACK]
