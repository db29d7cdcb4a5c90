"""Pictures of a group: a lane for its coordinator, and one for each consumer.

A partition is a cell. The coordinator's cells show to which member each is assigned, a consumer's
which partitions its application reads. Cells of one colour were assigned in one generation.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from kspec.spec.coordinator import DISCONNECTED, GroupMember
from kspec.spec.core import Taken
from kspec.spec.core.picture import Arrow, Band, Cell, Lane, Picture
from kspec.spec.group.state import Consumer, Owns, Phase, World, consumers, message
from kspec.spec.messages import (
    NO_GENERATION,
    Error,
    GroupState,
    JoinGroup,
    JoinGroupResponse,
    SyncGroup,
    SyncGroupResponse,
)

COORDINATOR = "coordinator"
NOTHING = "–"

WORDS = {
    "coordinator": "the broker that keeps the group: it knows its members and numbers the "
    "generations; a member, the leader, assigns the partitions",
    "consumer 0": "a process that reads for the group; its member ids are a1, a2 and so on, those "
    "of consumer 1 are b1, b2",
    "on": "the broker that coordinates; a failover moves the group to the next one",
    "generation": "the number of the rebalance: the coordinator's latest, or the one that the "
    "consumer believes is current; a partition has the colour of its generation",
    "leader": "the member that assigns the partitions; the coordinator passes its assignments on",
    "members": "the members of the group; joining, syncing: a request of it is parked; "
    "disconnected: no one receives the response any more",
    "awaits": "what ends this state of the group: members, or a timer",
    "pending": "member ids that were issued, and with which no consumer has joined yet",
    "stored": "the group's record in the offsets topic: what another coordinator would load",
    "topic": "how many partitions there are to assign",
    "instance": "group.instance.id: a consumer that has one is a static member, and keeps its "
    "place while its process restarts",
    "id": "the member id that the coordinator issued",
    "request": "a request that has not reached the coordinator yet",
    "response": "a response that the consumer has not processed yet; an error that answers a "
    "heartbeat or a commit comes beside the others",
    "next": "what it does when the application polls",
    "p0 a1": "partition 0, which the coordinator has assigned to member a1",
    "p0": "partition 0, which the application of this consumer reads",
    "Empty": "the group has no members",
    "PreparingRebalance": "the coordinator waits for members to join",
    "CompletingRebalance": "a generation has begun, and the coordinator waits for assignments",
    "Stable": "the assignments are stored, and members fetch them",
    "Dead": "no broker coordinates the group at this moment",
    "unjoined": "it is in no generation, and joins when the application polls",
    "joining": "it has sent JoinGroup; an eager consumer has revoked its partitions",
    "syncing": "it is in a generation, and has sent SyncGroup for its assignment",
    "stable": "it has an assignment",
}

BANDS = {
    GroupState.EMPTY: 5,
    GroupState.PREPARING_REBALANCE: 1,
    GroupState.COMPLETING_REBALANCE: 4,
    GroupState.STABLE: 2,
    GroupState.DEAD: 3,
    Phase.UNJOINED: 5,
    Phase.JOINING: 1,
    Phase.SYNCING: 4,
    Phase.STABLE: 2,
    Phase.CRASHED: 3,
    Phase.CLOSED: 3,
    Phase.FENCED: 3,
}
"""The colour of each state; corresponding states of group and consumer have the same."""


def picture(s: World, taken: Taken | None) -> Picture:
    """The coordinator's lane, then each consumer's."""
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
        "awaits": awaits(s),
        "pending": listed(sorted(group.pending)),
        "stored": stored(s),
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
    """What one consumer knows, its messages in flight, and the partitions that it reads."""
    c = s.consumers[consumer]
    instance = s.instance(consumer)
    facts = {
        **({"instance": instance} if instance else {}),
        "id": c.member or NOTHING,
        "generation": NOTHING if c.generation == NO_GENERATION else str(c.generation),
        "coordinator": NOTHING if c.coordinator is None else f"broker {c.coordinator}",
        "request": listed(requests(c), "; "),
        "response": listed(responses(c), "; "),
        "next": listed(intentions(c), "; "),
    }
    return Lane(
        name_of(consumer),
        role="leader" if c.assignment_snapshot else "",
        band=Band(c.phase, BANDS[c.phase]),
        facts=facts,
        cells=[reading_cell(c, partition) for partition in c.owned],
        place=name_of(consumer),
    )


def owned_cell(s: World, partition: int) -> Cell:
    """A partition with the member to which it is assigned, if any."""
    owners = [m.id for m in s.group.members if partition in partitions(m.assignment)]
    place = f"partition {partition}"
    if not owners:
        return Cell("", place=place, title=f"{place} is not assigned")
    return Cell(
        text=f"p{partition} {' '.join(owners)}",
        colour=generation_of_assignments(s),
        place=place,
        title=f"{place} is assigned to {' and '.join(owners)}",
    )


def generation_of_assignments(s: World) -> int:
    """The generation in which the partitions were assigned, which may be over."""
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


# -- the coordinator ----------------------------------------------------------------------------


def member_text(m: GroupMember) -> str:
    """A member, and whether a request of it is parked."""
    for verb, waits in (("joining", m.awaiting_join), ("syncing", m.awaiting_sync)):
        if waits is not None:
            return f"{m.id} {verb}{', disconnected' if waits == DISCONNECTED else ''}"
    return m.id


def awaits(s: World) -> str:
    """What ends the state that the group is in."""
    group = s.group
    if group.in_initial_delay:
        return "more members" if group.remaining_delay else "more members, for the last time"
    if group.state is GroupState.PREPARING_REBALANCE:
        missing = [m.id for m in group.members if m.awaiting_join is None] + sorted(group.pending)
        return listed(missing, " ") + " to join"
    if group.pending_sync:
        return listed(sorted(group.pending_sync), " ") + " to sync"
    return NOTHING


def stored(s: World) -> str:
    """The group in the offsets topic: each member with its partitions."""
    if s.stored is None:
        return NOTHING
    members = listed(
        (f"{m.id} {labels(m.assignment)}" for m in s.stored.members), ", ", "no members"
    )
    return f"generation {s.stored.generation}: {members}"


# -- messages in flight -------------------------------------------------------------------------


def requests(c: Consumer) -> Iterator[str]:
    """Its requests that have not arrived; arrows show their contents when they do."""
    if isinstance(c.in_flight, JoinGroup | SyncGroup):
        yield type(c.in_flight).__name__
    if c.abandoned is not None:
        yield f"abandoned: {request_text(c.abandoned)}"


def responses(c: Consumer) -> Iterator[str]:
    """The responses that it has not processed."""
    if isinstance(c.in_flight, JoinGroupResponse) and c.in_flight.error is Error.NONE:
        yield f"generation {c.in_flight.generation}"
    elif isinstance(c.in_flight, JoinGroupResponse | SyncGroupResponse):
        yield response_text(c.in_flight)
    if c.heartbeat_error is not None:
        yield f"{c.heartbeat_error} ({'stale ' if c.heartbeat_error_is_stale else ''}heartbeat)"


def intentions(c: Consumer) -> Iterator[str]:
    """What it does next, and what prevents it."""
    if c.is_running and not c.polls:
        yield "nothing: it does not poll"
    if c.pending_assignment is not None:
        yield f"reads {labels(c.pending_assignment)}"
    if c.needs_rejoin:
        yield "joins again"


def request_text(request: JoinGroup | SyncGroup) -> str:
    """A request in a few words."""
    who = f" as {request.member}" if request.member else ""
    if isinstance(request, JoinGroup):
        return f"JoinGroup{who}{claims(request)}"
    assignments = listed(f"{member} {labels(given)}" for member, given in request.assignments)
    assigned = f", assigns {assignments}" if request.assignments else ""
    return f"SyncGroup{who}, generation {request.generation}{assigned}"


def claims(request: JoinGroup) -> str:
    """The partitions that a cooperative consumer claims when it joins."""
    owns = request.protocols[0].metadata
    if not isinstance(owns, Owns) or not owns.partitions:
        return ""
    lost = owns.generation == NO_GENERATION
    since = "without a generation" if lost else f"since generation {owns.generation}"
    return f", claims {labels(owns.partitions)} {since}"


def response_text(response: JoinGroupResponse | SyncGroupResponse) -> str:
    """A response in a few words."""
    if response.error is Error.MEMBER_ID_REQUIRED and isinstance(response, JoinGroupResponse):
        return f"{response.error}, use {response.member}"
    if response.error is not Error.NONE:
        return str(response.error)
    if isinstance(response, SyncGroupResponse):
        return f"assigned {labels(response.assignment)}"
    leads = response.leader == response.member
    members = listed(member for member, _, _ in response.members)
    role = f"leads {members}" if leads else f"led by {response.leader}"
    kept = ", must not assign" if response.skip_assignment else ""
    return f"{response.member} in generation {response.generation}, {role}{kept}"


# -- arrows -------------------------------------------------------------------------------------


def arrows(s: World, taken: Taken) -> Iterator[Arrow]:
    """The request that the coordinator received in this step, and the responses that it sent."""
    before: World = taken.before
    request, consumer = taken.choices.get("request"), taken.choices.get("consumer")
    if request is not None:
        late = "abandoned: " if request.abandoned else ""
        label = late + request_text(message(before, request))
        yield Arrow(name_of(request.consumer), COORDINATOR, label)
    elif consumer is not None:
        label = request_at_once(before, s, taken)
        if label:
            yield Arrow(name_of(consumer), COORDINATOR, label)
            if "accepts" in taken.rule:
                yield Arrow(COORDINATOR, name_of(consumer), "accepted")
    for number, (old, new) in enumerate(zip(before.consumers, s.consumers, strict=True)):
        if (
            isinstance(new.in_flight, JoinGroupResponse | SyncGroupResponse)
            and new.in_flight != old.in_flight
        ):
            yield Arrow(COORDINATOR, name_of(number), response_text(new.in_flight))
        if new.heartbeat_error is not None and new.heartbeat_error != old.heartbeat_error:
            yield Arrow(COORDINATOR, name_of(number), new.heartbeat_error)


def request_at_once(before: World, s: World, taken: Taken) -> str:
    """The request of a consumer in a step that includes the response."""
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


# -- text ---------------------------------------------------------------------------------------


def name_of(consumer: int) -> str:
    """The name of a consumer's lane."""
    return f"consumer {consumer}"


def partitions(assignment: Hashable) -> tuple[int, ...]:
    """The partitions of an assignment."""
    return tuple(assignment)  # type: ignore[arg-type]


def labels(assignment: Hashable) -> str:
    """An assignment, by the labels of its cells."""
    return listed((f"p{partition}" for partition in partitions(assignment)), " ", "nothing")


def listed(texts: Iterable[str], between: str = ", ", nothing: str = NOTHING) -> str:
    """Some texts in a row, or the text for an empty list."""
    return between.join(texts) or nothing
