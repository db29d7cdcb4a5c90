"""Logs on disk: the bytes of records and of the files beside them, and the rules of a log's parts.

The bytes, which `kspec.impl.storage` reads and writes fast:

- `varint`, `checksum`, `compression`: the parts of a batch.
- `record_batch`: batches of format 2, read and written.
- `control_records`: what is in a control batch.
- `legacy_records`: formats 0 and 1, read only.
- `checkpoints`: checkpoints and metadata, as text.
- `schema`, `coordinator_records`: the keys and values of `__consumer_offsets` and
  `__transaction_state`.
- `consumer_protocol`: the subscriptions and assignments in them.
- `json_messages`: records as Kafka's formatters print them.

What cannot be read is `Malformed`, with the reason.

The rules, of which the Kafka classes named are those of Kafka 4.1:

- `batches`: a batch as these rules see it, without its bytes.
- `stored`: the batch in some bytes, as these rules see it.
- `indexes`: the offset index and the time index: entries, look-ups, truncation.
- `segments`: file names, appends, when a segment rolls, look-ups, truncation, recovery.
- `retention`: which segments are deleted; DeleteRecords and the low watermark.
- `cleaning`: which log the cleaner takes next, and how far it may clean it.
- `compaction`: which records, tombstones and transaction markers a cleaning keeps.
- `recovery`: what a broker makes of the files that it finds when it starts.
- `lemmas`: what holds of look-ups, rolls and retention for all numbers (`kspec prove`).
"""
