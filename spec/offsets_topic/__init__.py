"""The offsets topic: a group's records, log compaction, failover, and the expiry of offsets.

- `records`: the log, its compaction, and what a reader of it knows. Functions for any use.
- `replay`: what a coordinator knows of a log with transactional commits. Functions for any use.
- `expiry`: when a committed offset expires, and when it may be deleted. Functions for any use.
- `state`: one group's records in the log, and its coordinator.
- `group`, `administrator`, `coordinator`, `cleaner`: the rules, by actor.
- `properties`: no committed offset is lost, and no deleted one returns.
- `variants`: Kafka as it is, and the faults that it had or avoided.

The Kafka classes and methods named are those of Kafka 3.9 and 4.0: the coordinator in Java
(module `group-coordinator`) and, in Scala, `LogCleaner`.
"""

from __future__ import annotations

from kspec.spec.core import Model
from kspec.spec.offsets_topic.baseline import BASELINE
from kspec.spec.offsets_topic.picture import picture
from kspec.spec.offsets_topic.properties import PROPERTIES, TombstonesAreRemoved
from kspec.spec.offsets_topic.state import Bounds, initial
from kspec.spec.offsets_topic.variants import VARIANTS

OFFSETS_TOPIC = Model(
    name="offsets-topic",
    doc=(
        "One group's records in the offsets topic: what the coordinator writes, what compaction "
        "leaves, what a new coordinator loads, and when an offset expires."
    ),
    bounds=Bounds,
    initial=initial,
    properties=PROPERTIES,
    on_request=(TombstonesAreRemoved,),
    variants=VARIANTS,
    final=lambda s: True,
    not_modelled=(
        "the rebalance protocol",
        "appends that fail",
        "replication of the offsets topic",
        "transactional commits",
    ),
    baseline=BASELINE,
    picture=picture,
)
