"""What brokers may report of the replicas of one partition.

A report shows a replica at a moment; what it did since the last report is not shown. So the known
state is what the reports imply, not every log that is possible: the offsets and epochs that
replicas had, and the bounds that they set for other replicas and for later leaders. A check fails
if no behaviour of Kafka agrees with the report and with those before.

The facts hold since Kafka 2.1: before KIP-320, a follower in an old leader epoch fetched from a
newer leader, and logs could diverge. Kafka: `Partition`, `UnifiedLog` (4.0.0).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from kspec.spec.core import Check, Checked
from kspec.spec.leader_epochs import LeaderEpochs
from kspec.spec.observed.contradiction import Contradiction

MOST_EPOCHS = 1000
"""How many leader epochs are remembered; what is known of older ones is dropped."""


@attrs.frozen
class Report:
    """What a broker reports of its replica; None where it says nothing."""

    kind: str
    """`state` or `truncated`."""
    partition: tuple[str, int]
    node: int
    leader: int | None = None
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    end: int | None = None
    """The log end offset (LEO); after a truncation the new one."""
    hw: int | None = None
    """The high watermark (HW)."""
    isr: tuple[int, ...] | None = None
    epochs: LeaderEpochs | None = None
    """The leader-epoch cache."""
    is_ordered: bool = False
    """Whether all earlier reports are earlier in time."""
    is_unclean: bool = False
    """Whether committed records may be lost: by an unclean election, or with a disk."""


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
    lineage: LeaderEpochs = attrs.field(factory=LeaderEpochs)
    """The epochs of committed records."""
    lineage_end: int = 0
    """Up to which offset the lineage is known."""

    def with_replica(self, node: int, replica: Replica) -> Known:
        """The same with another replica of a node."""
        return attrs.evolve(self, replicas={**self.replicas, node: replica})

    def with_epoch(self, number: int, epoch: Epoch) -> Mapping[int, Epoch]:
        """The epochs with one changed; the oldest is dropped if there are too many."""
        epochs = {**self.epochs, number: epoch}
        if len(epochs) > MOST_EPOCHS:
            del epochs[min(epochs)]
        return epochs

    def committed_before(self, number: int) -> int:
        """The highest offset known to be committed in a leader epoch before this one."""
        return max((e.committed for n, e in self.epochs.items() if n < number), default=0)

    def least_end_after(self, number: int, default: int) -> int:
        """The lowest LEO of a leader of a later epoch: no more is committed in this one."""
        later = (e.least_end for n, e in self.epochs.items() if n > number)
        return min((end for end in later if end is not None), default=default)


def at_least(variable: str, expected: int | None, observed: int | None) -> Contradiction:
    """A value that is too small."""
    return Contradiction(variable, expected, observed, "at least")


# -- reports -------------------------------------------------------------------------------------


def epoch_is_not_older(before: Replica, number: int) -> Checked[None]:
    """A replica refuses an older leader epoch. Kafka: `Partition.makeLeader`, `makeFollower`."""
    older = at_least("leader_epoch", before.leader_epoch, number)
    yield Check("leader epoch does not decrease", number >= before.leader_epoch, older)


def broker_reports(known: Known, report: Report) -> Checked[Known]:
    """A broker reports the state of its replica: any of leader, epochs, LEO, HW and ISR.

    Values are compared only where the report names the leader epoch: otherwise the replica may
    be in a newer one. Kafka: `Partition` for the leader's epoch, ISR and HW; `UnifiedLog` for the
    LEO.
    """
    node, number, end, hw = report.node, report.leader_epoch, report.end, report.hw
    if hw is not None and end is not None:
        too_high = Contradiction("high_watermark", end, hw, "at most")
        yield Check("high watermark is within the log", hw <= end, too_high)
    before = known.replicas.get(node, Replica())
    if number is None:
        end, hw = before.end if end is None else end, before.hw if hw is None else hw
        return known.with_replica(node, attrs.evolve(before, end=end, hw=hw))
    yield from epoch_is_not_older(before, number)
    if number != before.leader_epoch:
        before = Replica(number)
    epoch, replica = yield from report_in_epoch(known, report, before)
    lineage, lineage_end = yield from lineage_agrees(known, report)
    replicas = {**known.replicas, node: replica}
    return Known(replicas, known.with_epoch(number, epoch), lineage, lineage_end)


def report_in_epoch(
    known: Known, report: Report, before: Replica
) -> Checked[tuple[Epoch, Replica]]:
    """What a report implies for its leader epoch, and for its replica.

    A leader epoch has one leader, and holds what was committed in earlier ones. Kafka:
    `Partition.makeLeader`, `Partition.makeFollower`. Simplification: where an election was unclean
    or a disk was lost, nothing is claimed of committed records.
    """
    node, number, end, hw = report.node, before.leader_epoch, report.end, report.hw
    version = before.partition_epoch if report.partition_epoch is None else report.partition_epoch
    older = at_least("partition_epoch", before.partition_epoch, version)
    yield Check("partition epoch does not decrease", version >= before.partition_epoch, older)
    epoch = known.epochs.get(number, Epoch())
    leader = epoch.leader if report.leader is None else report.leader
    another = Contradiction("leader", epoch.leader, leader, "only")
    yield Check("leader epoch has one leader", epoch.leader in (None, leader), another)
    leads = leader == node
    if leads:
        yield from leader_reports(known, report, before)
    if hw is not None and not report.is_unclean:
        least = known.least_end_after(number, hw)
        beyond = Contradiction("high_watermark", least, hw, "at most")
        yield Check("later leaders hold the committed records", hw <= least, beyond)
    if report.is_ordered and end is not None:
        if leads:
            short = at_least("log_end_offset", epoch.replicated, end)
            yield Check("leader holds what followers fetched", end >= epoch.replicated, short)
        elif node in epoch.isr and not report.is_unclean:
            short = at_least("log_end_offset", epoch.hw, end)
            yield Check("ISR member holds the committed records", end >= epoch.hw, short)
    has_grown = end is not None and before.end is not None and end > before.end
    has_fetched = before.has_fetched or (leader is not None and not leads and has_grown)
    epoch = attrs.evolve(epoch, leader=leader, committed=max(epoch.committed, hw or 0))
    if leads and end is not None:
        least_end = end if epoch.least_end is None else min(epoch.least_end, end)
        epoch = attrs.evolve(epoch, least_end=least_end)
    elif has_fetched and end is not None:
        epoch = attrs.evolve(epoch, replicated=max(epoch.replicated, end))
    if leads and report.isr is not None and hw is not None:
        epoch = attrs.evolve(epoch, isr=report.isr, hw=hw)
    end, hw = before.end if end is None else end, before.hw if hw is None else hw
    return epoch, Replica(number, version, end, hw, has_fetched)


def leader_reports(known: Known, report: Report, before: Replica) -> Checked[None]:
    """A leader's log and high watermark only grow, and it holds what was committed before.

    A leader is elected from the ISR, which holds every committed record. Kafka:
    `Partition.maybeIncrementLeaderHW`, `Partition.getOutOfSyncReplicas`.
    """
    end, hw = report.end, report.hw
    if end is not None and before.end is not None:
        shorter = at_least("log_end_offset", before.end, end)
        yield Check("leader's log does not shrink", end >= before.end, shorter)
    if hw is not None and before.hw is not None:
        lower = at_least("high_watermark", before.hw, hw)
        yield Check("leader's high watermark does not decrease", hw >= before.hw, lower)
    if report.isr is not None:
        without = Contradiction("isr", report.node, report.isr, "with")
        yield Check("leader is in its ISR", report.node in report.isr, without)
    if end is not None and not report.is_unclean:
        committed = known.committed_before(before.leader_epoch)
        lacks = at_least("log_end_offset", committed, end)
        yield Check("leader holds the committed records", end >= committed, lacks)


def lineage_agrees(known: Known, report: Report) -> Checked[tuple[LeaderEpochs, int]]:
    """Below the high watermark, all replicas agree on the leader epoch of each record.

    The first entry of a cache may be cut by deleted segments. Kafka: `LeaderEpochFileCache`.
    """
    lineage, lineage_end = known.lineage, known.lineage_end
    if report.epochs is None or report.hw is None or report.is_unclean:
        return lineage, lineage_end
    own, end = report.epochs.truncate_from_end(report.hw), min(report.hw, lineage_end)
    unlike = Contradiction("epochs", plain(lineage), plain(report.epochs), "like")
    yield Check("committed records have one leader epoch", agree(own, lineage, end), unlike)
    if report.hw <= lineage_end:
        return lineage, lineage_end
    return joined(lineage, own), report.hw


def follower_truncates(known: Known, report: Report) -> Checked[Known]:
    """A follower of a new leader removes the end of its log, never committed records.

    Kafka: `UnifiedLog.truncateTo`, called by `AbstractFetcherThread`.
    """
    before, end = known.replicas.get(report.node, Replica()), report.end or 0
    number = before.leader_epoch if report.leader_epoch is None else report.leader_epoch
    yield from epoch_is_not_older(before, number)
    if report.leader_epoch is not None and number in known.epochs:
        is_follower = known.epochs[number].leader != report.node
        yield Check("leader does not truncate", is_follower, None)
    if before.hw is not None and not report.is_unclean:
        lost = at_least("log_end_offset", before.hw, end)
        yield Check("committed records are kept", end >= before.hw, lost)
    if number > before.leader_epoch:
        before = Replica(number, hw=before.hw)
    hw = None if before.hw is None else min(before.hw, end)
    after = attrs.evolve(before, end=end, hw=hw, has_fetched=False)
    return known.with_replica(report.node, after)


HANDLERS: Mapping[str, Callable[[Known, Report], Checked[Known]]] = {
    "state": broker_reports,
    "truncated": follower_truncates,
}
"""By kind of report."""


# -- lineages ------------------------------------------------------------------------------------


def agree(one: LeaderEpochs, other: LeaderEpochs, end: int) -> bool:
    """Whether two lineages have the same epochs where both are known: up to `end`."""
    if not one.entries or not other.entries:
        return True
    start = max(one.entries[0].start, other.entries[0].start)
    return within(one, start, end) == within(other, start, end)


def within(lineage: LeaderEpochs, start: int, end: int) -> LeaderEpochs:
    """The part of a lineage between two offsets."""
    return lineage.truncate_from_start(start).truncate_from_end(end)


def joined(lineage: LeaderEpochs, own: LeaderEpochs) -> LeaderEpochs:
    """A lineage that another one continues, perhaps in the epoch in which the first one ends."""
    if not own.entries:
        return lineage
    older = lineage.truncate_from_end(own.entries[0].start)
    continues = older.latest_epoch == own.entries[0].epoch
    rest = own.entries[1:] if continues else own.entries
    return LeaderEpochs((*older.entries, *rest)[-MOST_EPOCHS:])


def plain(lineage: LeaderEpochs) -> tuple[tuple[int, int], ...]:
    """The entries of a lineage, for a contradiction."""
    return tuple((epoch, start) for epoch, start in lineage.entries)
