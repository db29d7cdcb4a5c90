"""The parameters of the compiled functions: bounds and layout, and lookup tables made from them.

All tables are in one array: compiled code counts references to every array that it is given,
which costs more than separate tables would save.
"""

from __future__ import annotations

import numpy as np

from kspec.impl.packed.compiled import Words
from kspec.impl.packed.layout import Layout
from kspec.impl.packed.replication.words import Facts
from kspec.spec.replication.state import Bounds


def tables_by_name(layout: Layout, bounds: Bounds) -> dict[str, Words]:
    """The lookup tables; `Facts` describes each."""
    brokers, size = bounds.brokers, bounds.log_size
    ids, epoch, record_epochs = layout["logs"], layout["epoch"], layout["record_epochs"]

    logs = np.arange(1 << (ids.width * size))
    offsets = np.arange(size)
    records = logs[:, None] >> (offsets * ids.width) & ids.mask
    ends = (records > 0).sum(axis=1)
    reached = np.arange(size + 1) <= ends[:, None]
    held = np.where(reached, 1 << (np.arange(size + 1) * brokers), 0).sum(axis=1)
    present = np.bitwise_or.reduce(
        np.where(records > 0, 1 << np.maximum(records - 1, 0), 0), axis=1
    )

    epochs = np.arange(1 << (epoch.width * brokers))
    groups = np.zeros_like(epochs)
    for b in range(brokers):
        groups |= 1 << ((epochs >> (b * epoch.width) & epoch.mask) * brokers + b)

    masks = np.arange(1 << brokers)
    members = masks[:, None] >> np.arange(brokers) & 1

    kept = np.full(1 << bounds.max_records, np.iinfo(np.int64).max)
    for record in range(bounds.max_records):
        gone = np.arange(len(kept)) >> record & 1 == 0
        at = record_epochs.shift + record * record_epochs.width
        kept[gone] &= ~(record_epochs.mask << at)

    return {
        "ends": ends,
        "held": held,
        "ids": present,
        "same": ((records == 0) << offsets).sum(axis=1),
        "length": np.array([mask.bit_length() for mask in range(1 << size)]),
        "groups": groups,
        "spread": (members << (np.arange(brokers) * ids.width * size)).sum(axis=1),
        "kept": kept,
    }


def facts_and_tables(layout: Layout, bounds: Bounds, variant: int) -> tuple[Facts, Words]:
    """The facts of a variant in its bounds and layout, and the tables."""
    tables = tables_by_name(layout, bounds)
    at, begin = {}, 0
    for name, table in tables.items():
        at[f"{name}_at"] = begin
        begin += len(table)
    ids, hw, epoch, isr = (layout[name] for name in ("logs", "hw", "epoch", "isr"))
    request, record_epochs = layout["requests"], layout["record_epochs"]
    facts = Facts(
        variant=variant,
        brokers=bounds.brokers,
        log_size=bounds.log_size,
        max_records=bounds.max_records,
        max_epoch=bounds.max_epoch,
        everyone=isr.mask,
        id_width=ids.width,
        log_width=ids.width * bounds.log_size,
        log_mask=(1 << (ids.width * bounds.log_size)) - 1,
        hw_width=hw.width,
        hw_mask=hw.mask,
        epoch_width=epoch.width,
        epoch_mask=epoch.mask,
        epochs_at=epoch.shift,
        epochs_mask=(1 << (epoch.width * bounds.brokers)) - 1,
        isrs_at=isr.shift,
        next_record_at=layout["next_record"].shift,
        next_record_mask=layout["next_record"].mask,
        request_width=request.width,
        request_mask=request.mask,
        next_epoch_at=layout["next_epoch"].shift,
        next_epoch_mask=layout["next_epoch"].mask,
        record_epoch_width=record_epochs.width,
        record_epoch_mask=record_epochs.mask,
        record_epochs_at=record_epochs.shift,
        fanout=bounds.brokers * (8 + bounds.max_epoch + 1),
        **at,
    )
    return facts, np.concatenate(list(tables.values()))
