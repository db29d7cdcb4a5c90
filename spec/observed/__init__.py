"""What one may observe of a system that behaves as Kafka does, although much stays unseen.

A recorder, a report or a log shows a part of what happened. Each module keeps what the observations
so far imply, and has handlers: `decide(handler(known, observation))` gives what is known after it,
or the first check that it fails. Each check is a fact about all behaviours of Kafka, and has a
`Contradiction` in place of an error.

- `replica`: what brokers report of their replicas: leader epochs, log ends, high watermarks, ISRs.
- `consumer`: what consumers of a group are assigned, poll and commit.
- `group_log`: which line about a group a coordinator may log after which.
"""

from __future__ import annotations
