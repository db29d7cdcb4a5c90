"""High watermarks: how a leader and its followers learn what is committed.

- `updates`: how a high watermark (HW) and a log end offset (LEO) change, as functions that you
  may call from your own tests
- `lemmas`: what the updates preserve, for all numbers (`kspec prove`)
- `state`, `rules`, `properties`, `variants`: a small model around them

    >>> from kspec.spec.watermarks import Follower, after_response, leader_hw
    >>> leader_hw(2, [9, 5, 4])
    4
    >>> after_response(Follower(hw=2, leo=5), records=1, hw_of_leader=7)
    Follower(hw=6, leo=6)
"""

from __future__ import annotations

from kspec.spec.core import Model
from kspec.spec.watermarks.baseline import BASELINE
from kspec.spec.watermarks.picture import picture
from kspec.spec.watermarks.properties import PROPERTIES
from kspec.spec.watermarks.state import Bounds, Partition, initial
from kspec.spec.watermarks.updates import (
    Follower,
    Leader,
    after_append,
    after_fetch,
    after_response,
    after_truncation,
    follower_hw,
    leader_hw,
)
from kspec.spec.watermarks.variants import VARIANTS

__all__ = [
    "WATERMARKS",
    "Bounds",
    "Follower",
    "Leader",
    "Partition",
    "after_append",
    "after_fetch",
    "after_response",
    "after_truncation",
    "follower_hw",
    "leader_hw",
]

WATERMARKS = Model(
    name="watermarks",
    doc="How a leader and its followers learn what is committed, in plain numbers.",
    bounds=Bounds,
    initial=initial,
    properties=PROPERTIES,
    variants=VARIANTS,
    not_modelled=("failures", "elections and truncation", "ISR changes"),
    baseline=BASELINE,
    picture=picture,
)
