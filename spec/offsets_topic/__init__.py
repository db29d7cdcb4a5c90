"""The offsets topic: what a group's coordinator writes down, what compaction leaves, what expires.

Read `records` and `expiry`, which are functions that anyone may use; then `state` and `rules`,
the model of one group's records. `failures` has what went wrong, or would.
"""

from __future__ import annotations

from spec.core import Model
from spec.offsets_topic.failures import FAILURES, KIP_211
from spec.offsets_topic.picture import picture
from spec.offsets_topic.properties import PROPERTIES, SANITY
from spec.offsets_topic.state import Bounds, initial

OFFSETS_TOPIC = Model(
    name="offsets-topic",
    doc=(
        "What the coordinator of a group writes down, what compaction leaves of it, what another "
        "coordinator makes of that, and when an offset is forgotten."
    ),
    bounds=Bounds,
    initial=initial,
    properties=PROPERTIES,
    sanity=SANITY,
    variants=(KIP_211, *FAILURES),
    final=lambda s: True,
    picture=picture,
    mutation_bounds=({"topics": 1, "writes": 2}, {"writes": 2}, {}),
)
