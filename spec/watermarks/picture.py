"""Pictures of the model `watermarks`: a lane for each replica, with its offsets."""

from __future__ import annotations

from kspec.spec.core import Taken
from kspec.spec.core.picture import Arrow, Lane, Picture
from kspec.spec.watermarks.state import Partition

WORDS = {
    "HW": "high watermark: the records before it are committed, as far as this replica knows",
    "LEO": "log end offset: the offset of the replica's next record",
    "remote LEO": "the offset of each follower's last fetch, as the leader keeps it",
    "parked": "the followers whose fetch waits for records",
}


def picture(s: Partition, taken: Taken | None) -> Picture:
    """A lane for the leader and for each follower, and an arrow for what is sent."""
    facts = {"HW": str(s.leader.hw), "LEO": str(s.leader.leo)}
    facts["remote LEO"] = " ".join(map(str, s.leader.remote))
    if s.parked:
        facts["parked"] = " ".join(map(str, sorted(s.parked)))
    lanes = [Lane("leader", facts=facts, place="leader")]
    lanes += [
        Lane(f"follower {i}", facts={"HW": str(f.hw), "LEO": str(f.leo)}, place=f"follower {i}")
        for i, f in enumerate(s.followers)
    ]
    arrows = []
    if taken is not None and "follower" in taken.choices:
        follower = f"follower {taken.choices['follower']}"
        if taken.rule == "leader_parks_fetch":
            arrows.append(Arrow(follower, "leader", "fetch"))
        else:
            has_records = taken.rule != "leader_completes_parked_fetch" or brings_records(s, taken)
            arrows.append(Arrow("leader", follower, "records, HW" if has_records else "HW"))
    return Picture(lanes, arrows, words=WORDS)


def brings_records(s: Partition, taken: Taken) -> bool:
    """Whether a parked fetch was completed with records."""
    follower = taken.choices["follower"]
    before = taken.before.followers[follower] if taken.before is not None else None
    return before is not None and s.followers[follower].leo > before.leo
