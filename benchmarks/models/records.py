"""States of records, enumerations, text and other values, in many shapes."""

from __future__ import annotations

import dataclasses
from enum import Enum, IntEnum
from typing import Any, NamedTuple

import attrs
from attrs import frozen

from benchmarks.models import model
from kspec.spec.core import always, appended, evolve, limit, reachable, replaced, rule

# -- records in records in records ------------------------------------------------------------------


@frozen
class Cell:
    value: int = 0
    dirty: bool = False


@frozen
class Page:
    left: Cell = Cell()
    right: Cell = Cell()


@frozen
class Book:
    pages: tuple[Page, Page] = (Page(), Page())
    saved: Page | None = None


@rule(by="writer", page=lambda s: range(2), side=lambda s: ("left", "right"))
def write_cell(s, page, side):
    cell = getattr(s.pages[page], side)
    yield limit("values"), cell.value < 3
    changed = evolve(cell, value=cell.value + 1, dirty=True)
    return evolve(s, pages=replaced(s.pages, page, evolve(s.pages[page], **{side: changed})))


@rule(by="writer", page=lambda s: range(2))
def clean(s, page):
    one = s.pages[page]
    yield "dirty", one.left.dirty or one.right.dirty
    one = Page(evolve(one.left, dirty=False), evolve(one.right, dirty=False))
    return Book(replaced(s.pages, page, one), one)


@rule(by="writer", page=lambda s: range(2))
def restore(s, page):
    yield "saved", s.saved is not None and s.pages[page] != s.saved
    return evolve(s, pages=replaced(s.pages, page, s.saved), saved=None)


@always
def SavedIsClean(s):
    """What is saved is not dirty."""
    return s.saved is None or not (s.saved.left.dirty or s.saved.right.dirty)


BOOK = model(
    "book",
    "Records in records in records.",
    lambda b: [Book()],
    [write_cell, clean, restore],
    [SavedIsClean],
)


# -- replicas: a record for each node, with methods -------------------------------------------------


@frozen
class Replica:
    log: tuple[int, ...] = ()
    committed: int = 0
    up: bool = True

    @property
    def end(self):
        return len(self.log)

    def grows(self, value):
        return evolve(self, log=appended(self.log, value))


@frozen
class Replicas:
    replicas: tuple[Replica, ...] = (Replica(),) * 3
    leader: int = 0
    epoch: int = 0


def three(s):
    return range(3)


@rule(by="leader", value=lambda s: range(2))
def leader_writes(s, value):
    leader = s.replicas[s.leader]
    yield "up", leader.up
    yield limit("room"), leader.end < 2
    return evolve(s, replicas=replaced(s.replicas, s.leader, leader.grows(value)))


@rule(by="follower", node=three)
def follower_fetches(s, node):
    leader, own = s.replicas[s.leader], s.replicas[node]
    yield "both are up", leader.up and own.up and node != s.leader
    yield "behind", own.end < leader.end
    return evolve(s, replicas=replaced(s.replicas, node, own.grows(leader.log[own.end])))


@rule(by="leader")
def leader_commits(s):
    leader = s.replicas[s.leader]
    ends = sorted(replica.end for replica in s.replicas)
    yield "more is committed", leader.up and ends[1] > leader.committed
    return evolve(s, replicas=replaced(s.replicas, s.leader, evolve(leader, committed=ends[1])))


@rule(by="node", node=three)
def node_fails(s, node):
    yield "others are up", sum(replica.up for replica in s.replicas) == 3
    return evolve(s, replicas=replaced(s.replicas, node, evolve(s.replicas[node], up=False)))


@rule(by="node", node=three)
def node_leads(s, node):
    yield "leader is down", not s.replicas[s.leader].up and s.replicas[node].up
    yield "longest log", all(r.end <= s.replicas[node].end for r in s.replicas if r.up)
    yield limit("epochs"), s.epoch < 2
    return evolve(s, leader=node, epoch=s.epoch + 1)


@rule(by="node", node=three)
def node_returns(s, node):
    yield "down", not s.replicas[node].up and s.leader != node
    log = s.replicas[s.leader].log[: s.replicas[node].end]
    return evolve(s, replicas=replaced(s.replicas, node, Replica(log)))


@always(node=three)
def CommittedIsBelowTheEnd(s, node):
    """No replica has committed more than it has."""
    return s.replicas[node].committed <= s.replicas[node].end


REPLICAS = model(
    "replicas", "A record for each node.", lambda b: [Replicas()],
    [leader_writes, follower_fetches, leader_commits, node_fails, node_leads, node_returns], [CommittedIsBelowTheEnd],
)  # fmt: skip


# -- a file system: one of several classes ----------------------------------------------------------


@frozen
class Empty:
    pass


@frozen
class File:
    size: int
    owner: str


@frozen
class Link:
    to: int


@frozen
class Disk:
    slots: tuple[Any, ...] = (Empty(),) * 4


def slots(s):
    return range(4)


@rule(by="user", at=slots, owner=lambda s: ("ann", "bob"))
def create(s, at, owner):
    yield "empty", isinstance(s.slots[at], Empty)
    return Disk(replaced(s.slots, at, File(0, owner)))


@rule(by="user", at=slots)
def grow(s, at):
    yield "a file", isinstance(s.slots[at], File)
    yield limit("small"), s.slots[at].size < 2
    return Disk(replaced(s.slots, at, evolve(s.slots[at], size=s.slots[at].size + 1)))


@rule(by="user", at=slots, to=slots)
def link(s, at, to):
    match s.slots[at], s.slots[to]:
        case Empty(), File():
            yield "empty, and a file", True
        case _:
            yield "empty, and a file", False
    return Disk(replaced(s.slots, at, Link(to)))


@rule(by="user", at=slots)
def delete(s, at):
    yield "there", not isinstance(s.slots[at], Empty)
    yield "not linked", not any(isinstance(slot, Link) and slot.to == at for slot in s.slots)
    return Disk(replaced(s.slots, at, Empty()))


@always
def LinksLeadToFiles(s):
    """Each link leads to a file."""
    for slot in s.slots:
        if isinstance(slot, Link):
            yield f"to {slot.to}", isinstance(s.slots[slot.to], File)


DISK = model(
    "disk",
    "One of several classes.",
    lambda b: [Disk()],
    [create, grow, link, delete],
    [LinksLeadToFiles],
)


# -- cache coherence: enumerations ------------------------------------------------------------------


class Line(Enum):
    INVALID = "i"
    SHARED = "s"
    EXCLUSIVE = "e"
    MODIFIED = "m"


class Bus(IntEnum):
    IDLE = 0
    READ = 1
    WRITE = 2


@frozen
class Caches:
    lines: tuple[Line, ...] = (Line.INVALID,) * 6
    bus: Bus = Bus.IDLE
    owner: int | None = None
    version: int = 0


def caches(s):
    return range(6)


@rule(by="cache", cache=caches, what=lambda s: (Bus.READ, Bus.WRITE))
def request(s, cache, what):
    yield "bus is idle", s.bus is Bus.IDLE
    yield (
        "needed",
        s.lines[cache] is Line.INVALID or (what is Bus.WRITE and s.lines[cache] is Line.SHARED),
    )
    return evolve(s, bus=what, owner=cache)


@rule(by="bus")
def answer(s):
    yield "bus is busy", s.bus is not Bus.IDLE
    if s.bus is Bus.WRITE:
        lines = tuple(Line.MODIFIED if k == s.owner else Line.INVALID for k in caches(s))
        return Caches(lines, Bus.IDLE, None, (s.version + 1) % 3)
    alone = all(line is Line.INVALID for line in s.lines)
    mine = Line.EXCLUSIVE if alone else Line.SHARED
    lines = tuple(
        mine if k == s.owner else (Line.SHARED if x is not Line.INVALID else x)
        for k, x in enumerate(s.lines)
    )
    return evolve(s, lines=lines, bus=Bus.IDLE, owner=None)


@rule(by="cache", cache=caches)
def evict(s, cache):
    yield "a line", s.lines[cache] != Line.INVALID and s.bus is Bus.IDLE
    return evolve(s, lines=replaced(s.lines, cache, Line.INVALID))


@rule(by="cache", cache=caches)
def upgrade(s, cache):
    yield "exclusive", s.lines[cache] is Line.EXCLUSIVE
    return evolve(s, lines=replaced(s.lines, cache, Line.MODIFIED))


@always
def OneWriter(s):
    """A cache that may write is the only one with the line."""
    writers = s.lines.count(Line.MODIFIED) + s.lines.count(Line.EXCLUSIVE)
    return writers == 0 or (writers == 1 and s.lines.count(Line.INVALID) == 5)


CACHES = model(
    "caches", "Enumerations.", lambda b: [Caches()], [request, answer, evict, upgrade], [OneWriter]
)


# -- dataclasses ------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Account:
    balance: int
    frozen: bool = False


@dataclasses.dataclass(frozen=True)
class Bank:
    accounts: tuple[Account, ...] = (Account(4), Account(4), Account(4))
    fees: int = 0


@rule(by="customer", a=three, b=three, amount=lambda s: (1, 3))
def transfer(s, a, b, amount):
    one, other = s.accounts[a], s.accounts[b]
    yield "two open accounts", a != b and not one.frozen and not other.frozen
    yield "enough", one.balance >= amount
    accounts = replaced(s.accounts, a, dataclasses.replace(one, balance=one.balance - amount))
    accounts = replaced(accounts, b, dataclasses.replace(other, balance=other.balance + amount))
    return dataclasses.replace(s, accounts=accounts)


@rule(by="bank", a=three)
def freeze(s, a):
    account = dataclasses.replace(s.accounts[a], frozen=not s.accounts[a].frozen)
    return dataclasses.replace(s, accounts=replaced(s.accounts, a, account))


@rule(by="bank", a=three)
def charge(s, a):
    yield "money", s.accounts[a].balance > 0
    yield limit("fees"), s.fees < 3
    account = dataclasses.replace(s.accounts[a], balance=s.accounts[a].balance - 1)
    return Bank(replaced(s.accounts, a, account), s.fees + 1)


@always
def MoneyIsKept(s):
    """No money is lost."""
    return sum(account.balance for account in s.accounts) + s.fees == 12


BANK = model("bank", "Dataclasses.", lambda b: [Bank()], [transfer, freeze, charge], [MoneyIsKept])


# -- a named tuple as the state ---------------------------------------------------------------------


class Point(NamedTuple):
    x: int = 0
    y: int = 0
    facing: str = "north"
    fuel: int = 40


TURNS = {"north": "east", "east": "south", "south": "west", "west": "north"}
STEPS = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}


@rule(by="robot")
def turn(s):
    yield limit("fuel"), s.fuel > 0
    return s._replace(facing=TURNS[s.facing], fuel=s.fuel - 1)


@rule(by="robot")
def walk(s):
    yield limit("fuel"), s.fuel > 0
    dx, dy = STEPS[s.facing]
    yield "inside", abs(s.x + dx) < 9 and abs(s.y + dy) < 9
    return Point(s.x + dx, s.y + dy, s.facing, s.fuel - 1)


@always
def Inside(s):
    """The robot stays inside."""
    return max(abs(s.x), abs(s.y)) < 9


ROBOT = model("robot", "A named tuple.", lambda b: [Point()], [turn, walk], [Inside])


# -- text rewriting ---------------------------------------------------------------------------------


@frozen
class Text:
    text: str = "abcabcabc"


@rule(by="rule", at=lambda s: range(len(s.text)))
def swap_letters(s, at):
    yield "out of order", s.text[at : at + 2] in ("cb", "ab", "ac", "bc")
    return Text(s.text[:at] + s.text[at + 1] + s.text[at] + s.text[at + 2 :])


@always
def LettersAreKept(s):
    """Letters are kept."""
    return sorted(s.text) == sorted("abcabcabc")


TEXT = model(
    "text", "Text that is rewritten.", lambda b: [Text()], [swap_letters], [LettersAreKept]
)


# -- a tape of bytes --------------------------------------------------------------------------------


@frozen
class Tape:
    tape: bytes = bytes(7)
    head: int = 0
    mode: str = "go"


@rule(by="machine", symbol=lambda s: range(3))
def machine_writes(s, symbol):
    yield "writing", s.mode == "go" and s.tape[s.head] != symbol
    tape = bytes(symbol if k == s.head else x for k, x in enumerate(s.tape))
    return Tape(tape, s.head, "move")


@rule(by="machine", step=lambda s: (-1, 1))
def machine_moves(s, step):
    yield "on the tape", 0 <= s.head + step < 7
    return evolve(s, head=s.head + step, mode="go")


TAPE = model("tape", "Bytes.", lambda b: [Tape()], [machine_writes, machine_moves])


# -- None, flags and optional parts -----------------------------------------------------------------


@frozen
class Order:
    item: str | None = None
    paid: bool = False
    address: tuple[str, int] | None = None
    coupon: int | None = None


@frozen
class Shop:
    orders: tuple[Order | None, ...] = (None, None, None)


@rule(by="customer", k=three, item=lambda s: ("book", "pen"))
def open_order(s, k, item):
    yield "none", s.orders[k] is None
    return Shop(replaced(s.orders, k, Order(item)))


@rule(by="customer", k=three)
def give_address(s, k):
    yield "open", s.orders[k] is not None and s.orders[k].address is None
    return Shop(replaced(s.orders, k, evolve(s.orders[k], address=("street", k))))


@rule(by="customer", k=three, n=lambda s: (5, 10))
def use_coupon(s, k, n):
    order = s.orders[k]
    yield "open", order is not None and order.coupon is None and not order.paid
    return Shop(replaced(s.orders, k, evolve(order, coupon=n)))


@rule(by="customer", k=three)
def pay(s, k):
    order = s.orders[k]
    yield "complete", order is not None and order.address is not None and not order.paid
    return Shop(replaced(s.orders, k, attrs.evolve(order, paid=True)))


@rule(by="shop", k=three)
def close_order(s, k):
    yield "paid", s.orders[k] is not None and s.orders[k].paid
    return Shop(replaced(s.orders, k, None))


@always
def PaidHasAddress(s):
    """What is paid can be sent."""
    return all(order.address is not None for order in s.orders if order is not None and order.paid)


SHOP = model(
    "shop",
    "Optional parts.",
    lambda b: [Shop()],
    [open_order, give_address, use_coupon, pay, close_order],
    [PaidHasAddress],
)


# -- asdict: states that are taken apart ------------------------------------------------------------


@frozen
class Settings:
    volume: int = 0
    light: int = 0
    speed: int = 0
    heat: int = 0


@rule(by="user", name=lambda s: sorted(attrs.asdict(s)), step=lambda s: (1, 2, 5))
def change(s, name, step):
    values = attrs.asdict(s)
    values[name] = (values[name] + step) % 9
    return Settings(**values)


@reachable
def AllAreEight(s):
    """Each can be at its highest."""
    return set(attrs.astuple(s)) == {8}


SETTINGS = model(
    "settings", "States taken apart by asdict.", lambda b: [Settings()], [change], [AllAreEight]
)


# -- floats and fractions ---------------------------------------------------------------------------


@frozen
class Tank:
    level: float = 0.0
    temperature: float = 20.0
    hours: int = 0


@rule(by="valve", amount=lambda s: (0.5, 1.25))
def fill(s, amount):
    yield "room", s.level + amount <= 10
    yield limit("hours"), s.hours < 16
    mixed = round((s.temperature * s.level + 10 * amount) / (s.level + amount), 1)
    return Tank(s.level + amount, mixed, s.hours + 1)


@rule(by="heater")
def heat(s):
    yield limit("hours"), s.hours < 16
    yield "not too hot", s.temperature < 60
    return evolve(s, temperature=round(s.temperature + 5, 1), hours=s.hours + 1)


@always
def NeverOverflows(s):
    """The tank never overflows."""
    return s.level <= 10


TANK = model("tank", "Floats.", lambda b: [Tank()], [fill, heat], [NeverOverflows])
