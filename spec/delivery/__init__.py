"""Delivery: the records that each commit strategy skips, or processes twice.

- `state`: the group's partitions, their readers, and the committed offsets.
- `coordinator`: assignment, removal of members, and commits that arrive.
- `member`: an application's loop of poll and processing; joins, crashes, exceptions.
- `committing`: commitSync, in a listener or within a batch, and commitAsync.
- `auto_commit`: the client's automatic commit, in poll, by a timer, and before it rejoins.
- `closing`: the end of the loop, after a batch or after an exception.
- `workers`: worker threads that process records out of order.
- `external_store`: a store that holds results and offsets.
- `filtering`: filtered records, and poison records.
- `standalone`: a consumer that assigns itself partitions under the group's id.
- `properties`: what a commit strategy may guarantee.
- `variants`: the commit strategies, with the properties that each violates: when the application
  commits, the automatic commit, and how records are processed.

The Kafka classes and methods named are those of Kafka 3.9 and 4.0: the classic consumer
(`ClassicKafkaConsumer`) and the coordinator in Java (module `group-coordinator`).
"""

from __future__ import annotations

from kspec.spec.core import Model
from kspec.spec.delivery.baseline import BASELINE
from kspec.spec.delivery.picture import picture
from kspec.spec.delivery.properties import PROPERTIES
from kspec.spec.delivery.state import Bounds, Member, Partition, initial, members, partitions
from kspec.spec.delivery.variants import VARIANTS

DELIVERY = Model(
    name="delivery",
    doc=(
        "The members of a group read records, process them and commit offsets, while partitions "
        "move between members and members crash: which records are skipped or processed twice."
    ),
    bounds=Bounds,
    initial=initial,
    properties=PROPERTIES,
    variants=VARIANTS,
    default_variant="listener",
    final=lambda s: True,
    symmetric={Member: members, Partition: partitions},
    not_modelled=(
        "the rebalance protocol",
        "polls that return records of several partitions",
        "offset expiry and retention",
        "failovers of brokers",
        "transactions",
        "clocks",
    ),
    baseline=BASELINE,
    picture=picture,
)
