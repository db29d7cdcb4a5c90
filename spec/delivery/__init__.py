"""Delivery: what ways of committing promise about records that are skipped or processed twice.

Read `state` and `group`, what all ways share; then `committing`, and `variants`, which says of
each what it is good for. `properties` are the promises.
"""

from __future__ import annotations

from spec.core import Model
from spec.delivery.picture import picture
from spec.delivery.properties import PROPERTIES, SANITY
from spec.delivery.state import Bounds, initial
from spec.delivery.variants import VARIANTS

DELIVERY = Model(
    name="delivery",
    doc=(
        "The members of a group read records, process them and commit how far they are, while "
        "partitions move and members crash: who skips a record, and who processes one twice."
    ),
    bounds=Bounds,
    initial=initial,
    properties=PROPERTIES,
    sanity=SANITY,
    variants=VARIANTS,
    default_variant="listener",
    final=lambda s: True,
    picture=picture,
    mutation_bounds=({"records": 1}, {}),
)
