"""The oracle of a consumer's fetch position: `spec.consumer.fetching`, with Kafka's names."""

from __future__ import annotations

from typing import Any

import kspec.spec.consumer.fetching as fetching
from kspec.field.oracle.draws import Draw
from kspec.field.oracle.questions import Oracle, oracle_of
from kspec.spec.consumer.fetching import Fetching, FetchPosition, FetchState, Policy
from kspec.spec.leader_epochs import EpochEnd


def initialize(partition: Fetching, committed: FetchPosition | None, policy: Policy) -> Fetching:
    """The partition at the committed offset, or else in a reset by the policy.

    Kafka: `ConsumerUtils.refreshCommittedOffsets`, `SubscriptionState.resetInitializingPositions`.
    """
    return fetching.initialize(partition, committed, policy)


def seek_unvalidated(partition: Fetching, position: FetchPosition) -> Fetching:
    """The partition after a seek. Kafka: `TopicPartitionState.seekUnvalidated`."""
    return fetching.seek(partition, position)


def request_offset_reset(partition: Fetching, policy: Policy) -> Fetching:
    """The partition without a position. Kafka: `SubscriptionState.requestOffsetReset`."""
    return fetching.request_reset(partition, policy)


def maybe_seek_unvalidated(
    partition: Fetching, requested: Policy, position: FetchPosition
) -> Fetching:
    """The partition after the leader answered a reset.

    Kafka: `SubscriptionState.maybeSeekUnvalidated`.
    """
    return fetching.complete_reset(partition, requested, position)


def offset_out_of_range(partition: Fetching, policy: Policy) -> Fetching:
    """The partition after a fetch was answered OFFSET_OUT_OF_RANGE.

    Kafka: `FetchCollector.handleInitializeErrors`.
    """
    return fetching.out_of_range(partition, policy)


def maybe_validate_position(partition: Fetching, leader_epoch: int | None) -> Fetching:
    """The partition after the metadata named a leader epoch.

    Kafka: `TopicPartitionState.maybeValidatePosition`.
    """
    return fetching.leader_changes(partition, leader_epoch)


def maybe_complete_validation(
    partition: Fetching, requested: FetchPosition, end: EpochEnd | None, policy: Policy
) -> Fetching:
    """The partition after the leader answered where the position's epoch ends.

    Kafka: `SubscriptionState.maybeCompleteValidation`.
    """
    return fetching.complete_validation(partition, requested, end, policy)


def is_fetchable(partition: Fetching) -> bool:
    """Whether the next fetch includes the partition. Kafka: `TopicPartitionState.isFetchable`."""
    return partition.is_fetchable


def oracle() -> Oracle:
    """The methods."""
    return oracle_of(
        initialize,
        seek_unvalidated,
        request_offset_reset,
        maybe_seek_unvalidated,
        offset_out_of_range,
        maybe_validate_position,
        maybe_complete_validation,
        is_fetchable,
    )


# -- vectors --------------------------------------------------------------------------------------

STATES = tuple(FetchState)
POLICIES = tuple(Policy)


def drawn(draw: Draw) -> tuple[str, dict[str, Any]]:
    """A method and its parameters: a partition in any state, and answers that may be late."""
    position, other = drawn_position(draw), drawn_position(draw)
    if draw.chance(0.5):
        other = position
    state = draw.choose(STATES)
    held = state in (FetchState.FETCHING, FetchState.AWAIT_VALIDATION)
    policy = draw.choose(POLICIES).value
    partition = {
        "partition": {
            "state": state.value,
            "position": position if held else None,
            "strategy": policy if state is FetchState.AWAIT_RESET else None,
            "paused": draw.chance(0.2),
            "pendingRevocation": draw.chance(0.1),
            "pendingCallback": draw.chance(0.1),
        }
    }
    by = {"policy": draw.choose(POLICIES).value}
    match draw.below(8):
        case 0:
            committed = None if draw.chance(0.3) else other
            return "initialize", {**partition, "committed": committed, **by}
        case 1:
            return "seekUnvalidated", {**partition, "position": other}
        case 2:
            return "requestOffsetReset", {**partition, **by}
        case 3:
            return "maybeSeekUnvalidated", {**partition, "requested": policy, "position": other}
        case 4:
            return "offsetOutOfRange", {**partition, **by}
        case 5:
            epoch = None if draw.chance(0.2) else draw.below(4)
            return "maybeValidatePosition", {**partition, "leaderEpoch": epoch}
        case 6:
            end = {"leaderEpoch": draw.below(4), "endOffset": draw.below(12)}
            answered = {"requested": other, "end": None if draw.chance(0.2) else end}
            return "maybeCompleteValidation", {**partition, **answered, **by}
        case _:
            return "isFetchable", partition


def drawn_position(draw: Draw) -> dict[str, Any]:
    """A position, mostly with epochs."""
    return {
        "offset": draw.below(10),
        "epoch": None if draw.chance(0.25) else draw.below(3),
        "leaderEpoch": None if draw.chance(0.25) else draw.below(4),
    }
