"""The model `group`: how the members of a consumer group share partitions.

It is the classic rebalance protocol (KIP-62, KIP-345, KIP-394, KIP-429), with consumers, a
network, failovers and timers around the coordinator of `spec.coordinator`.

- `state`: the state, its bounds, and what rules choose from.
- `consumer`: the rules of a consumer, eager and cooperative.
- `coordinator`: the rules of the coordinator: requests, timers, failover.
- `faults`: crashes, stalls, departures, lost messages, new partitions.
- `assignment`: how the leader assigns partitions.
- `properties`: what a group is for.
- `scala`: the coordinator of Kafka up to 3.9.
- `variants`: eager, cooperative, scala, and the faults of earlier versions.

Kafka: `GroupMetadataManager` and `AbstractCoordinator`, tag 4.0.0.
"""

from __future__ import annotations

from kspec.spec.coordinator.membership import rejoin
from kspec.spec.coordinator.offsets import commit
from kspec.spec.coordinator.rebalance import sync
from kspec.spec.core import Model
from kspec.spec.core.text import errors_in_text
from kspec.spec.group.baseline import BASELINE
from kspec.spec.group.picture import picture
from kspec.spec.group.properties import PROPERTIES, GroupSettles
from kspec.spec.group.state import Bounds, all_consumers_ended, initial
from kspec.spec.group.variants import VARIANTS

GROUP = Model(
    name="group",
    doc="A consumer group, its coordinator and its members: joining, assigning, committing.",
    bounds=Bounds,
    initial=initial,
    properties=(*PROPERTIES, GroupSettles),
    variants=VARIANTS,
    default_variant="eager",
    final=all_consumers_ended,
    answers=errors_in_text(rejoin, sync, commit),
    not_modelled=(
        "committed offsets and records",
        "subscriptions that differ or change",
        "the consumer protocol of KIP-848",
        "transactions",
        "clocks (a timer may fire at any moment)",
    ),
    baseline=BASELINE,
    picture=picture,
)
