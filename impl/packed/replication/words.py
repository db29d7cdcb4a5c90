"""Reading the three words of a state: logs, views, control."""

from __future__ import annotations

from typing import NamedTuple

from kspec.impl.packed.compiled import compiled

TRUNCATE_TO_HW, KIP_101, KIP_279, KIP_320_FIRST_TRY, KIP_320 = range(5)
"""The variants."""

FAILS, ELECTS, WRITES, SHRINKS, EXPANDS, ADVANCES, FETCHES, TRUNCATES, LEADS, FOLLOWS = range(10)
"""The acts: the first eight are of a broker, the last two of a broker and a request."""

WEAK_ISR, STRONG_ISR, LEADER_IN_ISR = 1, 2, 4
"""The properties, as bits of a mask."""


class Facts(NamedTuple):
    """Bounds and positions; passed as values, so that new bounds need no compiling."""

    variant: int
    brokers: int
    log_size: int
    max_records: int
    max_epoch: int
    everyone: int
    """The mask of all brokers."""

    # The word of the logs: a lane for each broker, in it one for each offset, with the id of
    # the record there and one, or 0.
    id_width: int
    log_width: int
    log_mask: int

    # The word of the views: lanes by broker for high watermarks, for epochs (and one; 0 is none)
    # and for isrs; then the next record's id.
    hw_width: int
    hw_mask: int
    epoch_width: int
    epoch_mask: int
    epochs_at: int
    epochs_mask: int
    """All brokers' epochs at once."""
    isrs_at: int
    next_record_at: int
    next_record_mask: int

    # The word of control: a lane for the request of each epoch, with its leader (the number of
    # brokers if there is none) above its isr; the next epoch; a lane for the epoch of each record.
    request_width: int
    request_mask: int
    next_epoch_at: int
    next_epoch_mask: int
    record_epoch_width: int
    record_epoch_mask: int
    record_epochs_at: int

    # Where the tables begin.
    ends_at: int
    """By a log's lane: its end offset."""
    held_at: int
    """By a log's lane: a bit for offset 0 and for each offset that it reaches, spaced by a mask."""
    ids_at: int
    """By a log's lane: the mask of the records in it."""
    same_at: int
    """By the difference of two logs' lanes: the mask of the offsets at which they are equal."""
    length_at: int
    """By a mask of offsets: the offset after the last."""
    groups_at: int
    """By all brokers' epochs: the mask of those in each epoch, one mask after the other."""
    spread_at: int
    """By a mask of brokers: a one at the bottom of each one's lane of the logs."""
    kept_at: int
    """By a mask of records: all bits of the control word but the epochs of other records."""

    fanout: int
    """The most successors of any state."""


@compiled
def all_if(true: bool) -> int:
    """All bits if the condition is true, none otherwise."""
    return -int(true)


@compiled
def log_of(logs: int, broker: int, facts: Facts) -> int:
    """The lane of one broker's log."""
    return logs >> (broker * facts.log_width) & facts.log_mask


@compiled
def hw_of(views: int, broker: int, facts: Facts) -> int:
    """One broker's high watermark."""
    return views >> (broker * facts.hw_width) & facts.hw_mask


@compiled
def view_epoch(views: int, broker: int, facts: Facts) -> int:
    """One broker's epoch in its view, plus one; 0 is none."""
    return views >> (facts.epochs_at + broker * facts.epoch_width) & facts.epoch_mask


@compiled
def requests_of(control: int, facts: Facts) -> int:
    """A lane for each epoch plus one; lane 0 is the quorum before any request."""
    sent = control & (1 << facts.next_epoch_at) - 1
    return sent << facts.request_width | facts.brokers << facts.brokers | facts.everyone


@compiled
def request_of(requests: int, epoch: int, facts: Facts) -> int:
    """The request of an epoch: its leader, above the mask of its ISR."""
    return requests >> (epoch * facts.request_width) & facts.request_mask


@compiled
def leader_of(requests: int, epoch: int, facts: Facts) -> int:
    """The leader that the request of an epoch names, or the number of brokers for none."""
    return request_of(requests, epoch, facts) >> facts.brokers


@compiled
def quorum_of(views: int, control: int, requests: int, facts: Facts) -> tuple[int, int, int]:
    """The controller's epoch, leader and ISR."""
    epoch = control >> facts.next_epoch_at & facts.next_epoch_mask
    request = request_of(requests, epoch, facts)
    leader = request >> facts.brokers
    heard = all_if(leader < facts.brokers) & all_if(view_epoch(views, leader, facts) == epoch)
    isr = views >> (facts.isrs_at + leader * facts.brokers) & heard | request & ~heard
    return epoch, leader, isr & facts.everyone


@compiled
def epoch_of(control: int, record: int, facts: Facts) -> int:
    """The epoch of a record, given as in a log: its id plus one."""
    at = facts.record_epochs_at + (record - 1) * facts.record_epoch_width
    return control >> at & facts.record_epoch_mask


@compiled
def record_at(log: int, offset: int, facts: Facts) -> int:
    """The record at an offset of a log's lane: its id plus one, or 0 if there is none."""
    return log >> (offset * facts.id_width) & ((1 << facts.id_width) - 1)
