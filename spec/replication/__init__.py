"""How Kafka replicates a partition, in the five generations of its truncation protocol.

Read `state`, then `kip_320`, the protocol as it is; the other modules are its ancestors, each
with what was wrong with it. `properties` says what all of it is for.
"""

from __future__ import annotations

from spec.core import Model
from spec.replication.kip_101 import KIP_101
from spec.replication.kip_279 import KIP_279
from spec.replication.kip_320 import KIP_320
from spec.replication.kip_320_first_try import KIP_320_FIRST_TRY
from spec.replication.picture import picture
from spec.replication.properties import LeaderInIsr, StrongIsr, WeakIsr
from spec.replication.sanity import SANITY
from spec.replication.state import Bounds, initial, nobody_is_left
from spec.replication.truncate_to_hw import TRUNCATE_TO_HW

REPLICATION = Model(
    name="replication",
    doc=(
        "One partition, its replicas and the controller: who leads, who is in sync, what is "
        "committed, and what a follower throws away under a new leader."
    ),
    bounds=Bounds,
    initial=initial,
    properties=(WeakIsr, StrongIsr, LeaderInIsr),
    sanity=SANITY,
    variants=(TRUNCATE_TO_HW, KIP_101, KIP_279, KIP_320_FIRST_TRY, KIP_320),
    default_variant="kip-320",
    final=nobody_is_left,
    picture=picture,
    mutation_bounds=({"brokers": 2}, {}),
)
