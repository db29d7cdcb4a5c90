"""Transactions."""

from __future__ import annotations

from spec.core import Model
from spec.transactions.properties import LIVENESS, PROPERTIES
from spec.transactions.state import Bounds, initial
from spec.transactions.variants import VARIANTS

TRANSACTIONS = Model(
    name="transactions",
    doc="A consume-transform-produce loop.",
    bounds=Bounds,
    initial=initial,
    properties=PROPERTIES,
    on_request=LIVENESS,
    variants=VARIANTS,
    default_variant="kafka-4.2",
    final=lambda s: True,
)
