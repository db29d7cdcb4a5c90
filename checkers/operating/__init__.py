"""Groups as operators see them: the output of Kafka's tools, read or refused, and plans for them.

- `groups`: the offsets of groups, and their JSON.
- `describe`: the output of `kafka-consumer-groups --describe`.
- `offsets`: the output of `kafka-get-offsets`.
- `plan`: a reset, as a plan, and its CSV.
- `live`: the same offsets, from a running cluster.
- `times`: durations, moments and rates on the command line.
"""

from __future__ import annotations
