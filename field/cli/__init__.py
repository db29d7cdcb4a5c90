"""What is typed at the prompt about real systems: one module for each command."""

from __future__ import annotations

from kspec.checkers.cli.sections import Section

COMMANDS = Section(
    "Real systems",
    __name__,
    {
        "validate": "check whether the specification allows recorded traces",
        "advise": "find settings that lose data or stop writes",
        "assign": "compute a consumer group's assignment, and what moves",
        "coordinator": "find a consumer group's partition and coordinator",
        "partition": "find the partition of a key, and keys that change theirs",
        "conform": "compare a client's assignors with Kafka's",
        "conform broker": "compare a broker with Kafka, request by request",
        "log": "check the segments of partitions on disk, byte by byte",
        "offsets": "read groups, offsets and their expiry from __consumer_offsets",
        "timeline": "find in Kafka's logs why groups rebalance, and how leaders and ISRs changed",
        "lag": "find the lag of groups, and when retention overtakes them",
        "reset": "plan a reset of a group's offsets, and what it skips and repeats",
        "start": "find where a stopped group begins again, after some days",
        "serve": "run a broker in memory, for tests of real clients",
        "oracle": "answer requests by the specification, for tests in any language",
        "vectors": "generate random requests to an oracle, with the answers",
    },
)
