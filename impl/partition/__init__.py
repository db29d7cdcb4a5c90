"""A replica of a partition for real sizes: mutable, a million records, thousands of epochs.

`Replica` holds the log, the leader-epoch cache and the high watermark. Its role is a `Leader`,
which knows what its followers hold and who is in sync, or a `Follower`, which knows what to ask
next. How a follower truncates is a `Generation`. Time is passed in, in milliseconds; nothing
here waits, sends or writes to a disk.

A fetch, from one replica to the other:

    follower = Replica(1)
    follower.become_follower(epoch=0, partition_epoch=0, leader=0, isr={0, 1})
    follower.role.take(leader.answer(follower.role.next_request()))

Kafka: `Partition`, `UnifiedLog`, `LeaderEpochFileCache`, `AbstractFetcherThread`. It is held to
`spec.replication` and to the functions beside it by `tests/impl/partition`.
"""

from __future__ import annotations

from impl.partition.epochs import EpochCache, EpochEnd
from impl.partition.follower import Follower
from impl.partition.generations import GENERATIONS, Generation
from impl.partition.leader import Leader, Progress, Settings
from impl.partition.log import Batch, Log
from impl.partition.replica import Replica

__all__ = [
    "GENERATIONS",
    "Batch",
    "EpochCache",
    "EpochEnd",
    "Follower",
    "Generation",
    "Leader",
    "Log",
    "Progress",
    "Replica",
    "Settings",
]
