"""The state of one assigned partition: whether it has a position, and what it waits for.

Kafka: `SubscriptionState.FetchStates` and `TopicPartitionState`.
"""

from __future__ import annotations

from enum import StrEnum

import attrs

from spec.consumer.errors import LogTruncation, NoOffsetForPartition, OffsetOutOfRange
from spec.core import evolve


class FetchState(StrEnum):
    """What a partition is about."""

    INITIALIZING = "INITIALIZING"
    FETCHING = "FETCHING"
    AWAIT_RESET = "AWAIT_RESET"
    AWAIT_VALIDATION = "AWAIT_VALIDATION"


INITIALIZING, FETCHING = FetchState.INITIALIZING, FetchState.FETCHING
AWAIT_RESET, AWAIT_VALIDATION = FetchState.AWAIT_RESET, FetchState.AWAIT_VALIDATION

NEXT: dict[FetchState, frozenset[FetchState]] = {
    INITIALIZING: frozenset({FETCHING, AWAIT_RESET, AWAIT_VALIDATION}),
    FETCHING: frozenset({FETCHING, AWAIT_RESET, AWAIT_VALIDATION}),
    AWAIT_RESET: frozenset({FETCHING, AWAIT_RESET}),
    AWAIT_VALIDATION: frozenset({FETCHING, AWAIT_RESET, AWAIT_VALIDATION}),
}
"""The legal transitions."""


class Policy(StrEnum):
    """`auto.offset.reset`: where to begin when there is no other word."""

    LATEST = "latest"
    EARLIEST = "earliest"
    NONE = "none"


@attrs.frozen
class Fetching:
    """One assigned partition."""

    state: FetchState = INITIALIZING
    position: int | None = None
    """The next offset to fetch; None while there is none."""
    epoch: int | None = None
    """The leader epoch of the record before the position, if it is known."""
    strategy: Policy | None = None
    """Where a reset that goes on leads to."""
    paused: bool = False
    revoking: bool = False
    """Whether the partition is being taken back (pendingRevocation)."""

    @property
    def has_valid_position(self) -> bool:
        """Whether it may be fetched from, and its position asked for."""
        return self.state is FETCHING

    @property
    def is_fetchable(self) -> bool:
        """Whether the next fetch asks for it."""
        return self.has_valid_position and not self.paused and not self.revoking

    def moves(self, state: FetchState, **changes: object) -> Fetching:
        """Into another state; where that is no legal transition, nothing happens."""
        if state not in NEXT[self.state]:
            return self
        return evolve(self, state=state, **changes)


def begin(p: Fetching, committed: int | None, policy: Policy) -> Fetching:
    """Where a partition begins: at what is committed, else by the policy."""
    if committed is not None:
        return seek(p, committed)
    if policy is Policy.NONE:
        raise NoOffsetForPartition("nothing is committed, and auto.offset.reset is none")
    return reset(p, policy)


def seek(p: Fetching, offset: int, epoch: int | None = None) -> Fetching:
    """To an offset, from any state: there is a position again, and no reset goes on."""
    return p.moves(FETCHING, position=offset, epoch=epoch, strategy=None)


def reset(p: Fetching, policy: Policy) -> Fetching:
    """The position is dropped, and asked for anew."""
    return p.moves(AWAIT_RESET, position=None, epoch=None, strategy=policy)


def reset_is_answered(p: Fetching, asked: Policy, offset: int) -> Fetching:
    """An offset for a reset arrives; too late, if the state or the strategy is another by now."""
    if p.state is not AWAIT_RESET or p.strategy is not asked:
        return p
    return seek(p, offset)


def out_of_range(p: Fetching, policy: Policy) -> Fetching:
    """The log does not have the position: OFFSET_OUT_OF_RANGE."""
    if policy is Policy.NONE:
        raise OffsetOutOfRange(f"the log has no offset {p.position}, and the policy is none")
    return reset(p, policy)


def leader_changes(p: Fetching) -> Fetching:
    """Another leader, or epoch: a position that has an epoch must be looked at before use."""
    if p.position is None or p.epoch is None:
        return p
    return p.moves(AWAIT_VALIDATION)


def is_validated(p: Fetching, end: int | None, policy: Policy) -> Fetching:
    """The leader says where the position's epoch ends; None if it does not know the epoch."""
    if p.state is not AWAIT_VALIDATION or p.position is None:
        return p
    if end is not None and end >= p.position:
        return p.moves(FETCHING)
    if policy is Policy.NONE:
        raise LogTruncation(f"the log was cut below {p.position}, and the policy is none")
    return reset(p, policy) if end is None else seek(p, end, p.epoch)
