"""The lockstep adapter for the replicas of `kspec.impl.partition` and the model `spec.partition`.

The replicas exchange real requests and responses. What is not a replica's stays with the model,
and is read from the state before each step: the controller's decisions and whether it accepts an
ISR change, which broker is up, what a disk keeps, what clients remember.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from kspec.checkers.lockstep import Adapter
from kspec.impl.partition import EpochCache, Follower, Leader, Replica, Settings
from kspec.impl.partition.epochs import EpochEnd
from kspec.impl.partition.generations import KIP_101, KIP_279, KIP_320, KIP_595, TO_HW, Generation
from kspec.impl.partition.log import Log
from kspec.impl.partition.messages import (
    DivergingEpoch,
    EpochEndRequest,
    FetchRequest,
    FetchResponse,
    LogOffsetsRequest,
)
from kspec.spec.core import Taken
from kspec.spec.partition.state import Cluster, Decision
from kspec.spec.vocabulary import PartitionError

GENERATION_OF = {
    "kafka-0.10": TO_HW,
    "kafka-0.11": KIP_101,
    "kafka-2.0": KIP_279,
    "kafka-2.1": KIP_320,
    "kafka-2.7": KIP_595,
    "kafka-3.9": KIP_595,
    "kafka-4.1": KIP_595,
}
"""The generation that each version of the model is compared with."""

KRAFT = {"kafka-3.9", "kafka-4.1"}
"""The versions in which leaders know who is fenced, and the high watermark waits for the ISR."""

VERSIONS = 1000
"""More than there are ISR changes in one leader epoch."""

REFUSED = {
    "broker presumes leadership",
    "ISR is large enough",
    "follower fetches from the leader",
    "follower is in the leader's epoch",
    "fetch offset is within the leader's log",
    "fetch brings news",
    "follower is in the ISR",
    "follower is another broker",
    "follower is out of sync",
    "follower follows the leader",
    "follower truncates",
    "logs agree",
    "no proposal is in flight",
}
"""The guards that hold by what a replica does: where one blocks a step, nothing changes."""

CONTROLLER = "the controller decides this, and the replica does not know it"
PROCESS = "no message reaches a broker that is down or cut off"
CHOICE = "the adapter would give the decision to a broker that it does not name so"
CLIENT = "what a client sends is not the replica's"

NOT_REFUSED = {
    "broker is connected to the controller": PROCESS,
    "decision is on its way": PROCESS,
    "decision names the broker": CHOICE,
    "decision names another broker": CHOICE,
    "leader's view of the ISR is current": CONTROLLER,
    "leader's epoch is current": CONTROLLER,
    "ISR changed": "the controller reports a change only",
    "leader has records, or the fetch was parked": (
        "a replica answers a fetch without records at once: parking it is up to its caller"
    ),
    "response brings news": "the fetch still counts, which is the step of another rule",
    "logs diverge": "an ordinary fetch is the step of other rules",
    "fetch offset is beyond the leader's log": "an ordinary fetch is the step of other rules",
    "producer does not wait for a response": CLIENT,
    "broker does not presume leadership": CLIENT,
    "metadata name the broker": CLIENT,
}
"""The other guards of a replica's rules: why a step that they block is not compared."""

ELSEWHERE = {
    "controller": "a replica does not take part in it",
    "machine": "the adapter stops the replica, and keeps what the disk keeps",
    "broker": "the adapter makes a new replica of what the disk has kept",
    "consumer": "a replica has no ListOffsets request",
}
"""By actor: why a step that is blocked is not tried with a replica."""


@attrs.define(eq=False)
class Brokers:
    """The replicas, what a stopped one has left on its disk, and the producers' requests."""

    replicas: dict[int, Replica]
    stopped: set[int]
    waiting: dict[int, dict[int, int]] = attrs.field(factory=dict)
    """By leader: the records whose producers wait, by the offset after each."""
    acknowledged: set[int] = attrs.field(factory=set)
    now: int = 0

    def running(self, broker: int) -> Replica | None:
        """The replica of a broker that is up."""
        return None if broker in self.stopped else self.replicas[broker]


class ClusterAdapter(Adapter[Cluster, Brokers]):
    """The replicas of one generation, compared with the model's version."""

    def __init__(self, variant: str, bounds: Any, replica: type[Replica] = Replica) -> None:
        self.generation: Generation = GENERATION_OF[variant]
        self.replica = replica
        self.bounds = bounds
        since_2_1 = self.generation.is_fenced
        self.is_kraft = variant in KRAFT
        self.proposes = self.generation.sends_last_epoch
        """Whether the leader proposes an ISR to the controller, and does not write it itself."""
        self.settings = Settings(
            min_insync_replicas=bounds.min_insync,
            replica_lag_ms=0,
            epoch_begins_at_once=since_2_1,
            isr_waits_for_epoch=since_2_1,
            hw_waits_for_min_isr=self.is_kraft,
            caps_min_isr=self.is_kraft,
        )

    # -- states -----------------------------------------------------------------------------------

    def load(self, state: Cluster) -> Brokers:
        subject = Brokers({}, set(), acknowledged=set(state.ghosts.acknowledged))
        for broker, seen in enumerate(state.replicas):
            replica = self.restored([tuple(r) for r in seen.log.records], seen.epochs.entries)
            replica.broker = broker
            subject.replicas[broker] = replica
            replica.hw = replica.log.end  # so that following truncates nothing
            led = seen.leadership
            replica.leader_epoch = seen.epoch
            replica.partition_epoch = seen.epoch * VERSIONS
            if not seen.is_up:
                subject.stopped.add(broker)
            elif led is not None:
                role = Leader(replica, led.isr, range(self.bounds.brokers), 0, before=None)
                for follower, progress in role.followers.items():
                    progress.leo = led.ends[follower]
                if self.settings.epoch_begins_at_once:
                    role.epoch_start = seen.epochs.entries[-1].start
                role.wanted = led.pending
                replica.role = role
                own = list(enumerate(seen.log.records))[seen.hw :]
                waits = {o + 1: r.id for o, r in own if r.epoch >= led.since}
                subject.waiting[broker] = waits if self.bounds.acks == -1 else {}
            elif seen.leader >= 0:
                replica.role = Follower(replica, seen.leader, ())
                replica.role.must_ask = seen.truncates
            replica.hw = seen.hw
        return subject

    def restored(self, records: list[tuple[int, ...]], epochs: Any) -> Replica:
        """A replica of what is on a disk."""
        replica = self.replica(0, self.settings, self.generation)
        for record, epoch in records:
            replica.log.append([record], epoch)
        for epoch, start in epochs:
            replica.epochs.assign(epoch, start)
        return replica

    def abstract(self, subject: Brokers) -> Any:
        brokers = {b: dict(self.seen(subject, b)) for b in subject.replicas}
        return brokers, subject.acknowledged

    def seen(self, subject: Brokers, broker: int) -> Iterator[tuple[str, Any]]:
        """What a replica knows, in the model's words."""
        replica = subject.replicas[broker]
        batches = replica.log.read(0, replica.log.end)
        yield "log", [(record, batch.epoch) for batch in batches for record in batch.ids]
        yield "epochs", [tuple(entry) for entry in replica.epochs.entries]
        yield "hw", replica.hw
        role = replica.role
        if broker in subject.stopped:
            return
        yield "epoch", replica.leader_epoch
        if isinstance(role, Leader):
            yield "isr", role.isr
            yield "pending", role.wanted
            yield "ends", {follower: p.leo for follower, p in role.followers.items()}
        elif role is not None:
            yield "leader", role.leader
            yield "truncates", isinstance(role.next_request(), EpochEndRequest)

    def view(self, state: Cluster) -> Any:
        brokers = {b: dict(self.specified(state, b)) for b in range(len(state.replicas))}
        return brokers, set(state.ghosts.acknowledged)

    def specified(self, state: Cluster, broker: int) -> Iterator[tuple[str, Any]]:
        """The same by the model."""
        replica = state.replicas[broker]
        yield "log", [tuple(record) for record in replica.log.records]
        yield "epochs", [tuple(entry) for entry in replica.epochs.entries]
        yield "hw", replica.hw
        if not replica.is_up:
            return
        yield "epoch", replica.epoch
        led = replica.leadership
        if led is not None:
            yield "isr", led.isr
            yield "pending", led.pending
            yield "ends", {b: end for b, end in enumerate(led.ends) if b != broker}
        elif replica.leader >= 0:
            yield "leader", replica.leader
            yield "truncates", replica.truncates

    # -- steps ------------------------------------------------------------------------------------

    def refuses(self, rule: str, guard: str) -> bool:
        if rule.startswith(("controller_", "broker_crashes", "broker_loses", "broker_restarts")):
            return False
        if rule.startswith("leader_lists") or guard in NOT_REFUSED:
            return False
        assert guard in REFUSED, f"{rule}: refuse {guard!r}, or say why not"
        return True

    def apply(self, subject: Brokers, taken: Taken) -> Any:
        subject.now += 1  # a follower that was caught up by its last fetch may lag now
        step = getattr(self, STEPS[taken.rule])
        step(subject, taken.before, **taken.choices)
        for broker in subject.waiting:
            self.answer_producers(subject, broker)

    def nothing(self, subject: Brokers, before: Cluster, **choices: Any) -> None:
        """A step in which no replica takes part."""

    def crash(self, subject: Brokers, before: Cluster, broker: int) -> None:
        """Only log, epochs and, roughly, the high watermark remain."""
        subject.stopped.add(broker)
        subject.waiting.pop(broker, None)
        old = subject.replicas[broker]
        new = self.replica(broker, self.settings, self.generation, old.log, old.epochs, old.hw)
        subject.replicas[broker] = new

    def lose_power(self, subject: Brokers, before: Cluster, broker: int, flushed: int) -> None:
        self.crash(subject, before, broker)
        subject.replicas[broker].truncate_to(flushed)

    def lose_disk(self, subject: Brokers, before: Cluster, broker: int) -> None:
        self.crash(subject, before, broker)
        replica = subject.replicas[broker]
        replica.log, replica.epochs, replica.hw = Log(), EpochCache(), 0

    def restart(self, subject: Brokers, before: Cluster, broker: int, hw: int) -> None:
        subject.stopped.discard(broker)
        subject.replicas[broker].set_hw(hw)

    def append(self, subject: Brokers, before: Cluster, leader: int) -> None:
        replica, acks = subject.running(leader), self.bounds.acks
        base = (
            PartitionError.NOT_LEADER_OR_FOLLOWER
            if replica is None
            else replica.append([before.sent], acks, subject.now)
        )
        if isinstance(base, PartitionError):
            return
        if acks == -1:
            subject.waiting.setdefault(leader, {})[base + 1] = before.sent
        else:
            subject.acknowledged.add(before.sent)

    def drop(self, subject: Brokers, before: Cluster, broker: int) -> None:
        """The producer does not learn that its record was refused."""
        replica = subject.running(broker)
        if replica is None or isinstance(replica.append([before.sent], 0), PartitionError):
            subject.acknowledged.add(before.sent)

    def answer_producers(self, subject: Brokers, broker: int) -> None:
        """Answer the requests whose records are committed, and those of a leader no more."""
        waiting = subject.waiting[broker]
        for end in sorted(waiting):
            answer = subject.replicas[broker].is_acked(end)
            if answer is False:
                continue
            record = waiting.pop(end)
            if answer is True:
                subject.acknowledged.add(record)

    def take_decision(self, subject: Brokers, before: Cluster, broker: int, epoch: int) -> None:
        replica = subject.replicas[broker]
        decision: Decision = next(d for d in before.decisions[broker] if d.epoch == epoch)
        version = epoch * VERSIONS
        if decision.leader == broker:
            brokers = range(self.bounds.brokers)
            replica.become_leader(epoch, version, decision.isr, brokers, subject.now)
            return
        begins = replica.become_follower(epoch, version, decision.leader, decision.isr)
        role = replica.role
        if begins and isinstance(role, Follower) and not replica.log.end:
            role.must_ask = False  # the model asks nothing about an empty log
            if self.settings.epoch_begins_at_once:
                replica.truncate_to(0)

    def pair(self, subject: Brokers, leader: int, follower: int) -> tuple[Replica, Follower] | None:
        """A leader and its follower, if both are up and the follower follows it."""
        theirs, own = subject.running(leader), subject.running(follower)
        if theirs is None or own is None or not isinstance(own.role, Follower):
            return None
        return (theirs, own.role) if own.role.leader == leader else None

    def exchange(self, subject: Brokers, before: Cluster, leader: int, follower: int) -> Any:
        """The leader's response to a fetch, or None; the controller decides on the ISR at once."""
        pair = self.pair(subject, leader, follower)
        request = pair[1].next_request() if pair else None
        if pair is None or not isinstance(request, FetchRequest):
            return None
        role = pair[0].role
        if isinstance(role, Leader) and self.is_kraft:
            role.ineligible = set(before.fenced)
        response = pair[0].answer(request, subject.now)
        if not self.proposes and isinstance(role, Leader) and role.wanted is not None:
            self.decide(subject, before, pair[0], role, role.wanted)
        return response

    def decide(
        self, subject: Brokers, before: Cluster, replica: Replica, role: Leader, isr: frozenset[int]
    ) -> None:
        """ZooKeeper accepts the ISR of the leader that knows the current one."""
        now = before.registration
        is_current = now.epoch == replica.leader_epoch and now.isr == role.isr
        if is_current and replica.broker not in before.fenced:
            role.isr_is(isr, replica.partition_epoch + 1, subject.now)
        else:
            role.isr_stays()
            role.advance_hw(subject.now)

    def count_fetch(self, subject: Brokers, before: Cluster, leader: int, follower: int) -> None:
        """The response is parked or lost."""
        self.exchange(subject, before, leader, follower)

    def fetch(self, subject: Brokers, before: Cluster, leader: int, follower: int) -> None:
        leads = subject.replicas[leader].role
        progress = leads.followers.get(follower) if isinstance(leads, Leader) else None
        known = progress.leo if progress else None
        response = self.exchange(subject, before, leader, follower)
        role = subject.replicas[follower].role
        if isinstance(response, FetchResponse) and isinstance(role, Follower):
            role.take(response)
            if isinstance(leads, Leader) and response.offset == known:
                # The model's leader computes the high watermark at each fetch that returns
                # records, which matters after a refused ISR change; Kafka's only if the follower's
                # log end has moved (`Partition.updateFollowerFetchState`).
                leads.advance_hw(subject.now)

    def diverge(self, subject: Brokers, before: Cluster, leader: int, follower: int) -> None:
        """A fetch whose response says where the logs diverge."""
        response = self.exchange(subject, before, leader, follower)
        role = subject.replicas[follower].role
        if isinstance(response, DivergingEpoch) and isinstance(role, Follower):
            role.take(response)

    def truncate(self, subject: Brokers, before: Cluster, leader: int, follower: int) -> None:
        """A question where an epoch ended, and the answer."""
        pair = self.pair(subject, leader, follower)
        request = pair[1].next_request() if pair else None
        if pair is None or not isinstance(request, EpochEndRequest):
            return
        response = pair[0].answer(request, subject.now)
        if not isinstance(response, EpochEnd):
            return  # an error would only delay or stop the follower
        pair[1].take(response)

    def truncate_to_end(
        self, subject: Brokers, before: Cluster, leader: int, follower: int
    ) -> None:
        """A fetch that is out of range, and a question for the leader's log end."""
        pair = self.pair(subject, leader, follower)
        request = pair[1].next_request() if pair else None
        if pair is None or not isinstance(request, FetchRequest):
            return
        error = pair[0].answer(request, subject.now)
        if error != PartitionError.OFFSET_OUT_OF_RANGE:
            return
        pair[1].take(error)
        request = pair[1].next_request()
        assert isinstance(request, LogOffsetsRequest)
        pair[1].take(pair[0].answer(request, subject.now))

    def shrink(self, subject: Brokers, before: Cluster, leader: int, follower: int) -> None:
        """The controller decides on one broker that lags, as if the others were asked for later."""
        replica = subject.running(leader)
        role = replica.role if replica else None
        if replica is None or not isinstance(role, Leader):
            return
        if not role.want_shrink(subject.now):
            return
        isr = role.isr - {follower} if follower in role.lagging(subject.now) else None
        role.wanted = isr if self.proposes else None
        if isr is not None and not self.proposes:
            self.decide(subject, before, replica, role, isr)

    def learn_isr(self, subject: Brokers, before: Cluster, leader: int) -> None:
        """The controller's decision on the ISR reaches the leader."""
        replica = subject.running(leader)
        if replica is not None and isinstance(replica.role, Leader):
            isr = before.registration.isr
            replica.role.isr_is(isr, replica.partition_epoch + 1, subject.now)

    def refuse_isr(self, subject: Brokers, before: Cluster, leader: int) -> None:
        """The controller's refusal reaches the leader."""
        role = subject.replicas[leader].role
        assert isinstance(role, Leader)
        role.isr_stays()


STEPS = {
    "broker_becomes_leader": "take_decision",
    "broker_becomes_leader_without_epoch_entry": "take_decision",
    "broker_becomes_follower": "take_decision",
    "broker_becomes_follower_and_truncates_to_hw": "take_decision",
    "broker_becomes_follower_of_new_leader": "take_decision",
    "leader_appends": "append",
    "record_is_dropped": "drop",
    "leader_lists_lower_end": "nothing",
    "leader_lists_lower_end_at_once": "nothing",
    "leader_counts_fetch": "count_fetch",
    "leader_counts_any_fetch": "count_fetch",
    "follower_fetches": "fetch",
    "follower_fetches_in_any_epoch": "fetch",
    "follower_truncates": "truncate",
    "follower_truncates_to_epoch_end": "truncate",
    "follower_truncates_to_agreed_epoch": "truncate",
    "follower_truncates_to_leader_end": "truncate_to_end",
    "broker_becomes_fetching_follower": "take_decision",
    "broker_becomes_kraft_leader": "take_decision",
    "leader_appends_at_effective_min_isr": "append",
    "leader_counts_agreeing_fetch": "count_fetch",
    "leader_counts_kraft_fetch": "count_fetch",
    "follower_fetches_what_agrees": "fetch",
    "follower_fetches_from_kraft_leader": "fetch",
    "follower_truncates_on_divergence": "diverge",
    "leader_shrinks_isr": "shrink",
    "leader_proposes_shrink": "shrink",
    "leader_learns_isr": "learn_isr",
    "leader_applies_isr": "learn_isr",
    "controller_refuses_isr": "refuse_isr",
    "controller_commits_isr": "nothing",
    "controller_commits_eligible_isr": "nothing",
    "controller_commits_isr_and_elr": "nothing",
    "controller_fences_kraft_broker": "nothing",
    "controller_fences_broker_with_elr": "nothing",
    "controller_unfences_eligible_broker": "nothing",
    "broker_restarts_with_new_epoch": "restart",
    "broker_restarts_ineligible": "restart",
    "controller_fences_broker": "nothing",
    "controller_unfences_broker": "nothing",
    "controller_moves_leadership": "nothing",
    "broker_crashes": "crash",
    "broker_loses_power": "lose_power",
    "broker_loses_disk": "lose_disk",
    "broker_restarts": "restart",
}
"""By rule of the model: what the replicas do in such a step."""
