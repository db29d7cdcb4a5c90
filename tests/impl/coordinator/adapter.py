"""The coordinator of `impl.coordinator`, held to the model `group`.

The model's consumers and network stay the specification's: they say which requests come, when,
and who has hung up meanwhile. What the coordinator makes of it is compared.
"""

from __future__ import annotations

from typing import Any

import attrs

from checkers.lockstep import Adapter
from spec.core import Blocked, Taken
from spec.group import GROUP
from spec.group.coordinating import caller, next_id
from spec.group.coordinator.checks import ERRORS
from spec.group.coordinator.timers import Timer
from spec.group.world import MODEL_SETTINGS, World, consumers, requested
from spec.messages import (
    NOBODY,
    Error,
    GroupMetadata,
    Heartbeat,
    LeaveGroup,
    Leaver,
    Offset,
    OffsetCommit,
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

OFFSETS = ((TopicPartition("topic", 0), Offset(1)),)
"""The model commits nothing in particular; an answer speaks of each partition."""


@attrs.define(eq=False)
class Place:
    """The coordinator, and the world that it is in."""

    subject: Subject
    world: World


class GroupAdapter(Adapter[World, Place]):
    """The coordinator, held to one variant of the model."""

    def __init__(self, variant: str = "eager", subject: type[Subject] = Subject) -> None:
        self.rules = {rule.name: rule for rule in GROUP.variant(variant).rules}
        self.subject = subject

    # -- states -----------------------------------------------------------------------------------

    def account(self, state: World) -> Account:
        """What the world's coordinator holds; that nothing is written is as good as nothing."""
        log = (state.stored or GroupMetadata(),)
        return Account(state.group, log, settings=MODEL_SETTINGS)

    def load(self, state: World) -> Place:
        return Place(self.subject(self.account(state)), state)

    def abstract(self, subject: Place) -> Any:
        return subject.subject.seen()

    def view(self, state: World) -> Any:
        return self.account(state).seen()

    # -- steps ------------------------------------------------------------------------------------

    def apply(self, subject: Place, taken: Taken) -> Answers:
        before = subject.world
        outcome = self.rules[taken.rule].attempt(before, tuple(taken.choices.values()))
        if not isinstance(outcome, Blocked):
            subject.world = outcome
        answers = []
        for call in calls(before, taken, subject.world):
            answers += subject.subject.do(call)
        return answers

    def answer(self, before: World, taken: Taken, outcome: World | Blocked) -> Answers:
        account = self.account(before)
        answers = []
        for call in calls(before, taken, before if isinstance(outcome, Blocked) else outcome):
            account, heard = account.after(call)
            answers += heard
        return answers

    def refuses(self, rule: str, guard: str) -> bool:
        """A member's timer may be armed although it waits for an answer, and then does nothing."""
        silent = rule == "session_times_out" and guard == "timer is armed"
        return silent or (guard in ERRORS and rule not in TIMERS)


# -- what a step of the model asks of the coordinator ---------------------------------------------

TIMERS = {
    "initial_delay_is_over": "initial delay",
    "join_timer_fires": "join",
    "sync_timer_fires": "sync",
    "session_times_out": "member",
    "pending_id_times_out": "pending",
}
HEARTBEATS = ("consumer_heartbeats",)
COMMITS = ("coordinator_takes_commit", "commit_is_refused")
LEAVES = ("consumer_closes", "poll_interval_passes")


def calls(before: World, taken: Taken, after: World) -> list[Call]:
    """What the coordinator is asked in a step, in this order."""
    name = taken.rule
    if name in TIMERS:
        return [Fire(Timer(TIMERS[name], taken.choices.get("member", "")))]
    if name == "coordinator_resigns":
        return [Resign()]
    if name == "successor_loads":
        return [Load()]
    if name == "coordinator_takes_commit_of_outsider":
        return [Handle("outsider", OffsetCommit(OFFSETS), NOBODY)]
    if "ask" in taken.choices:
        return asked(before, taken)
    number = taken.choices.get("consumer")
    if number is None:
        return []
    return [*sent(before, name, number), *hung_up(before, after)]


def asked(before: World, taken: Taken) -> list[Call]:
    """A request that travelled has come; where assignments are written, they are at once."""
    ask = taken.choices["ask"]
    if not ask.late and not before.finds(ask.consumer):
        return []  # another broker is asked
    handle = Handle(caller(ask), requested(before, ask), next_id(before, ask))
    if taken.rule == "coordinator_takes_sync":
        return [handle, Store()]
    if taken.rule == "coordinator_cannot_store":
        return [handle, Store(Error.COORDINATOR_NOT_AVAILABLE)]
    return [handle]


def sent(before: World, name: str, consumer: int) -> list[Call]:
    """A request that does not travel in the model."""
    c, instance = before.consumers[consumer], before.instance(consumer)
    if not before.finds(consumer):
        return []
    if name in HEARTBEATS:
        return [Handle(consumer, Heartbeat(c.member, c.generation, instance), NOBODY)]
    if name in COMMITS:
        commit = OffsetCommit(OFFSETS, c.member, c.generation, instance)
        return [Handle(consumer, commit, NOBODY)]
    if name in LEAVES and instance is None and c.member != NOBODY:
        return [Handle("leaver", LeaveGroup((Leaver(c.member),)), NOBODY)]
    return []


def hung_up(before: World, after: World) -> list[Call]:
    """Who has waited for the coordinator, and does not any more."""
    waited, waits = before.waits_at_coordinator, after.waits_at_coordinator
    return [HangUp(c) for c in consumers(before) if waited(c) and not waits(c)]


# -- walks ----------------------------------------------------------------------------------------

ROOMY = {
    "consumers": 3,
    "static": 1,
    "ids": 4,
    "generations": 12,
    "growths": 2,
    "crashes": 4,
    "failovers": 3,
    "losses": 4,
    "early": 4,
    "stalls": 2,
    "leaves": 1,
}
"""Bounds with everything that the model has."""

RARE = {
    "consumer_crashes",
    "consumer_closes",
    "consumer_stalls",
    "consumer_gives_up",
    "network_loses",
    "coordinator_cannot_store",
    "coordinator_resigns",
    "coordinator_takes_commit_of_outsider",
    *HEARTBEATS,
    *COMMITS,
    "topic_grows",
}
ENDS_OF_ROUNDS = {"initial_delay_is_over", "join_timer_fires"}
NOW_AND_THEN = {
    *(name for name in TIMERS if name not in ENDS_OF_ROUNDS),
    "consumer_polls_again",
    "poll_interval_passes",
}


def weight(name: str) -> int:
    """How likely a rule is in a walk: groups form before something goes wrong with them."""
    if name in RARE:
        return 1
    return 4 if name in NOW_AND_THEN else 16


WEIGHTS = {rule.name: weight(rule.name) for rule in GROUP.variant("eager").rules}
