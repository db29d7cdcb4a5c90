"""Which reports agree with Kafka's replication: each guard is a fact about all its behaviours."""

from __future__ import annotations

import attrs

from kspec.field.recorded.replica.state import (
    MOST_EPOCHS,
    Epoch,
    Known,
    Replica,
    Report,
    agree,
    joined,
    with_epoch,
    with_replica,
)
from kspec.spec.core import Guarded, Rule, Step, rule


def one(_: Known) -> tuple[Report, ...]:
    """The report is given by the event."""
    return ()


@rule(by="broker", report=one)
def broker_reports(s: Known, report: Report) -> Step[Known]:
    """A broker reports the state of its replica: any of leader, epochs, LEO, HW and ISR.

    Values are compared only where the report names the leader epoch: otherwise the replica may
    be in a newer one. Kafka: `Partition` for the leader's epoch, ISR and HW; `UnifiedLog` for the
    LEO.
    """
    if report.hw is not None and report.end is not None:
        yield "high watermark is within the log", report.hw <= report.end
    before = s.replicas.get(report.node, Replica())
    if report.leader_epoch is None:
        end = before.end if report.end is None else report.end
        hw = before.hw if report.hw is None else report.hw
        return with_replica(s, report.node, attrs.evolve(before, end=end, hw=hw))
    after, epoch = yield from report_in_epoch(s, report, before)
    lineage, lineage_end = s.lineage, s.lineage_end
    if report.epochs is not None and report.hw is not None and not report.is_unclean:
        own = tuple(entry for entry in report.epochs if entry[1] < report.hw)
        same = agree(own, report.hw, lineage, lineage_end)
        yield "committed records have one leader epoch", same
        if report.hw > lineage_end:
            lineage, lineage_end = joined(lineage, own)[-MOST_EPOCHS:], report.hw
    return attrs.evolve(
        with_replica(s, report.node, after),
        epochs=with_epoch(s.epochs, report.leader_epoch, epoch),
        lineage=lineage,
        lineage_end=lineage_end,
    )


def report_in_epoch(s: Known, report: Report, before: Replica) -> Guarded[tuple[Replica, Epoch]]:
    """What a report of a known leader epoch implies for its replica, and for the epoch."""
    number = report.leader_epoch
    assert number is not None
    yield "leader epoch does not decrease", number >= before.leader_epoch
    is_same = number == before.leader_epoch
    if not is_same:
        before = Replica(number)
    version = before.partition_epoch if report.partition_epoch is None else report.partition_epoch
    yield "partition epoch does not decrease", version >= before.partition_epoch
    known = s.epochs.get(number, Epoch())
    leader = known.leader if report.leader is None else report.leader
    yield "leader epoch has one leader", known.leader in (None, leader)
    leads, end, hw = leader == report.node, report.end, report.hw
    if leads:
        if end is not None and before.end is not None:
            yield "leader's log does not shrink", end >= before.end
        if hw is not None and before.hw is not None:
            yield "leader's high watermark does not decrease", hw >= before.hw
        if report.isr is not None:
            yield "leader is in its ISR", report.node in report.isr
        if end is not None and not report.is_unclean:
            yield "leader holds the committed records", end >= committed_before(s, number)
    if hw is not None and not report.is_unclean:
        yield "later leaders hold the committed records", hw <= least_end_after(s, number, hw)
    has_grown = end is not None and before.end is not None and end > before.end
    has_fetched = before.has_fetched or (leader is not None and not leads and has_grown)
    if report.is_ordered and end is not None:
        if leads:
            yield "leader holds what followers fetched", end >= known.replicated
        elif report.node in known.isr and not report.is_unclean:
            yield "ISR member holds the committed records", end >= known.hw
    epoch = attrs.evolve(known, leader=leader, committed=max(known.committed, hw or 0))
    if leads and end is not None:
        least = end if known.least_end is None else min(known.least_end, end)
        epoch = attrs.evolve(epoch, least_end=least)
    elif has_fetched and end is not None:
        epoch = attrs.evolve(epoch, replicated=max(known.replicated, end))
    if leads and report.isr is not None and hw is not None:
        epoch = attrs.evolve(epoch, isr=report.isr, hw=hw)
    end, hw = before.end if end is None else end, before.hw if hw is None else hw
    return Replica(number, version, end, hw, has_fetched), epoch


@rule(by="follower", report=one)
def follower_truncates(s: Known, report: Report) -> Step[Known]:
    """A follower of a new leader removes the end of its log, never committed records.

    Kafka: `UnifiedLog.truncateTo`, called by `AbstractFetcherThread`.
    """
    before, end = s.replicas.get(report.node, Replica()), report.end or 0
    number = before.leader_epoch if report.leader_epoch is None else report.leader_epoch
    yield "leader epoch does not decrease", number >= before.leader_epoch
    if report.leader_epoch is not None and number in s.epochs:
        yield "leader does not truncate", s.epochs[number].leader != report.node
    if before.hw is not None and not report.is_unclean:
        yield "committed records are kept", end >= before.hw
    if number > before.leader_epoch:
        before = Replica(number, hw=before.hw)
    hw = None if before.hw is None else min(before.hw, end)
    after = attrs.evolve(before, end=end, hw=hw, has_fetched=False)
    return with_replica(s, report.node, after)


def committed_before(s: Known, number: int) -> int:
    """The highest offset known to be committed in a leader epoch before this one.

    A leader that is elected from the ISR holds it.
    """
    return max((e.committed for n, e in s.epochs.items() if n < number), default=0)


def least_end_after(s: Known, number: int, default: int) -> int:
    """The lowest LEO of a leader of a later epoch: no more is committed in this one."""
    later = (e.least_end for n, e in s.epochs.items() if n > number)
    return min((end for end in later if end is not None), default=default)


RULES: dict[str, Rule[Known]] = {"state": broker_reports, "truncated": follower_truncates}
"""By kind of event."""
