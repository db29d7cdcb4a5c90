"""How a group is drawn: its coordinator, and a lane for each consumer with what it reads.

A partition is a chip. The coordinator's chips say whom it belongs to by the coordinator's word,
a consumer's what its application reads; chips of one colour were given out in one generation.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from spec.core import Taken
from spec.group.coordinator import HUNG_UP, GroupMember
from spec.group.world import Consumer, Owns, Phase, World, consumers, requested
from spec.messages import (
    NO_GENERATION,
    Error,
    GroupState,
    Joined,
    JoinGroup,
    Synced,
    SyncGroup,
)
from spec.picture import Arrow, Band, Cell, Lane, Picture

COORDINATOR = "coordinator"
NOTHING = "–"

WORDS = {
    "coordinator": "the broker that keeps the group together: it hears of every member and "
    "says who is in a generation; which partitions each reads, one of the members decides",
    "consumer 0": "a process that reads for the group; its ids are a1, a2 and so on, and those of "
    "the next one b1, b2",
    "on": "which broker coordinates; a failover takes the group to the next one",
    "generation": "the number of the rebalance: for the coordinator the last one, for a consumer "
    "the one that it believes to be in; the colour of a partition is that of its generation",
    "leader": "the member that shares out the partitions; the coordinator only passes it on",
    "members": "who is in the group; joining, syncing: it waits for an answer; hung up: nobody "
    "listens for it any more",
    "waits for": "what ends this state of the group: members, or the time that they have",
    "ids out": "ids that were given to first-time members, which have not joined with them yet",
    "written": "the group as the offsets topic has it: what another coordinator would find",
    "topic": "how many partitions there are to share out",
    "instance": "group.instance.id: who has one is a static member, and keeps its place while "
    "its process restarts",
    "id": "the member id that the coordinator gave it",
    "request": "what it has sent, and what has not come to the coordinator yet",
    "answer": "what has been sent to it, and what it has not read yet; an error that answers a "
    "heartbeat, or a commit, comes beside the others",
    "next": "what it will do when the application polls",
    "p0 a1": "partition 0, which belongs to member a1 by the coordinator's word",
    "p0": "partition 0, which the application of this consumer reads",
    "Empty": "the group has no members",
    "PreparingRebalance": "the coordinator waits until every member has asked to join again",
    "CompletingRebalance": "it has told who is in, and waits for the leader's assignments",
    "Stable": "every member can ask for its assignment, and reads",
    "Dead": "no broker coordinates the group at this moment",
    "out": "it is in no generation, and will join when the application polls",
    "joining": "it has asked to join (JoinGroup); an eager consumer has given up its partitions",
    "syncing": "it is in a generation, and has asked for its assignment (SyncGroup)",
    "stable": "it has an assignment",
}

BANDS = {
    GroupState.EMPTY: 5,
    GroupState.PREPARING_REBALANCE: 1,
    GroupState.COMPLETING_REBALANCE: 4,
    GroupState.STABLE: 2,
    GroupState.DEAD: 3,
    Phase.OUT: 5,
    Phase.JOINING: 1,
    Phase.SYNCING: 4,
    Phase.STABLE: 2,
    Phase.CRASHED: 3,
    Phase.CLOSED: 3,
    Phase.FENCED: 3,
}
"""The colour of each state; those of group and consumer that go together have the same."""


def picture(s: World, taken: Taken | None) -> Picture:
    """The coordinator's word above, what each consumer knows and does below."""
    return Picture(
        lanes=[coordinator_lane(s), *(consumer_lane(s, n) for n in consumers(s))],
        arrows=list(arrows(s, taken)) if taken and taken.before else [],
        words=WORDS,
        colour="generation",
    )


# -- lanes ------------------------------------------------------------------------------------


def coordinator_lane(s: World) -> Lane:
    """The group as the coordinator has it in memory and in the offsets topic."""
    group = s.group
    alive = group.state is not GroupState.DEAD
    facts = {
        "on": f"broker {s.coordinator}" if alive else NOTHING,
        "generation": str(group.generation) if alive else NOTHING,
        "leader": group.leader or NOTHING,
        "members": listed(member_text(m) for m in group.members),
        "waits for": waits_for(s),
        "ids out": listed(sorted(group.pending)),
        "written": written(s),
        "topic": f"{s.partitions} partition{'s' if s.partitions > 1 else ''}",
    }
    return Lane(
        COORDINATOR,
        band=Band(group.state, BANDS[group.state]),
        facts=facts,
        cells=[owned_cell(s, partition) for partition in range(s.partitions)],
        place=COORDINATOR,
    )


def consumer_lane(s: World, consumer: int) -> Lane:
    """What one consumer believes, what is on the way between the two, and what it reads."""
    c = s.consumers[consumer]
    instance = s.instance(consumer)
    facts = {
        **({"instance": instance} if instance else {}),
        "id": c.member or NOTHING,
        "generation": NOTHING if c.generation == NO_GENERATION else str(c.generation),
        "coordinator": NOTHING if c.coordinator is None else f"broker {c.coordinator}",
        "request": listed(requests(c), "; "),
        "answer": listed(answers(c), "; "),
        "next": listed(intentions(c), "; "),
    }
    return Lane(
        name_of(consumer),
        role="leader" if c.planned else "",
        band=Band(c.phase, BANDS[c.phase]),
        facts=facts,
        cells=[reading_cell(c, partition) for partition in c.owned],
        place=name_of(consumer),
    )


def owned_cell(s: World, partition: int) -> Cell:
    """A partition with the member that it belongs to, or with nobody."""
    owners = [m.id for m in s.group.members if partition in partitions(m.assignment)]
    place = f"partition {partition}"
    if not owners:
        return Cell("", place=place, title=f"{place}: nobody's, by the coordinator's word")
    return Cell(
        text=f"p{partition} {' '.join(owners)}",
        colour=generation_of_assignments(s),
        place=place,
        title=f"{place} belongs to {' and '.join(owners)} by the coordinator's word",
    )


def generation_of_assignments(s: World) -> int:
    """The generation in which the partitions were shared out: it may be over by now."""
    settled = s.group.state is GroupState.STABLE or s.stored is None
    return s.group.generation if settled or s.stored is None else s.stored.generation


def reading_cell(c: Consumer, partition: int) -> Cell:
    """A partition that the application reads."""
    lost = c.generation == NO_GENERATION
    return Cell(
        text=f"p{partition}",
        colour=None if lost else c.generation,
        place=f"reading of partition {partition}",
        title=f"reads partition {partition} {'without a' if lost else 'in'} generation"
        + ("" if lost else f" {c.generation}"),
    )


# -- what the coordinator knows -----------------------------------------------------------------


def member_text(m: GroupMember) -> str:
    """A member, and whether it waits for an answer."""
    for verb, waits in (("joining", m.joining), ("syncing", m.syncing)):
        if waits is not None:
            return f"{m.id} {verb}{', hung up' if waits == HUNG_UP else ''}"
    return m.id


def waits_for(s: World) -> str:
    """What the group waits for in the state that it is in."""
    group = s.group
    if group.waits_initially:
        return "more members" if group.delay_left else "more members, for the last time"
    if group.state is GroupState.PREPARING_REBALANCE:
        missing = [m.id for m in group.members if m.joining is None] + sorted(group.pending)
        return listed(missing, " ") + " to join"
    if group.pending_sync:
        return listed(sorted(group.pending_sync), " ") + " to sync"
    return NOTHING


def written(s: World) -> str:
    """The group in the offsets topic: each member, with its partitions."""
    if s.stored is None:
        return NOTHING
    members = listed((f"{m.id} {chips(m.assignment)}" for m in s.stored.members), ", ", "nobody")
    return f"generation {s.stored.generation}: {members}"


# -- what is on the way -------------------------------------------------------------------------


def requests(c: Consumer) -> Iterator[str]:
    """Its requests that have not arrived; what is in them is told when they do."""
    if isinstance(c.call, JoinGroup | SyncGroup):
        yield type(c.call).__name__
    if c.late is not None:
        yield f"given up: {request_text(c.late)}"


def answers(c: Consumer) -> Iterator[str]:
    """The answers that it has not read."""
    if isinstance(c.call, Joined) and c.call.error is Error.NONE:
        yield f"generation {c.call.generation}"
    elif isinstance(c.call, Joined | Synced):
        yield answer_text(c.call)
    if c.beat is not None:
        yield f"{c.beat} ({'earlier ' if c.beat_is_old else ''}heartbeat)"


def intentions(c: Consumer) -> Iterator[str]:
    """What it will do, and what keeps it from it."""
    if c.runs and not c.polls:
        yield "nothing, it does not poll"
    if c.told is not None:
        yield f"reads {chips(c.told)}"
    if c.wants_to_rejoin:
        yield "joins again"


def request_text(request: JoinGroup | SyncGroup) -> str:
    """A request in a few words."""
    who = f" as {request.member}" if request.member else ""
    if isinstance(request, JoinGroup):
        return f"JoinGroup{who}{claims(request)}"
    plan = listed(f"{member} {chips(given)}" for member, given in request.assignments)
    shares = f", shares out {plan}" if request.assignments else ""
    return f"SyncGroup{who}, generation {request.generation}{shares}"


def claims(request: JoinGroup) -> str:
    """What a cooperative consumer says it owns when it joins."""
    owns = request.protocols[0].metadata
    if not isinstance(owns, Owns) or not owns.partitions:
        return ""
    lost = owns.generation == NO_GENERATION
    since = "without a generation" if lost else f"since generation {owns.generation}"
    return f", owns {chips(owns.partitions)} {since}"


def answer_text(answer: Joined | Synced) -> str:
    """An answer in a few words."""
    if answer.error is Error.MEMBER_ID_REQUIRED and isinstance(answer, Joined):
        return f"{answer.error}, use {answer.member}"
    if answer.error is not Error.NONE:
        return str(answer.error)
    if isinstance(answer, Synced):
        return f"assigned {chips(answer.assignment)}"
    leads = answer.leader == answer.member
    members = listed(member for member, _, _ in answer.members)
    role = f"leads {members}" if leads else f"led by {answer.leader}"
    kept = ", need not assign" if answer.skip_assignment else ""
    return f"{answer.member} in generation {answer.generation}, {role}{kept}"


# -- arrows -------------------------------------------------------------------------------------


def arrows(s: World, taken: Taken) -> Iterator[Arrow]:
    """The request that the coordinator took in this step, and whom it told what."""
    before: World = taken.before
    ask, consumer = taken.choices.get("ask"), taken.choices.get("consumer")
    if ask is not None:
        late = "given up: " if ask.late else ""
        label = late + request_text(requested(before, ask))
        yield Arrow(name_of(ask.consumer), COORDINATOR, label)
    elif consumer is not None:
        label = asked_at_once(before, s, taken)
        if label:
            yield Arrow(name_of(consumer), COORDINATOR, label)
            if "takes" in taken.rule:
                yield Arrow(COORDINATOR, name_of(consumer), "taken")
    for number, (old, new) in enumerate(zip(before.consumers, s.consumers, strict=True)):
        if isinstance(new.call, Joined | Synced) and new.call != old.call:
            yield Arrow(COORDINATOR, name_of(number), answer_text(new.call))
        if new.beat is not None and new.beat != old.beat:
            yield Arrow(COORDINATOR, name_of(number), new.beat)


def asked_at_once(before: World, s: World, taken: Taken) -> str:
    """What a consumer asked of the coordinator in a step that has the answer, too."""
    c = before.consumers[taken.choices["consumer"]]
    who = f"{c.member}, generation {c.generation}"
    if taken.rule == "consumer_heartbeats":
        return f"Heartbeat as {who}"
    if "commit" in taken.rule:
        return f"OffsetCommit as {who}"
    left = len(s.group.members) + len(s.group.pending)
    if left < len(before.group.members) + len(before.group.pending):
        return f"LeaveGroup of {c.member}"
    return ""


# -- words --------------------------------------------------------------------------------------


def name_of(consumer: int) -> str:
    """What a consumer's lane is called."""
    return f"consumer {consumer}"


def partitions(assignment: Hashable) -> tuple[int, ...]:
    """The partitions of an assignment."""
    return tuple(assignment)  # type: ignore[arg-type]


def chips(assignment: Hashable) -> str:
    """An assignment, as its chips are named."""
    return listed((f"p{partition}" for partition in partitions(assignment)), " ", "nothing")


def listed(texts: Iterable[str], between: str = ", ", nothing: str = NOTHING) -> str:
    """Some texts in a row, or what stands for none."""
    return between.join(texts) or nothing
