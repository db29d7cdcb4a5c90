"""A state of the specification from what lies on the sheet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from impl.packed.group import fields as at
from impl.packed.group.ids import ERRORS, PHASES, PROTOCOL, STATES, TYPE, Ids, bits
from spec.group.coordinator import HUNG_UP, Group, GroupMember
from spec.group.world import (
    MODEL_SETTINGS,
    NAMES,
    REBALANCE_TIMEOUT,
    SESSION_TIMEOUT,
    Consumer,
    Faults,
    Ghosts,
    World,
)
from spec.messages import (
    NO_GENERATION,
    Error,
    GroupMetadata,
    GroupState,
    Joined,
    JoinGroup,
    StoredMember,
    Synced,
    SyncGroup,
)


def world_of(ids: Ids, sheet: Sequence[int]) -> World:
    """The state that lies there."""
    consumers = []
    for number in range(ids.bounds.consumers):
        begin = at.CONSUMERS + number * at.CONSUMER_SIZE
        consumers.append(consumer_of(ids, number, sheet[begin : begin + at.CONSUMER_SIZE]))
    return World(
        group=group_of(ids, sheet),
        consumers=tuple(consumers),
        stored=stored_of(ids, sheet),
        coordinator=sheet[at.COORDINATOR],
        partitions=ids.bounds.partitions + sheet[at.GROWN],
        faults=Faults(
            crashes=sheet[at.CRASHES],
            losses=sheet[at.LOSSES],
            early=sheet[at.EARLY],
            stalls=sheet[at.STALLS],
            leaves=sheet[at.LEAVES],
        ),
        ghosts=Ghosts(sheet[at.COMMIT_BEHIND], bool(sheet[at.COMMIT_BESIDE])),
        bounds=ids.bounds,
    )


def group_of(ids: Ids, sheet: Sequence[int]) -> Group:
    """The group in memory."""
    state, previous = STATES[sheet[at.STATE]], STATES[sheet[at.PREVIOUS]]
    members = ids.lists.members(sheet[at.MEMBERS])
    untouched = state is GroupState.EMPTY and sheet[at.GENERATION] == 0
    begun = state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
    again = state is GroupState.PREPARING_REBALANCE and previous is not GroupState.EMPTY
    owing = (i for i in members if sheet[at.WAIT + i] == at.OWES_SYNC)
    return Group(
        state=state,
        previous=previous,
        generation=sheet[at.GENERATION],
        protocol_type=None if untouched or state is GroupState.DEAD else TYPE,
        protocol=PROTOCOL.name if begun or again else None,
        leader=ids.id(sheet[at.LEADER]) if members else None,
        members=tuple(member_of(ids, i, sheet[at.WAIT + i], sheet[at.GIVEN + i]) for i in members),
        pending=frozenset(map(ids.id, bits(sheet[at.PENDING]))),
        pending_sync=frozenset(map(ids.id, owing)),
        joined_meanwhile=bool(sheet[at.JOINED_MEANWHILE]),
        delay_left=sheet[at.DELAY_LEFT],
        settings=MODEL_SETTINGS,
    )


def member_of(ids: Ids, number: int, wait: int, given: int) -> GroupMember:
    """One member of the group."""
    caller = number // ids.bounds.ids
    heard = {at.JOINS: caller, at.JOINS_NEW: caller, at.SYNCS: caller}
    return GroupMember(
        id=ids.id(number),
        instance=ids.instance(number),
        protocols=(PROTOCOL,),
        session_timeout=SESSION_TIMEOUT,
        rebalance_timeout=REBALANCE_TIMEOUT,
        is_new=wait in (at.JOINS_NEW, at.NEW_UNHEARD),
        joining=heard.get(wait, HUNG_UP) if wait >= at.JOINS else None,
        syncing=heard.get(wait, HUNG_UP) if wait in (at.SYNCS, at.SYNCS_UNHEARD) else None,
        assignment=tuple(bits(given)),
    )


def stored_of(ids: Ids, sheet: Sequence[int]) -> GroupMetadata | None:
    """The group as it is stored."""
    if sheet[at.STORED_GENERATION] == 0:
        return None
    members = ids.lists.members(sheet[at.STORED_MEMBERS])
    return GroupMetadata(
        generation=sheet[at.STORED_GENERATION],
        protocol_type=TYPE,
        protocol=PROTOCOL.name if members else None,
        leader=ids.id(sheet[at.STORED_LEADER]) if members else None,
        members=tuple(
            StoredMember(
                ids.id(i),
                ids.instance(i),
                SESSION_TIMEOUT,
                REBALANCE_TIMEOUT,
                PROTOCOL.metadata,
                tuple(bits(sheet[at.STORED_GIVEN + i])),
            )
            for i in members
        ),
    )


def consumer_of(ids: Ids, number: int, f: Sequence[int]) -> Consumer:
    """One consumer."""
    held = tuple(bits(f[at.HELD]))
    generation = f[at.OF_GENERATION] or NO_GENERATION
    member = ids.nth_id(number, f[at.MEMBER])
    call: Any = None
    if f[at.CALL] == at.JOIN:
        call = join_of(ids, number, member)
    elif f[at.CALL] == at.SYNC:
        call = sync_of(ids, number, member, generation, f[at.CALL_SAYS], f[at.PLANNED] - 1)
    elif at.FOLLOWS <= f[at.CALL] < at.SYNCED:
        call = joined_of(ids, number, f)
    elif f[at.CALL] == at.SYNCED:
        call = Synced(Error.NONE, held, TYPE, PROTOCOL.name)
    elif f[at.CALL]:
        call = Synced(ERRORS[f[at.CALL] - at.SYNC_FAILS])
    late: Any = None
    late_member = ids.nth_id(number, f[at.LATE_MEMBER])
    if f[at.LATE] == at.JOIN:
        late = join_of(ids, number, late_member)
    elif f[at.LATE] == at.SYNC:
        of, grown = f[at.LATE_PLAN], f[at.LATE_GROWN]
        late = sync_of(ids, number, late_member, f[at.LATE_GENERATION], of, grown)
    planned = f[at.PLANNED]
    return Consumer(
        phase=PHASES[f[at.PHASE]],
        polls=not f[at.STALLED],
        member=member,
        generation=generation,
        owned=() if f[at.TOLD] or f[at.CALL] == at.SYNCED else held,
        told=held if f[at.TOLD] else None,
        wants_to_rejoin=bool(f[at.WANTS_TO_REJOIN]),
        planned=ids.bounds.partitions + planned - 1 if planned else 0,
        coordinator=f[at.KNOWS] - 1 if f[at.KNOWS] else None,
        call=call,
        late=late,
        beat=ERRORS[f[at.BEAT]] if f[at.BEAT] else None,
        beat_is_old=bool(f[at.BEAT_IS_OLD]),
        ids=f[at.IDS],
    )


def join_of(ids: Ids, consumer: int, member: str) -> JoinGroup:
    """A consumer's JoinGroup."""
    return JoinGroup(
        member=member,
        instance=ids.instance_of(consumer),
        protocols=(PROTOCOL,),
        protocol_type=TYPE,
        session_timeout=SESSION_TIMEOUT,
        rebalance_timeout=REBALANCE_TIMEOUT,
        client=NAMES[consumer],
    )


def sync_of(
    ids: Ids, consumer: int, member: str, generation: int, plan: int, grown: int
) -> SyncGroup:
    """A consumer's SyncGroup."""
    given = plan_of(ids, plan, grown)
    return SyncGroup(member, generation, given, instance=ids.instance_of(consumer))


def joined_of(ids: Ids, consumer: int, f: Sequence[int]) -> Joined:
    """The answer to a JoinGroup."""
    call, says = f[at.CALL], f[at.CALL_SAYS]
    member = ids.nth_id(consumer, f[at.ANSWERED_MEMBER])
    if call == at.TAKE_ID:
        return Joined(Error.MEMBER_ID_REQUIRED, member)
    if call > at.JOIN_FAILS:
        return Joined(ERRORS[call - at.JOIN_FAILS], member)
    told = ids.lists.members(says) if call in (at.LEADS, at.SKIPS) else ()
    return Joined(
        member=member,
        generation=f[at.ANSWERED_GENERATION] or NO_GENERATION,
        protocol_type=TYPE,
        protocol=PROTOCOL.name,
        leader=ids.id(says) if call == at.FOLLOWS else member,
        members=tuple((ids.id(i), ids.instance(i), PROTOCOL.metadata) for i in told),
        skip_assignment=call == at.SKIPS,
    )


def plan_of(ids: Ids, mask: int, grown: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """What the leader shared out among these members, when the topic had grown so far."""
    if not mask:
        return ()
    members = [ids.id(i) for i in bits(mask)]
    each, extra = divmod(ids.bounds.partitions + grown, len(members))
    ends = [(i + 1) * each + min(i + 1, extra) for i in range(len(members))]
    return tuple(
        (member, tuple(range(begin, end)))
        for member, begin, end in zip(members, [0, *ends], ends, strict=False)
    )
