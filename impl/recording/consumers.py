"""Consumers of kafka-python, aiokafka and confluent-kafka that record what they do.

Each function wraps a consumer; the wrapper has the consumer's own methods, and records those that
the mapping `consumer` checks:

    consumer = record_kafka_python(KafkaConsumer(...), recording)
    consumer.subscribe(["orders"])

Automatic commits are not seen. The client libraries are imported where they are used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from kspec.impl.recording.observer import Membership, Observer, Partitions, Recorded, by_partition
from kspec.impl.recording.trace import Recording


class RecordingListener:
    """Records, and calls the application's listener, if it has one."""

    def __init__(self, observer: Observer, inner: Any) -> None:
        self._observer = observer
        self._inner = inner

    def on_partitions_assigned(self, assigned: Partitions) -> Any:
        """Partitions are assigned; aiokafka awaits the result if it can."""
        self._observer.rebalanced("assigned", assigned)
        return self._inner and self._inner.on_partitions_assigned(assigned)


class RecordedWithListener(Recorded):
    """What recorded consumers of kafka-python and aiokafka have in common."""

    def __init__(
        self, inner: Any, observer: Observer, listener: Callable[[Observer, Any], Any]
    ) -> None:
        super().__init__(inner, observer)
        self._listener = partial(listener, observer)
        if inner.subscription():
            self.subscribe(sorted(inner.subscription()))

    def subscribe(self, topics: Any = (), pattern: Any = None, listener: Any = None) -> None:
        """Subscribe."""
        self._inner.subscribe(topics, pattern, self._listener(listener))

    def _polled(self, records: Iterable[Any], began: int) -> None:
        self._observer.polled(((r.topic, r.partition, r.offset) for r in records), began)

    def seek(self, partition: Any, offset: int) -> None:
        """Set the position."""
        self._observer.sought([partition], offset)
        self._inner.seek(partition, offset)

    def seek_to_beginning(self, *partitions: Any) -> Any:
        """Set positions; aiokafka's result is awaited."""
        return self._seek_all(self._inner.seek_to_beginning, partitions)

    def seek_to_end(self, *partitions: Any) -> Any:
        """Set positions; aiokafka's result is awaited."""
        return self._seek_all(self._inner.seek_to_end, partitions)

    def _seek_all(self, seek: Callable[..., Any], partitions: Partitions) -> Any:
        """Set the positions of these partitions, or of all that are assigned."""
        self._observer.sought(partitions or self._inner.assignment())
        return seek(*partitions)


# -- kafka-python -----------------------------------------------------------------------------


def record_kafka_python(consumer: Any, recording: Recording, name: str | None = None) -> Any:
    """A `KafkaConsumer` that records."""
    from kafka import ConsumerRebalanceListener

    def membership() -> Membership:
        known = consumer.group_metadata()
        return known.member_id, known.generation_id

    observer = Observer(
        recording,
        name or consumer.config["client_id"],
        consumer.config["group_id"],
        membership,
        consumer.config["group_instance_id"],
    )

    class Listener(RecordingListener, ConsumerRebalanceListener):  # type: ignore[misc]
        """A listener of kafka-python."""

        def on_partitions_revoked(self, revoked: Partitions) -> Any:
            result = self._inner and self._inner.on_partitions_revoked(revoked)
            observer.rebalanced("revoked", revoked)
            return result

        def on_partitions_lost(self, lost: Partitions) -> Any:
            result = self._inner and self._inner.on_partitions_lost(lost)
            observer.rebalanced("lost", lost)
            return result

    return RecordedKafkaPython(consumer, observer, Listener)


class RecordedKafkaPython(RecordedWithListener):
    """A recorded consumer of kafka-python."""

    def poll(self, *args: Any, **kwargs: Any) -> Any:
        """Poll."""
        began = self._observer.rebalances
        found = self._inner.poll(*args, **kwargs)
        self._polled(chain.from_iterable(found.values()), began)
        return found

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        began = self._observer.rebalances
        record = next(self._inner)
        self._polled([record], began)
        return record

    def commit(self, offsets: Any = None, timeout_ms: Any = None) -> None:
        """Commit, and wait for the result."""
        chosen = self._observer.committing(by_partition(offsets))
        self._inner.commit(offsets, timeout_ms=timeout_ms)
        self._observer.add("committed", offsets=chosen)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Leave the group."""
        self._inner.close(*args, **kwargs)
        self._observer.add("closed")

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self.close(autocommit=kind is None)


# -- aiokafka ---------------------------------------------------------------------------------


def record_aiokafka(consumer: Any, recording: Recording, name: str | None = None) -> Any:
    """An `AIOKafkaConsumer` that records."""
    from aiokafka import ConsumerRebalanceListener

    def membership() -> Membership:
        coordinator = consumer._coordinator  # nothing public has the generation
        return getattr(coordinator, "member_id", ""), getattr(coordinator, "generation", -1)

    observer = Observer(
        recording,
        name or consumer._client._client_id,
        consumer._group_id,
        membership,
        consumer._group_instance_id,
    )

    class Listener(RecordingListener, ConsumerRebalanceListener):  # type: ignore[misc]
        """A listener of aiokafka."""

        async def on_partitions_revoked(self, revoked: Partitions) -> None:
            result = self._inner and self._inner.on_partitions_revoked(revoked)
            if hasattr(result, "__await__"):
                await result
            observer.rebalanced("revoked", revoked)

    return RecordedAiokafka(consumer, observer, Listener)


class RecordedAiokafka(RecordedWithListener):
    """A recorded consumer of aiokafka."""

    async def getmany(self, *args: Any, **kwargs: Any) -> Any:
        """Poll."""
        began = self._observer.rebalances
        found = await self._inner.getmany(*args, **kwargs)
        self._polled(chain.from_iterable(found.values()), began)
        return found

    async def getone(self, *args: Any) -> Any:
        """Poll one record."""
        began = self._observer.rebalances
        record = await self._inner.getone(*args)
        self._polled([record], began)
        return record

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        return await self.getone()

    async def commit(self, offsets: Any = None) -> None:
        """Commit, and wait for the result."""
        chosen = self._observer.committing(by_partition(offsets))
        await self._inner.commit(offsets)
        self._observer.add("committed", offsets=chosen)

    def seek_to_committed(self, *partitions: Any) -> Any:
        """Set positions."""
        return self._seek_all(self._inner.seek_to_committed, partitions)

    async def stop(self) -> None:
        """Leave the group."""
        await self._inner.stop()
        self._observer.add("closed")

    async def __aenter__(self) -> Any:
        await self._inner.start()
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.stop()


# -- confluent-kafka --------------------------------------------------------------------------


def record_confluent_kafka(
    consumer: Any, recording: Recording, name: str, group: str, instance: str | None = None
) -> Any:
    """A confluent-kafka `Consumer` that records.

    It does not tell its configuration: the name, group and `group.instance.id` are given.
    """

    def membership() -> Membership:
        try:
            packed = consumer.consumer_group_metadata() or b""
            return consumer.memberid() or "", generation_in(packed)
        except RuntimeError:  # the consumer is closed
            return "", -1

    return RecordedConfluentKafka(consumer, Observer(recording, name, group, membership, instance))


def generation_in(packed: bytes) -> int:
    """The generation in librdkafka's `rd_kafka_consumer_group_metadata_write`."""
    start = len(b"CGMDv2:")
    return int.from_bytes(packed[start : start + 4], sys.byteorder, signed=True) if packed else -1


class RecordedConfluentKafka(Recorded):
    """A recorded consumer of confluent-kafka."""

    def subscribe(
        self, topics: Any, on_assign: Any = None, on_revoke: Any = None, on_lost: Any = None
    ) -> None:
        """Subscribe."""
        observer = self._observer

        def assigned(inner: Any, partitions: list[Any]) -> None:
            observer.rebalanced("assigned", partitions)
            if on_assign is not None:
                on_assign(self, partitions)

        def removed(event: str, callback: Any) -> Callable[[Any, list[Any]], None]:
            def call(inner: Any, partitions: list[Any]) -> None:
                if callback is not None:
                    callback(self, partitions)
                observer.rebalanced(event, partitions)

            return call

        self._inner.subscribe(
            topics,
            on_assign=assigned,
            on_revoke=removed("revoked", on_revoke),
            on_lost=removed("lost", on_lost or on_revoke),
        )

    def poll(self, *args: Any, **kwargs: Any) -> Any:
        """Poll one record."""
        began = self._observer.rebalances
        message = self._inner.poll(*args, **kwargs)
        self._polled([] if message is None else [message], began)
        return message

    def consume(self, *args: Any, **kwargs: Any) -> Any:
        """Poll."""
        began = self._observer.rebalances
        messages = self._inner.consume(*args, **kwargs)
        self._polled(messages, began)
        return messages

    def _polled(self, messages: list[Any], began: int) -> None:
        records = (m for m in messages if m.error() is None)
        self._observer.polled(((m.topic(), m.partition(), m.offset()) for m in records), began)

    def commit(self, message: Any = None, offsets: Any = None, asynchronous: bool = True) -> Any:
        """Commit; only the result of a synchronous one is seen."""
        given: dict[str, int] | None = None
        chosen: dict[str, Any] = {}
        if message is not None:
            given = {f"{message.topic()}-{message.partition()}": message.offset() + 1}
            chosen["message"] = message
        elif offsets is not None:
            given = {f"{o.topic}-{o.partition}": o.offset for o in offsets}
            chosen["offsets"] = offsets
        offered = self._observer.committing(given)
        result = self._inner.commit(**chosen, asynchronous=asynchronous)
        if not asynchronous:
            done = {f"{o.topic}-{o.partition}" for o in result or () if o.error is None}
            stored = {key: offset for key, offset in offered.items() if key in done}
            self._observer.add("committed", offsets=stored)
        return result

    def seek(self, partition: Any) -> None:
        """Set the position."""
        self._observer.sought([partition], partition.offset if partition.offset >= 0 else None)
        self._inner.seek(partition)

    def assign(self, partitions: list[Any]) -> None:
        """Take partitions, of which some may begin at an offset that the application has chosen."""
        self._observer.sought(partitions)
        self._inner.assign(partitions)

    def incremental_assign(self, partitions: list[Any]) -> None:
        """Take further partitions, as `assign` does."""
        self._observer.sought(partitions)
        self._inner.incremental_assign(partitions)

    def close(self) -> None:
        """Leave the group."""
        self._inner.close()
        self._observer.add("closed")
