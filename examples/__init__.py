"""Small models with known answers: starting points for a model of your own, and test cases.

In the order in which they are best read:

- `counter`: one field, one rule, one bound.
- `die_hard`: a puzzle whose counterexample is the solution.
- `two_phase_lock`: a deadlock, and the variant that repairs it.
- `corridor`: a livelock, found by a liveness property under fairness.
- `two_phase_commit`: a protocol with messages, as TLA+'s TwoPhase has it.
- `paxos`: a set of messages, read by parts.
- `snapshot`: a FIFO channel for each ordered pair of nodes.
- `raft`: replicated logs, messages that are received once or lost, and restarts.

`kspec check counter` (`die-hard`, `two-phase-lock`, `corridor`, `two-phase-commit`, `paxos`,
`snapshot`, `raft`) checks one of them; `docs/own-protocol.md` builds a model step by step.
"""

from __future__ import annotations

from kspec.examples.corridor import CORRIDOR
from kspec.examples.counter import COUNTER
from kspec.examples.die_hard import DIE_HARD
from kspec.examples.paxos import PAXOS
from kspec.examples.raft import RAFT
from kspec.examples.snapshot import SNAPSHOT
from kspec.examples.two_phase_commit import TWO_PHASE_COMMIT
from kspec.examples.two_phase_lock import TWO_PHASE_LOCK

__all__ = [
    "CORRIDOR",
    "COUNTER",
    "DIE_HARD",
    "PAXOS",
    "RAFT",
    "SNAPSHOT",
    "TWO_PHASE_COMMIT",
    "TWO_PHASE_LOCK",
]
