"""What the consumer raises, by the names of Java's client."""

from __future__ import annotations

from spec.core import SpecError


class ConsumerError(SpecError):
    """An exception of the consumer, in one clear line."""


class IllegalState(ConsumerError):
    """IllegalStateException: the call does not fit what the consumer does at this moment."""


class IllegalArgument(ConsumerError):
    """IllegalArgumentException: the call makes no sense at any moment."""


class NoOffsetForPartition(ConsumerError):
    """NoOffsetForPartitionException: nothing is committed, and auto.offset.reset is none."""


class OffsetOutOfRange(ConsumerError):
    """OffsetOutOfRangeException: the log does not have the position, and the policy is none."""


class LogTruncation(ConsumerError):
    """LogTruncationException: the log was cut below the position, and the policy is none."""


class NothingCommitted(ConsumerError):
    """A shift of what was never committed: `--shift-by` has nothing to begin with."""


class GroupIsActive(ConsumerError):
    """Offsets of a group with members cannot be reset."""
