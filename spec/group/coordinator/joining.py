"""JoinGroup: how a member gets an id, a place, and a generation.

Kafka: `GroupMetadataManager.classicGroupJoin`, and KIP-394 for ids that are given out first.
"""

from __future__ import annotations

from collections.abc import Collection, Generator

from spec.core import evolve
from spec.group.coordinator.checks import Handling, is_a_member, is_alive
from spec.group.coordinator.group import Caller, Group, GroupMember, Outcome
from spec.group.coordinator.rebalance import (
    add,
    joined,
    prepare_or_complete,
    vote,
)
from spec.messages import Error, GroupState, Joined, JoinGroup, Synced


def may_join(group: Group, request: JoinGroup) -> Generator[tuple[str, bool], None, None]:
    """What is checked of every JoinGroup, in Kafka's order."""
    yield "session timeout is allowed", session_timeout_is_allowed(group, request)
    yield "group has room", has_room(group, request)
    yield from is_alive(group)
    yield "protocols go with the group's", fits(group, request)


def session_timeout_is_allowed(group: Group, request: JoinGroup) -> bool:
    """Whether the broker waits for so long, and no longer, for a sign of life."""
    settings = group.settings
    return settings.min_session_timeout <= request.session_timeout <= settings.max_session_timeout


def has_room(group: Group, request: JoinGroup) -> bool:
    """Whether `group.max.size` lets it in: in a rebalance, whoever comes first."""
    most = group.settings.max_size
    member = group.member(request.member)
    if group.state in (GroupState.EMPTY, GroupState.DEAD):
        return True
    if group.state is GroupState.PREPARING_REBALANCE:
        parked = sum(m.joining is not None for m in group.members)
        return (member is not None and member.joining is not None) or parked < most
    return member is not None or len(group.members) < most


def fits(group: Group, request: JoinGroup) -> bool:
    """Whether all can still be assigned in one way: something that every member supports."""
    names = {p.name for p in request.protocols}
    if group.state is GroupState.EMPTY:
        return bool(request.protocol_type) and bool(names)
    return request.protocol_type == group.protocol_type and any(
        all(m.supports(name) for m in group.members) for name in names
    )


def new_member(request: JoinGroup, member_id: str, caller: Caller) -> GroupMember:
    """A member as its JoinGroup describes it, waiting for the answer."""
    return GroupMember(
        id=member_id,
        instance=request.instance,
        protocols=request.protocols,
        session_timeout=request.session_timeout,
        rebalance_timeout=request.rebalance_timeout,
        joining=caller,
    )


def rejoining(member: GroupMember, request: JoinGroup, caller: Caller) -> GroupMember:
    """A member with what its new JoinGroup says, waiting for the answer."""
    return evolve(
        member,
        protocols=request.protocols,
        session_timeout=request.session_timeout,
        rebalance_timeout=request.rebalance_timeout,
        joining=caller,
    )


def give_id(group: Group, request: JoinGroup, caller: Caller, new_id: str) -> Handling:
    """A first join is answered with an id, and the member joins again with it.

    So a client whose answers are lost does not fill the group with members that nobody is
    (KAFKA-7824). Old clients, and static members, are taken in at once: see `add_member`.
    """
    yield from may_join(group, request)
    given = evolve(group, pending=group.pending | {new_id})
    return Outcome(given, ((caller, Joined(Error.MEMBER_ID_REQUIRED, new_id)),))


def add_member(group: Group, request: JoinGroup, caller: Caller, member_id: str) -> Handling:
    """A new member waits with the others: a rebalance begins, or was begun already."""
    yield from may_join(group, request)
    member = new_member(request, member_id, caller)
    return prepare_or_complete(add(group, member, request.protocol_type))


def rejoin(group: Group, request: JoinGroup, caller: Caller) -> Handling:
    """A member joins again: a new round begins, unless it asks for nothing new.

    Once the rebalance it is meant for is over, a JoinGroup is a repeated one, and answered with
    the current generation. Only the leader of a stable group, which has seen that topics
    changed, and a member with another subscription begin a new one.
    """
    yield from may_join(group, request)
    member = yield from is_a_member(group, request.member, request.instance)
    waiting = group.with_member(rejoining(member, request, caller))
    completing = group.state is GroupState.COMPLETING_REBALANCE
    follows = group.state is GroupState.STABLE and member.id != group.leader
    if (completing or follows) and member.protocols == request.protocols:
        return Outcome(group, ((caller, joined(group, member)),))
    return prepare_or_complete(waiting)


def replace_member(
    group: Group,
    request: JoinGroup,
    caller: Caller,
    new_id: str,
    stays_in: Collection[GroupState] = (GroupState.STABLE,),
) -> Handling:
    """A static member came back without its id: it gets a new one, and its old self is fenced.

    It inherits assignment and leadership. A stable group stays as it is, which is what static
    members are for (KIP-345), as long as it assigns in the same way. While assignments are
    being made it must begin again: the leader assigns to the old id, and the member would get
    nothing. Before KAFKA-9801 it stayed as it was in that state, too.
    """
    yield from may_join(group, request)
    replaced, answers = with_new_id(group, request, caller, new_id)
    if group.state in stays_in and vote(replaced.members) == group.protocol:
        return keep_generation(group, replaced, answers, request, new_id)
    return Outcome(replaced, answers).then(prepare_or_complete)


def with_new_id(
    group: Group, request: JoinGroup, caller: Caller, new_id: str
) -> tuple[Group, tuple[tuple[Caller, Joined | Synced], ...]]:
    """The group with a static member's new self, and what its old self is told if it waits.

    Simplification: the new self also owes the sync that the old one owed. Kafka's Java
    coordinator leaves this debt with the old id, so that a stable group begins a round when the
    time for syncs is up, although nobody is missing.
    """
    old = group.instance(request.instance)
    assert old is not None, "who replaces a member has its instance id"
    fenced = Error.FENCED_INSTANCE_ID
    answers: list[tuple[Caller, Joined | Synced]] = []
    if old.joining is not None:
        answers.append((old.joining, Joined(fenced, old.id)))
    if old.syncing is not None:
        answers.append((old.syncing, Synced(fenced)))
    new = evolve(rejoining(old, request, caller), id=new_id, is_new=False, syncing=None)
    others = tuple(m for m in group.members if m.id != old.id)
    owes_sync = old.id in group.pending_sync
    return evolve(
        group,
        members=(*others, new),
        leader=new_id if group.leader == old.id else group.leader,
        pending_sync=group.pending_sync - {old.id} | ({new_id} if owes_sync else set()),
    ), tuple(answers)


def keep_generation(
    before: Group,
    group: Group,
    answers: tuple[tuple[Caller, Joined | Synced], ...],
    request: JoinGroup,
    member_id: str,
) -> Outcome:
    """Answer the new self at once, with the generation as it is.

    If it leads, it need not assign. One that does not understand this is told that its old self
    leads, and so does not assign either (KIP-814).
    """
    member = group.member(member_id)
    assert member is not None
    settled = group.with_member(evolve(member, joining=None))
    if request.can_skip_assignment:
        answer = joined(group, member, skip_assignment=member_id == group.leader)
    else:
        answer = joined(evolve(group, leader=before.leader), member)
    return Outcome(settled, (*answers, (member.joining, answer)), record=settled.stored())
