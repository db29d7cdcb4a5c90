"""The calls that a coordinator can receive, and the two coordinators that receive them.

A call is a request, an expired timer, a completed write, a disconnection or a failover. `Account`
answers calls by `spec.coordinator`; `Subject` is the coordinator of `impl.coordinator`. Both show
their state as the specification's `Group`, in a common form.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple, TypeAlias

import attrs

from kspec.impl.coordinator import GroupCoordinator, TimerKey, TimerKind
from kspec.impl.coordinator import Outcome as Came
from kspec.impl.coordinator.joining import ReplacementWrite
from kspec.impl.coordinator.membership import AssignmentsWrite
from kspec.impl.coordinator.state import CommittedOffset, Member, Parked
from kspec.impl.coordinator.state import Group as Held
from kspec.spec.coordinator import (
    DISCONNECTED,
    Group,
    GroupMember,
    Outcome,
    refuse,
)
from kspec.spec.coordinator.failover import load, unload
from kspec.spec.coordinator.followed import Followed, committed_after, write_outcome
from kspec.spec.coordinator.followed import Write as Awaited
from kspec.spec.coordinator.sessions import Timer, armed, fire
from kspec.spec.coordinator.state import Replacement
from kspec.spec.messages import (
    NO_MEMBER_ID,
    Error,
    GroupMetadata,
    GroupState,
    JoinGroup,
    Offset,
    OffsetCommit,
    OffsetFetch,
    OffsetFetchResponse,
    OffsetsTopicRecord,
    Request,
    Response,
    Settings,
    SyncGroup,
)
from kspec.spec.vocabulary import TopicPartition
from tests.impl.coordinator.scene import GROUP, Armed

# -- calls ----------------------------------------------------------------------------------------


class Handle(NamedTuple):
    """A request arrives."""

    caller: Hashable
    request: Request
    new_id: str
    """The id that a new member would be issued."""


class Fire(NamedTuple):
    """A timer expires; without effect if it is not armed."""

    timer: Timer


class Store(NamedTuple):
    """The oldest write in progress completes, or fails."""

    error: Error = Error.NONE


class Disconnect(NamedTuple):
    """A caller disconnects."""

    caller: Hashable


class Unload(NamedTuple):
    """Another broker becomes the coordinator."""


class Load(NamedTuple):
    """A broker becomes the coordinator and loads the group."""

    max_size: int | None = None
    """The broker's `group.max.size`, if it differs."""


Call: TypeAlias = Handle | Fire | Store | Disconnect | Unload | Load
Answers: TypeAlias = list[tuple[Hashable, Response]]


def delivered(answers: Iterable[tuple[Hashable, Response]]) -> Answers:
    """The responses to connected callers, in a fixed order: Kafka's order means nothing."""
    return sorted((a for a in answers if a[0] != DISCONNECTED), key=repr)


def with_size(settings: Settings, load: Load) -> Settings:
    """The settings of the broker that loads the group."""
    return settings if load.max_size is None else attrs.evolve(settings, max_size=load.max_size)


# -- what is compared -----------------------------------------------------------------------------


@attrs.frozen
class Seen:
    """A coordinator's state, in a common form."""

    group: Group | None
    """The group, without fields that no longer matter."""
    armed: frozenset[Timer]
    """The timers that are armed and would have an effect."""
    stored: GroupMetadata | None
    """The latest record of the group."""


def seen(group: Group | None, stored: GroupMetadata | None, timers: Iterable[Timer]) -> Seen:
    """The common form: without leftovers of an initial delay, and without unstored assignments.

    Only the mark of a new member may matter longer (`Settings.new_member_mark_lasts`).
    """
    if group is None:
        return Seen(None, frozenset(timers), stored)
    waits = group.in_initial_delay
    marks = waits or group.settings.new_member_mark_lasts
    plain = attrs.evolve(
        group,
        previous_state=GroupState.EMPTY if waits else GroupState.DEAD,
        new_member_added=marks and group.new_member_added,
        remaining_delay=group.remaining_delay if waits else 0,
        unstored=None,
    )
    parked = {m.id for m in group.members if m.is_parked and not m.is_new}
    useful = (t for t in timers if t.kind != "session" or t.member not in parked)
    return Seen(plain, frozenset(useful), stored)


def is_unloaded(group: Group) -> bool:
    """Whether another broker coordinates the group."""
    return group.state is GroupState.DEAD


# -- by the specification -------------------------------------------------------------------------


DEFAULT = Settings()


class Write(NamedTuple):
    """A write in progress that the coordinator awaits."""

    awaited: Awaited
    """The generation whose assignments are written, or the static member's new id."""
    place: int
    """The index of their record in the log."""


@attrs.frozen(cache_hash=True)
class Account:
    """The specification's state: one group and its records in the offsets topic."""

    group: Group | None = None
    """None if it is unknown; dead if another broker coordinates it."""
    log: tuple[GroupMetadata | None, ...] = ()
    """The records of the group; None where a write failed."""
    offsets: tuple[tuple[TopicPartition, Offset], ...] = ()
    writes: tuple[Write, ...] = ()
    """The writes in progress that the coordinator awaits, oldest first."""
    settings: Settings = DEFAULT

    def seen(self) -> Seen:
        """Its state in the common form."""
        timers = armed(self.group) if self.group is not None else ()
        return seen(self.group, self.stored, timers)

    @property
    def stored(self) -> GroupMetadata | None:
        """The latest record of the group."""
        return next((record for record in reversed(self.log) if record is not None), None)

    def fetched(self) -> frozenset[tuple[TopicPartition, Offset]] | None:
        """The committed offsets as a fetch returns them; None while unloaded."""
        unloaded = self.group is not None and is_unloaded(self.group)
        return None if unloaded else frozenset(self.offsets)

    def after(self, call: Call) -> tuple[Account, Answers]:
        """The state after a call, and the responses."""
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
            case Unload():
                gone = unload(self.group or Group(settings=self.settings))
                return attrs.evolve(self, writes=())._came(gone)
        if self.group is None:
            return self, []
        if isinstance(call, Disconnect):
            return attrs.evolve(self, group=self.group.disconnect(call.caller)), []
        return self._came(fire(self.group, call.timer)) if self._fires(call.timer) else (self, [])

    def _stores(self, write: Write, error: Error) -> tuple[Account, Answers]:
        log = list(self.log)
        if error is not Error.NONE:
            log[write.place] = None
        left = attrs.evolve(self, writes=self.writes[1:], log=tuple(log))
        assert left.group is not None
        return left._came(write_outcome(left.group, write.awaited, error))

    def _fires(self, timer: Timer) -> bool:
        return self.group is not None and timer in armed(self.group)

    def _handle(self, call: Handle) -> tuple[Account, Answers]:
        caller, request, new_id = call
        if self.group is not None and is_unloaded(self.group):
            refused = refuse(request, Error.NOT_COORDINATOR, self.settings)
            return self, delivered([(caller, refused)])
        unknown = Group(state=GroupState.DEAD, settings=self.settings)
        outcome = Followed(self.group or unknown).handle(caller, request, new_id)
        if outcome.group.state is GroupState.DEAD:
            return self, delivered(outcome.responses)
        account, answers = self._came(outcome)
        awaited: Awaited | None = outcome.replacement
        if outcome.record is not None and isinstance(request, SyncGroup):
            awaited = request.generation
        if awaited is not None:
            write = Write(awaited, len(self.log))
            account = attrs.evolve(account, writes=(*self.writes, write))
        return account, answers

    def _came(self, outcome: Outcome) -> tuple[Account, Answers]:
        account = attrs.evolve(
            self,
            group=outcome.group,
            log=self.log if outcome.record is None else (*self.log, outcome.record),
            offsets=committed_after(self.offsets, outcome),
        )
        return account, delivered(outcome.responses)


# -- by the coordinator ---------------------------------------------------------------------------


class Subject:
    """The coordinator under test, its timers, and the log that it writes."""

    def __init__(self, account: Account) -> None:
        """Bring the coordinator into the account's state."""
        self.settings = account.settings
        self.log: list[OffsetsTopicRecord] = []
        self.log += [OffsetsTopicRecord(GROUP, None, value) for value in account.log]
        self.log += [OffsetsTopicRecord(GROUP, tp, offset) for tp, offset in account.offsets]
        self.new_id = ""
        self.writes: list[tuple[int, OffsetsTopicRecord]] = []
        """The tickets of writes in progress, with their records."""
        self.start()
        self.coordinates = account.group is None or not is_unloaded(account.group)
        if not self.coordinates:
            self.coordinator.unload()
        elif account.group is not None:
            self.bring_to(account.group, account.writes)
            for tp, offset in account.offsets:
                self.coordinator.groups[GROUP].offsets[tp] = CommittedOffset(offset, 0, 0)

    def start(self) -> None:
        """Start a broker with nothing in memory."""
        self.armed = Armed()
        self.coordinator = GroupCoordinator(self.settings, self.armed, lambda _: self.new_id)

    def bring_to(self, group: Group, writes: tuple[Write, ...]) -> None:
        """Bring the group into this state."""
        shard = self.coordinator._shard
        held = shard.groups.get(GROUP) or shard.create(GROUP)
        for member in group.members:
            held.add(self.member(held, member), group.protocol_type or "")
        held.state, held.previous_state = group.state, group.previous_state
        held.generation, held.leader = group.generation, group.leader
        held.protocol_type, held.protocol = group.protocol_type, group.protocol
        held.pending_joins, held.pending_syncs = set(group.pending), set(group.pending_sync)
        held.new_member_added, held.remaining_delay = group.new_member_added, group.remaining_delay
        held.delay = self.settings.initial_rebalance_delay
        for timer in armed(group):
            self.armed.schedule(key_of(timer), 0)
        plan = dict(group.unstored or ())
        for write in writes:
            waiting: AssignmentsWrite | ReplacementWrite
            if isinstance(write.awaited, Replacement):
                waiting = self.replacement(held, write.awaited)
            else:
                waiting = AssignmentsWrite(held, write.awaited, plan)
            ticket = shard.write_and_wait(waiting)
            self.writes.append((ticket, self.log[write.place]))
        shard.outcome()

    def replacement(self, held: Held, replacement: Replacement) -> ReplacementWrite:
        """The write of a static member's new id, which may have been replaced again."""
        old = self.member(held, replacement.old)
        new = held.members.get(replacement.member) or attrs.evolve(old, id=replacement.member)
        join = JoinGroup(version=9 if replacement.skips_assignment else 8)
        return ReplacementWrite(held, old, new, replacement.leader or NO_MEMBER_ID, join)

    def member(self, held: Held, member: GroupMember) -> Member:
        """A member, as the coordinator's class; its requests are parked."""
        return Member(
            member.id,
            member.instance,
            member.session_timeout,
            member.rebalance_timeout,
            member.protocols,
            self.coordinator._shard.member_timer(held, member.id),
            member.assignment,
            member.is_new,
            parked_join=self.park(member.awaiting_join),
            parked_sync=self.park(member.awaiting_sync),
        )

    def park(self, caller: Hashable) -> Parked | None:
        """Park a request, whose caller may have disconnected."""
        if caller is None:
            return None
        parked = self.coordinator._shard.park(caller)
        if caller == DISCONNECTED:
            self.coordinator.disconnect(caller)
        return parked

    # -- what it does ---------------------------------------------------------------------------

    def do(self, call: Call) -> Answers:
        """The responses to a call."""
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
            case Disconnect():
                self.coordinator.disconnect(call.caller)
                return []
            case Unload():
                self.coordinates = False
                self.writes.clear()
                return self.came(self.coordinator.unload())
            case Load():
                self.settings = with_size(self.settings, call)
                self.start()
                self.coordinates = True
                return self.came(self.coordinator.load(self.log))

    def handle(self, call: Handle) -> Answers:
        """The responses to a request; the write of a commit completes at once."""
        self.new_id = call.new_id
        came = self.coordinator.handle(GROUP, call.caller, call.request)
        if call.caller == DISCONNECTED:
            self.coordinator.disconnect(DISCONNECTED)
        answers = self.came(came)
        if came.pending is None:
            return answers
        if not isinstance(call.request, OffsetCommit):
            self.writes.append((came.pending, self.log[-1]))
            return answers
        return delivered([*answers, *self.came(self.coordinator.stored(came.pending))])

    def came(self, outcome: Came) -> Answers:
        """Append the records, and return the responses."""
        self.log += outcome.records
        return delivered(outcome.responses)

    # -- what it holds --------------------------------------------------------------------------

    def seen(self) -> Seen:
        """Its state in the common form."""
        stored = [r.value for r in self.log if r.partition is None and r.value is not None]
        timers = [Timer(key.kind.value, key.member) for key in self.armed]
        last = stored[-1] if stored else None
        assert last is None or isinstance(last, GroupMetadata)
        return seen(self.group(), last, timers)

    def group(self) -> Group | None:
        """The group, as the specification's class."""
        held = self.coordinator.groups.get(GROUP)
        if held is None:
            return None if self.coordinates else Group(state=GroupState.DEAD)
        assert held.num_joined == sum(m.parked_join is not None for m in held.members.values())
        assert held.instances == {m.instance: m.id for m in held.members.values() if m.instance}
        return Group(
            state=held.state,
            previous_state=held.previous_state,
            generation=held.generation,
            protocol_type=held.protocol_type,
            protocol=held.protocol,
            leader=held.leader,
            members=tuple(map(as_specified, held.members.values())),
            pending=frozenset(held.pending_joins),
            pending_sync=frozenset(held.pending_syncs),
            new_member_added=held.new_member_added,
            remaining_delay=held.remaining_delay,
            settings=self.settings,
        )

    def fetched(self) -> frozenset[tuple[TopicPartition, Offset]] | None:
        """The committed offsets as a fetch returns them."""
        if not self.coordinates:
            return None
        [(_, fetched)] = self.coordinator.handle(GROUP, "reader", OffsetFetch()).responses
        assert isinstance(fetched, OffsetFetchResponse)
        return frozenset((tp, offset) for tp, offset in fetched.offsets if offset is not None)


def as_specified(member: Member) -> GroupMember:
    """A member, as the specification's class."""
    return GroupMember(
        id=member.id,
        instance=member.instance,
        protocols=member.protocols,
        session_timeout=member.session_timeout,
        rebalance_timeout=member.rebalance_timeout,
        is_new=member.is_new,
        awaiting_join=waiting(member.parked_join),
        awaiting_sync=waiting(member.parked_sync),
        assignment=member.assignment,
    )


def waiting(parked: Parked | None) -> Hashable:
    """The caller of a parked request."""
    if parked is None:
        return None
    return DISCONNECTED if parked.disconnected else parked.caller


def key_of(timer: Timer) -> TimerKey:
    """The coordinator's key of a timer."""
    return TimerKey(TimerKind(timer.kind), GROUP, timer.member)
