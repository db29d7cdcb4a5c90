"""Fetch, a request that may wait for records, and the check of a client's leader epoch.

Kafka: `DelayedFetch`. Simplification: there are no fetch sessions (KIP-227), so each request names
all of its partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from kspec.impl.broker.calls import Call
from kspec.impl.broker.log import LEADER_EPOCH, PartitionLog
from kspec.impl.broker.topics import Topic, TopicError, Topics, log_of
from kspec.impl.wire import milliseconds

Later: TypeAlias = Callable[[int, Callable[[], None]], Callable[[], None]]
"""Calls a function after some milliseconds; returns a function that cancels the call."""


class Fetch:
    """A request to fetch, which may wait for records."""

    def __init__(self, call: Call, topics: Topics, most: int) -> None:
        self._call = call
        self._topics = topics
        self._most = most
        self._end: Callable[[], None] | None = None
        self._cancel: Callable[[], None] | None = None
        self._logs: list[PartitionLog] = []

    def _partitions(self) -> Iterator[tuple[Any, Any, PartitionLog | TopicError]]:
        """Each topic and partition asked for, with its log or what is wrong with it."""
        topics = self._topics
        for asked in self._call.message.topics:
            topic: Topic | TopicError
            try:
                topic = (
                    topics.with_id(asked.topic_id)
                    if self._call.version >= 13
                    else topics.named(asked.topic)
                )
            except TopicError as problem:
                topic = problem
            for one in asked.partitions:
                yield asked, one, topic if isinstance(topic, TopicError) else _readable(topic, one)

    def is_complete(self) -> bool:
        """Whether there is something to answer: an error, enough bytes, or nothing to wait for."""
        message = self._call.message
        wanted = min(message.min_bytes, message.max_bytes)
        if wanted <= 0 or milliseconds(message.max_wait) <= 0:
            return True
        found, partitions = 0, 0
        for _, one, log in self._partitions():
            if isinstance(log, TopicError):
                return True
            partitions += 1
            found += log.bytes_from(one.fetch_offset, min(wanted, max(one.partition_max_bytes, 1)))
            if found >= wanted:
                return True
        return partitions == 0

    def wait(self, later: Later, end: Callable[[], None]) -> None:
        """Wait for appends until the time is over; `end` is called when the wait ends."""
        self._end = end
        self._cancel = later(milliseconds(self._call.message.max_wait), self.answer)
        for _, _, log in self._partitions():
            if isinstance(log, PartitionLog):
                log.waiting.add(self._look)
                self._logs.append(log)

    def _look(self) -> None:
        if self.is_complete():
            self.answer()

    def end(self) -> None:
        """Wait no longer."""
        if self._end is not None and self._cancel is not None:
            self._end()
            self._cancel()
        for log in self._logs:
            log.waiting.discard(self._look)

    def answer(self) -> None:
        """Send the records that fit; the first batch is sent even if it does not (KIP-74)."""
        self.end()
        message = self._call.message
        left = min(message.max_bytes, self._most)
        topics: dict[int, dict[str, Any]] = {}
        is_first = True
        for asked, one, log in self._partitions():
            entry: dict[str, Any] = {
                "partition_index": one.partition,
                "high_watermark": -1,
                "aborted_transactions": None,
            }
            if isinstance(log, TopicError):
                entry |= {"error_code": log.error, "records": b""}
            else:
                most = min(one.partition_max_bytes, left)
                records = b""
                if left > 0:
                    records = log.read(one.fetch_offset, most, at_least_one=is_first)
                is_first = is_first and not records
                left -= len(records)
                entry |= {
                    "high_watermark": log.end,
                    "last_stable_offset": log.end,
                    "log_start_offset": log.start,
                    "records": records,
                }
            topic = topics.setdefault(
                id(asked),
                {
                    "topic": getattr(asked, "topic", ""),
                    "topic_id": getattr(asked, "topic_id", None),
                    "partitions": [],
                },
            )
            topic["partitions"].append(entry)
        self._call.answer(responses=list(topics.values()))


def _readable(topic: Topic, one: Any) -> PartitionLog | TopicError:
    """The log of a partition, if a consumer may fetch what it asks for."""
    try:
        log = log_of(topic, one.partition)
        check_epoch(max(getattr(one, "current_leader_epoch", -1), -1))
        if not log.has(one.fetch_offset):
            raise TopicError("OFFSET_OUT_OF_RANGE", f"the log has {log.start} to {log.end}")
    except TopicError as problem:
        return problem
    return log


def check_epoch(epoch: int) -> None:
    """Whether the leader epoch that a client knows is the current one; -1 is none (KIP-320).

    For Fetch, any epoch below 0 is none (`FetchRequest.optionalEpoch`).
    """
    if epoch > LEADER_EPOCH:
        raise TopicError("UNKNOWN_LEADER_EPOCH", f"the leader epoch is {LEADER_EPOCH}")
    if epoch < -1:
        raise TopicError("FENCED_LEADER_EPOCH", f"the leader epoch is {LEADER_EPOCH}")
