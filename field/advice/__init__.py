"""Advice on the settings of a cluster and its clients: which failures lose data or stop writes.

- `properties`: a properties file, read as Java reads it.
- `catalogue`: Kafka's settings, with types, defaults and ranges, as each release defines them.
- `sources`: the settings in files and options, and whose they are.
- `settings`: the values in effect, by Kafka's precedence, and where each comes from.
- `findings`: what arithmetic and Kafka's own checks say about them; `protocol`, `consumers`
  and `transactions`: those on old protocols, on consumers, and on exactly once.
"""
