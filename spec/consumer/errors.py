"""The consumer's exceptions, by the names that Java's client gives them."""

from __future__ import annotations

from kspec.spec.core import SpecError


class ConsumerError(SpecError):
    """An exception of the consumer, in one clear line."""


class IllegalState(ConsumerError):
    """IllegalStateException: the call does not fit the consumer's current state."""


class IllegalArgument(ConsumerError):
    """IllegalArgumentException: the call's arguments are invalid in any state."""


class NoOffsetForPartition(ConsumerError):
    """NoOffsetForPartitionException: no offset is committed, and auto.offset.reset is none."""


class OffsetOutOfRange(ConsumerError):
    """OffsetOutOfRangeException: the position is outside the log, and auto.offset.reset is none."""


class LogTruncation(ConsumerError):
    """LogTruncationException: the log was truncated below the position, and the policy is none."""


class NothingCommitted(ConsumerError):
    """IllegalArgumentException of `--shift-by` for a partition without a committed offset."""


class GroupIsActive(ConsumerError):
    """The refusal of `--reset-offsets` for a group with members."""
