"""The model `idempotence` beside rumur, on the same bounds in the same run.

    python -m benchmarks.idempotence_states [--workers 2] [--json]

The Murphi model (`benchmarks/peers/idempotence.m`) has the same fields of the state, and formulates
guards and updates anew: equal numbers of states and steps are evidence that neither has a slip
that the other lacks. It has the versions 2.5 and 4.5, a proposal, and no idempotence.
"""

from __future__ import annotations

from benchmarks.peers import rumur
from benchmarks.state_counts import Case, Peer, compare

PEER = Peer(
    model="idempotence",
    murphi=rumur.IDEMPOTENCE,
    constants={
        "no-idempotence": {"numbered": 0},
        "kafka-2.5": {"first": 1},
        "kafka-4.5": {"first": 2},
        "zero-first": {"first": 0},
    },
    cases=(
        Case("no-idempotence", {"records": 2}, 2_237, 5_362),
        Case("no-idempotence", {}, 17_618, 41_544),
        Case("kafka-2.5", {}, 7_247, 15_885),
        Case("kafka-2.5", {"elections": 2}, 35_538, 95_536),
        Case("kafka-2.5", {"in_flight": 3, "records": 4}, 29_906, 70_241),
        Case("kafka-4.5", {}, 6_285, 14_591),
        Case("kafka-4.5", {"others": 1}, 7_247, 15_885),
        Case("kafka-4.5", {"expirations": 1}, 26_027, 60_203),
        Case("kafka-4.5", {"disconnects": 2, "timeouts": 2}, 64_343, 163_178),
        Case("kafka-4.5", {"in_flight": 1, "elections": 2, "disconnects": 2}, 9_310, 23_171),
        Case("zero-first", {"expirations": 1}, 29_012, 67_461),
    ),
)

if __name__ == "__main__":
    compare(PEER, __doc__)
