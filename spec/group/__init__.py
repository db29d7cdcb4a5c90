"""How the members of a group share its partitions: the classic rebalance protocol.

`coordinator` says what one request, timer or failover does to a group; it is the oracle for an
implementation. `world` puts consumers and a network around it; `coordinating`, `consuming` and
`faults` are what happens there, and `properties` says what all of it is for.
"""

from __future__ import annotations

from spec.core import Model
from spec.group.cooperative import BEFORE_KAFKA_12984, COOPERATIVE
from spec.group.coordinator.checks import ERRORS
from spec.group.eager import EAGER
from spec.group.picture import picture
from spec.group.properties import PROPERTIES
from spec.group.sanity import SANITY
from spec.group.settling import GroupSettles
from spec.group.variants import FAILED
from spec.group.world import Bounds, everybody_is_gone, initial

ALONE = {"consumers": 1, "ids": 3, "generations": 5, "crashes": 0, "failovers": 0}
"""A small world; each of those that mutants are looked at in has something more."""

GROUP = Model(
    name="group",
    doc="A consumer group, its coordinator and its members: joining, assigning, committing.",
    bounds=Bounds,
    initial=initial,
    properties=PROPERTIES,
    sanity=(*SANITY, GroupSettles),
    variants=(EAGER, *FAILED, COOPERATIVE, BEFORE_KAFKA_12984),
    default_variant="eager",
    final=everybody_is_gone,
    picture=picture,
    answers=ERRORS,
    mutation_bounds=(
        ALONE | {"leaves": 1, "growths": 1, "partitions": 1},
        ALONE | {"crashes": 1, "static": 1},
        ALONE | {"failovers": 1},
        ALONE | {"consumers": 2},
        ALONE | {"leaves": 1, "growths": 1, "partitions": 1, "stalls": 1},
        ALONE | {"losses": 1},
        ALONE | {"early": 1, "ids": 2, "generations": 4},
    ),
)
