"""The lockstep adapter for the replicas of `kspec.impl.partition` and `spec.replication`.

The model's steps are larger than messages: a follower fetches in one step, and a leader that
commits or changes the ISR reads its followers' current logs. So the replicas exchange the
corresponding requests within one step, and what they would do after a message by themselves
(commit, propose an ISR change) waits for the model's step of that name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import attrs

from kspec.checkers.lockstep import Adapter, NotModelled
from kspec.impl.partition import Follower, Leader, Replica, Settings
from kspec.impl.partition.generations import KIP_101, KIP_279, KIP_320, KIP_595, TO_HW, Generation
from kspec.impl.partition.leader import Progress
from kspec.impl.partition.messages import (
    DivergingEpoch,
    EpochEndRequest,
    FetchRequest,
    FetchResponse,
)
from kspec.spec.core import Blocked, Taken
from kspec.spec.log import Log, Record
from kspec.spec.replication import REPLICATION
from kspec.spec.replication.state import Cluster, LeaderAndIsr, View
from kspec.spec.vocabulary import PartitionError

FIRST_TRY = Generation("first try", asks=False, is_fenced=False, sends_last_epoch=True)
"""Never released: the fetch response says where to truncate, and nothing is fenced."""

HELD_TO = {
    TO_HW: "truncate-to-hw",
    KIP_101: "kip-101",
    KIP_279: "kip-279",
    FIRST_TRY: "kip-320-first-try",
    KIP_320: "kip-320",
    KIP_595: "kip-320",
}
"""The variant that specifies each generation."""

DIVERGES = "a follower that diverges counts only once it has truncated"
UNKNOWN_EPOCH = "the leader does not know the follower's epoch"
OLDER_ABOVE = "records of an older epoch follow newer ones"
OTHER_START = "both logs have an epoch that begins at different offsets"
OLDER_THAN_FIRST = (
    "up to 2.0, a leader does not know where an epoch before its first one ended; in the TLA+ "
    "family it ended where the log begins"
)
BEFORE_FIRST = "the leader names an epoch before the follower's first: 2.0 lets it keep its log"
OUT_OF_RANGE = "the follower is out of its leader's range"
SAME_LEADER = "before 2.1, Kafka did not truncate under an unchanged leader; the TLA+ family does"

VERSIONS = 1000
"""More than there are ISR changes in one leader epoch."""


REFUSED = {
    "broker_becomes_leader": {"request has a newer leader epoch"},
    "broker_becomes_follower": {"request has a newer leader epoch"},
    "broker_becomes_follower_and_truncates": {
        "request has a newer leader epoch",
        "leader presumes leadership",
        "leader is in the request's epoch",
    },
    "leader_appends": {"leader presumes leadership"},
    "leader_advances_hw": {
        "leader holds a record at the high watermark",
        "every ISR member follows the leader",
        "every ISR member is in the leader's epoch",
        "every ISR member holds a record there",
    },
    "leader_shrinks_isr": {"follower is out of sync"},
    "leader_expands_isr": {
        "follower is not in the ISR",
        "follower's log reaches the high watermark",
        "follower is in the leader's epoch",
    },
    "follower_fetches": {
        "leader presumes leadership",
        "follower is in the leader's epoch",
        "follower's last record has the epoch of the leader's",
    },
    "follower_truncates": {
        "leader presumes leadership",
        "follower's log diverges from the leader's",
    },
}
"""What a replica refuses by itself: guards by rule."""

CONTROLLER = "the controller decides this, and the replica does not know it"
CHOICE = "the adapter would call a broker that the step is not about"

NOT_REFUSED = {
    "broker_becomes_leader": {"request names a leader": CHOICE},
    "broker_becomes_follower": {
        "request names a leader": CHOICE,
        "leader is another broker": CHOICE,
    },
    "broker_becomes_follower_and_truncates": {
        "request names a leader": CHOICE,
        "leader is another broker": CHOICE,
        "truncation offset is within the log": (
            "Kafka truncates nothing where the leader's answer is beyond the log; the TLA+ family "
            "blocks the rule"
        ),
    },
    "leader_advances_hw": {"leader presumes leadership": CHOICE},
    "leader_shrinks_isr": {
        "leadership is current": CONTROLLER,
        "follower is in the ISR": CHOICE,
        "follower is another broker": CHOICE,
    },
    "leader_expands_isr": {
        "leadership is current": CONTROLLER,
        "high watermark has reached the leader's epoch": (
            "stricter than Kafka: `Partition.isFollowerInSync` compares the follower's end offset "
            "with the start offset of the leader's epoch, and so does a replica"
        ),
    },
    "follower_fetches": {
        "follower follows the leader": CHOICE,
        "leader holds a record at the fetch offset": (
            "in Kafka such a fetch returns the high watermark; the TLA+ family does not have it"
        ),
    },
    "follower_truncates": {"follower follows the leader": CHOICE},
}
"""The other guards: why a step that they block is not compared."""


@attrs.define(eq=False)
class Replicas:
    """All replicas of a partition, and a clock that advances with each step."""

    replicas: dict[int, Replica]
    next_record: int
    now: int = 0

    def __getitem__(self, broker: int) -> Replica:
        return self.replicas[broker]


class PartitionAdapter(Adapter[Cluster, Replicas]):
    """One generation of replicas, compared with its variant."""

    def __init__(self, generation: Generation, replica: type[Replica] = Replica) -> None:
        self.generation = generation
        self.replica = replica
        self.variant = HELD_TO[generation]
        old = generation in (TO_HW, KIP_101, KIP_279)
        self.settings = Settings(
            replica_lag_ms=0,
            epoch_begins_at_once=generation not in (TO_HW, KIP_101),
            isr_waits_for_epoch=not old,
        )
        self.sees_records = generation is FIRST_TRY
        """Whether the model's leader reads followers' records, where Kafka's knows only LEOs."""

    # -- states -----------------------------------------------------------------------------------

    def load(self, state: Cluster) -> Replicas:
        brokers = range(len(state.logs))
        loaded = Replicas({b: self.replica(b, self.settings, self.generation) for b in brokers}, 0)
        loaded.next_record = state.next_record
        for broker, replica in loaded.replicas.items():
            log, view = state.logs[broker], state.views[broker]
            leads = view.leader == broker
            for record in log.records:
                if leads and record.epoch == view.epoch:
                    break
                replica.leader_epoch = record.epoch
                replica.write([record.id])
            replica.leader_epoch = -1
            if leads:
                self.lead(replica, state.requests[view.epoch], brokers)
                role = replica.role
                assert isinstance(role, Leader)
                role.isr = view.isr
                if view.isr != state.requests[view.epoch].isr:
                    replica.partition_epoch += 1
                replica.write([r.id for r in log.records[role.epoch_start :]])
            elif view.leader >= 0:
                replica.hw = replica.log.end  # becoming a follower truncates nothing
                replica.become_follower(view.epoch, view.epoch * VERSIONS, view.leader, view.isr)
                assert isinstance(replica.role, Follower)
                replica.role.must_ask = False
            replica.hw = view.hw
        return loaded

    def lead(self, replica: Replica, request: LeaderAndIsr, brokers: Any) -> bool:
        return replica.become_leader(
            request.epoch, request.epoch * VERSIONS, request.isr, brokers, now=0
        )

    def abstract(self, subject: Replicas) -> Any:
        return [
            self.as_specified(replica) for replica in subject.replicas.values()
        ], subject.next_record

    def as_specified(self, replica: Replica) -> tuple[Log, View]:
        log, role = replica.log, replica.role
        batches = log.read(log.start, log.end)
        records = tuple(Record(i, batch.epoch) for batch in batches for i in batch.ids)
        if role is None:
            return Log(records, log.start), View(hw=replica.hw)
        leader: Any = role.leader if isinstance(role, Follower) else replica.broker
        isr: Any = frozenset(role.isr)
        view = View(replica.hw, replica.leader_epoch, leader, isr)
        return Log(records, log.start), view

    def view(self, state: Cluster) -> Any:
        return list(zip(state.logs, state.views, strict=True)), state.next_record

    # -- answers ----------------------------------------------------------------------------------

    def refuses(self, rule: str, guard: str) -> bool:
        if rule.startswith("controller"):
            return False
        if guard in NOT_REFUSED.get(rule, {}):
            return False
        assert guard in REFUSED[rule], f"{rule}: refuse {guard!r}, or say why not"
        return True

    def answer(self, before: Cluster, taken: Taken, outcome: Cluster | Blocked) -> Any:
        if taken.rule.startswith("controller"):
            return None
        if taken.rule != "leader_advances_hw" or self.sees_records:
            return not isinstance(outcome, Blocked)
        leader = taken.choices["leader"]
        rules = REPLICATION.variant(self.variant).rules
        [advance] = [rule for rule in rules if rule.name == "leader_advances_hw"]
        reached = before
        while not isinstance(outcome, Blocked):
            reached, outcome = outcome, advance.attempt(outcome, (leader,))
        return reached.views[leader].hw

    def apply(self, subject: Replicas, taken: Taken) -> Any:
        if taken.rule.startswith("controller"):
            return None
        subject.now += 1
        return getattr(self, taken.rule)(subject, **taken.choices)

    # -- steps ------------------------------------------------------------------------------------

    def broker_becomes_leader(self, subject: Replicas, request: LeaderAndIsr) -> bool:
        replica = subject[request.leader]
        with waiting(replica):
            return self.lead(replica, request, subject.replicas)

    def leader_appends(self, subject: Replicas, leader: int) -> bool:
        replica = subject[leader]
        with waiting(replica):
            base = replica.append([subject.next_record], now=subject.now)
        if isinstance(base, PartitionError):
            return False
        subject.next_record += 1
        return True

    def leader_advances_hw(self, subject: Replicas, leader: int) -> int | bool:
        """Advance as far as possible, once all members have fetched."""
        replica = subject[leader]
        role = replica.role
        if not isinstance(role, Leader):
            return replica.hw
        hw = replica.hw
        diverging = False
        for member in sorted(role.isr - {leader}):
            diverging |= isinstance(self.hear(subject, leader, member), DivergingEpoch)
        role.wanted = None
        role.advance_hw(subject.now)
        reached = replica.hw
        replica.hw = min(reached, hw + 1)
        if not self.sees_records:
            return reached
        if diverging and reached == hw:
            raise NotModelled(DIVERGES)
        return reached > hw

    def leader_shrinks_isr(self, subject: Replicas, leader: int, follower: int) -> bool:
        role = self.knows(subject, leader, follower)
        role.wanted = None
        if not role.want_shrink(subject.now) or role.wanted is None:
            return False
        lags = follower not in role.wanted
        role.wanted = None
        if lags:
            self.decide(subject[leader], role, role.isr - {follower})
        return lags

    def leader_expands_isr(self, subject: Replicas, leader: int, follower: int) -> bool:
        role = self.knows(subject, leader, follower)
        wanted = role.wanted
        role.wanted = None
        if wanted is None:
            return False
        self.decide(subject[leader], role, wanted)
        return True

    def broker_becomes_follower(
        self, subject: Replicas, follower: int, request: LeaderAndIsr
    ) -> bool:
        hw = subject[follower].hw
        subject[follower].hw = subject[follower].log.end  # truncation is a separate step
        is_new = self.follow(subject[follower], request)
        if is_new:  # the model has no epochs without records
            subject[follower].truncate_to(subject[follower].log.end)
        subject[follower].hw = hw
        return is_new

    def broker_becomes_follower_and_truncates(
        self, subject: Replicas, follower: int, request: LeaderAndIsr
    ) -> bool:
        replica, leader = subject[follower], subject[request.leader]
        if self.generation.is_fenced:
            question = EpochEndRequest(0, request.epoch)
            if isinstance(leader.answer(question), PartitionError):
                return False
        elif request.epoch > replica.leader_epoch:
            if self.follows(subject, request.leader, follower):
                raise NotModelled(SAME_LEADER)
            if self.generation.asks:
                self.check_modelled(leader, replica)
        if self.generation is KIP_279:  # tried on a copy: a step left out must change nothing
            self.truncates_with(leader, deepcopy(replica), request, subject.now)
        followed = self.truncates_with(leader, replica, request, subject.now)
        if followed:
            self.truncate_on_fetch(subject, request.leader, follower)
        return followed

    def truncates_with(
        self, leader: Replica, replica: Replica, request: LeaderAndIsr, now: int
    ) -> bool:
        """Let a replica follow, and truncate as the leader answers; whether it follows anew."""
        if not self.follow(replica, request):
            return False
        role = replica.role
        assert isinstance(role, Follower)
        rounds = Rounds()
        while isinstance(request_ := role.next_request(at_most=0), EpochEndRequest):
            rounds.another()
            if self.generation.is_fenced:
                role.take(leader.answer(request_, now))
            else:  # a replica answers even if it does not know that it leads
                answer = leader.end_of_epoch(request_.epoch)
                is_older = answer.epoch >= 0 and replica.epochs.is_older(answer.epoch)
                if self.generation is KIP_279 and is_older:
                    raise NotModelled(BEFORE_FIRST)
                role.take(answer)
        return True

    def follower_truncates(self, subject: Replicas, leader: int, follower: int) -> bool:
        if not self.follows(subject, leader, follower):
            return False
        self.check_modelled(subject[leader], subject[follower])
        end = subject[follower].log.end
        answer = self.truncate_on_fetch(subject, leader, follower)
        if answer == PartitionError.OFFSET_OUT_OF_RANGE:
            raise NotModelled(UNKNOWN_EPOCH)
        return subject[follower].log.end < end

    def follower_fetches(self, subject: Replicas, leader: int, follower: int) -> bool:
        if not self.follows(subject, leader, follower):
            return False
        role, replica = subject[follower].role, subject[leader]
        assert isinstance(role, Follower)
        if self.sees_records:
            self.check_modelled(replica, subject[follower])
        with waiting(replica):
            answer = replica.answer(asked(role, at_most=1), subject.now)
        if not isinstance(answer, FetchResponse):
            return False
        return role.take(answer) and bool(answer.batches)

    # -- parts of steps ---------------------------------------------------------------------------

    def follow(self, replica: Replica, request: LeaderAndIsr) -> bool:
        return replica.become_follower(
            request.epoch, request.epoch * VERSIONS, request.leader, request.isr
        )

    def follows(self, subject: Replicas, leader: int, follower: int) -> bool:
        role = subject[follower].role
        return isinstance(role, Follower) and role.leader == leader

    def hear(self, subject: Replicas, leader: int, follower: int) -> Any:
        """Reset a follower's progress; if it follows the leader, let it fetch now."""
        replica = subject[leader]
        assert isinstance(replica.role, Leader)
        if follower == leader:
            return None
        replica.role.followers[follower] = Progress()
        if not self.follows(subject, leader, follower):
            return None
        role = subject[follower].role
        assert isinstance(role, Follower)
        if self.sees_records:
            self.check_modelled(replica, subject[follower])
        answer = replica.answer(asked(role, at_most=0), subject.now)
        if answer == PartitionError.OFFSET_OUT_OF_RANGE:
            raise NotModelled(OUT_OF_RANGE)
        return answer

    def knows(self, subject: Replicas, leader: int, follower: int) -> Leader:
        """The leader with the follower's current progress, and without a proposal."""
        role = subject[leader].role
        assert isinstance(role, Leader)
        hw, role.wanted = subject[leader].hw, None
        answer = self.hear(subject, leader, follower)
        subject[leader].hw = hw
        if self.sees_records and isinstance(answer, DivergingEpoch):
            raise NotModelled(DIVERGES)
        subject.now += 1  # a follower that is no longer caught up lags
        return role

    def decide(self, replica: Replica, role: Leader, isr: frozenset[int]) -> None:
        hw = replica.hw
        role.isr_is(isr, replica.partition_epoch + 1)
        replica.hw = hw

    def truncate_on_fetch(self, subject: Replicas, leader: int, follower: int) -> Any:
        """Fetch until the response names no diverging epoch; its records are not appended."""
        role = subject[follower].role
        assert isinstance(role, Follower)
        answer: Any = None
        rounds = Rounds()
        while isinstance(request := role.next_request(at_most=0), FetchRequest):
            rounds.another()
            if request.last_epoch is None:
                break
            with waiting(subject[leader]):
                answer = subject[leader].answer(request, subject.now)
            if not isinstance(answer, DivergingEpoch):
                break
            role.take(answer)
        return answer

    def check_modelled(self, leader: Replica, follower: Replica) -> None:
        """Raise NotModelled where the model's epochs, read from the records, do not suffice."""
        for replica in (leader, follower):
            epochs = [batch.epoch for batch in replica.log.read(0, replica.log.end)]
            cached = [epoch for epoch, start in replica.epochs.entries if start < replica.log.end]
            if epochs != cached:
                raise NotModelled(OLDER_ABOVE)
        latest = follower.epochs.latest_epoch
        if self.generation is KIP_101 and latest is not None and leader.epochs.is_older(latest):
            raise NotModelled(OLDER_THAN_FIRST)
        if self.generation is not KIP_279:
            return
        if latest is not None and leader.end_of_epoch(latest).offset < 0:
            raise NotModelled(UNKNOWN_EPOCH)
        starts, theirs = dict(follower.epochs.entries), dict(leader.epochs.entries)
        if any(starts[epoch] != theirs[epoch] for epoch in starts.keys() & theirs.keys()):
            raise NotModelled(OTHER_START)


class Rounds:
    """A limit on the requests of one truncation."""

    def __init__(self) -> None:
        self.left = 20

    def another(self) -> None:
        self.left -= 1
        if not self.left:
            raise RuntimeError("the truncation never ends")


def asked(role: Follower, at_most: int) -> Any:
    """The follower's next request, which is never None in the model."""
    request = role.next_request(at_most=at_most)
    assert request is not None
    return request


@contextmanager
def waiting(replica: Replica) -> Iterator[None]:
    """Undo what a leader does by itself, which is a separate step in the model."""
    hw = replica.hw
    yield
    if isinstance(replica.role, Leader):
        replica.hw = hw
        replica.role.wanted = None
