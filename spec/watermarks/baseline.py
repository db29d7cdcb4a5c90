"""The mutation baseline of `watermarks`: its consistency invariants and equivalent mutants."""

from __future__ import annotations

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


# -- equivalent mutants -----------------------------------------------------------------------

FEWER_RECORDS = "A response may return fewer records than the leader holds; the next has them."
LEARNS_LATER = "The next response has the HW: no property says how soon a follower learns it."

PARKED_FETCH = {
    "leader_completes_parked_fetch forgets followers.leo": FEWER_RECORDS,
    "leader_completes_parked_fetch makes followers.leo one less": FEWER_RECORDS,
    "follower_fetches_records forgets followers.hw": LEARNS_LATER,
    "follower_fetches_records makes followers.hw one less": LEARNS_LATER,
    "leader_parks_fetch without the guard 'no fetch of the follower is parked'": (
        "The same fetch is parked again, at the same offset."
    ),
    "leader_parks_fetch without the guard 'leader holds no record at the fetch offset'": (
        "A fetch that is parked although there are records looks like one that they followed."
    ),
    "leader_completes_parked_fetch without the guard 'a fetch of the follower is parked'": (
        "A fetch whose offset the leader has not recorded yet is answered; the next one records it."
    ),
    "leader_completes_parked_fetch loses a member of parked": (
        "The follower whose fetch is lost fetches again from the same offset."
    ),
}

BASELINE = Baseline(
    invariants=(
        HighWatermarkIsSmallestKnownLeo,
        ParkedFetchIsRecorded,
        CommittingFetchIsAnsweredWithHighWatermark,
    ),
    bounds=({"records": 3}, {"followers": 2, "records": 3}),
    equivalent={"parked-fetch": PARKED_FETCH},
)
