"""A coordinator whose timers the test fires, and groups in each state."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from kspec.impl.coordinator import GroupCoordinator, Outcome, TimerKey, TimerKind
from kspec.impl.coordinator.state import Group
from kspec.spec.messages import (
    Error,
    GroupState,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    MemberIdentity,
    Offset,
    OffsetCommit,
    OffsetFetch,
    OffsetsTopicRecord,
    Protocol,
    Request,
    Response,
    Settings,
    SyncGroup,
)
from kspec.spec.vocabulary import TopicPartition

GROUP = "readers"
P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
RANGE, STICKY = Protocol("range", b"range"), Protocol("sticky", b"sticky")
BOTH = (RANGE, STICKY)


class Armed(dict[TimerKey, int]):
    """The timers that are armed, with their delays."""

    def schedule(self, key: TimerKey, delay_ms: int) -> None:
        """Arm a timer, or restart it."""
        self[key] = delay_ms

    def cancel(self, key: TimerKey) -> None:
        """Cancel a timer."""
        self.pop(key, None)


class Scene:
    """One group, its coordinator, and the responses so far."""

    def __init__(self, settings: Settings | None = None, **means: Any) -> None:
        self.settings = settings or Settings()
        self.armed = Armed()
        self.ids = 0
        self.now = 0
        self.coordinator = GroupCoordinator(
            self.settings, self.armed, self.new_id, clock=lambda: self.now, **means
        )
        self.heard: dict[Hashable, list[Response]] = {}
        self.log: list[OffsetsTopicRecord] = []
        self.tickets: list[int] = []

    def new_id(self, request: JoinGroup) -> str:
        """Member ids, numbered in the order in which they are issued."""
        self.ids += 1
        return f"{request.instance or request.client}-{self.ids}"

    # -- what happens ----------------------------------------------------------------------

    def take(self, outcome: Outcome) -> Outcome:
        """Deliver the responses and append the records."""
        for caller, answer in outcome.responses:
            self.heard.setdefault(caller, []).append(answer)
        self.log.extend(outcome.records)
        if outcome.pending is not None:
            self.tickets.append(outcome.pending)
        return outcome

    def ask(self, caller: Hashable, request: Request, group: str = GROUP) -> Any:
        """The response to the caller; None if its request is parked."""
        before = len(self.heard.get(caller, ()))
        self.take(self.coordinator.handle(group, caller, request))
        return self.last(caller) if len(self.heard.get(caller, ())) > before else None

    def last(self, caller: Hashable) -> Any:
        """The latest response to the caller."""
        return self.heard[caller][-1]

    def error(self, caller: Hashable) -> Error:
        """The error in the latest response to the caller."""
        answer = self.last(caller)
        return answer.partitions[0][1] if hasattr(answer, "partitions") else answer.error

    def fire(self, kind: str, member: str = "") -> Outcome:
        """Fire an armed timer."""
        key = TimerKey(TimerKind(kind), GROUP, member)
        del self.armed[key]
        return self.take(self.coordinator.fire(key))

    def store(self, error: Error = Error.NONE) -> None:
        """The oldest write in progress completes, or fails."""
        self.take(self.coordinator.stored(self.tickets.pop(0), error))

    # -- what there is ---------------------------------------------------------------------

    @property
    def group(self) -> Group:
        """The group."""
        return self.coordinator.groups[GROUP]

    @property
    def state(self) -> GroupState:
        """The group's state."""
        return self.group.state

    def timers(self) -> set[tuple[str, ...]]:
        """The armed timers: the kind, and the member if any."""
        return {
            (key.kind.value, key.member) if key.member else (key.kind.value,) for key in self.armed
        }

    def joins(self, name: str, **details: Any) -> Any:
        """A client joins at once, with its name as client id; without an id as an old client."""
        has_an_id = "member" in details or "instance" in details
        defaults: dict[str, Any] = {"protocols": BOTH, "client": name}
        defaults["version"] = 9 if has_an_id else 3
        return self.ask(name, JoinGroup(**(defaults | details)))

    def syncs(self, name: str, member: str, *assigned: str) -> Any:
        """A member syncs in the current generation; the leader's assignments name their members."""
        assignments = tuple((who, f"for {who}") for who in assigned)
        return self.ask(name, SyncGroup(member, self.group.generation, assignments))


# Members: a leads, b follows, s is static. Their ids:
A, B, S = "a-1", "b-2", "s-3"
MEMBERS = (A, B, S)


def absent(settings: Settings | None = None, **means: Any) -> Scene:
    """No request was made."""
    return Scene(settings, **means)


def completing(settings: Settings | None = None, **means: Any) -> Scene:
    """Three members have joined generation 1."""
    scene = Scene(settings, **means)
    scene.joins("a")
    scene.joins("b")
    scene.joins("s", instance="s")
    scene.fire("initial delay")
    scene.fire("initial delay")
    assert scene.state is GroupState.COMPLETING_REBALANCE
    return scene


def stable(settings: Settings | None = None, **means: Any) -> Scene:
    """They have their assignments."""
    scene = completing(settings, **means)
    scene.syncs("b", B)
    scene.syncs("s", S)
    scene.syncs("a", A, *MEMBERS)
    scene.store()
    assert scene.state is GroupState.STABLE
    return scene


def preparing(settings: Settings | None = None, **means: Any) -> Scene:
    """The leader has begun a rebalance, which the others do not know yet."""
    scene = stable(settings, **means)
    scene.joins("a", member=A)
    assert scene.state is GroupState.PREPARING_REBALANCE
    return scene


def initial(settings: Settings | None = None, **means: Any) -> Scene:
    """One member has joined, and the initial delay has not ended."""
    scene = Scene(settings, **means)
    scene.joins("a")
    assert scene.state is GroupState.PREPARING_REBALANCE
    return scene


def empty(settings: Settings | None = None, **means: Any) -> Scene:
    """All members have left, in generation 2."""
    scene = stable(settings, **means)
    scene.ask("admin", LeaveGroup(tuple(MemberIdentity(member) for member in MEMBERS)))
    assert scene.state is GroupState.EMPTY
    return scene


STATES = {
    "absent": absent,
    "empty": empty,
    "preparing": preparing,
    "completing": completing,
    "stable": stable,
}


def heartbeat(member: str = B, generation: int = 1, instance: str | None = None) -> Heartbeat:
    """A heartbeat."""
    return Heartbeat(member, generation, instance)


def commit(
    offset: int = 5,
    *partitions: TopicPartition,
    member: str = "",
    generation: int = -1,
    instance: str | None = None,
    version: int = 9,
) -> OffsetCommit:
    """A commit of one offset, for partition 0 by default."""
    offsets = tuple((partition, Offset(offset)) for partition in partitions or (P0,))
    return OffsetCommit(offsets, member, generation, instance, version)


def fetched(scene: Scene, *partitions: TopicPartition) -> Sequence[int | None]:
    """The committed offsets that a fetch returns."""
    answer = scene.ask("reader", OffsetFetch(partitions or (P0,)))
    return [offset and offset.offset for _, offset in answer.offsets]
