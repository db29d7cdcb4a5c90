"""A replica as the leader: what its followers hold, the ISR, and what is committed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import attrs

from impl.partition.epochs import NOWHERE
from impl.partition.messages import Diverging, Fetched, FetchRequest
from spec.vocabulary import PartitionError

if TYPE_CHECKING:
    from impl.partition.replica import Replica

UNKNOWN = -1
"""The end offset of a follower that has not fetched yet."""


@attrs.frozen
class Settings:
    """What decides who is in sync and what is committed; the defaults are those of Kafka 3.7."""

    min_insync_replicas: int = 1
    replica_lag_ms: int = 30_000
    """How long a member of the ISR may lag behind (replica.lag.time.max.ms)."""
    epoch_begins_at_once: bool = True
    """A new leader notes where its epoch begins before it writes in it (KAFKA-7415)."""
    isr_waits_for_epoch: bool = True
    """Who joins the ISR holds all that was written before this epoch (KAFKA-7128)."""
    hw_waits_for_min_isr: bool = True
    """Nothing is committed while the ISR has fewer members than it should (3.7)."""


@attrs.define
class Progress:
    """What the leader knows of a follower, by its fetches."""

    leo: int = UNKNOWN
    last_fetch: int = 0
    """When it fetched last."""
    leader_leo: int = UNKNOWN
    """Where the leader's log ended then."""
    caught_up: int = 0
    """When it last held all that the leader held."""

    def fetched(self, offset: int, leader_leo: int, now: int) -> None:
        """It holds what is below this offset, and asks for more."""
        if offset >= leader_leo:
            self.caught_up = max(self.caught_up, now)
        elif offset >= self.leader_leo:
            self.caught_up = max(self.caught_up, self.last_fetch)
        self.leo = offset
        self.leader_leo = max(self.leader_leo, leader_leo)
        self.last_fetch = now

    def is_caught_up(self, leader_leo: int, lag: int, now: int) -> bool:
        """Whether it holds everything, or did not long ago."""
        return self.leo == leader_leo or now - self.caught_up <= lag


class Leader:
    """The side of a replica that leads in one epoch.

    The ISR is the controller's to change. A change that the leader wants stands in `wanted`,
    one at a time, until `isr_is` says what was decided, or `isr_stays` that it was refused.
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
        """A new epoch begins; of the followers it knows what it knew if it led before."""
        self.replica = replica
        self.replicas = frozenset(replicas)
        self.isr = frozenset(isr)
        self.wanted: frozenset[int] | None = None
        self.ineligible: set[int] = set(before.ineligible) if before else set()
        """Brokers that may not join the ISR: fenced, or shutting down."""
        self.epoch_start = replica.log.end
        """Where the log ended when this epoch began."""
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
        """These brokers have the partition, in the same epoch; of new ones nothing is known."""
        self.replicas = frozenset(replicas)
        others = sorted(self.replicas - {self.replica.broker})
        self.followers = {b: self.followers.get(b) or Progress() for b in others}

    # -- writing ----------------------------------------------------------------------------------

    def append(self, ids: Iterable[int], acks: int = 1, now: int = 0) -> int | PartitionError:
        """Write what a producer sent; the offset of the first record, or why not."""
        if acks == -1 and self.is_under_min_isr(self.isr):
            return PartitionError.NOT_ENOUGH_REPLICAS
        base = self.replica.write(ids)
        self.advance_hw(now)
        return base

    def is_acked(self, end: int) -> bool | PartitionError:
        """Whether acks=-1 is due for records that end at this offset; or the error that is."""
        if self.replica.hw < end:
            return False
        if self.is_under_min_isr(self.maximal_isr):
            return PartitionError.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return True

    def is_under_min_isr(self, isr: frozenset[int]) -> bool:
        """Whether an ISR has fewer members than there should be; never more than there are."""
        least = min(self.replica.settings.min_insync_replicas, len(self.replicas))
        return len(isr) < least

    # -- fetches ----------------------------------------------------------------------------------

    def answer_fetch(self, request: FetchRequest, now: int) -> Fetched | Diverging | PartitionError:
        """Answer a follower, and note what it holds.

        The answer has the high watermark of before this fetch. A follower whose log leaves the
        leader's is told so, and nothing is noted: what it holds does not count.
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
                return Diverging(end)
        if not log.start <= offset <= log.end:
            return PartitionError.OFFSET_OUT_OF_RANGE
        answer = Fetched(offset, replica.hw, log.start, log.read(offset, request.at_most))
        held = progress.leo
        progress.fetched(offset, log.end, now)
        self.want_expansion(request.replica)
        if progress.leo != held:
            self.advance_hw(now)
        return answer

    # -- what is committed ------------------------------------------------------------------------

    @property
    def maximal_isr(self) -> frozenset[int]:
        """Whoever may be in the ISR, as far as the leader can know: a wanted member counts."""
        return self.isr if self.wanted is None else self.isr | self.wanted

    def advance_hw(self, now: int = 0) -> bool:
        """Commit what all hold that count: members, and who is about to be one."""
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
        """Ask for a follower to join, if it holds all that may be committed."""
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
        """Members that have been behind for too long."""
        end, lag = self.replica.log.end, self.replica.settings.replica_lag_ms
        return frozenset(
            follower
            for follower, progress in self.followers.items()
            if follower in self.isr and not progress.is_caught_up(end, lag, now)
        )

    def want_shrink(self, now: int) -> bool:
        """Ask for those to leave that lag."""
        if self.wanted is not None or not (behind := self.lagging(now)):
            return False
        self.wanted = self.isr - behind
        return True

    def isr_is(self, isr: Iterable[int], partition_epoch: int, now: int = 0) -> bool:
        """The controller has decided: this is the ISR, in this version; False if that is old."""
        if partition_epoch < self.replica.partition_epoch:
            return False
        self.replica.partition_epoch = partition_epoch
        self.isr = frozenset(isr)
        self.wanted = None
        self.advance_hw(now)
        return True

    def isr_stays(self) -> None:
        """The controller has refused: the ISR is what it was."""
        self.wanted = None
