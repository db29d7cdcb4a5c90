"""Protocols with messages in flight, in the ways in which users write them."""

from __future__ import annotations

from typing import Any, NamedTuple

from attrs import frozen

from benchmarks.models import model
from kspec.spec.core import (
    always,
    appended,
    count,
    each,
    evolve,
    limit,
    matching,
    reachable,
    replaced,
    rule,
)

# -- votes: records of one class, all of which stay -------------------------------------------------


@frozen
class Ballot:
    voter: int
    candidate: int
    turn: int


@frozen
class Election:
    ballots: frozenset = frozenset()
    turn: tuple[int, ...] = (0,) * 3
    leader: tuple[int, ...] = (-1, -1, -1)


def four(s):
    return range(4)


@rule(by="voter", voter=lambda s: range(3), candidate=lambda s: range(3))
def vote(s, voter, candidate):
    turn = s.turn[voter]
    yield limit("rounds"), turn < 2
    yield "not voted", not any(b.voter == voter and b.turn == turn for b in s.ballots)
    return evolve(s, ballots=s.ballots | {Ballot(voter, candidate, turn)})


@rule(by="voter", voter=lambda s: range(3))
def next_round(s, voter):
    yield limit("rounds"), s.turn[voter] < 1
    mine = [b for b in s.ballots if b.voter == voter and b.turn == s.turn[voter]]
    yield "voted", len(mine) > 0
    return evolve(s, turn=replaced(s.turn, voter, s.turn[voter] + 1))


@rule(by="candidate", candidate=lambda s: range(3), turn=lambda s: range(2))
def lead(s, candidate, turn):
    yield "no leader", s.leader[turn] == -1
    votes = sum(1 for b in s.ballots if b.candidate == candidate and b.turn == turn)
    yield "majority", votes > 1
    return evolve(s, leader=replaced(s.leader, turn, candidate))


@always
def LeaderHasVotes(s):
    """Each leader has a majority in its turn."""
    for turn, leader in enumerate(s.leader):
        votes = {b.voter for b in s.ballots if b.candidate == leader and b.turn == turn}
        yield f"turn {turn}", leader == -1 or len(votes) > 1


VOTES = model(
    "votes",
    "Ballots that stay.",
    lambda b: [Election()],
    [vote, next_round, lead],
    [LeaderHasVotes],
)


# -- requests and replies: tuples that are consumed, sorted as choices ------------------------------


@frozen
class Calls:
    msgs: frozenset = frozenset()
    asked: tuple[int, ...] = (0, 0, 0)
    served: tuple[int, ...] = (0, 0, 0)
    answered: tuple[int, ...] = (0, 0, 0)


def in_flight(s):
    return sorted(s.msgs)


@rule(by="client", client=lambda s: range(3))
def ask(s, client):
    yield limit("few requests"), s.asked[client] < 3
    number = s.asked[client]
    return evolve(
        s, asked=replaced(s.asked, client, number + 1), msgs=s.msgs | {("ask", client, number)}
    )


@rule(by="server", m=in_flight)
def serve(s, m):
    yield "a request", m[0] == "ask"
    _, client, number = m
    served = replaced(s.served, client, s.served[client] + 1)
    return evolve(s, msgs=s.msgs - {m} | {("reply", client, number)}, served=served)


@rule(by="client", m=in_flight)
def receive_reply(s, m):
    yield "a reply", m[0] == "reply"
    yield "in order", m[2] == s.answered[m[1]]
    return evolve(s, msgs=s.msgs - {m}, answered=replaced(s.answered, m[1], m[2] + 1))


@always
def AnswersAreForRequests(s):
    """Answers are for requests."""
    for client in range(3):
        yield f"client {client}", s.answered[client] <= s.served[client] <= s.asked[client]


CALLS = model(
    "calls",
    "Requests and replies.",
    lambda b: [Calls()],
    [ask, serve, receive_reply],
    [AnswersAreForRequests],
)


@rule(by="server", m=each("msgs"))
def serve_each(s, m):
    yield "a request", m[0] == "ask"
    _, client, number = m
    served = replaced(s.served, client, s.served[client] + 1)
    return evolve(s, msgs=s.msgs - {m} | {("reply", client, number)}, served=served)


@rule(by="client", m=each("msgs"))
def receive_each(s, m):
    yield "a reply", m[0] == "reply"
    yield "in order", m[2] == s.answered[m[1]]
    return evolve(s, msgs=s.msgs - {m}, answered=replaced(s.answered, m[1], m[2] + 1))


CALLS_EACH = model(
    "calls-each",
    "Requests and replies, with each.",
    lambda b: [Calls()],
    [ask, serve_each, receive_each],
    [AnswersAreForRequests],
)


# -- a mailbox of several classes, read with any, all, max ------------------------------------------


@frozen
class Write:
    client: int
    value: int


@frozen
class Ack:
    client: int
    version: int


@frozen
class Read:
    client: int
    version: int


@frozen
class Store:
    mail: frozenset = frozenset()
    version: int = 0
    values: frozenset = frozenset()
    seen: tuple[int, ...] = (0, 0, 0)


def clients(s):
    return range(3)


@rule(by="client", client=clients, value=lambda s: range(2))
def write(s, client, value):
    yield (
        "no write of this client",
        not any(isinstance(m, Write) and m.client == client for m in s.mail),
    )
    yield limit("versions"), s.version < 2
    return evolve(s, mail=s.mail | {Write(client, value)})


@rule(by="server")
def commit_all(s):
    writes = [m for m in s.mail if isinstance(m, Write)]
    yield "there are writes", bool(writes)
    yield limit("versions"), s.version < 2
    version = s.version + 1
    acks = {Ack(m.client, version) for m in writes}
    return evolve(
        s,
        mail=(s.mail - set(writes)) | acks,
        version=version,
        values=s.values | {m.value for m in writes},
    )


@rule(by="client", client=clients)
def receive_acks(s, client):
    acks = [m for m in s.mail if isinstance(m, Ack) and m.client == client]
    yield "there are acks", len(acks) > 0
    newest = max(m.version for m in acks)
    return evolve(s, mail=s.mail - set(acks), seen=replaced(s.seen, client, newest))


@rule(by="client", client=clients)
def read(s, client):
    yield "all acks received", all(m.client != client for m in s.mail if isinstance(m, Ack))
    yield "not reading", Read(client, s.seen[client]) not in s.mail
    yield limit("few reads"), sum(isinstance(m, Read) for m in s.mail) < 2
    return evolve(s, mail=s.mail | {Read(client, s.seen[client])})


@always
def NoAckFromTheFuture(s):
    """Versions are below the server's."""
    return max((m.version for m in s.mail if not isinstance(m, Write)), default=0) <= s.version


@reachable
def ClientsSeeLastVersion(s):
    """All clients can have seen the last version."""
    return s.version == 3 and set(s.seen) == {3}


STORE = model(
    "store", "A mailbox of three classes.", lambda b: [Store()], [write, commit_all, receive_acks, read],
    [NoAckFromTheFuture],
)  # fmt: skip


# -- gossip: a set of rumours in each node ----------------------------------------------------------


@frozen
class Gossip:
    knows: tuple[frozenset, ...]


@rule(by="node", a=four, b=four)
def tell(s, a, b):
    yield "something is new", a != b and not s.knows[a] <= s.knows[b]
    return evolve(s, knows=replaced(s.knows, b, s.knows[a] | s.knows[b]))


@always
def NodesKnowTheirOwnRumour(s):
    """Each node knows its own rumour."""
    return all(node in known for node, known in enumerate(s.knows))


GOSSIP = model(
    "gossip",
    "Sets that grow.",
    lambda b: [Gossip(tuple(frozenset({n}) for n in range(4)))],
    [tell],
    [NodesKnowTheirOwnRumour],
)


# -- inboxes: a set of messages for each node -------------------------------------------------------


@frozen
class Inboxes:
    inbox: tuple[frozenset, ...] = (frozenset(),) * 3
    clock: tuple[int, ...] = (0, 0, 0)


@rule(by="node", a=clients, b=clients)
def post(s, a, b):
    yield "another", a != b
    yield limit("clock"), s.clock[a] < 3
    time = s.clock[a] + 1
    inbox = replaced(s.inbox, b, s.inbox[b] | {(time, a)})
    return evolve(s, inbox=inbox, clock=replaced(s.clock, a, time))


@rule(by="node", a=clients)
def take_oldest(s, a):
    yield "mail", len(s.inbox[a]) > 0
    first = min(s.inbox[a])
    time = max(s.clock[a], first[0])
    return evolve(
        s, inbox=replaced(s.inbox, a, s.inbox[a] - {first}), clock=replaced(s.clock, a, time)
    )


@always
def ClocksAreNotBehind(s):
    """No message is newer than its sender's clock."""
    for inbox in s.inbox:
        for time, sender in inbox:
            yield f"from {sender}", time <= s.clock[sender]


INBOXES = model(
    "inboxes",
    "A set for each node.",
    lambda b: [Inboxes()],
    [post, take_oldest],
    [ClocksAreNotBehind],
)


# -- messages as text -------------------------------------------------------------------------------


@frozen
class Wire:
    lines: frozenset = frozenset()
    sent: int = 0
    got: str = ""


@rule(by="sender", to=lambda s: ("left", "right"), word=lambda s: ("hello", "bye"))
def put_line(s, to, word):
    yield limit("few lines"), s.sent < 4
    return evolve(s, lines=s.lines | {f"{s.sent}:{to}:{word}"}, sent=s.sent + 1)


@rule(by="receiver", line=lambda s: sorted(s.lines))
def parse_line(s, line):
    number, to, word = line.split(":")
    yield "to the right, or an even one", to == "right" or int(number) % 2 == 0
    return evolve(s, lines=s.lines - {line}, got=(s.got + word[0])[-3:])


@rule(by="receiver")
def drop_left(s):
    left = {line for line in s.lines if ":left:" in line}
    yield "there are some", len(left) > 1
    return evolve(s, lines=s.lines - left)


@always
def LinesAreWellFormed(s):
    """Every line has three parts."""
    return all(line.count(":") == 2 for line in s.lines)


WIRE = model(
    "wire",
    "Messages as text.",
    lambda b: [Wire()],
    [put_line, parse_line, drop_left],
    [LinesAreWellFormed],
)


# -- duplicates and losses --------------------------------------------------------------------------


class Packet(NamedTuple):
    number: int
    copy: int


@frozen
class Lossy:
    air: frozenset = frozenset()
    next: int = 0
    seen: frozenset = frozenset()
    losses: int = 0
    copies: int = 0


@rule(by="sender")
def transmit(s):
    yield limit("packets"), s.next < 6
    return evolve(s, air=s.air | {Packet(s.next, 0)}, next=s.next + 1)


@rule(by="network", p=lambda s: sorted(s.air))
def duplicate(s, p):
    yield limit("copies"), s.copies < 2 and p.copy == 0
    return evolve(s, air=s.air | {p._replace(copy=1)}, copies=s.copies + 1)


@rule(by="network", p=lambda s: sorted(s.air))
def lose_packet(s, p):
    yield limit("losses"), s.losses < 2
    return evolve(s, air=s.air - {p}, losses=s.losses + 1)


@rule(by="receiver", p=lambda s: sorted(s.air))
def deliver(s, p):
    return evolve(s, air=s.air - {p}, seen=s.seen | {p.number})


@always
def SeenWereSent(s):
    """Only packets that were sent are seen."""
    return all(number < s.next for number in s.seen)


LOSSY = model(
    "lossy",
    "Losses and duplicates.",
    lambda b: [Lossy()],
    [transmit, duplicate, lose_packet, deliver],
    [SeenWereSent],
)


# -- two sets: from one to the other ----------------------------------------------------------------


@frozen
class Job:
    id: int
    tries: int = 0


@frozen
class Jobs:
    waiting: frozenset
    running: frozenset = frozenset()
    done: frozenset = frozenset()


@rule(by="worker", job=lambda s: s.waiting)
def begin(s, job):
    yield "a worker is free", len(s.running) < 3
    return evolve(s, waiting=s.waiting - {job}, running=s.running | {job})


@rule(by="worker", job=lambda s: s.running)
def finish(s, job):
    return evolve(s, running=s.running - {job}, done=s.done | {job})


@rule(by="worker", job=lambda s: s.running)
def fail(s, job):
    yield limit("tries"), job.tries < 1
    return evolve(
        s, running=s.running - {job}, waiting=s.waiting | {evolve(job, tries=job.tries + 1)}
    )


@always
def JobsAreInOnePlace(s):
    """Each job is in one set."""
    ids = [job.id for some in (s.waiting, s.running, s.done) for job in some]
    return len(ids) == len(set(ids))


JOBS = model(
    "jobs",
    "Three sets.",
    lambda b: [Jobs(frozenset(Job(k) for k in range(6)))],
    [begin, finish, fail],
    [JobsAreInOnePlace],
)


# -- causal broadcast: vector clocks in messages ----------------------------------------------------


@frozen
class Broadcast:
    clocks: tuple[tuple[int, ...], ...] = ((0, 0, 0),) * 3
    air: frozenset = frozenset()


@rule(by="node", node=clients)
def broadcast(s, node):
    yield limit("few"), s.clocks[node][node] < 2 - (node == 2)
    clock = replaced(s.clocks[node], node, s.clocks[node][node] + 1)
    sent = {(node, to, clock) for to in range(3) if to != node}
    return evolve(s, clocks=replaced(s.clocks, node, clock), air=s.air | sent)


@rule(by="node", m=lambda s: sorted(s.air))
def deliver_causally(s, m):
    node, to, clock = m
    mine = s.clocks[to]
    yield (
        "all causes are there",
        all(mine[k] >= clock[k] if k != node else mine[k] == clock[k] - 1 for k in range(3)),
    )
    return evolve(s, air=s.air - {m}, clocks=replaced(s.clocks, to, tuple(map(max, mine, clock))))


@always
def KnowledgeHasACause(s):
    """No node knows more of another than that one itself."""
    for a in range(3):
        for b in range(3):
            yield f"{a} of {b}", s.clocks[a][b] <= s.clocks[b][b]


BROADCAST = model(
    "broadcast",
    "Vector clocks.",
    lambda b: [Broadcast()],
    [broadcast, deliver_causally],
    [KnowledgeHasACause],
)


# -- locks with leases: words for parts of sets -----------------------------------------------------


@frozen
class Grant:
    holder: int
    lock: int
    epoch: int


@frozen
class Wish:
    holder: int
    lock: int


@frozen
class Locks:
    sent: frozenset = frozenset()
    epoch: tuple[int, ...] = (0, 0)


@rule(by="client", holder=clients, lock=lambda s: range(2))
def wish(s, holder, lock):
    yield "no wish", count(s.sent, Wish, holder=holder) == 0
    yield "not held", count(s.sent, Grant, holder=holder, lock=lock) == 0
    return evolve(s, sent=s.sent | {Wish(holder, lock)})


@rule(by="server", m=each("sent", Wish))
def grant(s, m):
    yield "free", count(s.sent, Grant, lock=m.lock) == 0
    yield limit("epochs"), s.epoch[m.lock] < 4
    epoch = s.epoch[m.lock] + 1
    return evolve(
        s,
        sent=s.sent - {m} | {Grant(m.holder, m.lock, epoch)},
        epoch=replaced(s.epoch, m.lock, epoch),
    )


@rule(by="client", m=each("sent", Grant))
def release(s, m):
    return evolve(s, sent=s.sent - {m})


@always(lock=lambda s: range(2))
def OneHolder(s, lock):
    """Each lock has at most one holder."""
    return len(matching(s.sent, Grant, lock=lock)) < 2


LOCKS = model(
    "locks", "Wishes and grants.", lambda b: [Locks()], [wish, grant, release], [OneHolder]
)


# -- a commit log with offsets: a set of pairs beside a queue ---------------------------------------


@frozen
class Log:
    records: tuple[int, ...] = ()
    fetched: frozenset[Any] = frozenset()
    commits: frozenset[Any] = frozenset()


@rule(by="producer", key=lambda s: range(3))
def produce(s, key):
    yield limit("room"), len(s.records) < 4
    return evolve(s, records=appended(s.records, key))


@rule(by="consumer", at=lambda s: range(len(s.records)))
def fetch(s, at):
    yield "new", (at, s.records[at]) not in s.fetched
    return evolve(s, fetched=s.fetched | {(at, s.records[at])})


@rule(by="consumer", record=lambda s: sorted(s.fetched))
def commit_record(s, record):
    yield "all before are committed", all(k in s.commits for k in range(record[0]))
    yield "new", record[0] not in s.commits
    return evolve(s, commits=s.commits | {record[0]})


@always
def CommitsAreFetched(s):
    """Each commit was fetched."""
    return s.commits <= {at for at, _ in s.fetched}


LOG = model(
    "log",
    "A queue and sets of places.",
    lambda b: [Log()],
    [produce, fetch, commit_record],
    [CommitsAreFetched],
)
