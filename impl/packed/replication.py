"""Replication: its layout, and states of the specification to words and back.

Less is laid out than a state says, since some of it follows from the rest, in every variant:

- A record's id decides its epoch: an id is handed out once, and records are only copied. So
  logs hold ids, and the epochs of the records that some log holds stand aside.
- A view's epoch decides its leader: both are set together, from the one request of that epoch.
- The quorum is the last request, except for the isr once the leader took that request. From
  then on both isrs are only changed together, so it is the leader's.

`pack` refuses a state of which this is not true.
"""

from __future__ import annotations

import numpy as np

from impl.packed.layout import Layout, LayoutError, layout
from impl.packed.replication_kernel import Facts, Tables
from spec.log import Log, Record
from spec.replication.state import NO_EPOCH, NO_LEADER, Bounds, Cluster, LeaderAndIsr, View

VARIANTS = ("truncate-to-hw", "kip-101", "kip-279", "kip-320-first-try", "kip-320")


def replication_layout(bounds: Bounds) -> Layout:
    """Three words: logs, views, control."""
    brokers, epochs = bounds.brokers, bounds.max_epoch + 1
    return layout(
        [("logs", bounds.max_records + 1, brokers * bounds.log_size)],
        [
            ("hw", bounds.log_size + 1, brokers),
            ("epoch", epochs + 1, brokers),
            ("isr", 1 << brokers, brokers),
            ("next_record", bounds.max_records + 1, 1),
        ],
        [
            ("requests", (brokers + 1) << brokers, epochs),
            ("next_epoch", epochs + 1, 1),
            ("record_epochs", epochs, bounds.max_records),
        ],
    )


def as_mask(brokers: frozenset[int]) -> int:
    """A set of brokers as a mask."""
    return sum(1 << b for b in brokers)


def as_set(mask: int) -> frozenset[int]:
    """A mask of brokers as a set."""
    return frozenset(b for b in range(mask.bit_length()) if mask >> b & 1)


def pack(s: Cluster, words: Layout) -> tuple[int, ...]:
    """The words of a state."""
    bounds: Bounds = s.bounds
    epochs = {r.id: r.epoch for log in s.logs for r in log.records}
    logs = []
    for log in s.logs:
        ids = [r.id + 1 for r in log.records]
        logs += ids + [0] * (bounds.log_size - len(ids))
    sent = [
        (bounds.brokers if q.leader == NO_LEADER else q.leader) << bounds.brokers | as_mask(q.isr)
        for q in s.requests
    ]
    packed = words.pack(
        {
            "logs": logs,
            "hw": [v.hw for v in s.views],
            "epoch": [v.epoch + 1 for v in s.views],
            "isr": [as_mask(v.isr) for v in s.views],
            "next_record": [s.next_record],
            "requests": sent + [0] * (bounds.max_epoch + 1 - len(sent)),
            "next_epoch": [s.next_epoch],
            "record_epochs": [epochs.get(r, 0) for r in range(bounds.max_records)],
        }
    )
    if unpack(packed, words, bounds) != s:
        raise LayoutError(f"no rules lead to this state, so it has no words: {s}")
    return packed


def unpack(packed: tuple[int, ...], words: Layout, bounds: Bounds) -> Cluster:
    """The state that these words stand for."""
    values = words.unpack(packed)
    requests = []
    for epoch in range(values["next_epoch"][0]):
        leader, isr = divmod(values["requests"][epoch], 1 << bounds.brokers)
        requests.append(
            LeaderAndIsr(epoch, NO_LEADER if leader == bounds.brokers else leader, as_set(isr))
        )
    logs, views = [], []
    for b in range(bounds.brokers):
        ids = values["logs"][b * bounds.log_size : (b + 1) * bounds.log_size]
        logs.append(Log(tuple(Record(i - 1, values["record_epochs"][i - 1]) for i in ids if i)))
        epoch = values["epoch"][b] - 1
        leader = NO_LEADER if epoch == NO_EPOCH else requests[epoch].leader
        views.append(View(values["hw"][b], epoch, leader, as_set(values["isr"][b])))
    quorum = LeaderAndIsr(NO_EPOCH, NO_LEADER, frozenset(range(bounds.brokers)))
    if requests:
        quorum = requests[-1]
        if quorum.leader != NO_LEADER and views[quorum.leader].epoch == quorum.epoch:
            isr = views[quorum.leader].isr
            quorum = LeaderAndIsr(quorum.epoch, quorum.leader, isr)
    return Cluster(
        logs=tuple(logs),
        views=tuple(views),
        quorum=quorum,
        requests=tuple(requests),
        next_record=values["next_record"][0],
        bounds=bounds,
    )


def facts(words: Layout, bounds: Bounds, variant: str) -> Facts:
    """What the compiled functions are told of bounds and layout."""
    ids, hw, epoch, isr = (words[name] for name in ("logs", "hw", "epoch", "isr"))
    request, record_epochs = words["requests"], words["record_epochs"]
    log_width = ids.width * bounds.log_size
    return Facts(
        variant=VARIANTS.index(variant),
        brokers=bounds.brokers,
        log_size=bounds.log_size,
        max_records=bounds.max_records,
        max_epoch=bounds.max_epoch,
        everyone=isr.mask,
        id_width=ids.width,
        log_width=log_width,
        log_mask=(1 << log_width) - 1,
        hw_width=hw.width,
        hw_mask=hw.mask,
        epoch_width=epoch.width,
        epoch_mask=epoch.mask,
        epochs_at=epoch.shift,
        epochs_mask=(1 << (epoch.width * bounds.brokers)) - 1,
        isrs_at=isr.shift,
        next_record_at=words["next_record"].shift,
        next_record_mask=words["next_record"].mask,
        request_width=request.width,
        request_mask=request.mask,
        next_epoch_at=words["next_epoch"].shift,
        next_epoch_mask=words["next_epoch"].mask,
        record_epoch_width=record_epochs.width,
        record_epoch_mask=record_epochs.mask,
        record_epochs_at=record_epochs.shift,
    )


def tables(words: Layout, bounds: Bounds) -> Tables:
    """Fill the tables for these bounds."""
    ids, epoch, record_epochs = words["logs"], words["epoch"], words["record_epochs"]
    brokers, size = bounds.brokers, bounds.log_size
    slots = np.arange(size)
    lanes = np.arange(1 << (ids.width * size))
    contents = lanes[:, None] >> (slots * ids.width) & ids.mask
    ends = (contents > 0).sum(axis=1)
    masks = np.arange(1 << size)
    everyone = np.arange(1 << brokers)
    views = np.arange(1 << (epoch.width * brokers))
    groups = np.zeros_like(views)
    for b in range(brokers):
        groups |= 1 << ((views >> (b * epoch.width) & epoch.mask) * brokers + b)
    held = np.ones_like(lanes)
    present = np.zeros_like(lanes)
    for o in range(size):
        held |= (ends > o).astype(np.int64) << ((o + 1) * brokers)
        present |= np.where(contents[:, o] > 0, 1 << np.maximum(contents[:, o] - 1, 0), 0)
    kept = np.full(1 << bounds.max_records, (1 << 63) - 1, np.int64)
    for gone in range(bounds.max_records):
        absent = np.arange(len(kept)) >> gone & 1 == 0
        kept[absent] &= ~(record_epochs.mask << (record_epochs.shift + gone * record_epochs.width))
    log_width = ids.width * size
    return Tables(
        ends=ends,
        held=held,
        ids=present,
        same=((contents == 0) << slots).sum(axis=1),
        length=np.array([int(m).bit_length() for m in masks]),
        groups=groups,
        spread=((everyone[:, None] >> np.arange(brokers) & 1) << (np.arange(brokers) * log_width)).sum(axis=1),
        kept=kept,
    )
