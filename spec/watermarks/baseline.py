"""The mutation baseline of `watermarks`: its consistency invariants."""

from __future__ import annotations

from pathlib import Path

from kspec.spec.core import Baseline, Claims, always
from kspec.spec.watermarks.state import Partition

# -- consistency invariants -------------------------------------------------------------------


@always
def HighWatermarkIsSmallestKnownLeo(s: Partition) -> Claims:
    """The leader's HW is the smallest LEO that it knows: no follower ever leaves the ISR."""
    yield "leader", s.leader.hw == min(s.leader.leo, *s.leader.remote)


@always
def ParkedFetchIsRecorded(s: Partition) -> Claims:
    """The leader knows the LEO of a follower whose fetch is parked."""
    for i in s.parked:
        yield f"follower {i}", s.leader.remote[i] == s.followers[i].leo


@always
def CommittingFetchIsAnsweredWithHighWatermark(s: Partition) -> Claims:
    """A follower knows the HW, unless the fetch that raised it is parked or returned records.

    `reply-before-update` violates it: a fetch without records is answered with the previous HW.
    """
    returned = any(f.leo > s.leader.remote[i] for i, f in enumerate(s.followers))
    knows = any(f.hw == s.leader.hw for f in s.followers)
    yield "leader", knows or returned or bool(s.parked)


BASELINE = Baseline(
    invariants=(
        HighWatermarkIsSmallestKnownLeo,
        ParkedFetchIsRecorded,
        CommittingFetchIsAnsweredWithHighWatermark,
    ),
    mutants=Path(__file__).with_name("mutants.toml"),
)
