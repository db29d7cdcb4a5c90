"""The baseline of the model `group`: how its states are built.

The consistency invariants say what consumers, group, responses and storage have in common. None
of it is what a group is for (`spec.group.properties`), but a wrong effect of a rule shows here.
"""

from __future__ import annotations

from pathlib import Path

from kspec.spec.core import Baseline
from kspec.spec.group.baseline.agreement import AGREEMENT
from kspec.spec.group.baseline.consumers import CONSUMERS
from kspec.spec.group.baseline.coordinator import COORDINATOR
from kspec.spec.group.baseline.ids import IDS
from kspec.spec.group.baseline.stored import STORED
from kspec.spec.group.baseline.witnesses import WITNESSES

BASELINE = Baseline(
    invariants=(*CONSUMERS, *IDS, *COORDINATOR, *AGREEMENT, *STORED, *WITNESSES),
    mutants=Path(__file__).parent.with_name("mutants.toml"),
)
