"""What Kafka does: pure functions from state to state.

`core` has the words that everything else is written in. `replication` is the protocol between
the replicas of a partition, and `log`, `leader_epochs` and `watermarks` are its parts.
`assignors` says who in a group gets which partitions, and `placement` where a group or a key
belongs; `java` and `vocabulary` are what they share. `toys` are small models with known answers.
"""
