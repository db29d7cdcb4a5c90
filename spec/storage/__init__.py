"""A log on disk: batches in segments, with their indexes, and what becomes of them.

- `batches`: a batch as the rules below see it, without its bytes
- `indexes`: the offset index and the time index: entries, look-ups, truncation
- `segments`: file names, appends, when a segment rolls, look-ups, truncation, recovery
- `retention`: which segments are deleted; DeleteRecords and the low watermark
- `cleaning`: which log the cleaner takes next, and how far it may clean it
- `compaction`: which records, tombstones and transaction markers a cleaning keeps
- `recovery`: what a broker makes of the files that it finds when it starts
- `lemmas`: what holds of look-ups, rolls and retention for all numbers (`kspec prove`)

The Kafka classes named are those of Kafka 4.1, in `org.apache.kafka.storage.internals.log`, unless
a docstring says otherwise.
"""
