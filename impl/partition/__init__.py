"""A replica of a partition for real sizes: mutable, with a million records, thousands of epochs.

A `Replica` has the log, the leader-epoch cache and the high watermark. Its role is a `Leader`,
with the progress of its followers and the ISR, or a `Follower`, with its next request. A
`Generation` selects how a follower truncates. Time is a parameter, in milliseconds; nothing here
waits, sends or writes to disk.

A fetch:

    follower = Replica(1)
    follower.become_follower(epoch=0, partition_epoch=0, leader=0, isr={0, 1})
    follower.role.take(leader.answer(follower.role.next_request()))

Kafka: `Partition`, `UnifiedLog`, `LeaderEpochFileCache`, `AbstractFetcherThread` (4.0.0).
`tests/impl/partition` compares it with `spec.replication` and with the functions of `spec`.
"""

from __future__ import annotations

from kspec.impl.partition.epochs import EpochCache
from kspec.impl.partition.follower import Follower
from kspec.impl.partition.leader import Leader, Settings
from kspec.impl.partition.replica import Replica

__all__ = [
    "EpochCache",
    "Follower",
    "Leader",
    "Replica",
    "Settings",
]
