"""How a follower finds out where its log leaves its leader's: Kafka's answers, one by one."""

from __future__ import annotations

import attrs


@attrs.frozen
class Generation:
    """What a follower of one time sends, and what it does with the answers."""

    name: str
    asks: bool = True
    """Before it fetches, it asks where its latest epoch ended (OffsetForLeaderEpoch)."""
    hears_epoch: bool = True
    """The answer says which epoch it is about, and the follower asks again if it is another."""
    is_fenced: bool = True
    """Its requests carry the leader epoch, and are refused in another."""
    sends_last_epoch: bool = False
    """It asks nothing beforehand: a fetch says the latest epoch, and the answer where to cut."""


TO_HW = Generation("truncate to HW", asks=False, hears_epoch=False, is_fenced=False)
"""Before 0.11: cut to the high watermark."""
KIP_101 = Generation("KIP-101", hears_epoch=False, is_fenced=False)
"""0.11: cut where the leader says that the epoch ended."""
KIP_279 = Generation("KIP-279", is_fenced=False)
"""2.0: ask again until both know the epoch."""
KIP_320 = Generation("KIP-320")
"""2.1: the same, within one leader epoch."""
KIP_595 = Generation("KIP-595", asks=False, sends_last_epoch=True)
"""2.7: cut on a fetch answer that names the diverging epoch."""

GENERATIONS = (TO_HW, KIP_101, KIP_279, KIP_320, KIP_595)
