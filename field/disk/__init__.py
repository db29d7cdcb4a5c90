"""Audit partitions on disk: what `kspec log` finds wrong, at which file and byte.

- `folders`: the partitions in a folder, and what the log directory around them says of each.
- `audit`: a partition from its first segment to its last; the report.
- `batches`: what one batch has to do with the batches before it.
- `indexes`: indexes against the batches of their segment.
- `producers`: producers, transactions and the last stable offset.
- `checkpoints`: checkpoints against the log.
- `replicas`: the same partition on several brokers.
- `page`: the reports as an HTML file.
- `problems`: what is wrong, and where.
"""
