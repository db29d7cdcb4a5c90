"""One partition as Kafka runs it: producers, replicas and the controller, version by version.

Six ideas keep the model small, each with its justification:

1. **A fetch is one step.** A fetcher sends its next request as soon as it has handled a response,
   so a request in flight always matches its follower's current state: leader, leader epoch, log
   end offset, last epoch. A request that arrives after its follower moved on has the effect that
   it would have had just before. A response that is handled late has the effect that it would have
   had at once: until its follower fetches again, takes a decision or stops, the difference cannot
   be observed, and if it takes a decision or stops, the response is dropped. So either the leader
   counts a fetch and the follower handles the response in one step (`follower_fetches`), or the
   leader counts it and no response arrives (`leader_counts_fetch`), because the fetch is parked or
   the response is lost. Truncation is one step, with its request, for the same reason. The variants
   in `by_message` have each message in flight; a test compares the states that they reach.
   Simplifications: a request does not outlive the process that sent it, nor, before 2.1, its leader
   epoch; a response does not outlive the leader epoch of its request.
2. **A parked fetch needs no field.** It is a fetch at the leader's log end whose offset the leader
   has counted. When it is answered, the response has the records and the high watermark of that
   moment; a fetch that returns records at once has the high watermark from before it was counted.
3. **What cannot be observed before a failure is chosen late**: how much of the log was flushed, at
   the failure; which high watermark was in the last checkpoint, at the restart (`failures`).
4. **Failures have budgets**, which are bounds. Each failure begins a limited number of leader
   epochs, so epochs need no bound.
5. **The controller's state is authoritative** (`Registration`), and each broker has the decisions
   that it may still take: late, or never if it takes a later one first. A broker that comes back
   takes the current decision or a later one.
6. **The high watermark advances within the step that makes it possible**, as in Kafka.

Time is left out: whatever a timeout may do, it may do at any moment. A response has room for all
records from the fetch offset on.

Read in this order:

- `state`: replicas, decisions, the controller's state, and what clients have seen
- `leader`, `follower`, `controller`, `failures`: the rules by actor, as in 2.1
- `unfenced`: the rules before 2.1
- `alter_partition`, `kraft`, `elr`: what changed in 2.7, with KRaft, and with KIP-966
- `properties`, `liveness`: what must hold, and what must happen eventually
- `versions`: the variants, each with what was wrong with its parent
- `faults`: the rules of versions that lack a repair
- `messages`, `by_message`: two of the versions with requests and responses in flight

Kafka's classes and methods are those of 4.0.0, and of 3.9.0 for the ZooKeeper controller, unless
another release is named.
"""

from __future__ import annotations

from kspec.spec.core import Baseline, Model, evolve
from kspec.spec.partition.baseline import BASELINE
from kspec.spec.partition.by_message import VARIANTS as BY_MESSAGE
from kspec.spec.partition.by_message import MessageBounds
from kspec.spec.partition.liveness import LIVENESS
from kspec.spec.partition.picture import picture
from kspec.spec.partition.properties import ON_REQUEST, PROPERTIES
from kspec.spec.partition.state import Bounds, Broker, Cluster, Replica, initial
from kspec.spec.partition.versions import VARIANTS

__all__ = ["MESSAGES", "PARTITION", "Bounds", "Broker", "Cluster", "Replica"]

PARTITION = Model(
    name="partition",
    doc=(
        "One partition as Kafka runs it, version by version: producers with acks, fetches, "
        "truncation, the ISR, elections, crashes, power losses and cut-off brokers."
    ),
    bounds=Bounds,
    initial=initial,
    properties=PROPERTIES,
    on_request=(*ON_REQUEST, *LIVENESS),
    variants=VARIANTS,
    default_variant="kafka-4.1",
    not_modelled=(
        "retries and idempotent producers",
        "transactions",
        "batches and size limits",
        "segments, retention and compaction",
        "reassignment",
        "fetching from followers",
        "failures of the controller",
        "clocks",
    ),
    baseline=BASELINE,
    picture=picture,
)

MESSAGES = evolve(
    PARTITION,
    name="partition-messages",
    doc=(
        "One partition, message by message: each request and each response is in flight. It checks "
        "the model `partition`, in which they are one step."
    ),
    bounds=MessageBounds,
    on_request=ON_REQUEST,
    baseline=Baseline(),
    variants=BY_MESSAGE,
    default_variant="kafka-2.1",
)
