"""The generations of truncation: how a follower finds where its log diverges from the leader's."""

from __future__ import annotations

import math
from typing import Any

import attrs


@attrs.frozen
class Generation:
    """What a follower sends before it fetches, and how it handles the responses."""

    name: str
    """The KIP, or another short name."""
    asks: bool = True
    """It sends OffsetForLeaderEpoch before it fetches."""
    hears_epoch: bool = True
    """The response names its epoch; the follower asks again if that is not the requested one."""
    is_fenced: bool = True
    """Requests carry the leader epoch, and a leader in another epoch rejects them."""
    sends_last_epoch: bool = False
    """Fetch requests carry the latest epoch, and the response says where to truncate."""
    passes_over: float = 0
    """By how many leader epochs it may advance under an unchanged leader without truncating."""
    ends_older_epochs: bool = True
    """An epoch older than the first in the cache ended where that one began; if not, nowhere."""


BEFORE_2_0_1: dict[str, Any] = {"passes_over": math.inf, "ends_older_epochs": False}
"""2.0.1 passes over one epoch, and 2.1 over none."""

TO_HW = Generation("truncate to HW", asks=False, hears_epoch=False, is_fenced=False, **BEFORE_2_0_1)
"""Before 0.11: truncate to the high watermark."""
KIP_101 = Generation("KIP-101", hears_epoch=False, is_fenced=False, **BEFORE_2_0_1)
"""0.11: truncate to where the epoch ended in the leader's log."""
KIP_279 = Generation("KIP-279", is_fenced=False, **BEFORE_2_0_1)
"""2.0.0: ask again until leader and follower know the epoch."""
KIP_320 = Generation("KIP-320")
"""2.1: the same, only within one leader epoch."""
KIP_595 = Generation("KIP-595", asks=False, sends_last_epoch=True)
"""2.7: truncate on a fetch response that names the diverging epoch."""

GENERATIONS = (TO_HW, KIP_101, KIP_279, KIP_320, KIP_595)
