"""KIP-101: a follower asks the leader where the epoch of its last record ended."""

from __future__ import annotations

from spec.core import Violated
from spec.replication.state import Cluster
from spec.replication.truncate_to_hw import (
    TRUNCATE_TO_HW,
    become_follower_and_truncate,
    become_follower_cutting_to,
)


def end_of_own_last_epoch(s: Cluster, leader: int, follower: int) -> int:
    """Where the leader's log leaves the epoch of the follower's last record.

    Kafka: OffsetForLeaderEpoch, version 0: the answer is an offset without the epoch it
    belongs to. Where the leader has nothing to say, the high watermark decides as before.
    """
    last = s.logs[follower].last
    if last is None:
        return 0
    newest = s.logs[leader].last
    if newest is None:
        return s.views[follower].hw
    if newest.epoch == last.epoch:
        return s.logs[leader].end
    later = (o for o, record in enumerate(s.logs[leader].records) if record.epoch > last.epoch)
    return next(later, s.views[follower].hw)


KIP_101 = TRUNCATE_TO_HW.derive(
    "kip-101",
    replace={become_follower_and_truncate: become_follower_cutting_to(end_of_own_last_epoch)},
    why=(
        "Truncating to the high watermark lost committed records, so a follower cuts where the "
        "leader says that an epoch ended. A leader that does not know the epoch answers with an "
        "offset that belongs to another one (KIP-279), and nothing keeps a follower of an older "
        "leader from counting."
    ),
    violates={"StrongIsr": Violated(states=12)},
)
