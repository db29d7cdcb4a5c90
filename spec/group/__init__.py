"""How the members of a group share its partitions: the classic rebalance protocol.

`coordinator` says what one request, timer or failover does to a group; it is the oracle for an
implementation. `world` puts consumers and a network around it; `coordinating`, `consuming` and
`faults` are what happens there, and `properties` says what all of it is for.
"""

from __future__ import annotations

from spec.core import Model
from spec.group.eager import EAGER
from spec.group.picture import picture
from spec.group.properties import PROPERTIES
from spec.group.settling import GroupSettles
from spec.group.variants import FAILED
from spec.group.world import Bounds, everybody_is_gone, initial

GROUP = Model(
    name="group",
    doc="A consumer group, its coordinator and its members: joining, assigning, committing.",
    bounds=Bounds,
    initial=initial,
    properties=PROPERTIES,
    sanity=(GroupSettles,),
    variants=(EAGER, *FAILED),
    default_variant="eager",
    final=everybody_is_gone,
    picture=picture,
)
