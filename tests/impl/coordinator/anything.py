"""Arbitrary calls at any moment, to the coordinator and to the specification.

Consumers of the model `group` are well behaved. Here any caller sends any request: with known,
pending or unknown ids, in the current generation or another; assignments are stored late or not at
all, and several members leave at once. Half of the calls advance a rebalance, since groups would
otherwise hardly form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from random import Random
from typing import Any

import attrs
from hypothesis import stateful
from hypothesis import strategies as st

from kspec.checkers.lockstep import Adapter, Compared, Differs, run_walks, shortened
from kspec.checkers.lockstep.walks import MOST_SEEDS, Walk, chance_of
from kspec.field.conform.requests import RandomRequests
from kspec.spec.coordinator import Group
from kspec.spec.coordinator.sessions import Timer, armed
from kspec.spec.coordinator.state import Replacement
from kspec.spec.core import Blocked, Model, Taken, Variant, rule
from kspec.spec.messages import (
    JAVA,
    SCALA,
    Error,
    GroupState,
    JoinGroup,
    LeaveGroup,
    MemberIdentity,
    Offset,
    OffsetCommit,
    Protocol,
    Settings,
    SyncGroup,
)
from kspec.spec.vocabulary import TopicPartition
from tests.impl.coordinator.calls import (
    Account,
    Answers,
    Call,
    Disconnect,
    Fire,
    Handle,
    Load,
    Store,
    Subject,
    Unload,
    Write,
)

# -- the model: whatever is drawn, happens --------------------------------------------------------


def drawn(s: Account) -> Iterator[Call]:
    """Not listed: there are too many choices."""
    return iter(())


@rule(by="anybody", call=drawn)
def asks(s: Account, call: Call) -> Account:
    """The coordinator receives any call."""
    return s.after(call)[0]


SMALL = Settings(max_size=3, max_metadata=8)
OLD = Settings(initial_rebalance_delay=0, pending_sync_timer=False, max_metadata=8)

ANYTHING: Model[Account] = Model(
    name="anything",
    doc="A coordinator, and callers that may ask anything.",
    initial=lambda bounds: [
        Account(settings=attrs.evolve(settings, variant=variant))
        for settings in (SMALL, OLD)
        for variant in (JAVA, SCALA)
    ],
    properties=(),
    variants=(Variant(name="anything", rules=(asks,), why="To see every answer."),),
)


class AnythingAdapter(Adapter[Account, Subject]):
    """Holds the coordinator to the specification, call by call."""

    def __init__(self, subject: type[Subject] = Subject) -> None:
        self.subject = subject

    def load(self, state: Account) -> Subject:
        return self.subject(state)

    def abstract(self, subject: Subject) -> Any:
        return subject.seen(), subject.fetched(), len(subject.writes)

    def view(self, state: Account) -> Any:
        return state.seen(), state.fetched(), len(state.writes)

    def apply(self, subject: Subject, taken: Taken) -> Answers:
        return subject.do(taken.choices["call"])

    def answer(self, before: Account, taken: Taken, outcome: Account | Blocked) -> Answers:
        return before.after(taken.choices["call"])[1]


# -- calls that are drawn -------------------------------------------------------------------------

CALLERS = ("v", "w", "x", "y", "z")
RANGE, STICKY = Protocol("range", "r"), Protocol("sticky", "s")
PROTOCOLS = (
    (RANGE, STICKY),
    (RANGE, STICKY),
    (STICKY, RANGE),
    (RANGE,),
    (Protocol("range", "other"), STICKY),
    (STICKY,),
    (Protocol("unheard of", ""),),
    (),
)
PARTITIONS = (TopicPartition("t", 0), TopicPartition("t", 1))
FAILURES = (Error.COORDINATOR_NOT_AVAILABLE, Error.NOT_COORDINATOR, Error.UNKNOWN_SERVER_ERROR)


@attrs.define
class Chooser(RandomRequests):
    """Draws a call, given the state."""

    POOLS = (60, 12, 8, 4, 16)
    NAMED = 0.95

    random: Random
    group: Group
    issued: list[str]

    def call(self, account: Account) -> Call:
        """Any call."""
        if account.group is not None and account.group.state is GroupState.DEAD:
            size = self.random.choice((None, 1, 2, 3, 9))
            return Load(size) if self.chance(0.6) else self.request()
        if self.chance(0.5):
            helpful = self.helpful(account)
            if helpful is not None:
                return helpful
        fires = partial(self.fires, account.writes)
        return self.random.choices(
            (self.request, fires, self.stores, self.disconnect, Unload),
            (80, 7, 5, 6, 2),
        )[0]()

    def helpful(self, account: Account) -> Call | None:
        """The next call of a healthy rebalance, if there is one."""
        group = self.group
        if account.writes and self.chance(0.3):
            return Store()
        if group.in_initial_delay and self.chance(0.4):
            return Fire(Timer("initial delay"))
        if group.state is GroupState.PREPARING_REBALANCE:
            missing = [m for m in group.members if m.awaiting_join is None]
            if group.pending and self.chance(0.5):
                pending = min(group.pending)
                return self.handle(self.join(member=pending, instance=self.instance(0.2)))
            if missing:
                return self.handle(self.rejoin(self.random.choice(missing)))
        if group.state is GroupState.COMPLETING_REBALANCE:
            member = self.random.choice(group.members)
            return self.handle(self.sync(member.id, member.instance, group.generation))
        return None

    def handle(self, request: Any) -> Handle:
        """A request from any caller."""
        new_id = f"m{len(self.issued)}"
        self.issued.append(new_id)
        return Handle(self.random.choice(CALLERS), request, new_id)

    def request(self) -> Call:
        """Any request."""
        return self.handle(
            self.random.choices(
                (self.any_join, self.any_sync, self.heartbeat, self.leave, self.commit),
                (35, 25, 12, 12, 16),
            )[0]()
        )

    # -- requests ---------------------------------------------------------------------------------

    def join(self, **details: Any) -> JoinGroup:
        """A JoinGroup whose other fields are drawn."""
        defaults = {
            "protocols": self.random.choice(PROTOCOLS),
            "protocol_type": self.random.choices(("consumer", "connect", ""), (94, 4, 2))[0],
            "session_timeout": self.random.choices((10_000, 9_000, 1, 10**9), (60, 35, 3, 2))[0],
            "rebalance_timeout": self.random.choice((1_000, 4_000, 7_000, 60_000)),
            "version": self.random.choices((3, 8, 9), (60, 15, 25))[0],
        }
        return JoinGroup(**(defaults | details))

    def sync(self, member_id: str, instance: str | None, generation: int) -> SyncGroup:
        """A SyncGroup with assignments, of which the leader may omit some."""
        ids = [*(m.id for m in self.group.members), "nobody"]
        given = [(m, f"{self.random.randrange(99)} for {m}") for m in ids if self.chance(0.8)]
        protocol_type = self.random.choices((None, "consumer", "connect"), (50, 47, 3))[0]
        protocol = self.random.choices((None, self.group.protocol, "other"), (50, 47, 3))[0]
        version = self.random.choices((4, 5), (70, 30))[0]
        return SyncGroup(
            member_id, generation, tuple(given), instance, protocol_type, protocol, version
        )

    def leaving(self) -> int:
        """How many members leave."""
        return self.random.choice((1, 1, 1, 2, 3))

    def leave(self) -> LeaveGroup:
        """A LeaveGroup of some members, static ones with or without their ids."""
        if self.chance(0.1):
            return LeaveGroup((MemberIdentity(self.member()),), version=2)
        if self.group.pending and self.chance(0.2):
            return LeaveGroup((MemberIdentity(min(self.group.pending)),))
        if self.chance(0.1):
            return LeaveGroup((MemberIdentity(self.member(), self.instance(1)),))
        if self.group.members and self.chance(0.2):  # as an administrator removes them
            everybody = [MemberIdentity(m.id, m.instance) for m in self.group.members]
            return LeaveGroup(tuple(self.random.sample(everybody, len(everybody))))
        return super().leave()

    def commit(self) -> OffsetCommit:
        """Offsets with metadata that may be too long."""
        notes = (
            "",
            "",
            "short",
            "8 ümläut",
            "8 \U0001f4dd\U0001f4dd\U0001f4dd",
            "9 \U0001f4dd\U0001f4dd\U0001f4dd!",
            "too long!",
        )
        offsets = tuple(
            (tp, Offset(self.random.randrange(9), self.random.choice(notes)))
            for tp in self.random.choices(PARTITIONS, k=self.random.choice((1, 1, 2)))
        )
        if self.chance(0.3):
            return OffsetCommit(offsets)
        member_id, instance = self.identity()
        version = self.random.choice((8, 9))
        return OffsetCommit(offsets, member_id, self.generation(), instance, version)

    # -- what happens by itself -------------------------------------------------------------------

    def fires(self, writes: Iterable[Write]) -> Call:
        """A timer: an armed one, or the session timer of a parked member.

        No session expires while the new id of its static member is written, which takes no session
        timeout: see `session_is_timed`.
        """
        renamed = {w.awaited.member for w in writes if isinstance(w.awaited, Replacement)}
        sessions = {Timer("session", m.id) for m in self.group.members if m.id not in renamed}
        timers = armed(self.group) | sessions
        return Fire(self.random.choice(sorted(timers))) if timers else self.request()

    def stores(self) -> Call:
        """The oldest write completes or fails."""
        return Store(self.random.choice(FAILURES) if self.chance(0.3) else Error.NONE)

    def disconnect(self) -> Call:
        """A caller disconnects."""
        return Disconnect(self.random.choice(CALLERS))


# -- walks ----------------------------------------------------------------------------------------


class Drawn(Walk):
    """A system whose steps are drawn, not listed."""

    def look(self) -> None:
        """Any call is possible."""


def machine(
    adapter: AnythingAdapter, compared: Compared, watch: Callable[[Account, Call], None]
) -> type[stateful.RuleBasedStateMachine]:
    """A Hypothesis state machine of arbitrary calls; one number determines each step."""
    system = ANYTHING.system()
    starts = system.initial()

    class AsksAnything(stateful.RuleBasedStateMachine):
        @stateful.initialize(settings=st.sampled_from(starts))
        def begin(self, settings: Account) -> None:
            self.walk = Drawn(adapter, system, compared, settings)
            self.given: list[str] = []

        @stateful.rule(seed=st.integers(0, MOST_SEEDS))
        def ask(self, seed: int) -> None:
            account = self.walk.states[-1]
            group = account.group or Group()
            call = Chooser(chance_of(seed, self.walk), group, self.given).call(account)
            watch(account, call)
            self.walk.take((asks, (call,), asks.attempt(account, (call,))))

    return AsksAnything


def ask_anything(
    settings: Any,
    adapter: AnythingAdapter | None = None,
    watch: Callable[[Account, Call], None] = lambda account, call: None,
) -> Compared:
    """Walk within the settings; raise `Differs` with a shortened difference."""
    compared = Compared()
    adapter = adapter or AnythingAdapter()
    try:
        run_walks(machine(adapter, compared, watch), settings, shrinks=False)
    except Differs as differs:
        system, found = ANYTHING.system(), differs.difference
        raise Differs(shortened(adapter, system, found, lambda *_: True)) from None
    return compared
