"""The state of the model: the offsets of a leader and its followers, none of which ever fails."""

from __future__ import annotations

import attrs

from kspec.spec.core import bound, constant
from kspec.spec.watermarks.updates import Follower, Leader


@attrs.frozen
class Bounds:
    """The number of followers, and of records."""

    followers: int = bound(1, 1, 4, "followers, all of them in the ISR")
    records: int = bound(1, 0, 9, "records that the producer sends")


@attrs.frozen
class Partition:
    """A leader and its followers."""

    leader: Leader
    """The leader's offsets."""
    followers: tuple[Follower, ...]
    """Each follower's offsets."""
    parked: frozenset[int] = frozenset()
    """The followers whose fetch waits at the leader; empty unless the variant parks fetches."""
    bounds: Bounds = constant()
    """The bounds of this run."""


def initial(bounds: Bounds) -> list[Partition]:
    """Empty logs, and no fetch yet."""
    leader = Leader(remote=(0,) * bounds.followers)
    return [Partition(leader, (Follower(),) * bounds.followers, bounds=bounds)]


def followers(s: Partition) -> range:
    """Every follower."""
    return range(len(s.followers))
