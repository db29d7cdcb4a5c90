"""The fetch state of one assigned partition: its position, and whether it can be fetched from.

Kafka: `SubscriptionState.TopicPartitionState` and `SubscriptionState.FetchStates`.
"""

from __future__ import annotations

from enum import StrEnum

import attrs

from kspec.spec.consumer.errors import LogTruncation, NoOffsetForPartition, OffsetOutOfRange
from kspec.spec.core import evolve
from kspec.spec.leader_epochs import EpochEnd


class FetchState(StrEnum):
    """The state of a partition. Kafka: `SubscriptionState.FetchStates`."""

    INITIALIZING = "INITIALIZING"
    """The partition was just assigned and has no position."""
    FETCHING = "FETCHING"
    """The position is valid."""
    AWAIT_RESET = "AWAIT_RESET"
    """The position is being reset; the leader's answer is awaited."""
    AWAIT_VALIDATION = "AWAIT_VALIDATION"
    """The position is being checked against the leader's epochs."""


INITIALIZING, FETCHING = FetchState.INITIALIZING, FetchState.FETCHING
AWAIT_RESET, AWAIT_VALIDATION = FetchState.AWAIT_RESET, FetchState.AWAIT_VALIDATION

NEXT: dict[FetchState, frozenset[FetchState]] = {
    INITIALIZING: frozenset({FETCHING, AWAIT_RESET, AWAIT_VALIDATION}),
    FETCHING: frozenset({FETCHING, AWAIT_RESET, AWAIT_VALIDATION}),
    AWAIT_RESET: frozenset({FETCHING, AWAIT_RESET}),
    AWAIT_VALIDATION: frozenset({FETCHING, AWAIT_RESET, AWAIT_VALIDATION}),
}
"""The valid transitions. Kafka: `FetchState.validTransitions`."""


class Policy(StrEnum):
    """`auto.offset.reset`: where to begin without a committed offset.

    Simplification: `by_duration` (4.0, KIP-1106) is left out; `spec.consumer.start` has it.
    """

    LATEST = "latest"
    EARLIEST = "earliest"
    NONE = "none"


@attrs.frozen
class FetchPosition:
    """Where the next fetch begins. Kafka: `SubscriptionState.FetchPosition`."""

    offset: int
    """The next offset to fetch."""
    epoch: int | None = None
    """The leader epoch of the record before that offset, if it is known (`offsetEpoch`)."""
    leader_epoch: int | None = None
    """The epoch of the current leader, if the metadata has it (`currentLeader.epoch`)."""

    @property
    def can_be_validated(self) -> bool:
        """Whether the leader can be asked if its log still has what was read before."""
        return self.epoch is not None and self.leader_epoch is not None


@attrs.frozen
class Fetching:
    """The fetch state of one assigned partition. Kafka: `TopicPartitionState`."""

    state: FetchState = INITIALIZING
    """Which of the four states the partition is in."""
    position: FetchPosition | None = None
    """Where the next fetch begins; None in INITIALIZING and AWAIT_RESET."""
    strategy: Policy | None = None
    """Where the reset in progress leads."""
    paused: bool = False
    """Whether the application paused the partition."""
    pending_revocation: bool = False
    """Whether the partition is about to be revoked, and its offset is being committed."""
    pending_callback: bool = False
    """Whether onPartitionsAssigned has not yet returned for it (`pendingOnAssignedCallback`)."""

    @property
    def has_valid_position(self) -> bool:
        """Whether the position may be fetched from."""
        return self.state is FETCHING

    @property
    def is_fetchable(self) -> bool:
        """Whether the next fetch includes the partition. Kafka: `isFetchable`."""
        held_back = self.paused or self.pending_revocation or self.pending_callback
        return self.has_valid_position and not held_back

    def moves(self, state: FetchState, **changes: object) -> Fetching:
        """Enter another state; an invalid transition changes nothing. Kafka: `transitionState`."""
        if state not in NEXT[self.state]:
            return self
        return evolve(self, state=state, **changes)


def initialize(p: Fetching, committed: FetchPosition | None, policy: Policy) -> Fetching:
    """Begin at the committed offset, else reset by the policy.

    Kafka: `ConsumerUtils.refreshCommittedOffsets`, which keeps the committed leader epoch; then
    `SubscriptionState.resetInitializingPositions`.
    """
    if committed is not None:
        return seek(p, committed)
    if policy is Policy.NONE:
        raise NoOffsetForPartition("nothing is committed, and auto.offset.reset is none")
    return request_reset(p, policy)


def seek(p: Fetching, position: FetchPosition) -> Fetching:
    """Go to a position from any state, and validate it where both epochs are known.

    Kafka: `TopicPartitionState.seekUnvalidated`, by `KafkaConsumer.seek` and for committed
    offsets. `seek(partition, offset)` knows no epoch, so it is not validated.
    """
    return validate(p.moves(FETCHING, position=position, strategy=None), position)


def validate(p: Fetching, position: FetchPosition) -> Fetching:
    """Ask the leader whether the position is in its log. Kafka: `validatePosition`."""
    state = AWAIT_VALIDATION if position.can_be_validated else FETCHING
    return p.moves(state, position=position)


def request_reset(p: Fetching, policy: Policy) -> Fetching:
    """Drop the position, and ask the leader for a new one. Kafka: `requestOffsetReset`."""
    return p.moves(AWAIT_RESET, position=None, strategy=policy)


def complete_reset(p: Fetching, requested: Policy, position: FetchPosition) -> Fetching:
    """The leader answers a reset; the answer is dropped if another reset or a seek came first.

    Kafka: `SubscriptionState.maybeSeekUnvalidated`. The position has no epoch, so it is not
    validated.
    """
    if p.state is not AWAIT_RESET or p.strategy is not requested:
        return p
    return seek(p, evolve(position, epoch=None))


def out_of_range(p: Fetching, policy: Policy) -> Fetching:
    """The fetch is answered OFFSET_OUT_OF_RANGE.

    Kafka: `FetchCollector.handleInitializeErrors`. Simplification: the answer is for the current
    position and comes from the leader; Kafka drops any other.
    """
    if policy is Policy.NONE:
        offset = p.position.offset if p.position else None
        raise OffsetOutOfRange(f"the log has no offset {offset}, and the policy is none")
    return request_reset(p, policy)


def leader_changes(p: Fetching, leader_epoch: int | None) -> Fetching:
    """The metadata names another leader or leader epoch: a position with an epoch is validated.

    Kafka: `TopicPartitionState.maybeValidatePosition`. Simplification: the new leader supports
    OffsetsForLeaderEpoch; below version 3 of it Kafka skips validation.
    """
    if p.position is None or p.position.leader_epoch == leader_epoch:
        return p
    return validate(p, evolve(p.position, leader_epoch=leader_epoch))


def complete_validation(
    p: Fetching, requested: FetchPosition, end: EpochEnd | None, policy: Policy
) -> Fetching:
    """The leader answers where the position's epoch ends; None if it does not know the epoch.

    An end below the position means that the log was truncated there: fetching continues from the
    end, with the epoch of the answer. The answer is dropped if the position has changed since.
    Kafka: `SubscriptionState.maybeCompleteValidation`.
    """
    if p.state is not AWAIT_VALIDATION or p.position != requested:
        return p
    if end is not None and end.offset >= requested.offset:
        return p.moves(FETCHING)
    if policy is Policy.NONE:
        raise LogTruncation(f"the log was truncated below {requested.offset}; the policy is none")
    if end is None:
        return request_reset(p, policy)
    diverging = FetchPosition(end.offset, end.epoch, requested.leader_epoch)
    return p.moves(FETCHING, position=diverging)
