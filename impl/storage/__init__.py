"""Segments on disk, fast: what `spec.storage` states about their bytes, in compiled code.

- `segment`: a segment file, its batches and records, read in memory of fixed size.
- `scan`, `crc`: each batch's header, checksum and structure.
- `codecs`: decompression within bounds.
- `records`, `legacy`: records as Python objects; formats 0 and 1.
- `latest`: the latest record of each key in a run of batches.
- `indexes`: the indexes beside a segment; `kspec.impl.producer_state` has the snapshots.
- `writer`: segments with their indexes.

Compression other than gzip needs the extra `storage`.
"""
