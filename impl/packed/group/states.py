"""States of the specification to words, and back.

Less is laid out than a state says, since some of it follows from the rest:

- What a member is configured with, and the instance of a static one, follow from its consumer.
- Who waits for the answer to a member's request is its consumer, or nobody.
- A group has a protocol type once somebody joined, and a protocol while it has a generation.
- A request on its way has the sender's member id and generation, and what a plan says follows
  from who is in it and how many partitions there were.
- A consumer owns partitions, or was told of some, or is about to hear of some: one of these.

`pack` refuses a state of which this is not true.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from impl.packed.group import fields as at
from impl.packed.group.lists import Lists
from impl.packed.layout import WORD_BITS, Layout, LayoutError, layout
from spec.group.coordinator import HUNG_UP, Group, GroupMember
from spec.group.world import (
    MODEL_SETTINGS,
    NAMES,
    REBALANCE_TIMEOUT,
    SESSION_TIMEOUT,
    Bounds,
    Consumer,
    Faults,
    Ghosts,
    Phase,
    World,
)
from spec.messages import (
    NO_GENERATION,
    NOBODY,
    Error,
    GroupMetadata,
    GroupState,
    Joined,
    JoinGroup,
    Protocol,
    StoredMember,
    Synced,
    SyncGroup,
)

STATES = tuple(GroupState)
PHASES = tuple(Phase)
ERRORS = (
    Error.NONE,
    Error.UNKNOWN_MEMBER_ID,
    Error.ILLEGAL_GENERATION,
    Error.FENCED_INSTANCE_ID,
    Error.NOT_COORDINATOR,
    Error.REBALANCE_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
)
PROTOCOL = Protocol("range", ())
TYPE = "consumer"

# -- the layout -------------------------------------------------------------------------------


def values_by_place(bounds: Bounds, lists: int) -> dict[int, tuple[str, int]]:
    """By place on the sheet: the field's name, and how many values it may have."""
    ids = range(bounds.consumers * bounds.ids)
    generations = bounds.generations + 1
    assignments = 1 << bounds.partitions + bounds.growths
    masks = 1 << len(ids)
    places = {
        at.STATE: ("state", len(STATES)),
        at.PREVIOUS: ("previous", len(STATES)),
        at.GENERATION: ("generation", generations),
        at.LEADER: ("leader", len(ids)),
        at.MEMBERS: ("members", lists),
        at.PENDING: ("pending", masks),
        at.JOINED_MEANWHILE: ("joined_meanwhile", 2),
        at.DELAY_LEFT: ("delay_left", REBALANCE_TIMEOUT),
        **{at.WAIT + i: (f"wait of {i}", 8) for i in ids},
        **{at.GIVEN + i: (f"given to {i}", assignments) for i in ids},
        at.STORED_GENERATION: ("stored generation", generations),
        at.STORED_LEADER: ("stored leader", len(ids)),
        at.STORED_MEMBERS: ("stored members", lists),
        **{at.STORED_GIVEN + i: (f"stored for {i}", assignments) for i in ids},
        at.COORDINATOR: ("coordinator", bounds.failovers + 1),
        at.GROWN: ("grown", bounds.growths + 1),
        at.CRASHES: ("crashes", bounds.crashes + 1),
        at.LOSSES: ("losses", bounds.losses + 1),
        at.EARLY: ("early", bounds.early + 1),
        at.STALLS: ("stalls", bounds.stalls + 1),
        at.LEAVES: ("leaves", bounds.leaves + 1),
        at.COMMIT_BEHIND: ("commit_behind", generations + 1),
        at.COMMIT_BESIDE: ("commit_beside", 2),
    }
    consumer = {
        at.PHASE: ("phase", len(PHASES)),
        at.STALLED: ("stalled", min(bounds.stalls, 1) + 1),
        at.MEMBER: ("member", bounds.ids + 1),
        at.OF_GENERATION: ("generation", generations),
        at.HELD: ("held", assignments),
        at.TOLD: ("told", 2),
        at.WANTS_TO_REJOIN: ("wants_to_rejoin", 2),
        at.PLANNED: ("planned", bounds.growths + 2),
        at.KNOWS: ("coordinator", bounds.failovers + 2),
        at.CALL: ("call", at.CALLS),
        at.ANSWERED_MEMBER: ("member answered", bounds.ids + 1),
        at.ANSWERED_GENERATION: ("generation answered", generations),
        at.CALL_SAYS: ("call says", max(lists, masks)),
        at.LATE: ("late", 3),
        at.LATE_MEMBER: ("late member", bounds.ids + 1),
        at.LATE_GENERATION: ("late generation", generations),
        at.LATE_PLAN: ("late plan", masks),
        at.LATE_GROWN: ("late grown", bounds.growths + 1),
        at.BEAT: ("beat", at.ERRORS),
        at.BEAT_IS_OLD: ("beat_is_old", 2),
        at.IDS: ("ids", bounds.ids + 1),
    }
    for c in range(bounds.consumers):
        for place, (name, values) in consumer.items():
            places[at.CONSUMERS + c * at.CONSUMER_SIZE + place] = f"{name} of {NAMES[c]}", values
    return places


def group_layout(bounds: Bounds) -> tuple[Layout, dict[str, int]]:
    """As many words as it takes, the fields in their order on the sheet; and each one's place."""
    ids = bounds.consumers * bounds.ids
    if ids > at.MOST_MEMBERS:
        raise LayoutError(f"there are {ids} member ids, {at.MOST_MEMBERS} at most")
    blocks: dict[int, list[tuple[str, int, int]]] = {}
    places = {}
    for place, (name, values) in values_by_place(bounds, Lists(ids).count).items():
        blocks.setdefault(place // at.BLOCK, []).append((name, values, 1))
        places[name] = place
    words: list[list[tuple[str, int, int]]] = [[]]
    used = 0
    for block in blocks.values():
        width = sum((values - 1).bit_length() for _, values, _ in block)
        if used + width > WORD_BITS:
            words.append([])
            used = 0
        words[-1] += block
        used += width
    return layout(*words), places


# -- to the sheet, and back -------------------------------------------------------------------


@attrs.frozen
class Packing:
    """How states of some bounds are packed and unpacked."""

    bounds: Bounds
    layout: Layout
    places: dict[str, int]
    lists: Lists

    @classmethod
    def of(cls, bounds: Bounds) -> Packing:
        """For these bounds; LayoutError where they have no room."""
        words, places = group_layout(bounds)
        return cls(bounds, words, places, Lists(bounds.consumers * bounds.ids))

    def pack(self, s: World) -> tuple[int, ...]:
        """The words of a state."""
        try:
            sheet = self.sheet_of(s)
            words = self.layout.pack({name: [sheet[p]] for name, p in self.places.items()})
            same = self.unpack(words) == s
        except (ValueError, LookupError) as error:
            raise LayoutError(f"no rules lead to this state, so it has no words: {s}") from error
        if not same:
            raise LayoutError(f"no rules lead to this state, so it has no words: {s}")
        return words

    def unpack(self, words: Sequence[int]) -> World:
        """The state that these words stand for."""
        values = self.layout.unpack(words)
        sheet = [0] * at.STATE_SIZE
        for name, place in self.places.items():
            sheet[place] = values[name][0]
        return self.world_of(sheet)

    # -- ids, masks and plans -----------------------------------------------------------------

    @property
    def ids(self) -> int:
        """How many member ids there are."""
        return self.bounds.consumers * self.bounds.ids

    def number(self, member_id: str) -> int:
        """The number of a member id."""
        return NAMES.index(member_id[0]) * self.bounds.ids + int(member_id[1:]) - 1

    def id(self, number: int) -> str:
        """The member id of that number."""
        consumer, nth = divmod(number, self.bounds.ids)
        return f"{NAMES[consumer]}{nth + 1}"

    def instance(self, number: int) -> str | None:
        """The instance id of the member of that number, if it is static."""
        return self.instance_of(number // self.bounds.ids)

    def instance_of(self, consumer: int) -> str | None:
        """The instance id of a consumer, if it is static."""
        return f"{NAMES[consumer]}-static" if consumer < self.bounds.static else None

    def nth_id(self, consumer: int, nth: int) -> str:
        """A consumer's id, counted from 1; 0 is none."""
        return f"{NAMES[consumer]}{nth}" if nth else NOBODY

    def mask(self, member_ids: Iterable[str]) -> int:
        """A set of member ids."""
        return sum(1 << self.number(m) for m in set(member_ids))

    def list_of(self, member_ids: Iterable[str]) -> int:
        """The number of a list of members."""
        return self.lists.number(map(self.number, member_ids))

    def plan(self, mask: int, grown: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """What the leader shared out among these members, when the topic had grown so far."""
        if not mask:
            return ()
        ids = [self.id(i) for i in bits(mask)]
        each, extra = divmod(self.bounds.partitions + grown, len(ids))
        ends = [(i + 1) * each + min(i + 1, extra) for i in range(len(ids))]
        return tuple(
            (member, tuple(range(begin, end)))
            for member, begin, end in zip(ids, [0, *ends], ends, strict=False)
        )

    # -- a state onto the sheet ---------------------------------------------------------------

    def sheet_of(self, s: World) -> list[int]:
        """The fields of a state at their places."""
        sheet = [0] * at.STATE_SIZE
        self.put_group(s.group, sheet)
        if s.stored is not None:
            self.put_stored(s.stored, sheet)
        faults = s.faults
        sheet[at.COORDINATOR] = s.coordinator
        sheet[at.GROWN] = s.partitions - self.bounds.partitions
        sheet[at.CRASHES] = faults.crashes
        sheet[at.LOSSES] = faults.losses
        sheet[at.EARLY] = faults.early
        sheet[at.STALLS] = faults.stalls
        sheet[at.LEAVES] = faults.leaves
        sheet[at.COMMIT_BEHIND] = s.ghosts.commit_behind
        sheet[at.COMMIT_BESIDE] = int(s.ghosts.commit_beside)
        for number, c in enumerate(s.consumers):
            begin = at.CONSUMERS + number * at.CONSUMER_SIZE
            sheet[begin : begin + at.CONSUMER_SIZE] = self.consumer_fields(c)
        return sheet

    def put_group(self, group: Group, sheet: list[int]) -> None:
        """Put down the group in memory."""
        sheet[at.STATE] = STATES.index(group.state)
        sheet[at.PREVIOUS] = STATES.index(group.previous)
        sheet[at.GENERATION] = group.generation
        sheet[at.LEADER] = 0 if group.leader is None else self.number(group.leader)
        sheet[at.MEMBERS] = self.list_of(m.id for m in group.members)
        sheet[at.PENDING] = self.mask(group.pending)
        sheet[at.JOINED_MEANWHILE] = int(group.joined_meanwhile)
        sheet[at.DELAY_LEFT] = group.delay_left
        for m in group.members:
            number = self.number(m.id)
            sheet[at.WAIT + number] = wait_of(m, m.id in group.pending_sync)
            sheet[at.GIVEN + number] = as_mask(m.assignment)

    def put_stored(self, stored: GroupMetadata, sheet: list[int]) -> None:
        """Put down the group as it is stored."""
        sheet[at.STORED_GENERATION] = stored.generation
        sheet[at.STORED_LEADER] = 0 if stored.leader is None else self.number(stored.leader)
        sheet[at.STORED_MEMBERS] = self.list_of(m.id for m in stored.members)
        for m in stored.members:
            sheet[at.STORED_GIVEN + self.number(m.id)] = as_mask(m.assignment)

    def consumer_fields(self, c: Consumer) -> list[int]:
        """The fields of one consumer."""
        f = [0] * at.CONSUMER_SIZE
        f[at.PHASE] = PHASES.index(c.phase)
        f[at.STALLED] = int(not c.polls)
        f[at.MEMBER] = nth(c.member)
        f[at.OF_GENERATION] = max(c.generation, 0)
        f[at.HELD] = as_mask(c.owned if c.told is None else c.told)
        f[at.TOLD] = int(c.told is not None)
        f[at.WANTS_TO_REJOIN] = int(c.wants_to_rejoin)
        f[at.PLANNED] = self.planned(c.planned)
        f[at.KNOWS] = 0 if c.coordinator is None else c.coordinator + 1
        match c.call:
            case JoinGroup():
                f[at.CALL] = at.JOIN
            case SyncGroup():
                f[at.CALL] = at.SYNC
                f[at.CALL_SAYS] = self.mask(member for member, _ in c.call.assignments)
            case Joined():
                self.put_joined(c.call, f)
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
                f[at.LATE_PLAN] = self.mask(member for member, _ in c.late.assignments)
                given = sum(len(p) for _, p in c.late.assignments)  # type: ignore[arg-type, misc]
                f[at.LATE_GROWN] = max(self.planned(given) - 1, 0)
        f[at.BEAT] = 0 if c.beat is None else ERRORS.index(c.beat)
        f[at.BEAT_IS_OLD] = int(c.beat_is_old)
        f[at.IDS] = c.ids
        return f

    def put_joined(self, answer: Joined, f: list[int]) -> None:
        """Put down the answer to a JoinGroup."""
        f[at.ANSWERED_MEMBER] = nth(answer.member)
        f[at.ANSWERED_GENERATION] = max(answer.generation, 0)
        if answer.error is Error.MEMBER_ID_REQUIRED:
            f[at.CALL] = at.TAKE_ID
        elif answer.error is not Error.NONE:
            f[at.CALL] = at.JOIN_FAILS + ERRORS.index(answer.error)
        elif answer.leader != answer.member:
            f[at.CALL] = at.FOLLOWS
            f[at.CALL_SAYS] = self.number(answer.leader)
        else:
            f[at.CALL] = at.SKIPS if answer.skip_assignment else at.LEADS
            f[at.CALL_SAYS] = self.list_of(member for member, _, _ in answer.members)

    def planned(self, partitions: int) -> int:
        """How far the topic had grown when so many partitions were shared out, and one."""
        return partitions - self.bounds.partitions + 1 if partitions else 0

    # -- a state from the sheet ---------------------------------------------------------------

    def world_of(self, sheet: Sequence[int]) -> World:
        """The state that lies there."""
        consumers = []
        for number in range(self.bounds.consumers):
            begin = at.CONSUMERS + number * at.CONSUMER_SIZE
            consumers.append(self.consumer_of(number, sheet[begin : begin + at.CONSUMER_SIZE]))
        return World(
            group=self.group_of(sheet),
            consumers=tuple(consumers),
            stored=self.stored_of(sheet),
            coordinator=sheet[at.COORDINATOR],
            partitions=self.bounds.partitions + sheet[at.GROWN],
            faults=Faults(
                crashes=sheet[at.CRASHES],
                losses=sheet[at.LOSSES],
                early=sheet[at.EARLY],
                stalls=sheet[at.STALLS],
                leaves=sheet[at.LEAVES],
            ),
            ghosts=Ghosts(sheet[at.COMMIT_BEHIND], bool(sheet[at.COMMIT_BESIDE])),
            bounds=self.bounds,
        )

    def group_of(self, sheet: Sequence[int]) -> Group:
        """The group in memory."""
        state, previous = STATES[sheet[at.STATE]], STATES[sheet[at.PREVIOUS]]
        members = self.lists.members(sheet[at.MEMBERS])
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
            leader=self.id(sheet[at.LEADER]) if members else None,
            members=tuple(
                self.member_of(i, sheet[at.WAIT + i], sheet[at.GIVEN + i]) for i in members
            ),
            pending=frozenset(map(self.id, bits(sheet[at.PENDING]))),
            pending_sync=frozenset(map(self.id, owing)),
            joined_meanwhile=bool(sheet[at.JOINED_MEANWHILE]),
            delay_left=sheet[at.DELAY_LEFT],
            settings=MODEL_SETTINGS,
        )

    def member_of(self, number: int, wait: int, given: int) -> GroupMember:
        """One member of the group."""
        caller = number // self.bounds.ids
        heard = {at.JOINS: caller, at.JOINS_NEW: caller, at.SYNCS: caller}
        return GroupMember(
            id=self.id(number),
            instance=self.instance(number),
            protocols=(PROTOCOL,),
            session_timeout=SESSION_TIMEOUT,
            rebalance_timeout=REBALANCE_TIMEOUT,
            is_new=wait in (at.JOINS_NEW, at.NEW_UNHEARD),
            joining=heard.get(wait, HUNG_UP) if wait >= at.JOINS else None,
            syncing=heard.get(wait, HUNG_UP) if wait in (at.SYNCS, at.SYNCS_UNHEARD) else None,
            assignment=tuple(bits(given)),
        )

    def stored_of(self, sheet: Sequence[int]) -> GroupMetadata | None:
        """The group as it is stored."""
        if sheet[at.STORED_GENERATION] == 0:
            return None
        members = self.lists.members(sheet[at.STORED_MEMBERS])
        return GroupMetadata(
            generation=sheet[at.STORED_GENERATION],
            protocol_type=TYPE,
            protocol=PROTOCOL.name if members else None,
            leader=self.id(sheet[at.STORED_LEADER]) if members else None,
            members=tuple(
                StoredMember(
                    self.id(i),
                    self.instance(i),
                    SESSION_TIMEOUT,
                    REBALANCE_TIMEOUT,
                    PROTOCOL.metadata,
                    tuple(bits(sheet[at.STORED_GIVEN + i])),
                )
                for i in members
            ),
        )

    def consumer_of(self, number: int, f: Sequence[int]) -> Consumer:
        """One consumer."""
        held = tuple(bits(f[at.HELD]))
        generation = f[at.OF_GENERATION] or NO_GENERATION
        member = self.nth_id(number, f[at.MEMBER])
        call: Any = None
        if f[at.CALL] == at.JOIN:
            call = self.join(number, member)
        elif f[at.CALL] == at.SYNC:
            call = self.sync(number, member, generation, f[at.CALL_SAYS], f[at.PLANNED] - 1)
        elif at.FOLLOWS <= f[at.CALL] < at.SYNCED:
            call = self.joined_of(number, f)
        elif f[at.CALL] == at.SYNCED:
            call = Synced(Error.NONE, held, TYPE, PROTOCOL.name)
        elif f[at.CALL]:
            call = Synced(ERRORS[f[at.CALL] - at.SYNC_FAILS])
        late: Any = None
        late_member = self.nth_id(number, f[at.LATE_MEMBER])
        if f[at.LATE] == at.JOIN:
            late = self.join(number, late_member)
        elif f[at.LATE] == at.SYNC:
            of, grown = f[at.LATE_PLAN], f[at.LATE_GROWN]
            late = self.sync(number, late_member, f[at.LATE_GENERATION], of, grown)
        planned = f[at.PLANNED]
        return Consumer(
            phase=PHASES[f[at.PHASE]],
            polls=not f[at.STALLED],
            member=member,
            generation=generation,
            owned=() if f[at.TOLD] or f[at.CALL] == at.SYNCED else held,
            told=held if f[at.TOLD] else None,
            wants_to_rejoin=bool(f[at.WANTS_TO_REJOIN]),
            planned=self.bounds.partitions + planned - 1 if planned else 0,
            coordinator=f[at.KNOWS] - 1 if f[at.KNOWS] else None,
            call=call,
            late=late,
            beat=ERRORS[f[at.BEAT]] if f[at.BEAT] else None,
            beat_is_old=bool(f[at.BEAT_IS_OLD]),
            ids=f[at.IDS],
        )

    def join(self, consumer: int, member: str) -> JoinGroup:
        """A consumer's JoinGroup."""
        return JoinGroup(
            member=member,
            instance=self.instance_of(consumer),
            protocols=(PROTOCOL,),
            protocol_type=TYPE,
            session_timeout=SESSION_TIMEOUT,
            rebalance_timeout=REBALANCE_TIMEOUT,
            client=NAMES[consumer],
        )

    def sync(self, consumer: int, member: str, generation: int, plan: int, grown: int) -> SyncGroup:
        """A consumer's SyncGroup."""
        given = self.plan(plan, grown)
        return SyncGroup(member, generation, given, instance=self.instance_of(consumer))

    def joined_of(self, consumer: int, f: Sequence[int]) -> Joined:
        """The answer to a JoinGroup."""
        call, says = f[at.CALL], f[at.CALL_SAYS]
        member = self.nth_id(consumer, f[at.ANSWERED_MEMBER])
        if call == at.TAKE_ID:
            return Joined(Error.MEMBER_ID_REQUIRED, member)
        if call > at.JOIN_FAILS:
            return Joined(ERRORS[call - at.JOIN_FAILS], member)
        told = self.lists.members(says) if call in (at.LEADS, at.SKIPS) else ()
        return Joined(
            member=member,
            generation=f[at.ANSWERED_GENERATION] or NO_GENERATION,
            protocol_type=TYPE,
            protocol=PROTOCOL.name,
            leader=self.id(says) if call == at.FOLLOWS else member,
            members=tuple((self.id(i), self.instance(i), PROTOCOL.metadata) for i in told),
            skip_assignment=call == at.SKIPS,
        )


def bits(mask: int) -> list[int]:
    """The numbers in a mask."""
    return [k for k in range(mask.bit_length()) if mask >> k & 1]


def as_mask(partitions: Any) -> int:
    """A set of partitions as a mask."""
    return sum(1 << p for p in partitions)


def nth(member_id: str) -> int:
    """Which of its consumer's ids this is, from 1; 0 for none."""
    return int(member_id[1:]) if member_id else 0


def wait_of(m: GroupMember, owes_sync: bool) -> int:
    """What a member waits for, or is waited for."""
    if m.joining is not None:
        unheard = m.joining == HUNG_UP
        return (at.JOINS_NEW if m.is_new else at.JOINS) + unheard
    if m.syncing is not None:
        return at.SYNCS + (m.syncing == HUNG_UP)
    return at.OWES_SYNC if owes_sync else at.AT_REST
