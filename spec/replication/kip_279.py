"""KIP-279: follower and leader find the last record on which their logs agree."""

from __future__ import annotations

from spec.core import Violated
from spec.replication.state import Cluster
from spec.replication.truncate_to_hw import (
    TRUNCATE_TO_HW,
    become_follower_and_truncate,
    become_follower_cutting_to,
)


def end_of_agreement(s: Cluster, leader: int, follower: int) -> int:
    """The offset after the last one at which both logs hold the identical record.

    Kafka: OffsetForLeaderEpoch answers with the epoch as well, and the follower asks again
    until both know the epoch (`spec.leader_epochs.truncation_for`). Simplification: what that
    conversation finds is found at once.
    """
    agreed = (
        o
        for o in reversed(range(s.logs[follower].end))
        if s.logs[follower].agrees_at(o, s.logs[leader])
    )
    return next(agreed, -1) + 1


KIP_279 = TRUNCATE_TO_HW.derive(
    "kip-279",
    replace={become_follower_and_truncate: become_follower_cutting_to(end_of_agreement)},
    why=(
        "Under KIP-101 an answer without an epoch could leave a divergent record in the log. "
        "Now the logs always agree after truncation. Yet a replica that acts on an old epoch is "
        "still answered: a leader that was deposed can count a follower that already serves "
        "another epoch, and the other way round."
    ),
    violates={"StrongIsr": Violated(states=12)},
)
