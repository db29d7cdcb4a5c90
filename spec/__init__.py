"""An executable specification of Kafka: replication, groups, producers, transactions and logs.

Pure functions, which you may call from your own tests:

- `log`, `leader_epochs`, `watermarks`: a replica's log, where it truncates, what is committed
- `in_sync`, `serving`: who is in sync, and what a broker answers to Fetch and Produce, and when
- `durability`: how many failures a partition survives
- `placement`: the partition of a key, and the coordinator of a group
- `assignors`: the partitions that each member of a group gets
- `coordinator`, `messages`: a group's coordinator, and the requests that it answers
- `storage`: segments and their indexes, retention, compaction and recovery of a log on disk
- `consumer`: a consumer's subscription, positions, offset resets and rebalance listener
- `observed`: what the reports of replicas, the events of consumers and a group's log may show
- `producer`: a producer's partitions, batches and settings, and the producer state of a broker

Models, which `kspec check` explores:

- `partition`: one partition as Kafka runs it, fetch by fetch and version by version
- `replication`: leader, followers, ISR, high watermark and truncation of one partition
- `idempotence`: one producer and one partition, with retries, sequence numbers and epochs
- `watermarks`: how a leader and its followers learn what is committed
- `group`: a consumer group, its coordinator and its members
- `offsets_topic`: what a coordinator writes, and what compaction and retention leave of it
- `log_recovery`: what a crash leaves of a log's files, and what the broker serves after it
- `transactions`: a consume-transform-produce loop, its coordinator and its late requests
- `delivery`: the ways of committing, and which records each skips or processes twice

What all of them are made of:

- `core`: rules, properties, bounds, variants, models
- `lemmas`: statements about all numbers, and how to write them
- `java`: 32-bit arithmetic, string hashes, the order of hash maps
- `vocabulary`: types that the specification shares with the implementations compared with it

Each is imported when it is first used: `import spec`, then `spec.log.Log()`.
"""

from __future__ import annotations

import importlib
from types import ModuleType

if __name__ == "spec":
    # These modules are those of `kspec.spec`: there is one of each class, however it is imported.
    from kspec.alias import stand_for

    stand_for("spec", "kspec.spec")

MODULES = (
    "assignors",
    "consumer",
    "coordinator",
    "core",
    "delivery",
    "durability",
    "group",
    "idempotence",
    "in_sync",
    "java",
    "leader_epochs",
    "lemmas",
    "log",
    "log_recovery",
    "messages",
    "observed",
    "offsets_topic",
    "partition",
    "placement",
    "producer",
    "replication",
    "serving",
    "storage",
    "transactions",
    "vocabulary",
    "watermarks",
)


def __getattr__(name: str) -> ModuleType:
    """A module of the specification, imported on first use."""
    if name in MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The modules, whether they are imported yet or not."""
    return sorted({*globals(), *MODULES})
