"""States of tuples, queues, mappings, multisets and nested sets."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

from attrs import frozen

from benchmarks.models import model
from kspec.spec.core import Bag as RealBag
from kspec.spec.core import Map, always, appended, evolve, limit, reachable, replaced, rule

# -- alternating bit: two lossy queues --------------------------------------------------------------


@frozen
class Bit:
    data: tuple[tuple[int, int], ...] = ()
    acks: tuple[int, ...] = ()
    sending: int = 0
    expected: int = 0
    sent: int = 0
    got: tuple[int, ...] = ()


@rule(by="sender")
def send_data(s):
    yield limit("room"), len(s.data) < 4
    return evolve(s, data=appended(s.data, (s.sending, s.sent)))


@rule(by="receiver")
def receive_data(s):
    yield "data", len(s.data) > 0
    yield limit("room"), len(s.acks) < 4
    bit, number = s.data[0]
    if bit == s.expected:
        s = evolve(s, expected=1 - bit, got=appended(s.got, number))
    return evolve(s, data=s.data[1:], acks=appended(s.acks, bit))


@rule(by="sender")
def receive_ack(s):
    yield "an ack", len(s.acks) > 0
    yield limit("records"), s.sent < 5
    if s.acks[0] == s.sending:
        return evolve(s, acks=s.acks[1:], sending=1 - s.sending, sent=s.sent + 1)
    return evolve(s, acks=s.acks[1:])


@rule(by="network", place=lambda s: range(len(s.data)))
def lose_data(s, place):
    return evolve(s, data=s.data[:place] + s.data[place + 1 :])


@always
def DeliveredInOrder(s):
    """Records arrive once, in order."""
    return s.got == tuple(range(len(s.got)))


ALTERNATING_BIT = model(
    "alternating-bit",
    "Two lossy queues.",
    lambda b: [Bit()],
    [send_data, receive_data, receive_ack, lose_data],
    [DeliveredInOrder],
)


# -- token ring: a queue for each node --------------------------------------------------------------


@frozen
class Ring:
    queues: tuple[tuple[str, ...], ...] = (("token",), (), (), ())
    done: tuple[int, ...] = (0, 0, 0, 0)


@rule(by="node", node=lambda s: range(4))
def pass_on(s, node):
    yield "something", len(s.queues[node]) > 0
    to = (node + 1) % 4
    queues = replaced(s.queues, node, s.queues[node][1:])
    return evolve(s, queues=replaced(queues, to, appended(queues[to], s.queues[node][0])))


@rule(by="node", node=lambda s: range(4), text=lambda s: ("x", "y"))
def add_note(s, node, text):
    yield "it has the token", s.queues[node][:1] == ("token",)
    yield limit("few notes"), s.done[node] < 1
    return evolve(
        s,
        queues=replaced(s.queues, node, appended(s.queues[node], text)),
        done=replaced(s.done, node, 1),
    )


@always
def OneToken(s):
    """There is one token."""
    return sum(queue.count("token") for queue in s.queues) == 1


RING = model("ring", "A queue for each node.", lambda b: [Ring()], [pass_on, add_note], [OneToken])


# -- a heap: a sorted tuple -------------------------------------------------------------------------


@frozen
class Heap:
    items: tuple[int, ...] = ()
    last: int = 0


@rule(by="user", item=lambda s: range(9))
def push(s, item):
    yield limit("room"), len(s.items) < 5
    return evolve(s, items=tuple(sorted([*s.items, item])))


@rule(by="user")
def pop_least(s):
    yield "an item", bool(s.items)
    return evolve(s, items=s.items[1:], last=s.items[0])


@always
def Sorted(s):
    """The items are sorted."""
    return list(s.items) == sorted(s.items)


HEAP = model("heap", "A sorted tuple.", lambda b: [Heap()], [push, pop_least], [Sorted])


# -- a mapping as a set of pairs, by way of dict ----------------------------------------------------


@frozen
class Table:
    pairs: frozenset = frozenset()
    reads: tuple[int, ...] = (-1, -1)


def keys(s):
    return range(4)


@rule(by="user", key=keys, value=lambda s: range(4))
def put(s, key, value):
    table = dict(s.pairs)
    yield "changes", table.get(key) != value
    table[key] = value
    return evolve(s, pairs=frozenset(table.items()))


@rule(by="user", key=keys)
def remove(s, key):
    table = dict(s.pairs)
    yield "has it", key in table
    del table[key]
    return evolve(s, pairs=frozenset(table.items()))


@rule(by="user", key=keys, reader=lambda s: range(2))
def look_up(s, key, reader):
    yield "first read", key == 0 or reader == 1
    return evolve(s, reads=replaced(s.reads, reader, dict(s.pairs).get(key, -1)))


@always
def KeysAreUnique(s):
    """Each key has one value."""
    return len({key for key, _ in s.pairs}) == len(s.pairs)


TABLE = model(
    "table", "A mapping as pairs.", lambda b: [Table()], [put, remove, look_up], [KeysAreUnique]
)


# -- a multiset as a set of counted members ---------------------------------------------------------


@frozen
class Bag:
    counted: frozenset = frozenset()
    total: int = 0


@rule(by="user", kind=lambda s: "abcde")
def add_one(s, kind):
    yield limit("room"), s.total < 9
    bag = Counter(dict(s.counted))
    bag[kind] += 1
    return Bag(frozenset(bag.items()), s.total + 1)


@rule(by="user", pair=lambda s: sorted(s.counted))
def remove_one(s, pair):
    kind, number = pair
    rest = s.counted - {pair}
    return Bag(rest | {(kind, number - 1)} if number > 1 else rest, s.total - 1)


@always
def TotalIsTheSum(s):
    """The counts add up."""
    return sum(number for _, number in s.counted) == s.total


BAG = model(
    "bag", "A multiset as counts.", lambda b: [Bag()], [add_one, remove_one], [TotalIsTheSum]
)


# -- a multiset as a sorted tuple -------------------------------------------------------------------


@frozen
class Soup:
    molecules: tuple[str, ...]


REACTIONS = {
    ("A", "B"): ("C", "C"),
    ("A", "C"): ("B", "D"),
    ("B", "D"): ("A", "A"),
    ("C", "D"): ("B", "B"),
    ("D", "D"): ("A", "C"),
}


@rule(by="chance", pair=lambda s: sorted(set(combinations(s.molecules, 2))))
def react(s, pair):
    yield "they react", pair in REACTIONS
    rest = list(s.molecules)
    for one in pair:
        rest.remove(one)
    return evolve(s, molecules=tuple(sorted([*rest, *REACTIONS[pair]])))


@always
def SoupHasASize(s):
    """Molecules do not vanish."""
    return len(s.molecules) == 36


SOUP = model(
    "soup",
    "A multiset as a sorted tuple.",
    lambda b: [Soup(("A",) * 18 + ("B",) * 18)],
    [react],
    [SoupHasASize],
)


# -- a set of sets: components that merge -----------------------------------------------------------


@frozen
class Components:
    groups: frozenset


@rule(by="user", a=lambda s: s.groups, b=lambda s: s.groups)
def merge(s, a, b):
    yield "two", min(a) < min(b)
    return evolve(s, groups=s.groups - {a, b} | {a | b})


@always
def GroupsAreDisjoint(s):
    """Every element is in one group."""
    return sorted(x for group in s.groups for x in group) == list(range(8))


COMPONENTS = model(
    "components",
    "A set of sets.",
    lambda b: [Components(frozenset(frozenset({k}) for k in range(8)))],
    [merge],
    [GroupsAreDisjoint],
)


# -- a graph: a set of edges ------------------------------------------------------------------------


@frozen
class Edges:
    edges: frozenset = frozenset()


def closure(edges):
    found = set(edges)
    while True:
        more = {(a, d) for a, b in found for c, d in found if b == c} - found
        if not more:
            return found
        found |= more


@rule(by="user", a=lambda s: range(4), b=lambda s: range(4))
def add_edge(s, a, b):
    yield "no cycle", a != b and (b, a) not in closure(s.edges)
    return evolve(s, edges=s.edges | {(a, b)})


@rule(by="user", edge=lambda s: sorted(s.edges))
def remove_edge(s, edge):
    return evolve(s, edges=s.edges - {edge})


@always
def Acyclic(s):
    """There is no cycle."""
    return all(a != b for a, b in closure(s.edges))


EDGES = model(
    "edges",
    "A set of edges, and its closure.",
    lambda b: [Edges()],
    [add_edge, remove_edge],
    [Acyclic],
)


# -- a power set ------------------------------------------------------------------------------------


@frozen
class Subset:
    members: frozenset = frozenset()


@rule(by="user", k=lambda s: range(13))
def toggle(s, k):
    return evolve(s, members=s.members ^ {k})


@always
def SumIsBounded(s):
    """The sum of the members is bounded."""
    return sum(s.members) <= sum(range(13))


SUBSETS = model("subsets", "All subsets of 13.", lambda b: [Subset()], [toggle], [SumIsBounded])


# -- sets in tuples in records in a set -------------------------------------------------------------


@frozen
class Team:
    name: str
    members: frozenset = frozenset()


@frozen
class Company:
    teams: frozenset
    fired: frozenset = frozenset()


@rule(by="boss", team=lambda s: s.teams, person=lambda s: range(4))
def hire(s, team, person):
    yield "not fired", person not in s.fired
    yield "not in two teams", sum(person in t.members for t in s.teams) < 2
    yield "not there", person not in team.members
    return evolve(s, teams=s.teams - {team} | {evolve(team, members=team.members | {person})})


@rule(by="boss", person=lambda s: range(4))
def fire(s, person):
    yield "not fired", person not in s.fired
    teams = frozenset(evolve(t, members=t.members - {person}) for t in s.teams)
    return Company(teams, s.fired | {person})


@always
def FiredAreGone(s):
    """A person who is fired is in no team."""
    return all(s.fired.isdisjoint(team.members) for team in s.teams)


COMPANY = model(
    "company",
    "Sets in records in a set.",
    lambda b: [Company(frozenset(Team(n) for n in "abc"))],
    [hire, fire],
    [FiredAreGone],
)


# -- a stack machine --------------------------------------------------------------------------------


@frozen
class Machine:
    stack: tuple[int, ...] = ()
    steps: int = 0


@rule(by="program", n=lambda s: (1, 2, 5))
def push_number(s, n):
    yield limit("steps"), s.steps < 9
    yield limit("depth"), len(s.stack) < 5
    return Machine((*s.stack, n), s.steps + 1)


@rule(by="program", what=lambda s: ("+", "-", "*", "max"))
def operate(s, what):
    yield limit("steps"), s.steps < 9
    yield "two operands", len(s.stack) >= 2
    *rest, a, b = s.stack
    result = {"+": a + b, "-": a - b, "*": a * b, "max": max(a, b)}[what] % 7
    return Machine((*rest, result), s.steps + 1)


@always
def NumbersAreSmall(s):
    """Numbers stay below seven."""
    return all(0 <= n < 7 for n in s.stack)


MACHINE = model(
    "stack-machine", "A stack.", lambda b: [Machine()], [push_number, operate], [NumbersAreSmall]
)


# -- a history: a tuple that only grows -------------------------------------------------------------


@frozen
class History:
    events: tuple[tuple[str, int], ...] = ()


@rule(by="client", client=lambda s: range(2), what=lambda s: ("begin", "end", "read"))
def record(s, client, what):
    yield limit("length"), len(s.events) < 6
    open_ = sum(1 if e[0] == "begin" else -1 for e in s.events if e[1] == client and e[0] != "read")
    yield "begins and ends alternate", what == "read" or (open_ == 0) == (what == "begin")
    return evolve(s, events=(*s.events, (what, client)))


@always
def EveryEndHasABegin(s):
    """No event ends what has not begun."""
    for client in range(2):
        begins = [e for e in s.events if e == ("begin", client)]
        ends = [e for e in s.events if e == ("end", client)]
        yield f"client {client}", len(ends) <= len(begins)


HISTORY = model(
    "history", "A tuple that only grows.", lambda b: [History()], [record], [EveryEndHasABegin]
)


# -- matrices: tuples of tuples ---------------------------------------------------------------------


@frozen
class Lights:
    rows: tuple[tuple[bool, ...], ...] = ((False,) * 4,) * 3


@rule(by="user", x=lambda s: range(4), y=lambda s: range(3))
def press(s, x, y):
    rows = [list(row) for row in s.rows]
    for dx, dy in ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)):
        if 0 <= x + dx < 4 and 0 <= y + dy < 3:
            rows[y + dy][x + dx] = not rows[y + dy][x + dx]
    return evolve(s, rows=tuple(map(tuple, rows)))


@reachable
def AllAreOn(s):
    """All lights can be on."""
    return all(map(all, s.rows))


LIGHTS = model(
    "lights", "A tuple of tuples, changed in a cross.", lambda b: [Lights()], [press], [AllAreOn]
)


# -- choices from everything ------------------------------------------------------------------------


@frozen
class Market:
    offers: frozenset = frozenset()
    owners: tuple[str, ...] = ("ann", "bob", "cat")
    prices: tuple[int, ...] = (1, 2, 3)
    queue: tuple[str, ...] = ()


@rule(by="trader", item=lambda s: range(len(s.owners)), price=lambda s: sorted(set(s.prices)))
def offer(s, item, price):
    yield limit("few offers"), len(s.offers) < 2
    return evolve(s, offers=s.offers | {(item, price)})


@rule(by="trader", offered=lambda s: sorted(s.offers), buyer=lambda s: sorted(set(s.owners)))
def buy(s, offered, buyer):
    item, price = offered
    yield "another", buyer != s.owners[item] and len(s.queue) < 2
    return Market(
        s.offers - {offered},
        replaced(s.owners, item, buyer),
        replaced(s.prices, item, price),
        (*s.queue, buyer),
    )


@rule(by="clerk")
def serve_first(s):
    yield "a queue", bool(s.queue)
    return evolve(s, queue=s.queue[1:])


@always
def PricesArePositive(s):
    """Every price is positive."""
    return min(s.prices) > 0


MARKET = model(
    "market",
    "Choices from everything.",
    lambda b: [Market()],
    [offer, buy, serve_first],
    [PricesArePositive],
)


# -- values of any type in one field ----------------------------------------------------------------


@frozen
class Slot:
    value: Any = None
    other: Any = ()


VALUES = (
    None,
    0,
    1,
    "a",
    "bb",
    b"x",
    (1, 2),
    frozenset({1}),
    frozenset({"a", "b"}),
    2.5,
    ("a", (None,)),
    True,
)


@rule(by="user", value=lambda s: VALUES)
def set_value(s, value):
    return evolve(s, value=value)


@rule(by="user")
def wrap(s):
    yield limit("room"), len(s.other) < 3
    return Slot(None, (*s.other, s.value))


@rule(by="user")
def unwrap(s):
    yield "a value", len(s.other) > 0
    return Slot(s.other[-1], s.other[:-1])


SLOT = model("slot", "Values of many types.", lambda b: [Slot()], [set_value, wrap, unwrap])


# -- a mapping as a mapping -------------------------------------------------------------------------


@frozen
class Inventory:
    items: Map = Map()
    lent: Map = Map()


@rule(by="clerk", item=lambda s: ("book", "film", "game"))
def acquire(s, item):
    yield limit("few"), s.items.get(item, 0) < 3
    return evolve(s, items=s.items.set(item, s.items.get(item, 0) + 1))


@rule(by="clerk", item=lambda s: s.items, person=lambda s: range(3))
def lend(s, item, person):
    yield "in stock", s.items[item] > sum(thing == item for thing in s.lent.values())
    yield "has nothing", person not in s.lent
    return evolve(s, lent=s.lent.set(person, item))


@rule(by="clerk", person=lambda s: s.lent)
def give_back(s, person):
    return evolve(s, lent=s.lent.without(person))


@rule(by="clerk", item=lambda s: s.items)
def discard(s, item):
    yield "nothing is lent", item not in s.lent.values()
    return evolve(s, items=s.items.without(item))


@always
def NoMoreIsLentThanThere(s):
    """Items that are lent exist."""
    for item in ("book", "film", "game"):
        lent = sum(thing == item for thing in s.lent.values())
        yield item, lent <= s.items.get(item, 0)


INVENTORY = model(
    "inventory",
    "Mappings.",
    lambda b: [Inventory()],
    [acquire, lend, give_back, discard],
    [NoMoreIsLentThanThere],
)


# -- a network that keeps every copy of a message ---------------------------------------------------


@frozen
class Network:
    air: RealBag = RealBag()
    got: tuple[int, ...] = (0, 0)
    sent: int = 0


@rule(by="node", to=lambda s: range(2), what=lambda s: ("ping", "pong", "stop"))
def post(s, to, what):
    yield limit("few"), s.sent < 6
    return evolve(s, air=s.air.add((to, what)), sent=s.sent + 1)


@rule(by="node", m=lambda s: s.air)
def receive(s, m):
    to, what = m
    got = s.got if what == "stop" else replaced(s.got, to, (s.got[to] + 1) % 3)
    return evolve(s, air=s.air.remove(m), got=got)


@rule(by="network", m=lambda s: s.air)
def lose_all_copies(s, m):
    yield "two or more", s.air.count(m) > 1
    return evolve(s, air=s.air - RealBag([m] * s.air.count(m)))


@always
def FewAreUnderWay(s):
    """No more is under way than was sent."""
    return len(s.air) <= s.sent


COPIES = model(
    "copies",
    "A bag of messages.",
    lambda b: [Network()],
    [post, receive, lose_all_copies],
    [FewAreUnderWay],
)
