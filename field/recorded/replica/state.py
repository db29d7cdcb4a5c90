"""What reports imply of a partition: of its replicas, leader epochs and committed records."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

MOST_EPOCHS = 1000
"""How many leader epochs are remembered; what is known of older ones is dropped."""

Lineage = tuple[tuple[int, int], ...]
"""Leader epochs, each with the offset at which it begins, as in a leader-epoch cache."""


@attrs.frozen
class Replica:
    """What a node reported last; None where it did not report it."""

    leader_epoch: int = -1
    """The newest leader epoch that it knows."""
    partition_epoch: int = -1
    """The newest partition epoch of that leader epoch."""
    end: int | None = None
    """Its log end offset (LEO)."""
    hw: int | None = None
    """Its high watermark (HW)."""
    has_fetched: bool = False
    """Whether its log grew in this epoch: a follower has truncated before."""


@attrs.frozen
class Epoch:
    """What is known of a leader epoch."""

    leader: int | None = None
    """Its leader; there is never another one."""
    least_end: int | None = None
    """The lowest LEO of the leader in this epoch."""
    committed: int = 0
    """The highest HW of a replica that knew this epoch and no newer one."""
    replicated: int = 0
    """The highest LEO of a follower that has fetched in this epoch."""
    isr: tuple[int, ...] = ()
    """The ISR that the leader reported last together with its HW."""
    hw: int = 0
    """That HW."""


@attrs.frozen
class Known:
    """What is known of a partition."""

    replicas: Mapping[int, Replica] = attrs.field(factory=dict)
    """By node."""
    epochs: Mapping[int, Epoch] = attrs.field(factory=dict)
    """By leader epoch."""
    lineage: Lineage = ()
    """The epochs of committed records."""
    lineage_end: int = 0
    """Up to which offset the lineage is known."""


@attrs.frozen
class Report:
    """An event, parsed."""

    kind: str
    """`state` or `truncated`."""
    partition: tuple[str, int]
    node: int
    leader: int | None = None
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    end: int | None = None
    hw: int | None = None
    isr: tuple[int, ...] | None = None
    epochs: Lineage | None = None
    """The leader-epoch cache."""
    is_ordered: bool = False
    """Whether all earlier lines are earlier in time."""
    is_unclean: bool = False
    """Whether committed records may be lost."""


@attrs.frozen(eq=False)
class Reports:
    """A state: what is known by partition. Each event has one successor; none are compared."""

    partitions: Mapping[tuple[str, int], Known] = attrs.field(factory=dict)


def with_replica(s: Known, node: int, replica: Replica) -> Known:
    """The same with another replica of a node."""
    return attrs.evolve(s, replicas={**s.replicas, node: replica})


def with_epoch(epochs: Mapping[int, Epoch], number: int, epoch: Epoch) -> Mapping[int, Epoch]:
    """The epochs with one changed; the oldest is dropped if there are too many."""
    found = {**epochs, number: epoch}
    if len(found) > MOST_EPOCHS:
        del found[min(found)]
    return found


def agree(own: Lineage, hw: int, lineage: Lineage, lineage_end: int) -> bool:
    """Whether two lineages have the same epochs where both are known: below both their ends.

    The first entry of either may be cut by deleted segments.
    """
    if not own or not lineage:
        return True
    low, high = max(own[0][1], lineage[0][1]), min(hw, lineage_end)
    return within(own, low, high) == within(lineage, low, high)


def within(lineage: Lineage, low: int, high: int) -> Lineage:
    """The part of a lineage between two offsets."""
    first = [epoch for epoch, start in lineage if start <= low][-1:]
    rest = tuple((epoch, start) for epoch, start in lineage if low < start < high)
    return without_repeats((*((epoch, low) for epoch in first if low < high), *rest))


def joined(lineage: Lineage, own: Lineage) -> Lineage:
    """A lineage that another one continues."""
    if not own or not lineage:
        return own or lineage
    return without_repeats((*(entry for entry in lineage if entry[1] < own[0][1]), *own))


def without_repeats(lineage: Lineage) -> Lineage:
    """Each epoch once, where it begins: deleted segments cut the first entry of a cache."""
    return tuple(e for n, e in enumerate(lineage) if n == 0 or lineage[n - 1][0] != e[0])
