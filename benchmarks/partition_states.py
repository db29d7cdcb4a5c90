"""The model `partition` beside rumur, on the same bounds in the same run.

    python -m benchmarks.partition_states [--workers 2] [--json]

The Murphi model (`benchmarks/peers/partition.m`) has the same fields of the state, and formulates
guards and updates anew: equal numbers of states and steps are evidence that neither has a slip
that the other lacks. It has the versions 0.10 and 2.1.
"""

from __future__ import annotations

from benchmarks.peers import rumur
from benchmarks.state_counts import Case, Peer, compare

PEER = Peer(
    model="partition",
    murphi=rumur.PARTITION,
    constants={"kafka-0.10": {"fenced": 0}, "kafka-2.1": {"fenced": 1}},
    cases=(
        Case("kafka-2.1", {"brokers": 2, "cut_offs": 1}, 3_533, 6_637),
        Case("kafka-2.1", {}, 6_521, 16_211),
        Case("kafka-2.1", {"crashes": 0, "power_losses": 1}, 8_831, 22_262),
        Case("kafka-2.1", {"brokers": 2, "leader_moves": 1, "records": 2}, 10_312, 18_633),
        Case("kafka-0.10", {}, 7_465, 22_324),
        Case("kafka-0.10", {"brokers": 2, "leader_moves": 1, "records": 2}, 10_023, 19_053),
    ),
)

if __name__ == "__main__":
    compare(PEER, __doc__)
