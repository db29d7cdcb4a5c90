"""A group that is followed through time: the steps of its coordinator, one after the other.

`Followed` has what the coordinator holds between two steps. A step is a request, a write to the
offsets topic that completes, a timer that expires, or a failover: each gives an `Outcome`, which
`after` applies. The caller decides when timers expire, and where responses go.

Kafka leaves some things open: which member leads once the leader is gone, and which of two
protocols with equally many votes is selected. `possible_outcomes` and `possible_answers` give the
outcome of each choice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, Self, TypeAlias

import attrs

from kspec.spec.coordinator.admin import delete
from kspec.spec.coordinator.clock import Start, timers_after
from kspec.spec.coordinator.membership import replacement_stored, with_new_id
from kspec.spec.coordinator.offsets import delete_offsets, fetch, refuse_partitions
from kspec.spec.coordinator.rebalance import assignments_stored, join_response, select_protocol
from kspec.spec.coordinator.requests import handle, handle_unknown, outcome_of
from kspec.spec.coordinator.sessions import Timer
from kspec.spec.coordinator.state import Caller, Group, Outcome, Replacement
from kspec.spec.core import evolve
from kspec.spec.messages import (
    NO_MEMBER_ID,
    AnyRequest,
    DeleteGroup,
    Error,
    GroupState,
    JoinGroup,
    JoinGroupResponse,
    Offset,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetDelete,
    OffsetFetch,
)
from kspec.spec.vocabulary import TopicPartition

Write: TypeAlias = int | Replacement
"""A write to the offsets topic whose completion has an effect: a generation's assignments, or a
static member's new id."""


@attrs.frozen
class Followed:
    """A group, as its coordinator has it between two steps."""

    group: Group
    """The group; Dead if the coordinator does not know it."""
    offsets: tuple[tuple[TopicPartition, Offset], ...] = ()
    """The committed offsets, in the order of their partitions."""
    writes: tuple[Write, ...] = ()
    """The writes in progress, oldest first."""
    timers: tuple[tuple[Timer, Any], ...] = ()
    """The armed timers, and when each expires."""
    emptied_as: str | None = None
    """The protocol type with which the group last became empty."""

    def handle(
        self,
        caller: Caller,
        request: AnyRequest,
        new_id: str = NO_MEMBER_ID,
        partitions: Collection[TopicPartition] | None = None,
    ) -> Outcome:
        """The outcome of a request; `partitions` are those that exist, if not all do."""
        group = self.group
        match request:
            case OffsetFetch():
                handler = fetch(group, request, caller, dict(self.offsets))
            case DeleteGroup():
                handler = delete(group, caller)
            case OffsetDelete():
                committed = [partition for partition, _ in self.offsets]
                handler = delete_offsets(
                    group, request, caller, committed, partitions, self.emptied_as
                )
            case OffsetCommit() if partitions is not None:
                return self._commit(caller, request, partitions)
            case _ if group.state is GroupState.DEAD:
                return handle_unknown(caller, request, new_id, group.settings)
            case _:
                return handle(group, caller, request, new_id)
        return outcome_of(handler, group, caller, request)

    def _commit(
        self, caller: Caller, request: OffsetCommit, partitions: Collection[TopicPartition]
    ) -> Outcome:
        """The outcome of a commit, of which the coordinator sees the partitions that exist.

        Kafka: `KafkaApis.handleOffsetCommitRequest`.
        """
        seen = tuple(pair for pair in request.offsets if pair[0] in partitions)
        missing = tuple(
            partition for partition, _ in request.offsets if partition not in partitions
        )
        if missing and not seen:
            return outcome_of(refuse_partitions(), self.group, caller, request)
        outcome = self.handle(caller, evolve(request, offsets=seen))
        [(_, response)] = outcome.responses
        assert isinstance(response, OffsetCommitResponse), "a commit is answered at once"
        unknown = ((tp, Error.UNKNOWN_TOPIC_OR_PARTITION) for tp in missing)
        whole = OffsetCommitResponse((*response.partitions, *unknown))
        return evolve(outcome, responses=((caller, whole),))

    def completed_writes(self, error: Error = Error.NONE) -> Iterator[Outcome]:
        """The possible outcomes of the oldest write, which has succeeded or failed."""
        write = self.writes[0]
        return possible_outcomes(self.group, lambda group: write_outcome(group, write, error))

    def after(
        self,
        outcome: Outcome,
        start: Start[Any],
        request: Any = None,
        renewed: Timer | None = None,
    ) -> Self:
        """What the coordinator has after an outcome, which this request may have caused.

        `start` says when a timer expires that starts now; the timer `renewed` starts again.
        """
        group, writes = outcome.group, self.writes
        if group.state is GroupState.DEAD:
            return evolve(self, group=group, offsets=(), writes=(), timers=(), emptied_as=None)
        if outcome.replacement is not None:
            writes = (*writes, outcome.replacement)
        is_written = outcome.record is not None and group.unstored is not None
        if is_written and group.generation not in writes:
            writes = (*writes, group.generation)
        timers = timers_after(self.group, group, dict(self.timers), start, request, renewed)
        is_empty = group.state is GroupState.EMPTY
        return evolve(
            self,
            group=group,
            offsets=committed_after(self.offsets, outcome),
            writes=writes,
            timers=tuple(timers.items()),
            emptied_as=group.protocol_type if is_empty else self.emptied_as,
        )

    def without_write(self) -> Self:
        """Without the oldest write, which completes."""
        return evolve(self, writes=self.writes[1:])

    def without_timer(self, timer: Timer) -> Self:
        """Without a timer, which expires."""
        return evolve(self, timers=tuple(pair for pair in self.timers if pair[0] != timer))

    def loaded(self, group: Group, start: Start[Any]) -> Self:
        """What a successor has after a failover, once it has loaded the group."""
        blank = evolve(self, group=Group(settings=group.settings), writes=(), timers=())
        return blank.after(Outcome(group), start)


def committed_after(
    offsets: tuple[tuple[TopicPartition, Offset], ...], outcome: Outcome
) -> tuple[tuple[TopicPartition, Offset], ...]:
    """The committed offsets after an outcome, which may delete some."""
    if not outcome.offsets:
        return offsets
    found = {**dict(offsets), **dict(outcome.offsets)}
    return tuple((tp, offset) for tp, offset in sorted(found.items()) if offset is not None)


def write_outcome(group: Group, write: Write, error: Error = Error.NONE) -> Outcome:
    """The outcome of a write that has succeeded, or failed with this error."""
    if isinstance(write, Replacement):
        return replacement_stored(group, write, error)
    return assignments_stored(group, write, error)


# -- what Kafka leaves open -------------------------------------------------------------------


def possible_outcomes(group: Group, step: Callable[[Group], Outcome]) -> Iterator[Outcome]:
    """The outcomes of a step, one for each choice."""
    for ordered in orders(group):
        yield from ties(group, step(ordered))


def possible_answers(
    followed: Followed,
    caller: Caller,
    request: Any,
    new_id: str,
    partitions: Collection[TopicPartition] | None = None,
) -> Iterator[Outcome]:
    """The outcomes of a request, one for each choice."""

    def handled(group: Group) -> Outcome:
        return evolve(followed, group=group).handle(caller, request, new_id, partitions)

    group = followed.group
    yield from possible_outcomes(group, handled)
    if isinstance(request, JoinGroup) and returns_to_stable_group(group, request, handled):
        replaced, _ = with_new_id(group, request, caller, new_id)
        for outcome in tied_replacements(group, replaced, handled):
            yield from ties(group, outcome)


def returns_to_stable_group(
    group: Group, request: JoinGroup, handled: Callable[[Group], Outcome]
) -> bool:
    """Whether a static member gets a new id in a stable group."""
    is_static = group.static_member(request.instance) is not None
    if not is_static or request.member != NO_MEMBER_ID or group.state is not GroupState.STABLE:
        return False
    decision = handled(group).decision
    return decision is not None and decision.failed is None


def tied_replacements(
    group: Group, replaced: Group, handled: Callable[[Group], Outcome]
) -> Iterator[Outcome]:
    """The outcomes of a replacement whose vote is tied: the generation is kept, or it is not.

    Kafka's hash order decides whether the selected protocol, and so the generation, is kept.
    """
    tied = {select_protocol(ordered.members) for ordered in orders(replaced)}
    if group.protocol not in tied or len(tied) == 1:
        return
    for pretended in (select_protocol(replaced.members), "another protocol"):
        outcome = handled(evolve(group, protocol=pretended))
        if outcome.group.protocol == pretended:
            restored = evolve(outcome.group, protocol=group.protocol)
            outcome = evolve(outcome, group=restored)
        yield outcome


def orders(group: Group) -> Iterator[Group]:
    """The group with each of its members first: where Kafka picks any, that one is picked."""
    yield group
    for index in range(1, len(group.members)):
        yield evolve(group, members=(*group.members[index:], *group.members[:index]))


def ties(before: Group, outcome: Outcome) -> Iterator[Outcome]:
    """The outcome with each protocol that has the most votes. Kafka breaks ties by hash order.

    The members of the group are in the order of their ids.
    """
    group = outcome.group
    began = group.state is GroupState.COMPLETING_REBALANCE and group.generation > before.generation
    if not began:
        yield evolve(outcome, group=in_order(group))
        return
    for name in {select_protocol(ordered.members) for ordered in orders(group)}:
        selected = evolve(group, protocol=name)
        responses = []
        for caller, response in outcome.responses:
            if isinstance(response, JoinGroupResponse) and response.generation == group.generation:
                member = selected.member(response.member)
                assert member is not None, "a generation's responses go to its members"
                response = join_response(selected, member)
            responses.append((caller, response))
        yield evolve(outcome, group=in_order(selected), responses=tuple(responses))


def in_order(group: Group) -> Group:
    """The group with its members in the order of their ids."""
    return evolve(group, members=tuple(sorted(group.members, key=lambda member: member.id)))
