"""Kafka's own logs: what they tell, and whether the specification allows it.

Reading: `lines` (of any file, in bounded memory), `layout` (time, level and message of a line),
`files` (which broker, in which order), `wordings` (the messages, as data), `request_log`;
`adapter` makes events of all this, and says what it did not understand.

Telling: `causes` (why a round began, and what to change), `rounds` and `client_rounds`,
`partitions`, and `timeline` with its `page`.

Checking: `group_log` is the mapping of a coordinator's log for the checker, `gaps` finds where
lines are missing; `traces` and `consumer_traces` make recorded traces of events, and `validate`
gives the verdicts. What the lines may show stands in `spec.observed`.
"""
