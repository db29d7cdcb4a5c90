"""Recorders: what a system under test does, as a trace that `kspec validate` checks.

- `trace`: a trace, as lines in memory and in a file.
- `messages`: the requests and responses of groups as events, for `proxy` and `kspec serve`.
- `proxy`: a TCP proxy in front of any broker or cluster (extra `broker`).
- `observer`: what a consumer does, as events.
- `consumers`: consumers of kafka-python, aiokafka and confluent-kafka.

Nothing here needs the checkers, so that a client's own tests may record. The fixtures of
`kspec.field.pytest_plugin` record and check.
"""

from __future__ import annotations

from kspec.impl.recording.trace import Recording

__all__ = ["Recording"]
