"""Replication of one partition: leader, followers, ISR, high watermark, and truncation.

This is the TLA+ family *kafka-specification* by Jason Gustafson
(github.com/hachikuji/kafka-specification) in Python: the same states and steps, so that the
number of states agrees with TLC's. Where the family differs from Kafka, this model does too:

- Before 2.1, Kafka did not truncate a follower whose leader stayed the same; here every newer
  leader epoch truncates.
- Up to 2.0, a leader that is asked for an epoch before the first one in its cache does not know
  where it ended, and the follower truncates to its high watermark
  (`LeaderEpochFileCache.endOffsetFor`, 2.0.0); here that epoch ended where the log begins.
- To expand the ISR, Kafka requires that the follower's log has reached the start offset of the
  leader's epoch; here the leader's high watermark must have.
- Kafka never removes the last member from the ISR (unless eligible leader replicas are on);
  here the ISR can become empty.
- In Kafka a fetch may return the high watermark alone; here it always returns a record.
- Under KIP-101, Kafka truncates no log beyond its own end. Here a follower whose log ends before
  the offset that the leader names never becomes a follower, so records are not committed.

Read in this order:

- `state`: logs, views, the controller's state, and the requests
- `controller`, `leader`, `follower`: the rules by actor, as they are since KIP-320
- `properties`, `liveness`: what must hold, and what must happen eventually
- `variants`: the five generations of the protocol, each with what was wrong with its parent
- `truncation`, `unfenced`, `first_try`: the rules of the earlier generations

Classes and methods of Kafka are named as in 4.0.0, those of the ZooKeeper controller as in 3.9.0;
where another release is meant, it is named.
"""

from __future__ import annotations

from kspec.spec.core import Model
from kspec.spec.replication.baseline import BASELINE
from kspec.spec.replication.liveness import LIVENESS
from kspec.spec.replication.picture import picture
from kspec.spec.replication.properties import LeaderInIsr, StrongIsr, WeakIsr
from kspec.spec.replication.state import (
    Bounds,
    Broker,
    Cluster,
    LeaderAndIsr,
    View,
    brokers,
    initial,
    no_leader_can_be_elected,
)
from kspec.spec.replication.variants import VARIANTS

__all__ = ["REPLICATION", "Bounds", "Broker", "Cluster", "LeaderAndIsr", "View"]

REPLICATION = Model(
    name="replication",
    doc=(
        "One partition, its replicas and the controller, after the TLA+ family "
        "kafka-specification: who leads, who is in sync, what is committed, and what a follower "
        "truncates."
    ),
    bounds=Bounds,
    initial=initial,
    properties=(WeakIsr, StrongIsr, LeaderInIsr),
    on_request=LIVENESS,
    variants=VARIANTS,
    default_variant="kip-320",
    final=no_leader_can_be_elected,
    symmetric={Broker: brokers},
    not_modelled=(
        "acks",
        "min.insync.replicas",
        "unclean elections",
        "restarts and lost logs",
        "fetch requests and responses",
        "segments and retention",
        "transactions",
        "clocks",
    ),
    baseline=BASELINE,
    picture=picture,
)
