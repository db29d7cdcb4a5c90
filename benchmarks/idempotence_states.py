"""The model `idempotence` beside rumur, on the same bounds in the same run.

    python -m benchmarks.idempotence_states [--workers 2] [--json]

The Murphi model (`benchmarks/peers/idempotence.m`) has the same fields of the state, and formulates
guards and updates anew: equal numbers of states and steps are evidence that neither has a slip
that the other lacks. It has the versions 2.5 and 4.5, a proposal, and no idempotence.
"""

from __future__ import annotations

from benchmarks.state_counts import compare, peer

PEER = peer("idempotence")

if __name__ == "__main__":
    compare(PEER, __doc__)
