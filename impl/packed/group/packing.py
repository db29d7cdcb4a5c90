"""A state of the specification, field by field onto the sheet."""

from __future__ import annotations

from impl.packed.group import fields as at
from impl.packed.group.ids import ERRORS, PHASES, STATES, Ids, as_mask, nth
from spec.group.coordinator import HUNG_UP, Group, GroupMember
from spec.group.world import Consumer, World
from spec.messages import Error, GroupMetadata, Joined, JoinGroup, Synced, SyncGroup


def sheet_of(ids: Ids, s: World) -> list[int]:
    """The fields of a state at their places."""
    sheet = [0] * at.STATE_SIZE
    put_group(ids, s.group, sheet)
    if s.stored is not None:
        put_stored(ids, s.stored, sheet)
    faults = s.faults
    sheet[at.COORDINATOR] = s.coordinator
    sheet[at.GROWN] = s.partitions - ids.bounds.partitions
    sheet[at.CRASHES] = faults.crashes
    sheet[at.LOSSES] = faults.losses
    sheet[at.EARLY] = faults.early
    sheet[at.STALLS] = faults.stalls
    sheet[at.LEAVES] = faults.leaves
    sheet[at.COMMIT_BEHIND] = s.ghosts.commit_behind
    sheet[at.COMMIT_BESIDE] = int(s.ghosts.commit_beside)
    for number, c in enumerate(s.consumers):
        begin = at.CONSUMERS + number * at.CONSUMER_SIZE
        sheet[begin : begin + at.CONSUMER_SIZE] = consumer_fields(ids, c)
    return sheet


def put_group(ids: Ids, group: Group, sheet: list[int]) -> None:
    """Put down the group in memory."""
    sheet[at.STATE] = STATES.index(group.state)
    sheet[at.PREVIOUS] = STATES.index(group.previous)
    sheet[at.GENERATION] = group.generation
    sheet[at.LEADER] = 0 if group.leader is None else ids.number(group.leader)
    sheet[at.MEMBERS] = ids.list_of(m.id for m in group.members)
    sheet[at.PENDING] = ids.mask(group.pending)
    sheet[at.JOINED_MEANWHILE] = int(group.joined_meanwhile)
    sheet[at.DELAY_LEFT] = group.delay_left
    for m in group.members:
        number = ids.number(m.id)
        sheet[at.WAIT + number] = wait_of(m, m.id in group.pending_sync)
        sheet[at.GIVEN + number] = as_mask(m.assignment)


def put_stored(ids: Ids, stored: GroupMetadata, sheet: list[int]) -> None:
    """Put down the group as it is stored."""
    sheet[at.STORED_GENERATION] = stored.generation
    sheet[at.STORED_LEADER] = 0 if stored.leader is None else ids.number(stored.leader)
    sheet[at.STORED_MEMBERS] = ids.list_of(m.id for m in stored.members)
    for m in stored.members:
        sheet[at.STORED_GIVEN + ids.number(m.id)] = as_mask(m.assignment)


def consumer_fields(ids: Ids, c: Consumer) -> list[int]:
    """The fields of one consumer."""
    f = [0] * at.CONSUMER_SIZE
    f[at.PHASE] = PHASES.index(c.phase)
    f[at.STALLED] = int(not c.polls)
    f[at.MEMBER] = nth(c.member)
    f[at.OF_GENERATION] = max(c.generation, 0)
    f[at.HELD] = as_mask(c.owned if c.told is None else c.told)
    f[at.TOLD] = int(c.told is not None)
    f[at.WANTS_TO_REJOIN] = int(c.wants_to_rejoin)
    f[at.PLANNED] = planned(ids, c.planned)
    f[at.KNOWS] = 0 if c.coordinator is None else c.coordinator + 1
    match c.call:
        case JoinGroup():
            f[at.CALL] = at.JOIN
        case SyncGroup():
            f[at.CALL] = at.SYNC
            f[at.CALL_SAYS] = ids.mask(member for member, _ in c.call.assignments)
        case Joined():
            put_joined(ids, c.call, f)
        case Synced(error=Error.NONE):
            f[at.CALL] = at.SYNCED
            f[at.HELD] = as_mask(c.call.assignment)
        case Synced():
            f[at.CALL] = at.SYNC_FAILS + ERRORS.index(c.call.error)
    match c.late:
        case JoinGroup():
            f[at.LATE] = at.JOIN
            f[at.LATE_MEMBER] = nth(c.late.member)
        case SyncGroup():
            f[at.LATE] = at.SYNC
            f[at.LATE_MEMBER] = nth(c.late.member)
            f[at.LATE_GENERATION] = c.late.generation
            f[at.LATE_PLAN] = ids.mask(member for member, _ in c.late.assignments)
            given = sum(len(p) for _, p in c.late.assignments)  # type: ignore[arg-type, misc]
            f[at.LATE_GROWN] = max(planned(ids, given) - 1, 0)
    f[at.BEAT] = 0 if c.beat is None else ERRORS.index(c.beat)
    f[at.BEAT_IS_OLD] = int(c.beat_is_old)
    f[at.IDS] = c.ids
    return f


def put_joined(ids: Ids, answer: Joined, f: list[int]) -> None:
    """Put down the answer to a JoinGroup."""
    f[at.ANSWERED_MEMBER] = nth(answer.member)
    f[at.ANSWERED_GENERATION] = max(answer.generation, 0)
    if answer.error is Error.MEMBER_ID_REQUIRED:
        f[at.CALL] = at.TAKE_ID
    elif answer.error is not Error.NONE:
        f[at.CALL] = at.JOIN_FAILS + ERRORS.index(answer.error)
    elif answer.leader != answer.member:
        f[at.CALL] = at.FOLLOWS
        f[at.CALL_SAYS] = ids.number(answer.leader)
    else:
        f[at.CALL] = at.SKIPS if answer.skip_assignment else at.LEADS
        f[at.CALL_SAYS] = ids.list_of(member for member, _, _ in answer.members)


def planned(ids: Ids, partitions: int) -> int:
    """How far the topic had grown when so many partitions were shared out, and one."""
    return partitions - ids.bounds.partitions + 1 if partitions else 0


def wait_of(m: GroupMember, owes_sync: bool) -> int:
    """What a member waits for, or is waited for."""
    if m.joining is not None:
        unheard = m.joining == HUNG_UP
        return (at.JOINS_NEW if m.is_new else at.JOINS) + unheard
    if m.syncing is not None:
        return at.SYNCS + (m.syncing == HUNG_UP)
    return at.OWES_SYNC if owes_sync else at.AT_REST
