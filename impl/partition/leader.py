"""A replica as the leader: the progress of its followers, the ISR, and the high watermark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import attrs

from kspec.impl.partition.epochs import NOWHERE
from kspec.impl.partition.messages import DivergingEpoch, FetchRequest, FetchResponse
from kspec.spec.vocabulary import PartitionError

if TYPE_CHECKING:
    from kspec.impl.partition.replica import Replica

UNKNOWN = -1
"""The end offset of a follower that has not fetched yet."""


@attrs.frozen
class Settings:
    """The settings that decide who is in sync and what is committed; defaults as in Kafka 3.7."""

    min_insync_replicas: int = 1
    """The smallest ISR with which acks=-1 is accepted (min.insync.replicas)."""
    replica_lag_ms: int = 30_000
    """How long a member of the ISR may be behind (replica.lag.time.max.ms)."""
    epoch_begins_at_once: bool = True
    """A new leader adds its epoch to the cache before the first record of it (KAFKA-7415)."""
    isr_waits_for_epoch: bool = True
    """To join the ISR, a follower must hold all records of earlier epochs (KAFKA-7128)."""
    hw_waits_for_min_isr: bool = True
    """The high watermark does not advance while the ISR is below min.insync.replicas (3.7)."""
    caps_min_isr: bool = True
    """Of min.insync.replicas, at most the number of replicas counts (3.7)."""


@attrs.define
class Progress:
    """What the leader knows of a follower from its fetches. Kafka: `Replica`, `ReplicaState`."""

    leo: int = UNKNOWN
    """Its log end offset: the offset of its last fetch."""
    last_fetch: int = 0
    """The time of its last fetch."""
    leader_leo: int = UNKNOWN
    """The leader's log end offset at that time."""
    caught_up: int = 0
    """The last time at which it had caught up with the leader."""

    def fetched(self, offset: int, leader_leo: int, now: int) -> None:
        """Record a fetch from this offset. Kafka: `Replica.updateFetchStateOrThrow`."""
        if offset >= leader_leo:
            self.caught_up = max(self.caught_up, now)
        elif offset >= self.leader_leo:
            self.caught_up = max(self.caught_up, self.last_fetch)
        self.leo = offset
        self.leader_leo = max(self.leader_leo, leader_leo)
        self.last_fetch = now

    def is_caught_up(self, leader_leo: int, lag: int, now: int) -> bool:
        """Whether it has caught up, or had recently. Kafka: `ReplicaState.isCaughtUp`."""
        return self.leo == leader_leo or now - self.caught_up <= lag


class Leader:
    """The role of a replica that leads in one leader epoch.

    Only the controller changes the ISR. A change that the leader proposes is in `wanted`, one at
    a time, until `isr_is` reports the decision, or `isr_stays` its rejection.
    """

    __slots__ = ("epoch_start", "followers", "ineligible", "isr", "replica", "replicas", "wanted")

    def __init__(
        self,
        replica: Replica,
        isr: Iterable[int],
        replicas: Iterable[int],
        now: int,
        before: Leader | None,
    ) -> None:
        """Begin a leader epoch; the followers' progress is kept if the replica led before."""
        self.replica = replica
        self.replicas = frozenset(replicas)
        self.isr = frozenset(isr)
        self.wanted: frozenset[int] | None = None
        self.ineligible: set[int] = set(before.ineligible) if before else set()
        """Brokers that may not join the ISR: fenced, or in controlled shutdown."""
        self.epoch_start = replica.log.end
        """The log end offset when this epoch began."""
        self.followers: dict[int, Progress] = {}
        for follower in sorted(self.replicas - {replica.broker}):
            since = now if follower in self.isr else 0
            known = before.followers.get(follower) if before else None
            if known is None:
                known = Progress(caught_up=since)
            else:
                known.leader_leo = replica.log.end
                known.last_fetch = known.caught_up = since
            self.followers[follower] = known

    def assign(self, replicas: Iterable[int]) -> None:
        """Change the assignment within the epoch; nothing is known of new replicas yet."""
        self.replicas = frozenset(replicas)
        others = sorted(self.replicas - {self.replica.broker})
        self.followers = {b: self.followers.get(b) or Progress() for b in others}

    # -- writing ----------------------------------------------------------------------------------

    def append(self, ids: Iterable[int], acks: int = 1, now: int = 0) -> int | PartitionError:
        """Append a producer's records; the offset of the first, or an error."""
        if acks == -1 and self.is_under_min_isr(self.isr):
            return PartitionError.NOT_ENOUGH_REPLICAS
        base = self.replica.write(ids)
        self.advance_hw(now)
        return base

    def is_acked(self, end: int) -> bool | PartitionError:
        """Whether an acks=-1 request that ends at this offset is complete, or its error."""
        if self.replica.hw < end:
            return False
        if self.is_under_min_isr(self.maximal_isr):
            return PartitionError.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return True

    def is_under_min_isr(self, isr: frozenset[int]) -> bool:
        """Whether an ISR is too small; since 3.7 it need not be larger than the replicas are."""
        settings = self.replica.settings
        least = settings.min_insync_replicas
        if settings.caps_min_isr:
            least = min(least, len(self.replicas))
        return len(isr) < least

    # -- fetches ----------------------------------------------------------------------------------

    def answer_fetch(
        self, request: FetchRequest, now: int
    ) -> FetchResponse | DivergingEpoch | PartitionError:
        """Respond to a fetch, and record the follower's progress.

        The response has the high watermark from before this fetch. If the follower's log
        diverges, the response says where, and no progress is recorded.
        """
        replica = self.replica
        log, offset = replica.log, request.offset
        progress = self.followers.get(request.replica)
        if progress is None:
            if request.leader_epoch is None:
                return PartitionError.NOT_LEADER_OR_FOLLOWER
            return PartitionError.UNKNOWN_LEADER_EPOCH
        if request.last_epoch is not None:
            end = replica.end_of_epoch(request.last_epoch)
            if end == NOWHERE or offset < log.start:
                return PartitionError.OFFSET_OUT_OF_RANGE
            if end.epoch < request.last_epoch or end.offset < offset:
                return DivergingEpoch(end)
        if not log.start <= offset <= log.end:
            return PartitionError.OFFSET_OUT_OF_RANGE
        answer = FetchResponse(offset, replica.hw, log.start, log.read(offset, request.at_most))
        held = progress.leo
        progress.fetched(offset, log.end, now)
        self.want_expansion(request.replica)
        if progress.leo != held:
            self.advance_hw(now)
        return answer

    # -- what is committed ------------------------------------------------------------------------

    @property
    def maximal_isr(self) -> frozenset[int]:
        """Every broker that may be in the ISR: a proposed member counts. Kafka: `maximalIsr`."""
        return self.isr if self.wanted is None else self.isr | self.wanted

    def advance_hw(self, now: int = 0) -> bool:
        """Advance the high watermark to what all members, and those about to join, hold."""
        replica = self.replica
        settings = replica.settings
        if settings.hw_waits_for_min_isr and self.is_under_min_isr(self.isr):
            return False
        end = hw = replica.log.end
        members = self.maximal_isr
        for follower, progress in self.followers.items():
            if progress.leo < hw and (
                follower in members
                or (
                    follower not in self.ineligible
                    and progress.is_caught_up(end, settings.replica_lag_ms, now)
                )
            ):
                hw = progress.leo
        if hw <= replica.hw:
            return False
        replica.hw = hw
        return True

    # -- the ISR ----------------------------------------------------------------------------------

    def want_expansion(self, follower: int) -> bool:
        """Propose to add a follower that holds every record that may be committed."""
        if self.wanted is not None or follower in self.isr or follower in self.ineligible:
            return False
        leo = self.followers[follower].leo
        if leo < self.replica.hw:
            return False
        if self.replica.settings.isr_waits_for_epoch and leo < self.epoch_start:
            return False
        self.wanted = self.isr | {follower}
        return True

    def lagging(self, now: int) -> frozenset[int]:
        """The members that are out of sync."""
        end, lag = self.replica.log.end, self.replica.settings.replica_lag_ms
        return frozenset(
            follower
            for follower, progress in self.followers.items()
            if follower in self.isr and not progress.is_caught_up(end, lag, now)
        )

    def want_shrink(self, now: int) -> bool:
        """Propose to remove the members that are out of sync."""
        if self.wanted is not None or not (behind := self.lagging(now)):
            return False
        self.wanted = self.isr - behind
        return True

    def isr_is(self, isr: Iterable[int], partition_epoch: int, now: int = 0) -> bool:
        """Accept the controller's decision on the ISR; False if the partition epoch is outdated."""
        if partition_epoch < self.replica.partition_epoch:
            return False
        self.replica.partition_epoch = partition_epoch
        self.isr = frozenset(isr)
        self.wanted = None
        self.advance_hw(now)
        return True

    def isr_stays(self) -> None:
        """Accept the controller's rejection: the ISR stays."""
        self.wanted = None
