"""Packing: states of the specification as words, and back.

Some parts of a state follow from the rest in every variant, and are not stored:

- A record's id determines its epoch: ids are assigned once, and records are only copied. So logs
  are stored as ids, and the epochs of the records in some log are stored once.
- A view's epoch determines its leader: both come from the one request of that epoch.
- The quorum is the last request, except for the ISR after the leader accepted that request. From
  then on both ISRs change together, so it is the leader's.

`pack` rejects a state for which this is not true.
"""

from __future__ import annotations

from collections.abc import Sequence

from kspec.impl.packed.layout import Layout, LayoutError, layout
from kspec.spec.core.sets import OrderedSet
from kspec.spec.log import Log, Record
from kspec.spec.replication.state import (
    NO_EPOCH,
    NO_LEADER,
    Bounds,
    Broker,
    Cluster,
    LeaderAndIsr,
    View,
)

MOST_EPOCHS = 8
"""Epochs are bytes of a word in `guards`, and have three bits in the origin of a step."""
LOG_BITS = 20
"""The tables have an entry for each log of this many bits."""


def replication_layout(bounds: Bounds) -> Layout:
    """The layout of three words: logs, views, control. LayoutError if the bounds do not fit."""
    brokers, epochs = bounds.brokers, bounds.max_epoch + 1
    log_bits = bounds.log_size * bounds.max_records.bit_length()
    if epochs > MOST_EPOCHS:
        raise LayoutError(f"there are {epochs} epochs, but at most {MOST_EPOCHS} fit")
    if log_bits > LOG_BITS:
        raise LayoutError(f"a log takes {log_bits} bits, but at most {LOG_BITS} fit")
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


def as_set(mask: int) -> frozenset[Broker]:
    """A mask of brokers as a set."""
    return OrderedSet(Broker(b) for b in range(mask.bit_length()) if mask >> b & 1)


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
        raise LayoutError(f"no rules reach this state, so it has no words: {s}")
    return packed


def unpack(packed: Sequence[int], words: Layout, bounds: Bounds) -> Cluster:
    """The state of these words."""
    values = words.unpack(packed)
    requests = []
    for epoch in range(values["next_epoch"][0]):
        number, mask = divmod(values["requests"][epoch], 1 << bounds.brokers)
        leader = NO_LEADER if number == bounds.brokers else Broker(number)
        requests.append(LeaderAndIsr(epoch, leader, as_set(mask)))
    logs, views = [], []
    for b in range(bounds.brokers):
        ids = values["logs"][b * bounds.log_size : (b + 1) * bounds.log_size]
        logs.append(Log(tuple(Record(i - 1, values["record_epochs"][i - 1]) for i in ids if i)))
        epoch = values["epoch"][b] - 1
        leader = NO_LEADER if epoch == NO_EPOCH else requests[epoch].leader
        views.append(View(values["hw"][b], epoch, leader, as_set(values["isr"][b])))
    quorum = LeaderAndIsr(NO_EPOCH, NO_LEADER, frozenset(map(Broker, range(bounds.brokers))))
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
