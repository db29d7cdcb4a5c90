"""Pictures of the model `partition`: clients, the controller, and a lane for each broker."""

from __future__ import annotations

from collections.abc import Iterator

from kspec.spec.core import Taken
from kspec.spec.core.picture import Arrow, Band, Cell, Lane, Mark, Picture
from kspec.spec.partition.state import NO_BROKER, NO_EPOCH, UNKNOWN, Cluster, Replica, brokers
from kspec.spec.replication.picture import CONTROLLER, braces, name_of, or_none, record_cell

PRODUCERS, CONSUMERS = "producers", "consumers"
ACKNOWLEDGED = "✓"

WORDS = {
    "producers": "each record that was sent; ✓: acknowledged",
    "lost": "acknowledged, but no longer on any broker",
    "consumers": "the first record that consumers could read at each offset",
    "controller": "elects leaders, and informs the brokers of its decisions",
    "epoch": "leader epoch: the number of the controller's decision; a higher one is newer",
    "leader": "the broker that appends producers' records; the followers fetch from it",
    "ISR": "in-sync replicas: the brokers that must hold a record before it is committed; →: the "
    "change that the leader has proposed",
    "ELR": "eligible leader replicas: not in the ISR, but they hold every committed record",
    "last leader": "may lead again if no other broker is eligible (KIP-966)",
    "fenced": "the brokers that the controller considers failed",
    "remote LEO": "by follower: the offset of its last fetch, as the leader keeps it",
    "pending decisions": "leader epochs that the controller has announced and the broker does not "
    "know yet",
    "epochs": "leader-epoch cache: each leader epoch, and the offset where it began",
    "HW": "high watermark: this broker knows that the records before it are committed; if it is "
    "down, the highest that a checkpoint may have",
    "LEO": "log end offset: the offset of the broker's next record",
    "r0 e1": "record 0, written in leader epoch 1; ✓: acknowledged",
    "truncating": "a follower that asks where to truncate and does not fetch yet",
    "cut off": "it runs, but has lost the controller, which considers it failed",
    "deposed": "it presumes leadership, but the controller has elected another leader",
}

BANDS = {"leader": 2, "deposed": 1, "follower": 0, "truncating": 4, "waiting": 5, "down": 3}
"""The colour of what a broker does."""


def picture(s: Cluster, taken: Taken | None) -> Picture:
    """The clients and the controller above, the brokers below."""
    lanes = [producers_lane(s), consumers_lane(s), controller_lane(s)]
    return Picture(
        lanes=[*lanes, *(broker_lane(s, broker) for broker in brokers(s))],
        arrows=list(arrows(s, taken)) if taken else [],
        words=WORDS,
        colour="leader epoch",
    )


# -- lanes ------------------------------------------------------------------------------------


def producers_lane(s: Cluster) -> Lane:
    """The records that were sent, and which of them are acknowledged."""
    cells = [sent_cell(s, record) for record in range(s.sent)]
    lost = " ".join(cells[r].text for r in sorted(s.ghosts.acknowledged) if not holders(s, r))
    return Lane(PRODUCERS, facts={"lost": lost} if lost else {}, cells=cells)


def sent_cell(s: Cluster, record: int) -> Cell:
    """One record, and where it is."""
    on = holders(s, record)
    where = f"on brokers {braces(on)}" if on else "on no broker"
    acknowledged = record in s.ghosts.acknowledged
    return Cell(
        text=f"r{record}",
        place=f"record {record}",
        title=f"record {record}: {'acknowledged, ' if acknowledged else ''}{where}",
        sign=ACKNOWLEDGED if acknowledged else "",
    )


def holders(s: Cluster, record: int) -> list[int]:
    """The brokers, up or down, that have a record."""
    return [b for b in brokers(s) if any(r.id == record for r in s.replicas[b].log.records)]


def consumers_lane(s: Cluster) -> Lane:
    """The record that a consumer could first read at each offset."""
    cells = [
        Cell(f"r{record}", place=f"offset {offset}", title=f"offset {offset}: record {record}")
        for offset, record in enumerate(s.ghosts.readable)
    ]
    return Lane(CONSUMERS, cells=cells, place=CONSUMERS)


def controller_lane(s: Cluster) -> Lane:
    """The controller's state of the partition, and the brokers that it considers failed."""
    now = s.registration
    facts = {
        "epoch": str(now.epoch),
        "leader": or_none(now.leader, NO_BROKER),
        "ISR": braces(now.isr),
    }
    if now.elr:
        facts["ELR"] = braces(now.elr)
    if now.last_leader != NO_BROKER:
        facts["last leader"] = str(now.last_leader)
    facts["fenced"] = braces(s.fenced)
    return Lane(CONTROLLER, facts=facts, place="partition")


def broker_lane(s: Cluster, broker: int) -> Lane:
    """A broker: what it believes, what it knows as a leader, and its log."""
    replica = s.replicas[broker]
    name, room = name_of(broker), max(s.bounds.records, replica.log.end)
    signs = dict.fromkeys(s.ghosts.acknowledged, ACKNOWLEDGED)
    state = doing(s, broker)
    return Lane(
        name,
        role="cut off" if replica.is_up and broker in s.fenced else "",
        band=Band(state, BANDS[state]),
        facts=dict(broker_facts(s, broker)),
        cells=[
            record_cell(replica.log, offset, f"offset {offset} on {name}", signs)
            for offset in range(room)
        ],
        marks=[Mark("HW", replica.hw), Mark("LEO", replica.log.end)],
        place=name,
    )


def doing(s: Cluster, broker: int) -> str:
    """What a broker does, in a word."""
    replica = s.replicas[broker]
    if not replica.is_up:
        return "down"
    if replica.leadership is not None:
        return "leader" if s.registration.leader == broker else "deposed"
    if replica.leader == NO_BROKER:
        return "waiting"
    return "truncating" if replica.truncates else "follower"


def broker_facts(s: Cluster, broker: int) -> Iterator[tuple[str, str]]:
    """What a broker knows; if it is down, what is on its disk."""
    replica = s.replicas[broker]
    if replica.is_up:
        yield "epoch", or_none(replica.epoch, NO_EPOCH)
        if replica.leadership is None:
            yield "leader", or_none(replica.leader, NO_BROKER)
        else:
            yield "ISR", isr_text(replica)
            ends = replica.leadership.ends
            others = (b for b in brokers(s) if b != broker)
            yield "remote LEO", " ".join(f"{b}:{or_none(ends[b], UNKNOWN)}" for b in others)
    yield "epochs", " ".join(f"e{e.epoch}@{e.start}" for e in replica.epochs.entries) or "–"
    announced = [str(decision.epoch) for decision in s.decisions[broker]]
    if announced:
        yield "pending decisions", " ".join(announced)
    yield "HW", str(replica.hw)
    yield "LEO", str(replica.log.end)


def isr_text(replica: Replica) -> str:
    """A leader's ISR, and the one that it has proposed."""
    state = replica.leadership
    assert state is not None, "a leader"
    proposed = "" if state.pending is None else f"→{braces(state.pending)}"
    return braces(state.isr) + proposed


# -- arrows -----------------------------------------------------------------------------------


def arrows(s: Cluster, taken: Taken) -> Iterator[Arrow]:
    """The messages of this step."""
    before: Cluster | None = taken.before
    choices = taken.choices
    if before is None:
        return
    broker = choices.get("broker", choices.get("leader"))
    if s.sent > before.sent and broker is not None:
        yield Arrow(PRODUCERS, name_of(broker), f"r{before.sent}")
    if "epoch" in choices and broker is not None:
        decision = next(d for d in before.decisions[broker] if d.epoch == choices["epoch"])
        leads = "lead" if decision.leader == broker else f"follow broker {decision.leader}"
        yield Arrow(CONTROLLER, name_of(broker), f"{leads} in epoch {decision.epoch}")
    if {"leader", "follower"} <= choices.keys():
        yield from exchange(before, s, taken.rule, choices["leader"], choices["follower"])
    for leader in brokers(s):
        yield from isr_change(before, s, leader)
    acknowledged = s.ghosts.acknowledged - before.ghosts.acknowledged
    if acknowledged and broker is not None:
        records = " ".join(f"r{record}" for record in sorted(acknowledged))
        yield Arrow(name_of(broker), PRODUCERS, f"ack {records}")


def exchange(before: Cluster, s: Cluster, rule: str, leader: int, follower: int) -> Iterator[Arrow]:
    """A follower's request in a step, or the response to it."""
    old, new = before.replicas[follower], s.replicas[follower]
    source, target = name_of(leader), name_of(follower)
    if "truncates" in rule:
        yield Arrow(source, target, f"where the logs agree: offset {new.log.end}")
    elif new.log.end > old.log.end:
        records = " ".join(f"r{r.id}" for r in new.log.records[old.log.end :])
        yield Arrow(source, target, f"{records}, HW {new.hw}")
    elif new != old:
        yield Arrow(source, target, f"HW {new.hw}")
    elif "fetch" in rule:
        yield Arrow(target, source, f"fetch from offset {new.log.end}")


def isr_change(before: Cluster, s: Cluster, leader: int) -> Iterator[Arrow]:
    """The ISR that a leader has proposed, or written, in a step."""
    old, new = before.replicas[leader].leadership, s.replicas[leader].leadership
    if old is None or new is None:
        return
    if new.pending is not None and new.pending != old.pending:
        yield Arrow(name_of(leader), CONTROLLER, f"ISR {braces(new.pending)}")
    elif new.isr == s.registration.isr != before.registration.isr:
        yield Arrow(name_of(leader), CONTROLLER, f"ISR {braces(new.isr)}")
