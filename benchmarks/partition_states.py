"""The model `partition` beside rumur, on the same bounds in the same run.

    python -m benchmarks.partition_states [--workers 2] [--json]

The Murphi model (`benchmarks/peers/partition.m`) has the same fields of the state, and formulates
guards and updates anew: equal numbers of states and steps are evidence that neither has a slip
that the other lacks. It has the versions 0.10 and 2.1.
"""

from __future__ import annotations

from benchmarks.state_counts import compare, peer

PEER = peer("partition")

if __name__ == "__main__":
    compare(PEER, __doc__)
