"""The baseline of the model `group`: how its states are built, and its equivalent mutants.

The consistency invariants say what consumers, group, responses and storage have in common. None
of it is what a group is for (`spec.group.properties`), but a wrong effect of a rule shows here.
"""

from __future__ import annotations

from kspec.spec.core import Baseline
from kspec.spec.group.baseline.agreement import AGREEMENT
from kspec.spec.group.baseline.consumers import CONSUMERS
from kspec.spec.group.baseline.coordinator import COORDINATOR
from kspec.spec.group.baseline.equivalent import COOPERATIVE, EAGER, LARGER_BOUNDS
from kspec.spec.group.baseline.ids import IDS
from kspec.spec.group.baseline.stored import STORED
from kspec.spec.group.baseline.witnesses import WITNESSES

ALONE = {"consumers": 1, "ids": 3, "generations": 5, "crashes": 0, "failovers": 0}
"""Small bounds; each of those in which mutants are explored has something more."""

BASELINE = Baseline(
    invariants=(*CONSUMERS, *IDS, *COORDINATOR, *AGREEMENT, *STORED, *WITNESSES),
    bounds=(
        ALONE | {"leaves": 1, "growths": 1, "partitions": 1},
        ALONE | {"crashes": 1, "static": 1},
        ALONE | {"failovers": 1},
        ALONE | {"consumers": 2},
        ALONE | {"leaves": 1, "growths": 1, "partitions": 1, "stalls": 1},
        ALONE | {"losses": 1},
        ALONE | {"early": 1, "ids": 2, "generations": 4},
    ),
    equivalent={"eager": EAGER, "cooperative": COOPERATIVE},
    bounds_for={"eager": LARGER_BOUNDS, "cooperative": LARGER_BOUNDS},
)
