"""The replicas of `impl.partition`, held to `spec.replication`.

The model's steps are larger than messages: a follower fetches in one step, and a leader that
commits, or changes the ISR, sees what its followers hold at that moment. So the replicas
exchange, within one step, the requests that tell the same; and what they would do of their own
accord after a message (commit, ask for a larger ISR) waits for the model's step of that name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from checkers.lockstep import Adapter, NotModelled
from impl.partition import Follower, Generation, Leader, Progress, Replica, Settings
from impl.partition.generations import KIP_101, KIP_279, KIP_320, KIP_595, TO_HW
from impl.partition.messages import Diverging, EpochQuestion, Fetched, FetchRequest
from spec.core import Blocked, Taken
from spec.log import Log, Record
from spec.replication import REPLICATION
from spec.replication.state import Cluster, LeaderAndIsr, View
from spec.vocabulary import PartitionError

FIRST_TRY = Generation("first try", asks=False, is_fenced=False, sends_last_epoch=True)
"""What was never released: the answer to a fetch says where to cut, and nothing is fenced."""

HELD_TO = {
    TO_HW: "truncate-to-hw",
    KIP_101: "kip-101",
    KIP_279: "kip-279",
    FIRST_TRY: "kip-320-first-try",
    KIP_320: "kip-320",
    KIP_595: "kip-320",
}
"""Each generation, and the variant that says what it does."""

DIVERGES = "a follower that diverges counts only once it has truncated"
UNKNOWN_EPOCH = "the leader does not know the follower's epoch"
OLDER_ABOVE = "records of an older epoch follow newer ones"
OUT_OF_RANGE = "the follower is out of its leader's range"

VERSIONS = 1000
"""Between two leader epochs, so many versions of the ISR."""


REFUSED = {
    "become_leader": {"request is newer than what the broker knows"},
    "become_follower": {"request is newer than what the broker knows"},
    "become_follower_and_truncate": {
        "request is newer than what the broker knows",
        "leader presumes leadership",
        "leader is in the request's epoch",
    },
    "leader_advances_hw": {
        "leader holds the offset",
        "isr follows",
        "isr is in the leader's epoch",
        "isr holds the offset",
    },
    "leader_shrinks_isr": {"follower lags"},
    "leader_expands_isr": {
        "follower is out of the isr",
        "follower holds what is committed",
        "follower is in the leader's epoch",
    },
    "follower_fetches": {
        "leader presumes leadership",
        "follower is in the leader's epoch",
        "follower's last record has the leader's epoch",
    },
    "follower_truncates": {
        "leader presumes leadership",
        "follower's log leaves the leader's",
    },
}
"""What a replica refuses by itself: guards by rule."""


@attrs.define(eq=False)
class Replicas:
    """All replicas of a partition, and a clock that goes on with each step."""

    replicas: dict[int, Replica]
    next_record: int
    now: int = 0

    def __getitem__(self, broker: int) -> Replica:
        return self.replicas[broker]


class PartitionAdapter(Adapter[Cluster, Replicas]):
    """One generation of replicas, held to its variant."""

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
        """Whether the model looks at single records of a follower, where the leader hears LEOs."""

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
                replica.hw = replica.log.end  # nothing is truncated by taking the role
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
        return [self.told(replica) for replica in subject.replicas.values()], subject.next_record

    def told(self, replica: Replica) -> tuple[Log, View]:
        log, role = replica.log, replica.role
        batches = log.read(log.start, log.end)
        records = tuple(Record(i, batch.epoch) for batch in batches for i in batch.ids)
        if role is None:
            return Log(records, log.start), View(hw=replica.hw)
        leader = role.leader if isinstance(role, Follower) else replica.broker
        view = View(replica.hw, replica.leader_epoch, leader, frozenset(role.isr))
        return Log(records, log.start), view

    def view(self, state: Cluster) -> Any:
        return list(zip(state.logs, state.views, strict=True)), state.next_record

    # -- what is asked of a replica ---------------------------------------------------------------

    def refuses(self, rule: str, guard: str) -> bool:
        return guard in REFUSED.get(rule, ())

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

    def become_leader(self, subject: Replicas, request: LeaderAndIsr) -> bool:
        replica = subject[request.leader]
        with waiting(replica):
            return self.lead(replica, request, subject.replicas)

    def leader_writes(self, subject: Replicas, leader: int) -> bool:
        replica = subject[leader]
        assert isinstance(replica.role, Leader)
        with waiting(replica):
            base = replica.role.append([subject.next_record], now=subject.now)
        subject.next_record += 1
        return not isinstance(base, PartitionError)

    def leader_advances_hw(self, subject: Replicas, leader: int) -> int | bool:
        """As far as the leader goes by itself, once all members have told what they hold."""
        replica = subject[leader]
        role = replica.role
        if not isinstance(role, Leader):
            return replica.hw
        hw = replica.hw
        diverging = False
        for member in sorted(role.isr - {leader}):
            diverging |= isinstance(self.hear(subject, leader, member), Diverging)
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

    def become_follower(self, subject: Replicas, follower: int, request: LeaderAndIsr) -> bool:
        hw = subject[follower].hw
        subject[follower].hw = subject[follower].log.end  # truncation is a step of its own
        is_new = self.follow(subject[follower], request)
        if is_new:  # but epochs without records are none to the model
            subject[follower].truncate_to(subject[follower].log.end)
        subject[follower].hw = hw
        return is_new

    def become_follower_and_truncate(
        self, subject: Replicas, follower: int, request: LeaderAndIsr
    ) -> bool:
        replica, leader = subject[follower], subject[request.leader]
        if self.generation.is_fenced:
            question = EpochQuestion(0, request.epoch)
            if isinstance(leader.answer(question), PartitionError):
                return False
        elif self.generation.asks and request.epoch > replica.leader_epoch:
            self.check_modelled(leader, replica)
        if not self.follow(replica, request):
            return False
        role = replica.role
        assert isinstance(role, Follower)
        rounds = Rounds()
        while isinstance(request_ := role.next_request(at_most=0), EpochQuestion):
            rounds.another()
            if self.generation.is_fenced:
                role.take(leader.answer(request_, subject.now))
            else:  # whoever is asked answers, whether it knows that it leads or not
                role.take(leader.end_of_epoch(request_.epoch))
        self.truncate_on_fetch(subject, request.leader, follower)
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
            answer = replica.answer(role.next_request(at_most=1), subject.now)
        if not isinstance(answer, Fetched):
            return False
        return role.take(answer) and bool(answer.batches)

    # -- what steps are made of -------------------------------------------------------------------

    def follow(self, replica: Replica, request: LeaderAndIsr) -> bool:
        return replica.become_follower(
            request.epoch, request.epoch * VERSIONS, request.leader, request.isr
        )

    def follows(self, subject: Replicas, leader: int, follower: int) -> bool:
        role = subject[follower].role
        return isinstance(role, Follower) and role.leader == leader

    def hear(self, subject: Replicas, leader: int, follower: int) -> Any:
        """What the leader knew of a follower is past; if it follows, it fetches now."""
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
        answer = replica.answer(role.next_request(at_most=0), subject.now)
        if answer == PartitionError.OFFSET_OUT_OF_RANGE:
            raise NotModelled(OUT_OF_RANGE)
        return answer

    def knows(self, subject: Replicas, leader: int, follower: int) -> Leader:
        """The leader, once it has heard of the follower and forgot what it wanted before."""
        role = subject[leader].role
        assert isinstance(role, Leader)
        hw, role.wanted = subject[leader].hw, None
        answer = self.hear(subject, leader, follower)
        subject[leader].hw = hw
        if self.sees_records and isinstance(answer, Diverging):
            raise NotModelled(DIVERGES)
        subject.now += 1  # whoever was caught up a moment ago, and is not now, lags
        return role

    def decide(self, replica: Replica, role: Leader, isr: frozenset[int]) -> None:
        hw = replica.hw
        role.isr_is(isr, replica.partition_epoch + 1)
        replica.hw = hw

    def truncate_on_fetch(self, subject: Replicas, leader: int, follower: int) -> Any:
        """Fetch until the answer has no epoch to cut at; what it has is for another step."""
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
            if not isinstance(answer, Diverging):
                break
            role.take(answer)
        return answer

    def check_modelled(self, leader: Replica, follower: Replica) -> None:
        """The model reads epochs off the records, and goes by what a conversation finds."""
        for replica in (leader, follower):
            epochs = [batch.epoch for batch in replica.log.read(0, replica.log.end)]
            cached = [epoch for epoch, start in replica.epochs.entries if start < replica.log.end]
            if epochs != cached:
                raise NotModelled(OLDER_ABOVE)
        latest = follower.epochs.latest_epoch
        unknown = latest is not None and leader.end_of_epoch(latest).offset < 0
        if self.generation is KIP_279 and unknown:
            raise NotModelled(UNKNOWN_EPOCH)


class Rounds:
    """Questions and answers of one truncation: no more than there can be epochs."""

    def __init__(self) -> None:
        self.left = 20

    def another(self) -> None:
        self.left -= 1
        if not self.left:
            raise RuntimeError("the conversation never ends")


@contextmanager
def waiting(replica: Replica) -> Iterator[None]:
    """What a leader would do by itself after this is a step of its own in the model."""
    hw = replica.hw
    yield
    if isinstance(replica.role, Leader):
        replica.hw = hw
        replica.role.wanted = None
