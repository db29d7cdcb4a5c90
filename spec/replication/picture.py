"""Pictures of the model `replication`: the controller, and a lane for each broker with its log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kspec.spec.core import Taken
from kspec.spec.core.picture import Arrow, Cell, Lane, Mark, Picture
from kspec.spec.log import Log
from kspec.spec.replication.properties import copy_at
from kspec.spec.replication.state import NO_EPOCH, NO_LEADER, Cluster, LeaderAndIsr, brokers

CONTROLLER = "controller"

WORDS = {
    "controller": "elects leaders, and sends its decisions in LeaderAndIsr requests",
    "epoch": "leader epoch: the number of the controller's decision; a greater one is newer",
    "leader": "the broker that appends producers' records; the followers fetch from it",
    "ISR": "in-sync replicas: the brokers that must hold a record before it is committed",
    "HW": "high watermark: the records before it are committed, as far as this broker knows",
    "LEO": "log end offset: the offset of the broker's next record",
    "r0 e1": "record 0, written in leader epoch 1",
}


def picture(s: Cluster, taken: Taken | None) -> Picture:
    """The controller's state above, the brokers' logs and views below."""
    return Picture(
        lanes=[controller_lane(s.quorum), *(broker_lane(s, b) for b in brokers(s))],
        arrows=list(arrows(taken)) if taken else [],
        words=WORDS,
        colour="leader epoch",
    )


def controller_lane(quorum: LeaderAndIsr) -> Lane:
    """The controller's last decision."""
    facts = {
        "epoch": or_none(quorum.epoch, NO_EPOCH),
        "leader": or_none(quorum.leader, NO_LEADER),
        "ISR": braces(quorum.isr),
    }
    return Lane(CONTROLLER, facts=facts)


def broker_lane(s: Cluster, broker: int) -> Lane:
    """A broker's log and view."""
    view, log = s.views[broker], s.logs[broker]
    leads = s.presumes_leadership(broker)
    facts = {
        "epoch": or_none(view.epoch, NO_EPOCH),
        "leader": or_none(view.leader, NO_LEADER),
        "ISR": braces(view.isr),
        "HW": str(view.hw),
        "LEO": str(log.end),
    }
    room = max(s.bounds.log_size, log.end)
    return Lane(
        name_of(broker),
        role="leader" if leads else "follower" if view.leader != NO_LEADER else "",
        facts=facts,
        cells=[record_cell(log, offset, copy_at(offset, broker)) for offset in range(room)],
        marks=[Mark("HW", view.hw), Mark("LEO", log.end)],
        place=name_of(broker),
    )


def record_cell(log: Log, offset: int, place: str, signs: Mapping[int, str] = {}) -> Cell:
    """The record at one offset with the sign for its id, or an empty cell."""
    record = log.at(offset)
    if record is None:
        return Cell("", place=place, title=f"offset {offset}: no record")
    return Cell(
        text=f"r{record.id} e{record.epoch}",
        colour=record.epoch,
        place=place,
        title=f"offset {offset}: record {record.id}, written in epoch {record.epoch}",
        sign=signs.get(record.id, ""),
    )


def arrows(taken: Taken) -> Iterable[Arrow]:
    """The messages of this step; a rule of someone's own may have none."""
    choices = taken.choices
    if "request" in choices:
        request: LeaderAndIsr = choices["request"]
        target = choices.get("follower", request.leader)
        yield Arrow(CONTROLLER, name_of(target), f"LeaderAndIsr, epoch {request.epoch}")
    elif {"leader", "follower"} <= choices.keys():
        leader, follower = name_of(choices["leader"]), name_of(choices["follower"])
        if "_isr" in taken.rule:
            verb = "without" if "shrinks" in taken.rule else "with"
            yield Arrow(leader, CONTROLLER, f"ISR {verb} {follower}")
        elif "fetches" in taken.rule:
            yield Arrow(leader, follower, "next record, HW")
        elif "truncates" in taken.rule:
            yield Arrow(leader, follower, "where the logs agree")


def name_of(broker: int) -> str:
    """The name of a broker's lane."""
    return f"broker {broker}"


def or_none(number: int, none: int) -> str:
    """A number, or a dash for the value that means none."""
    return "–" if number == none else str(number)


def braces(members: Iterable[int]) -> str:
    """A set of brokers in braces."""
    return "{" + " ".join(map(str, sorted(members))) + "}"
