"""Any request at any moment, to the coordinator and to the specification.

Consumers of the model `group` behave, and ask one thing at a time. Here anybody asks anything:
with ids that are known, were given out, or never were; in the right generation or not; a plan is
written late or not at all, and members leave several at once. Half of the calls are such as bring
a group forward, or little would ever happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import attrs
from hypothesis import stateful
from hypothesis import strategies as st

from checkers.lockstep import Adapter, Compared, Differs, run_walks, shortened
from checkers.lockstep.walks import MOST_SEEDS, Walk, chance_of
from spec.core import Blocked, Model, Taken, Variant, rule
from spec.group.coordinator import Group, GroupMember
from spec.group.coordinator.timers import Timer, armed
from spec.messages import (
    NOBODY,
    Error,
    GroupState,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Leaver,
    Offset,
    OffsetCommit,
    Protocol,
    Settings,
    SyncGroup,
)
from spec.vocabulary import TopicPartition
from tests.impl.coordinator.calls import (
    Account,
    Answers,
    Call,
    Fire,
    Handle,
    HangUp,
    Load,
    Resign,
    Store,
    Subject,
)

# -- the model: whatever is drawn, happens --------------------------------------------------------


def drawn(s: Account) -> Iterator[Call]:
    """There are too many to list them."""
    return iter(())


@rule(by="anybody", call=drawn)
def asks(s: Account, call: Call) -> Account:
    """Anything is asked of the coordinator."""
    return s.after(call)[0]


SMALL = Settings(max_size=3, max_metadata=8)
OLD = Settings(initial_rebalance_delay=0, pending_sync_timer=False, max_metadata=8)

ANYTHING: Model[Account] = Model(
    name="anything",
    doc="A coordinator, and callers that may ask anything.",
    initial=lambda bounds: [Account(settings=SMALL), Account(settings=OLD)],
    properties=(),
    variants=(Variant(name="anything", rules=(asks,), why="To see every answer."),),
)


class AnythingAdapter(Adapter[Account, Subject]):
    """The coordinator, held to the specification's account of it, call by call."""

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
INSTANCES = ("s", "t")
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
class Chooser:
    """Draws a call, given what there is."""

    random: Random
    group: Group
    given: list[str]
    """Every id that was ever given out."""

    def chance(self, probability: float) -> bool:
        """Whether something that is so likely happens."""
        return self.random.random() < probability

    def call(self, account: Account) -> Call:
        """Anything."""
        if account.group is not None and account.group.state is GroupState.DEAD:
            size = self.random.choice((None, 1, 2, 3, 9))
            return Load(size) if self.chance(0.6) else self.request()
        if self.chance(0.5):
            helpful = self.helpful(account)
            if helpful is not None:
                return helpful
        return self.random.choices(
            (self.request, self.fires, self.stores, self.hangs_up, Resign),
            (80, 7, 5, 6, 2),
        )[0]()

    def helpful(self, account: Account) -> Call | None:
        """What brings the group forward, if it is for somebody to do so."""
        group = self.group
        if account.writes and self.chance(0.3):
            return Store()
        if group.waits_initially and self.chance(0.4):
            return Fire(Timer("initial delay"))
        if group.state is GroupState.PREPARING_REBALANCE:
            missing = [m for m in group.members if m.joining is None]
            if group.pending and self.chance(0.5):
                return self.handle(self.join(member=min(group.pending), instance=None))
            if missing:
                return self.handle(self.rejoin(self.random.choice(missing)))
        if group.state is GroupState.COMPLETING_REBALANCE:
            member = self.random.choice(group.members)
            return self.handle(self.sync(member.id, member.instance, group.generation))
        return None

    def handle(self, request: Any) -> Handle:
        """A request, of anybody."""
        new_id = f"m{len(self.given)}"
        self.given.append(new_id)
        return Handle(self.random.choice(CALLERS), request, new_id)

    def request(self) -> Call:
        """Any request."""
        return self.handle(
            self.random.choices(
                (self.any_join, self.any_sync, self.heartbeat, self.leave, self.commit),
                (35, 25, 12, 12, 16),
            )[0]()
        )

    # -- who asks ---------------------------------------------------------------------------------

    def member(self) -> str:
        """An id: of a member, given out, out of date, of nobody, or none."""
        some = [m.id for m in self.group.members], sorted(self.group.pending), self.given
        pool = self.random.choices((*some, ["nobody"], [NOBODY]), (60, 12, 8, 4, 16))[0]
        return self.random.choice(pool or [NOBODY])

    def who(self) -> tuple[str, str | None]:
        """An id and an instance, which mostly go together."""
        member_id = self.member()
        member = self.group.member(member_id)
        if self.chance(0.15):
            return member_id, self.random.choice((None, *INSTANCES))
        return member_id, member and member.instance

    def generation(self) -> int:
        """A generation: mostly the current one."""
        off = self.random.choices((0, -1, 1), (80, 10, 5))[0]
        return self.group.generation + off if self.chance(0.95) else -1

    # -- requests ---------------------------------------------------------------------------------

    def any_join(self) -> JoinGroup:
        """A JoinGroup of anybody: again, for the first time, or of a static member's new self."""
        member_id, instance = self.who()
        member = self.group.member(member_id)
        if member is not None and instance == member.instance and self.chance(0.6):
            return self.rejoin(member)
        if member_id == NOBODY and self.chance(0.5):
            instance = self.random.choice(INSTANCES)
        return self.join(member=member_id, instance=instance)

    def rejoin(self, member: GroupMember) -> JoinGroup:
        """A member's, with what it supports or something else."""
        changed = {} if self.chance(0.3) else {"protocols": member.protocols}
        return self.join(member=member.id, instance=member.instance, **changed)

    def join(self, **details: Any) -> JoinGroup:
        """One whose other details are drawn."""
        defaults = {
            "protocols": self.random.choice(PROTOCOLS),
            "protocol_type": self.random.choices(("consumer", "connect", ""), (94, 4, 2))[0],
            "session_timeout": self.random.choices((10_000, 9_000, 1, 10**9), (60, 35, 3, 2))[0],
            "rebalance_timeout": self.random.choice((1_000, 4_000, 7_000, 60_000)),
            "can_take_an_id_first": self.chance(0.4),
            "can_skip_assignment": self.chance(0.6),
        }
        return JoinGroup(**(defaults | details))

    def any_sync(self) -> SyncGroup:
        """A SyncGroup of anybody."""
        member_id, instance = self.who()
        return self.sync(member_id, instance, self.generation())

    def sync(self, member_id: str, instance: str | None, generation: int) -> SyncGroup:
        """One that brings assignments, and may name the protocol; the leader may forget some."""
        ids = [*(m.id for m in self.group.members), "nobody"]
        given = [(m, f"{self.random.randrange(99)} for {m}") for m in ids if self.chance(0.8)]
        protocol_type = self.random.choices((None, "consumer", "connect"), (50, 47, 3))[0]
        protocol = self.random.choices((None, self.group.protocol, "other"), (50, 47, 3))[0]
        return SyncGroup(member_id, generation, tuple(given), instance, protocol_type, protocol)

    def heartbeat(self) -> Heartbeat:
        """A Heartbeat of anybody."""
        member_id, instance = self.who()
        return Heartbeat(member_id, self.generation(), instance)

    def leave(self) -> LeaveGroup:
        """Some leave at once; of a static one the id need not be known."""
        leavers = [Leaver(*self.who()) for _ in range(self.random.choice((1, 1, 1, 2, 3)))]
        return LeaveGroup(tuple(self.unnamed(x) if self.chance(0.2) else x for x in leavers))

    def unnamed(self, leaver: Leaver) -> Leaver:
        """As an administrator puts it."""
        return attrs.evolve(leaver, member=NOBODY)

    def commit(self) -> OffsetCommit:
        """Offsets, with something noted beside them that may be too long."""
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
        member_id, instance = self.who()
        return OffsetCommit(offsets, member_id, self.generation(), instance)

    # -- what happens by itself -------------------------------------------------------------------

    def fires(self) -> Call:
        """A timer: one that is armed, or that of a member whose silence does not count."""
        timers = armed(self.group) | {Timer("member", m.id) for m in self.group.members}
        return Fire(self.random.choice(sorted(timers))) if timers else self.request()

    def stores(self) -> Call:
        """The oldest write ends, well or not."""
        return Store(self.random.choice(FAILURES) if self.chance(0.3) else Error.NONE)

    def hangs_up(self) -> Call:
        """A caller disconnects."""
        return HangUp(self.random.choice(CALLERS))


# -- walks ----------------------------------------------------------------------------------------


class Drawn(Walk):
    """A walk whose steps are drawn, not listed."""

    def look(self) -> None:
        """Anything can happen."""


def machine(
    adapter: AnythingAdapter, compared: Compared, watch: Callable[[Account, Call], None]
) -> type[stateful.RuleBasedStateMachine]:
    """A Hypothesis state machine that asks anything; each step comes from one number."""
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
    """Walk as far as the settings say; raise `Differs` with a story that is made shorter."""
    compared = Compared()
    adapter = adapter or AnythingAdapter()
    try:
        run_walks(machine(adapter, compared, watch), settings, shrinks=False)
    except Differs as differs:
        system, found = ANYTHING.system(), differs.difference
        raise Differs(shortened(adapter, system, found, lambda *_: True)) from None
    return compared
