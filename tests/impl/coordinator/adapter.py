"""Holds the coordinator of `kspec.impl.coordinator` to the model `group`.

Consumers and network are the model's: they decide which requests arrive, when, and which callers
have disconnected. The coordinator's responses and state are compared.
"""

from __future__ import annotations

from typing import Any

import attrs

from kspec.checkers.lockstep import Adapter
from kspec.spec.coordinator.sessions import Timer
from kspec.spec.core import Blocked, Taken
from kspec.spec.group import GROUP
from kspec.spec.group.scala import SCALA_SETTINGS
from kspec.spec.group.state import MODEL_SETTINGS, NAMES, World, consumers, message
from kspec.spec.messages import (
    NO_MEMBER_ID,
    Error,
    GroupMetadata,
    Heartbeat,
    LeaveGroup,
    MemberIdentity,
    Offset,
    OffsetCommit,
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
)

OFFSETS = ((TopicPartition("topic", 0), Offset(1)),)
"""Any offsets: the model commits none, but a response names each partition."""


@attrs.define(eq=False)
class Place:
    """The coordinator, and the model's state around it."""

    subject: Subject
    world: World


class GroupAdapter(Adapter[World, Place]):
    """Holds the coordinator to one variant of the model."""

    def __init__(self, variant: str = "eager", subject: type[Subject] = Subject) -> None:
        self.rules = {rule.name: rule for rule in GROUP.variant(variant).rules}
        self.settings = SCALA_SETTINGS if variant == "scala" else MODEL_SETTINGS
        self.subject = subject

    # -- states -----------------------------------------------------------------------------------

    def account(self, state: World) -> Account:
        """The coordinator of a state; an empty offsets topic counts as an empty record."""
        log = (state.stored or GroupMetadata(),)
        group = attrs.evolve(state.group, settings=self.settings)
        return Account(group, log, settings=self.settings)

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
        """The session timer of a parked member may be armed; it has no effect."""
        name = java_name(rule)
        silent = name == "coordinator_expires_session" and guard == "timer is armed"
        return silent or (guard in GROUP.answers and name not in TIMERS)


# -- what a step of the model asks of the coordinator ---------------------------------------------

TIMERS = {
    "coordinator_extends_initial_delay": "initial delay",
    "coordinator_ends_initial_delay": "initial delay",
    "coordinator_ends_join_phase": "join",
    "coordinator_expires_pending_sync": "sync",
    "coordinator_expires_session": "session",
    "coordinator_expires_pending_member": "pending",
}
HEARTBEATS = ("consumer_heartbeats",)
COMMITS = ("coordinator_accepts_commit", "coordinator_rejects_commit")
LEAVES = ("consumer_closes", "consumer_exceeds_poll_interval")


IN_JAVA = {
    scala.name: java.name
    for java, scala in zip(GROUP.variant("eager").rules, GROUP.variant("scala").rules, strict=True)
}
"""The rules of the variant `scala`, by the rules that they replace."""


def java_name(rule: str) -> str:
    """The name of this rule, or of the one that it replaces in the variant `scala`."""
    return IN_JAVA.get(rule, rule)


def calls(before: World, taken: Taken, after: World) -> list[Call]:
    """The calls to the coordinator in a step, in order."""
    name = java_name(taken.rule)
    if name in TIMERS:
        return [Fire(Timer(TIMERS[name], taken.choices.get("member", "")))]
    if name == "coordinator_unloads_group":
        return [Unload()]
    if name == "successor_loads_group":
        return [Load()]
    if name == "coordinator_accepts_standalone_commit":
        return [Handle("outsider", OffsetCommit(OFFSETS), NO_MEMBER_ID)]
    if "request" in taken.choices:
        return inbound_calls(before, taken)
    number = taken.choices.get("consumer")
    if number is None:
        return []
    return [*immediate_calls(before, name, number), *disconnects(before, after)]


def inbound_calls(before: World, taken: Taken) -> list[Call]:
    """The calls for a request that arrives; its write, if any, completes at once."""
    request = taken.choices["request"]
    if not request.abandoned and not before.reaches_coordinator(request.consumer):
        return []  # another broker receives it
    next_id = f"{NAMES[request.consumer]}{before.consumers[request.consumer].ids + 1}"
    handle = Handle(request.caller, message(before, request), next_id)
    stores = ("coordinator_accepts_sync", "coordinator_replaces_static_member")
    if java_name(taken.rule) in stores:
        return [handle, Store()]
    if taken.rule == "coordinator_fails_to_store_assignments":
        return [handle, Store(Error.COORDINATOR_NOT_AVAILABLE)]
    return [handle]


def immediate_calls(before: World, name: str, consumer: int) -> list[Call]:
    """The calls for a request that reaches the coordinator at once."""
    c, instance = before.consumers[consumer], before.instance(consumer)
    if not before.reaches_coordinator(consumer):
        return []
    if name in HEARTBEATS:
        return [Handle(consumer, Heartbeat(c.member, c.generation, instance), NO_MEMBER_ID)]
    if name in COMMITS:
        commit = OffsetCommit(OFFSETS, c.member, c.generation, instance)
        return [Handle(consumer, commit, NO_MEMBER_ID)]
    if name in LEAVES and instance is None and c.member != NO_MEMBER_ID:
        return [Handle("leaver", LeaveGroup((MemberIdentity(c.member),)), NO_MEMBER_ID)]
    return []


def disconnects(before: World, after: World) -> list[Call]:
    """The consumers that no longer wait for the coordinator."""
    waited, waits = before.is_parked, after.is_parked
    return [Disconnect(c) for c in consumers(before) if waited(c) and not waits(c)]


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
"""Bounds in which every rule is enabled."""

RARE = {
    "consumer_crashes",
    "consumer_closes",
    "consumer_stalls",
    "consumer_abandons_request",
    "network_loses_message",
    "coordinator_fails_to_store_assignments",
    "coordinator_unloads_group",
    "coordinator_accepts_standalone_commit",
    *HEARTBEATS,
    *COMMITS,
    "administrator_adds_partition",
}
JOIN_TIMERS = {
    "coordinator_extends_initial_delay",
    "coordinator_ends_initial_delay",
    "coordinator_ends_join_phase",
}
NOW_AND_THEN = {
    *(name for name in TIMERS if name not in JOIN_TIMERS),
    "consumer_resumes_polling",
    "consumer_exceeds_poll_interval",
}


def weight(name: str) -> int:
    """The weight of a rule in a walk: groups form before faults occur."""
    if name in RARE:
        return 1
    return 4 if name in NOW_AND_THEN else 16


WEIGHTS = {
    rule.name: weight(java_name(rule.name))
    for variant in ("eager", "scala")
    for rule in GROUP.variant(variant).rules
}
