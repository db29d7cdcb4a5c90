"""Logs on disk: the bytes of records and of the files beside them, and the rules of a log's parts.

The bytes, which `impl.storage` reads and writes fast:

- `varint`, `checksum`, `compression`: the parts of a batch.
- `record_batch`: batches of format 2, read and written.
- `control_records`: what is in a control batch.
- `legacy_records`: formats 0 and 1, read only.
- `checkpoints`: checkpoints and metadata, as text.
- `schema`, `coordinator_records`: the keys and values of `__consumer_offsets` and
  `__transaction_state`.

What cannot be read is `Malformed`, with the reason.
"""
