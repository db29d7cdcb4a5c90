"""The recovery of a log: append, roll, flush, crash, and start again.

- `state`: the files of one log, its checkpoints, and the memory of the broker
- `replica`, `machine`, `recovery`: the rules of the running broker, of failures, and of the start
- `properties`: what was flushed survives, and what is served is whole and found
- `variants`: versions of Kafka, and faults that recovery prevents

`spec.storage` has the same rules as functions, with positions in bytes, time indexes, producer
snapshots and retention.
"""

from __future__ import annotations

from kspec.spec.core import Model
from kspec.spec.log_recovery.baseline import BASELINE
from kspec.spec.log_recovery.picture import picture
from kspec.spec.log_recovery.properties import PROPERTIES, RecoveryCutsTornBatch
from kspec.spec.log_recovery.state import Bounds, initial
from kspec.spec.log_recovery.variants import VARIANTS

LOG_RECOVERY = Model(
    name="log-recovery",
    doc=(
        "The files of one log: what a crash or a power loss leaves of them, and what the broker "
        "serves when it starts again."
    ),
    bounds=Bounds,
    initial=initial,
    properties=PROPERTIES,
    on_request=(RecoveryCutsTornBatch,),
    variants=VARIANTS,
    final=lambda s: True,
    not_modelled=(
        "retention, compaction and DeleteRecords",
        "time index, transaction index and producer snapshots",
        "lost or damaged checkpoints",
        "damage to flushed batches",
    ),
    baseline=BASELINE,
    picture=picture,
)
