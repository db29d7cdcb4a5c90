"""Groups and their offsets, from the files of `__consumer_offsets`: what `kspec offsets` prints.

- `entries`: the latest record of each key, wherever it was read.
- `replay`: a log as a coordinator knows it after loading it.
- `partition`: the entries of a partition's segments, with live and dead bytes.
- `cleaner`: whether the log cleaner keeps up.
- `formatters`: the entries that Kafka's console consumer printed.
- `groups`: groups, members and offsets, and when each offset expires.
- `report`: all of it, with what is wrong.
"""
