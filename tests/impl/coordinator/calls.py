"""What can be asked of a coordinator, and the two that are asked: the specification's, and ours.

A call is a request, the end of a timer, of a write, of a connection or of an office. `Account` is
what `spec.group.coordinator` makes of calls, one after the other; `Subject` is the coordinator
that is held to it. Both tell what they hold as the specification's `Group`, in one form.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple, TypeAlias

import attrs

from impl.coordinator import GroupCoordinator, TimerKey, TimerKind
from impl.coordinator import Outcome as Came
from impl.coordinator.group import CommittedOffset, Member, Parked
from impl.coordinator.membership import Assigned
from spec.group.coordinator import HUNG_UP, Group, GroupMember, Outcome, handle, handle_unknown
from spec.group.coordinator.handling import saying
from spec.group.coordinator.loading import load, resign
from spec.group.coordinator.syncing import plan_is_stored
from spec.group.coordinator.timers import Timer, armed, fire
from spec.messages import (
    Answer,
    Error,
    Fetched,
    GroupMetadata,
    GroupState,
    Offset,
    OffsetFetch,
    Record,
    Request,
    Settings,
    SyncGroup,
)
from spec.vocabulary import TopicPartition
from tests.impl.coordinator.scene import GROUP, Armed

# -- calls ----------------------------------------------------------------------------------------


class Handle(NamedTuple):
    """A request has come."""

    caller: Hashable
    request: Request
    new_id: str
    """The id that a new member would get."""


class Fire(NamedTuple):
    """A timer goes off; nothing happens where it is not armed."""

    timer: Timer


class Store(NamedTuple):
    """The oldest write that is waited for is replicated, or cannot be."""

    error: Error = Error.NONE


class HangUp(NamedTuple):
    """A caller does not wait any more."""

    caller: Hashable


class Resign(NamedTuple):
    """Another broker coordinates from now on."""


class Load(NamedTuple):
    """A broker coordinates again, and reads what was written."""

    max_size: int | None = None
    """`group.max.size`, if it is configured differently."""


Call: TypeAlias = Handle | Fire | Store | HangUp | Resign | Load
Answers: TypeAlias = list[tuple[Hashable, Answer]]


def delivered(answers: Iterable[tuple[Hashable, Answer]]) -> Answers:
    """What is told to those who wait; in which order different callers hear it says nothing."""
    return sorted((a for a in answers if a[0] != HUNG_UP), key=repr)


def with_size(settings: Settings, load: Load) -> Settings:
    """The settings of the broker that loads the group."""
    return settings if load.max_size is None else attrs.evolve(settings, max_size=load.max_size)


# -- what is compared -----------------------------------------------------------------------------


@attrs.frozen
class Seen:
    """What a coordinator holds, in one form."""

    group: Group | None
    """Without what does not matter any more."""
    armed: frozenset[Timer]
    """Timers that are armed, and would do something."""
    stored: GroupMetadata | None
    """The last record of the group."""


def seen(group: Group | None, stored: GroupMetadata | None, timers: Iterable[Timer]) -> Seen:
    """The group, without leftovers of an initial delay, and without the plan that is written."""
    if group is None:
        return Seen(None, frozenset(timers), stored)
    waits = group.waits_initially
    plain = attrs.evolve(
        group,
        previous=GroupState.EMPTY if waits else GroupState.DEAD,
        joined_meanwhile=waits and group.joined_meanwhile,
        delay_left=group.delay_left if waits else 0,
        plan=None,
    )
    parked = {m.id for m in group.members if m.is_parked and not m.is_new}
    useful = (t for t in timers if t.kind != "member" or t.member not in parked)
    return Seen(plain, frozenset(useful), stored)


def is_elsewhere(group: Group) -> bool:
    """Whether another broker coordinates it."""
    return group.state is GroupState.DEAD


# -- by the specification -------------------------------------------------------------------------


DEFAULT = Settings()


class Write(NamedTuple):
    """The leader's assignments, while they are being written."""

    generation: int
    place: int
    """Where their record is."""


@attrs.frozen(cache_hash=True)
class Account:
    """One group and its part of the offsets topic, by the specification."""

    group: Group | None = None
    """None if nobody has heard of it; dead, if another broker coordinates it."""
    log: tuple[GroupMetadata | None, ...] = ()
    """The records of the group; None where one could not be written."""
    offsets: frozenset[tuple[TopicPartition, Offset]] = frozenset()
    writes: tuple[Write, ...] = ()
    """Assignments that are being written; the oldest comes first."""
    settings: Settings = DEFAULT

    def seen(self) -> Seen:
        """What it holds."""
        timers = armed(self.group) if self.group is not None else ()
        return seen(self.group, self.stored, timers)

    @property
    def stored(self) -> GroupMetadata | None:
        """The last record of the group that was written."""
        return next((record for record in reversed(self.log) if record is not None), None)

    def fetched(self) -> frozenset[tuple[TopicPartition, Offset]] | None:
        """What was committed, as who fetches it sees it; None from a broker that is elsewhere."""
        return None if self.group is not None and is_elsewhere(self.group) else self.offsets

    def after(self, call: Call) -> tuple[Account, Answers]:
        """What a call leads to, and who is told what."""
        match call:
            case Handle():
                return self._handle(call)
            case Store():
                if not self.writes:
                    return self, []
                return self._stores(self.writes[0], call.error)
            case Load():
                nothing = self.stored is None and not self.offsets
                settings = with_size(self.settings, call)
                group = None if nothing else load(self.stored, settings)
                return attrs.evolve(self, group=group, settings=settings), []
            case Resign():
                gone = resign(self.group or Group(settings=self.settings))
                return attrs.evolve(self, writes=())._came(gone)
        if self.group is None:
            return self, []
        if isinstance(call, HangUp):
            return attrs.evolve(self, group=self.group.hangs_up(call.caller)), []
        return self._came(fire(self.group, call.timer)) if self._fires(call.timer) else (self, [])

    def _stores(self, write: Write, error: Error) -> tuple[Account, Answers]:
        log = list(self.log)
        if error is not Error.NONE:
            log[write.place] = None
        left = attrs.evolve(self, writes=self.writes[1:], log=tuple(log))
        assert left.group is not None
        return left._came(plan_is_stored(left.group, write.generation, error))

    def _fires(self, timer: Timer) -> bool:
        return self.group is not None and timer in armed(self.group)

    def _handle(self, call: Handle) -> tuple[Account, Answers]:
        caller, request, new_id = call
        if self.group is None:
            outcome = handle_unknown(caller, request, new_id, self.settings)
            account, answers = self._came(outcome)
            unheard_of = outcome.group.state is GroupState.DEAD  # still
            return (self if unheard_of else account), answers
        if is_elsewhere(self.group):
            return self, delivered([(caller, saying(request, Error.NOT_COORDINATOR))])
        outcome = handle(self.group, caller, request, new_id)
        account, answers = self._came(outcome)
        if outcome.record is not None and isinstance(request, SyncGroup):
            write = Write(request.generation, len(self.log))
            account = attrs.evolve(account, writes=(*self.writes, write))
        return account, answers

    def _came(self, outcome: Outcome) -> tuple[Account, Answers]:
        account = attrs.evolve(
            self,
            group=outcome.group,
            log=self.log if outcome.record is None else (*self.log, outcome.record),
            offsets=frozenset((dict(self.offsets) | dict(outcome.offsets)).items()),
        )
        return account, delivered(outcome.answers)


# -- by the coordinator ---------------------------------------------------------------------------


class Subject:
    """The coordinator that is held to it, its timers, and the log that it writes."""

    def __init__(self, account: Account) -> None:
        """Bring it to where the account is."""
        self.settings = account.settings
        self.log: list[Record] = []
        self.log += [Record(GROUP, None, value) for value in account.log]
        self.log += [Record(GROUP, tp, offset) for tp, offset in account.offsets]
        self.new_id = ""
        self.writes: list[tuple[int, Record]] = []
        """Tickets of assignments that are being written, with their records."""
        self.take_office()
        self.coordinates = account.group is None or not is_elsewhere(account.group)
        if not self.coordinates:
            self.coordinator.unload()
        elif account.group is not None:
            self.bring_to(account.group, account.writes)
            for tp, offset in account.offsets:
                self.coordinator.groups[GROUP].offsets[tp] = CommittedOffset(offset, 0, 0)

    def take_office(self) -> None:
        """A broker that has nothing in memory."""
        self.armed = Armed()
        self.coordinator = GroupCoordinator(self.settings, self.armed, lambda _: self.new_id)

    def bring_to(self, group: Group, writes: tuple[Write, ...]) -> None:
        """A group as it would be after what has led to it."""
        desk = self.coordinator._desk
        held = desk.groups.get(GROUP) or desk.create(GROUP)
        for member in group.members:
            added = Member(
                member.id,
                member.instance,
                member.session_timeout,
                member.rebalance_timeout,
                member.protocols,
                desk.member_timer(held, member.id),
                member.assignment,
                member.is_new,
                join=self.park(member.joining),
                sync=self.park(member.syncing),
            )
            held.add(added, group.protocol_type or "")
        held.state, held.came_from = group.state, group.previous
        held.generation, held.leader = group.generation, group.leader
        held.protocol_type, held.protocol = group.protocol_type, group.protocol
        held.pending_joins, held.pending_syncs = set(group.pending), set(group.pending_sync)
        held.grew, held.delay_left = group.joined_meanwhile, group.delay_left
        held.delay = self.settings.initial_rebalance_delay
        for timer in armed(group):
            self.armed.schedule(key_of(timer), 0)
        plan = dict(group.plan or ())
        for write in writes:
            ticket = desk.write_and_wait(Assigned(held, write.generation, plan))
            self.writes.append((ticket, self.log[write.place]))
        desk.outcome()

    def park(self, caller: Hashable) -> Parked | None:
        """Who waits for an answer; or has waited, and hung up."""
        if caller is None:
            return None
        parked = self.coordinator._desk.park(caller)
        if caller == HUNG_UP:
            self.coordinator.forget(caller)
        return parked

    # -- what it does ---------------------------------------------------------------------------

    def do(self, call: Call) -> Answers:
        """What comes of a call."""
        match call:
            case Handle():
                return self.handle(call)
            case Fire():
                key = key_of(call.timer)
                was_armed = self.armed.pop(key, None) is not None
                return self.came(self.coordinator.fire(key)) if was_armed else []
            case Store():
                if not self.writes:
                    return []
                ticket, record = self.writes.pop(0)
                if call.error is not Error.NONE:
                    self.log = [r for r in self.log if r is not record]
                return self.came(self.coordinator.stored(ticket, call.error))
            case HangUp():
                self.coordinator.forget(call.caller)
                return []
            case Resign():
                self.coordinates = False
                self.writes.clear()
                return self.came(self.coordinator.unload())
            case Load():
                self.settings = with_size(self.settings, call)
                self.take_office()
                self.coordinates = True
                return self.came(self.coordinator.load(self.log))

    def handle(self, call: Handle) -> Answers:
        """A request; where the specification takes writing for done, it is."""
        self.new_id = call.new_id
        came = self.coordinator.handle(GROUP, call.caller, call.request)
        if call.caller == HUNG_UP:
            self.coordinator.forget(HUNG_UP)
        answers = self.came(came)
        if came.pending is None:
            return answers
        if isinstance(call.request, SyncGroup):
            self.writes.append((came.pending, self.log[-1]))
            return answers
        return delivered([*answers, *self.came(self.coordinator.stored(came.pending))])

    def came(self, outcome: Came) -> Answers:
        """Write what is to be written; who is told what."""
        self.log += outcome.records
        return delivered(outcome.answers)

    # -- what it holds --------------------------------------------------------------------------

    def seen(self) -> Seen:
        """What it holds."""
        stored = [r.value for r in self.log if r.partition is None and r.value is not None]
        timers = [Timer(key.kind.value, key.member) for key in self.armed]
        last = stored[-1] if stored else None
        assert last is None or isinstance(last, GroupMetadata)
        return seen(self.group(), last, timers)

    def group(self) -> Group | None:
        """The group, in the specification's words."""
        held = self.coordinator.groups.get(GROUP)
        if held is None:
            return None if self.coordinates else Group(state=GroupState.DEAD)
        assert held.joined == sum(m.join is not None for m in held.members.values())
        assert held.instances == {m.instance: m.id for m in held.members.values() if m.instance}
        return Group(
            state=held.state,
            previous=held.came_from,
            generation=held.generation,
            protocol_type=held.protocol_type,
            protocol=held.protocol,
            leader=held.leader,
            members=tuple(map(told, held.members.values())),
            pending=frozenset(held.pending_joins),
            pending_sync=frozenset(held.pending_syncs),
            joined_meanwhile=held.grew,
            delay_left=held.delay_left,
        )

    def fetched(self) -> frozenset[tuple[TopicPartition, Offset]] | None:
        """What was committed, as who fetches it sees it."""
        if not self.coordinates:
            return None
        [(_, fetched)] = self.coordinator.handle(GROUP, "reader", OffsetFetch()).answers
        assert isinstance(fetched, Fetched)
        return frozenset((tp, offset) for tp, offset in fetched.offsets if offset is not None)


def told(member: Member) -> GroupMember:
    """A member, in the specification's words."""
    return GroupMember(
        id=member.id,
        instance=member.instance,
        protocols=member.protocols,
        session_timeout=member.session_timeout,
        rebalance_timeout=member.rebalance_timeout,
        is_new=member.is_new,
        joining=waiting(member.join),
        syncing=waiting(member.sync),
        assignment=member.assignment,
    )


def waiting(parked: Parked | None) -> Hashable:
    """Who waits."""
    if parked is None:
        return None
    return HUNG_UP if parked.forgotten else parked.caller


def key_of(timer: Timer) -> TimerKey:
    """What the coordinator calls a timer."""
    return TimerKey(TimerKind(timer.kind), GROUP, timer.member)
