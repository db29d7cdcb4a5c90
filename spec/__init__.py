"""What Kafka does: pure functions from state to state.

`core` has the words that everything else is written in. `replication` is the protocol between
the replicas of a partition; `log`, `leader_epochs` and `watermarks` are its parts; `toys` are
small models with known answers.
"""
