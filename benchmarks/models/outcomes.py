"""Models that violate properties, stop in deadlocks, or must make progress."""

from __future__ import annotations

from attrs import frozen

from benchmarks.models import model
from kspec.spec.core import (
    always,
    appended,
    evolve,
    leads_to,
    limit,
    reachable,
    replaced,
    rule,
)

# -- philosophers: a deadlock -----------------------------------------------------------------------


@frozen
class Table:
    forks: tuple[int | None, ...] = (None,) * 7
    state: tuple[str, ...] = ("thinking",) * 7


def seats(s):
    return range(len(s.state))


def take(s, k, fork, after):
    return evolve(
        s, forks=replaced(s.forks, fork % len(s.forks), k), state=replaced(s.state, k, after)
    )


@rule(by="philosopher", k=seats)
def take_left(s, k):
    yield "thinking", s.state[k] == "thinking"
    yield "free", s.forks[k] is None
    return take(s, k, k, "hungry")


@rule(by="philosopher", k=seats)
def take_right(s, k):
    yield "has the left", s.state[k] == "hungry"
    yield "free", s.forks[(k + 1) % len(s.forks)] is None
    return take(s, k, k + 1, "eating")


@rule(by="philosopher", k=seats)
def put_down(s, k):
    yield "eating", s.state[k] == "eating"
    forks = tuple(None if fork == k else fork for fork in s.forks)
    return evolve(s, forks=forks, state=replaced(s.state, k, "thinking"))


@always
def NeighboursDoNotEat(s):
    """Two neighbours never eat at once."""
    for k, state in enumerate(s.state):
        yield f"seat {k}", not (state == s.state[k - 1] == "eating")


PHILOSOPHERS = model(
    "philosophers",
    "A deadlock.",
    lambda b: [Table()],
    [take_left, take_right, put_down],
    [NeighboursDoNotEat],
    final=None,
)


@rule(by="philosopher", k=seats)
def take_both(s, k):
    right = (k + 1) % len(s.forks)
    yield "thinking", s.state[k] == "thinking"
    yield "both free", s.forks[k] is None and s.forks[right] is None
    return evolve(take(s, k, k, "eating"), forks=replaced(replaced(s.forks, k, k), right, k))


@rule(by="philosopher", k=seats)
def say(s, k):
    yield "thinking", s.state[k] in ("thinking", "talking")
    return evolve(
        s, state=replaced(s.state, k, "talking" if s.state[k] == "thinking" else "thinking")
    )


POLITE = model(
    "polite",
    "Both forks at once.",
    lambda b: [Table()],
    [take_both, put_down, say],
    [NeighboursDoNotEat],
    final=None,
)


# -- a lost update: a property that fails deep ------------------------------------------------------


@frozen
class Threads:
    shared: int = 0
    local: tuple[int, ...] = (0, 0, 0)
    at: tuple[str, ...] = ("start",) * 3
    rounds: tuple[int, ...] = (0, 0, 0)


def threads(s):
    return range(3)


@rule(by="thread", k=threads)
def load(s, k):
    yield "start", s.at[k] == "start"
    yield limit("rounds"), s.rounds[k] < 3
    return evolve(s, local=replaced(s.local, k, s.shared), at=replaced(s.at, k, "add"))


@rule(by="thread", k=threads)
def store(s, k):
    yield "add", s.at[k] == "add"
    rounds = replaced(s.rounds, k, s.rounds[k] + 1)
    return Threads(s.local[k] + 1, replaced(s.local, k, 0), replaced(s.at, k, "start"), rounds)


@always
def MostUpdatesAreKept(s):
    """Of nine updates more than two are kept."""
    return sum(s.rounds) < 9 or s.shared > 2


UPDATES = model(
    "lost-updates",
    "A property that fails in the last level.",
    lambda b: [Threads()],
    [load, store],
    [MostUpdatesAreKept],
)


@always
def EachUpdateIsKept(s):
    """No update is lost."""
    return s.shared >= sum(s.rounds)


EARLY = model(
    "early",
    "A property that fails at once.",
    lambda b: [Threads()],
    [load, store],
    [EachUpdateIsKept],
)


# -- mutual exclusion -------------------------------------------------------------------------------


@frozen
class Bakery:
    ticket: tuple[int, ...] = (0, 0, 0)
    at: tuple[str, ...] = ("idle",) * 3
    served: int = 0


@rule(by="customer", k=threads)
def take_ticket(s, k):
    yield "idle", s.at[k] == "idle"
    yield limit("tickets"), max(s.ticket) < 9
    return evolve(
        s, ticket=replaced(s.ticket, k, max(s.ticket) + 1), at=replaced(s.at, k, "waiting")
    )


@rule(by="customer", k=threads)
def enter(s, k):
    yield "waiting", s.at[k] == "waiting"
    yield "first", all((t, j) >= (s.ticket[k], k) for j, t in enumerate(s.ticket) if t)
    return evolve(s, at=replaced(s.at, k, "inside"))


@rule(by="customer", k=threads)
def leave(s, k):
    yield "inside", s.at[k] == "inside"
    return Bakery(replaced(s.ticket, k, 0), replaced(s.at, k, "idle"), (s.served + 1) % 20)


@always
def OneInside(s):
    """One customer is inside."""
    return s.at.count("inside") < 2


@reachable
def ManyWait(s):
    """All can wait at once."""
    return s.at.count("waiting") == 3


BAKERY = model(
    "bakery", "Tickets.", lambda b: [Bakery()], [take_ticket, enter, leave], [OneInside, ManyWait]
)


# -- several properties, some of which fail ---------------------------------------------------------


@frozen
class Warehouse:
    stock: tuple[int, ...] = (3, 3, 3)
    orders: tuple[tuple[int, int], ...] = ()
    shipped: int = 0


@rule(by="customer", item=threads, number=lambda s: (1, 2, 3))
def order(s, item, number):
    yield limit("few orders"), len(s.orders) < 2
    return evolve(s, orders=appended(s.orders, (item, number)))


@rule(by="clerk")
def ship(s):
    yield "an order", len(s.orders) > 0
    item, number = s.orders[0]
    yield "enough", s.stock[item] >= number
    return Warehouse(
        replaced(s.stock, item, s.stock[item] - number), s.orders[1:], s.shipped + number
    )


@rule(by="supplier", item=threads)
def supply(s, item):
    yield "few", s.stock[item] < 1 and s.shipped < 7
    return evolve(s, stock=replaced(s.stock, item, 3))


@always
def StockIsKept(s):
    """Stock is not negative."""
    return min(s.stock) >= 0


@always
def NotEverythingIsGone(s):
    """Some item is left."""
    return sum(s.stock) > 0


@reachable
def MuchIsShipped(s):
    """Fifteen can be shipped."""
    return s.shipped == 15


@reachable
def TooMuchIsShipped(s):
    """A hundred can be shipped."""
    return s.shipped == 100


WAREHOUSE = model(
    "warehouse", "Properties that hold and that fail.", lambda b: [Warehouse()], [order, ship, supply],
    [StockIsKept, NotEverythingIsGone, MuchIsShipped],
)  # fmt: skip
UNREACHED = model(
    "unreached",
    "A state that is never reached.",
    lambda b: [Warehouse()],
    [order, ship, supply],
    [StockIsKept, TooMuchIsShipped],
)


# -- progress ---------------------------------------------------------------------------------------


@frozen
class Queue:
    waiting: tuple[int, ...] = ()
    inside: int | None = None
    visits: tuple[int, ...] = (0, 0, 0, 0)


@rule(by="guest", guest=lambda s: range(4))
def arrive(s, guest):
    yield "elsewhere", guest not in s.waiting and s.inside != guest
    yield limit("visits"), s.visits[guest] < 2
    visits = replaced(s.visits, guest, s.visits[guest] + 1)
    return evolve(s, waiting=appended(s.waiting, guest), visits=visits)


@rule(by="host")
def admit(s):
    yield "somebody waits", s.inside is None and len(s.waiting) > 0
    return evolve(s, waiting=s.waiting[1:], inside=s.waiting[0])


@rule(by="guest")
def depart(s):
    yield "somebody is inside", s.inside is not None
    return evolve(s, inside=None)


@leads_to(weakly_fair=[admit, depart])
def GuestsAreAdmitted(s):
    """A guest who waits is admitted."""
    return 0 in s.waiting, s.inside == 0


QUEUE = model(
    "queue",
    "A queue in which everybody is served.",
    lambda b: [Queue()],
    [arrive, admit, depart],
    [GuestsAreAdmitted],
)


# -- elevators: two of them, and a property about both ----------------------------------------------


@frozen
class Elevator:
    floor: int = 0
    calls: frozenset = frozenset()
    door: str = "closed"


@frozen
class House:
    lifts: tuple[Elevator, Elevator] = (Elevator(), Elevator())


def lifts(s):
    return range(2)


@rule(by="guest", lift=lifts, floor=lambda s: range(4))
def call(s, lift, floor):
    one = s.lifts[lift]
    yield "new", floor not in one.calls and floor != one.floor
    return House(replaced(s.lifts, lift, evolve(one, calls=one.calls | {floor})))


@rule(by="lift", lift=lifts)
def travel(s, lift):
    one = s.lifts[lift]
    yield "calls, and closed", bool(one.calls) and one.door == "closed"
    step = 1 if min(one.calls, key=lambda f: abs(f - one.floor)) > one.floor else -1
    floor = one.floor + step
    door = "open" if floor in one.calls else "closed"
    return House(replaced(s.lifts, lift, Elevator(floor, one.calls - {floor}, door)))


@rule(by="lift", lift=lifts)
def close_door(s, lift):
    yield "open", s.lifts[lift].door == "open"
    return House(replaced(s.lifts, lift, evolve(s.lifts[lift], door="closed")))


@always
def LiftsAreInTheHouse(s):
    """Lifts are at a floor, and do not call themselves."""
    for lift in s.lifts:
        yield "floor", 0 <= lift.floor < 4 and lift.floor not in lift.calls


ELEVATORS = model(
    "elevators",
    "Two independent parts.",
    lambda b: [House()],
    [call, travel, close_door],
    [LiftsAreInTheHouse],
)


# -- a lock-free stack: compare and swap ------------------------------------------------------------


@frozen
class Stack:
    top: tuple[int, ...] = ()
    seen: tuple[tuple[int, ...] | None, ...] = (None, None, None)
    pushed: tuple[int, ...] = (0, 0, 0)
    failed: int = 0


@rule(by="thread", k=threads)
def look(s, k):
    yield "has not looked", s.seen[k] is None
    return evolve(s, seen=replaced(s.seen, k, s.top))


@rule(by="thread", k=threads)
def swap_in(s, k):
    yield "has looked", s.seen[k] is not None
    yield limit("room"), s.pushed[k] < 2
    if s.seen[k] != s.top:
        return evolve(s, seen=replaced(s.seen, k, None), failed=min(2, s.failed + 1))
    return Stack(
        (*s.top, k), replaced(s.seen, k, None), replaced(s.pushed, k, s.pushed[k] + 1), s.failed
    )


@always
def NothingIsLost(s):
    """All that was pushed is there."""
    for k in range(3):
        yield f"thread {k}", s.top.count(k) == s.pushed[k]


STACK = model("stack", "Compare and swap.", lambda b: [Stack()], [look, swap_in], [NothingIsLost])


# -- transactions: reads and writes of versions -----------------------------------------------------


@frozen
class Transaction:
    snapshot: int | None = None
    reads: frozenset = frozenset()
    writes: frozenset = frozenset()


@frozen
class Database:
    commits: tuple[frozenset, ...] = ()
    running: tuple[Transaction, ...] = (Transaction(),) * 2


def two(s):
    return range(2)


@rule(by="client", k=two)
def begin(s, k):
    yield "idle", s.running[k].snapshot is None
    yield limit("few"), len(s.commits) < 2
    return evolve(s, running=replaced(s.running, k, Transaction(len(s.commits))))


@rule(by="client", k=two, key=lambda s: "xy")
def read_key(s, k, key):
    one = s.running[k]
    yield "running", one.snapshot is not None and key not in one.reads
    return evolve(s, running=replaced(s.running, k, evolve(one, reads=one.reads | {key})))


@rule(by="client", k=two, key=lambda s: "xy")
def write_key(s, k, key):
    one = s.running[k]
    yield "running", one.snapshot is not None and key in one.reads and key not in one.writes
    return evolve(s, running=replaced(s.running, k, evolve(one, writes=one.writes | {key})))


@rule(by="client", k=two)
def commit(s, k):
    one = s.running[k]
    yield "running", one.snapshot is not None
    since = s.commits[one.snapshot :]
    yield "no conflict", all(one.writes.isdisjoint(writes) for writes in since)
    yield limit("few"), len(s.commits) < 3
    return Database(appended(s.commits, one.writes), replaced(s.running, k, Transaction()))


@rule(by="client", k=two)
def abort(s, k):
    yield "running", s.running[k].snapshot is not None
    return evolve(s, running=replaced(s.running, k, Transaction()))


@always
def SnapshotsExist(s):
    """A snapshot is not newer than the last commit."""
    for k in range(2):
        yield (
            f"transaction {k}",
            s.running[k].snapshot is None or s.running[k].snapshot <= len(s.commits),
        )


DATABASE = model(
    "database",
    "Snapshot isolation.",
    lambda b: [Database()],
    [begin, read_key, write_key, commit, abort],
    [SnapshotsExist],
)
