"""What the specification names, as numbers: states, phases, errors, member ids, partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from impl.packed.group.lists import Lists
from spec.group.world import NAMES, Bounds, Phase
from spec.messages import NOBODY, Error, GroupState, Protocol

STATES = tuple(GroupState)
PHASES = tuple(Phase)
ERRORS = (
    Error.NONE,
    Error.UNKNOWN_MEMBER_ID,
    Error.ILLEGAL_GENERATION,
    Error.FENCED_INSTANCE_ID,
    Error.NOT_COORDINATOR,
    Error.REBALANCE_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
)
PROTOCOL = Protocol("range", ())
TYPE = "consumer"


@attrs.frozen
class Ids:
    """The member ids of some bounds, as numbers, masks and lists."""

    bounds: Bounds
    lists: Lists

    @classmethod
    def of(cls, bounds: Bounds) -> Ids:
        """For these bounds."""
        return cls(bounds, Lists(bounds.consumers * bounds.ids))

    @property
    def count(self) -> int:
        """How many there are."""
        return self.lists.ids

    def number(self, member_id: str) -> int:
        """The number of a member id."""
        return NAMES.index(member_id[0]) * self.bounds.ids + int(member_id[1:]) - 1

    def id(self, number: int) -> str:
        """The member id of that number."""
        consumer, nth = divmod(number, self.bounds.ids)
        return f"{NAMES[consumer]}{nth + 1}"

    def instance(self, number: int) -> str | None:
        """The instance id of the member of that number, if it is static."""
        return self.instance_of(number // self.bounds.ids)

    def instance_of(self, consumer: int) -> str | None:
        """The instance id of a consumer, if it is static."""
        return f"{NAMES[consumer]}-static" if consumer < self.bounds.static else None

    def nth_id(self, consumer: int, nth: int) -> str:
        """A consumer's id, counted from 1; 0 is none."""
        return f"{NAMES[consumer]}{nth}" if nth else NOBODY

    def mask(self, member_ids: Iterable[str]) -> int:
        """A set of member ids."""
        return sum(1 << self.number(m) for m in set(member_ids))

    def list_of(self, member_ids: Iterable[str]) -> int:
        """The number of a list of members."""
        return self.lists.number(map(self.number, member_ids))


def bits(mask: int) -> list[int]:
    """The numbers in a mask."""
    return [k for k in range(mask.bit_length()) if mask >> k & 1]


def as_mask(partitions: Any) -> int:
    """A set of partitions as a mask."""
    return sum(1 << p for p in partitions)


def nth(member_id: str) -> int:
    """Which of its consumer's ids this is, from 1; 0 for none."""
    return int(member_id[1:]) if member_id else 0
