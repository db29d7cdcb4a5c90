"""The consumer, as far as it can be said in plain functions of plain values.

`subscription` says what it reads and which calls are refused; `fetching` the state of each
partition and where it begins; `reset` how an administrator moves a group's offsets; `listener`
what a rebalance listener is told.
"""
