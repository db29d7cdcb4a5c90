"""The broker without its network: requests in, responses out.

`Broker.handle` takes each request, and answers it at once or, if it is parked, later. Nothing here
opens a connection or reads a clock: `kspec.impl.broker.server` does both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from kspec.impl.broker.batches import ZSTD, CorruptBatch, InvalidBatch, check_one_batch, parse_batch
from kspec.impl.broker.calls import Call, UnsupportedRequest
from kspec.impl.broker.fetching import Fetch, Later, check_epoch
from kspec.impl.broker.groups import NOT_ASKED, Groups
from kspec.impl.broker.log import LEADER_EPOCH, PartitionLog
from kspec.impl.broker.settings import BrokerSettings
from kspec.impl.broker.topics import Topic, TopicError, Topics, log_of
from kspec.impl.wire import API_KEYS, VERSIONS, create, response_type
from kspec.spec.vocabulary import ProducerError

NODE = 1
"""The id of the only broker."""
CLUSTER = "kspec"
"""The id of the cluster."""


class Broker:
    """A cluster of one broker, which leads every partition and coordinates every group."""

    def __init__(self, settings: BrokerSettings, now: int, later: Later) -> None:
        self.settings = settings
        self.topics = Topics(settings)
        self.groups = Groups(settings, now, self.topics.exists)
        self._later = later
        self._next_producer = 0
        self.waiting: dict[Call, Fetch] = {}
        self._handlers: Mapping[int, tuple[int, Callable[[Call], None]]] = {
            API_KEYS[name]: (most, handler)
            for name, most, handler in (
                ("produce", 11, self.produce),
                ("fetch", 17, self.fetch),
                ("list_offsets", 10, self.list_offsets),
                ("metadata", 13, self.metadata),
                ("offset_commit", 9, self.groups.offset_commit),
                ("offset_fetch", 9, self.groups.offset_fetch),
                ("find_coordinator", 6, self.find_coordinator),
                ("join_group", 9, self.groups.join_group),
                ("heartbeat", 4, self.groups.heartbeat),
                ("leave_group", 5, self.groups.leave_group),
                ("sync_group", 5, self.groups.sync_group),
                ("describe_groups", 6, self.groups.describe_groups),
                ("list_groups", 5, self.groups.list_groups),
                ("api_versions", 4, self.api_versions),
                ("create_topics", 7, self.create_topics),
                ("delete_topics", 6, self.delete_topics),
                ("init_producer_id", 5, self.init_producer_id),
                ("offset_for_leader_epoch", 4, self.offset_for_leader_epoch),
                ("describe_configs", 4, self.describe_configs),
                ("delete_groups", 2, self.groups.delete_groups),
                ("offset_delete", 0, self.groups.offset_delete),
                ("describe_cluster", 2, self.describe_cluster),
            )
        }
        """The highest version of each API, that of Kafka 4.0, and its handler."""

    def handle(self, call: Call) -> None:
        """Answer a request now or later; UnsupportedRequest if the broker does not have it."""
        key, version = call.request.key, call.version
        most, handler = self._handlers.get(key, (-1, None))
        if handler is None:
            raise UnsupportedRequest(f"API {key} is not supported")
        if version > most or call.message is None:
            if key != _API_VERSIONS:
                raise UnsupportedRequest(f"version {version} of API {key} is not supported")
            call.respond(call, _unsupported_version(self._versions()))
            return
        handler(call)

    def disconnect(self, call: Call) -> None:
        """The client of a parked request has closed its connection."""
        waiting = self.waiting.get(call)
        if waiting is not None:
            waiting.end()
        else:
            self.groups.disconnect(call)

    # -- the cluster -----------------------------------------------------------------------

    def _versions(self) -> list[dict[str, int]]:
        """The APIs and their versions.

        Produce is announced from version 0 on, which is not supported: librdkafka takes its absence
        for a broker that cannot decompress (KAFKA-18659).
        """
        return [
            {
                "api_key": key,
                "min_version": 0 if key == _PRODUCE else VERSIONS[key][0],
                "max_version": most,
            }
            for key, (most, _) in self._handlers.items()
        ]

    def api_versions(self, call: Call) -> None:
        """ApiVersions."""
        call.answer(api_keys=self._versions())

    def metadata(self, call: Call) -> None:
        """Metadata; a topic that is asked for is created if broker and client allow it."""
        message = call.message
        asked = message.topics
        if asked is None or (call.version == 0 and not asked):
            topics = [_described(topic) for topic in self.topics]
        else:
            may_create = call.version < 4 or message.allow_auto_topic_creation
            topics = [self._find(one, may_create) for one in asked]
        call.answer(
            brokers=[_node(call)],
            cluster_id=CLUSTER,
            controller_id=NODE,
            topics=topics,
            cluster_authorized_operations=NOT_ASKED,
        )

    def _find(self, asked: Any, may_create: bool) -> dict[str, Any]:
        topic_id = getattr(asked, "topic_id", None)
        try:
            if asked.name is None or topic_id:
                return _described(self.topics.with_id(topic_id))
            try:
                return _described(self.topics.named(asked.name))
            except TopicError:
                if not (may_create and self.settings.auto_create_topics):
                    self.topics.validate(asked.name, 1)
                    raise
                return _described(self.topics.create(asked.name))
        except TopicError as problem:
            return {"error_code": problem.error, "name": asked.name or "", "topic_id": topic_id}

    def describe_cluster(self, call: Call) -> None:
        """DescribeCluster."""
        node = _node(call)
        call.answer(
            cluster_id=CLUSTER,
            controller_id=NODE,
            brokers=[{"broker_id": node.pop("node_id"), **node}],
            cluster_authorized_operations=NOT_ASKED,
            endpoint_type=1,
        )

    def find_coordinator(self, call: Call) -> None:
        """FindCoordinator: this broker, for every group. There are no transactions."""
        message = call.message
        is_group = call.version == 0 or message.key_type == 0
        if is_group:
            found: dict[str, Any] = {**_node(call), "error_message": ""}
        else:
            found = {
                "error_code": "INVALID_REQUEST",
                "error_message": "kspec serve has no transactions and no share groups",
                "node_id": -1,
                "port": -1,
            }
        if call.version < 4:
            call.answer(**found)
        else:
            call.answer(coordinators=[{"key": key, **found} for key in message.coordinator_keys])

    def describe_configs(self, call: Call) -> None:
        """DescribeConfigs, of the broker and of topics: the settings that have an effect."""
        call.answer(results=[self._described_configs(one) for one in call.message.resources])

    def _described_configs(self, resource: Any) -> dict[str, Any]:
        kind, name = resource.resource_type, resource.resource_name
        result: dict[str, Any] = {"resource_type": kind, "resource_name": name}
        try:
            configs = self._configs(kind, name)
        except TopicError as problem:
            return {**result, "error_code": problem.error, "error_message": str(problem)}
        wanted = resource.configuration_keys
        entries = [
            {"name": key, "value": value, "read_only": True, "config_source": 5}
            for key, value in configs.items()
            if wanted is None or key in wanted
        ]
        return {**result, "configs": entries}

    def _configs(self, kind: int, name: str) -> dict[str, str]:
        if kind == _TOPIC_RESOURCE:
            topic = self.topics.named(name)
            return {
                "cleanup.policy": "delete",
                "max.message.bytes": str(topic.max_message_bytes),
                "retention.bytes": str(self.settings.max_partition_bytes),
            }
        if kind == _BROKER_RESOURCE:
            return self.settings.by_name()
        raise TopicError("INVALID_REQUEST", "only topics and brokers have a configuration here")

    # -- topics ----------------------------------------------------------------------------

    def create_topics(self, call: Call) -> None:
        """CreateTopics. Configurations are accepted; only `max.message.bytes` has an effect."""
        message = call.message
        times = Counter(topic.name for topic in message.topics)
        results = [
            {
                "name": asked.name,
                "configs": (),
                **self._created(asked, times[asked.name], only_validate=message.validate_only),
            }
            for asked in message.topics
        ]
        call.answer(topics=results)

    def _created(self, asked: Any, times: int, *, only_validate: bool) -> dict[str, Any]:
        """The result of one topic, which the request names so many times."""
        try:
            if times > 1:
                raise TopicError("INVALID_REQUEST", "the topic is named twice")
            number = self._partitions_of(asked)
            self.topics.validate(asked.name, number)
            most = _max_message_bytes(asked.configs)
            topic_id = None if only_validate else self.topics.create(asked.name, number, most).id
        except TopicError as problem:
            return {"error_code": problem.error, "error_message": str(problem)}
        return {"topic_id": topic_id, "num_partitions": number, "replication_factor": 1}

    def _partitions_of(self, asked: Any) -> int:
        """How many partitions a new topic is to have, all of whose replicas are here."""
        if asked.assignments:
            if any(tuple(a.broker_ids) != (NODE,) for a in asked.assignments):
                raise TopicError("INVALID_REPLICA_ASSIGNMENT", f"the only broker is {NODE}")
            if sorted(a.partition_index for a in asked.assignments) != list(
                range(len(asked.assignments))
            ):
                raise TopicError("INVALID_REPLICA_ASSIGNMENT", "partitions count from 0")
            return len(asked.assignments)
        if asked.replication_factor not in (-1, 1):
            raise TopicError("INVALID_REPLICATION_FACTOR", "there is one broker")
        if asked.num_partitions == -1:
            return self.settings.partitions
        return int(asked.num_partitions)

    def delete_topics(self, call: Call) -> None:
        """DeleteTopics, by name or by id; committed offsets are deleted with them."""
        if call.version < 6:
            asked = [(name, None) for name in call.message.topic_names]
        else:
            asked = [(topic.name, topic.topic_id) for topic in call.message.topics]
        results = []
        for name, topic_id in asked:
            try:
                topic = self.topics.with_id(topic_id) if name is None else self.topics.named(name)
            except TopicError as problem:
                results.append({"name": name, "topic_id": topic_id, "error_code": problem.error})
                continue
            self.topics.delete(topic)
            self.groups.topics_deleted([topic.name])
            results.append({"name": topic.name, "topic_id": topic.id})
        call.answer(responses=results)

    # -- producers -------------------------------------------------------------------------

    def init_producer_id(self, call: Call) -> None:
        """InitProducerId: a new producer id, or the next epoch of one (KIP-360)."""
        message = call.message
        if message.transactional_id is not None:
            call.answer(
                error_code="TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
                producer_id=-1,
                producer_epoch=-1,
            )
            return
        known = getattr(message, "producer_id", -1)
        epoch = getattr(message, "producer_epoch", -1)
        if 0 <= known < self._next_producer and 0 <= epoch < 2**15 - 1:
            call.answer(producer_id=known, producer_epoch=epoch + 1)
            return
        call.answer(producer_id=self._next_producer, producer_epoch=0)
        self._next_producer += 1

    def produce(self, call: Call) -> None:
        """Produce: append a record batch to each partition; all of them are in sync at once.

        With acks=0 there is no response: an error closes the connection, so that the producer
        refreshes its metadata. Kafka: `KafkaApis.handleProduceRequest`.
        """
        message = call.message
        responses = []
        for data in message.topic_data:
            partitions = [
                {"index": p.index, **self._append(call, data.name, p.index, p.records)}
                for p in data.partition_data
            ]
            responses.append({"name": data.name, "partition_responses": partitions})
        if message.acks != 0:
            call.answer(responses=responses)
        elif any("error_code" in p for r in responses for p in r["partition_responses"]):
            raise UnsupportedRequest("records with acks=0 are refused")
        else:
            call.respond(call, None)

    def _append(
        self, call: Call, topic: str, partition: int, records: bytes | None
    ) -> dict[str, Any]:
        """The result of one partition."""
        data = records or b""
        try:
            found = self.topics.named(topic)
            log = log_of(found, partition)
            check_one_batch(data)
            if call.message.acks not in (-1, 0, 1):
                raise TopicError("INVALID_REQUIRED_ACKS", "acks is -1, 0 or 1")
            if len(data) > found.max_message_bytes:
                most = f"max.message.bytes is {found.max_message_bytes}"
                raise TopicError("MESSAGE_TOO_LARGE", most)
            batch = parse_batch(data)
            if batch.is_transactional:
                raise InvalidBatch("kspec serve has no transactions")
            if batch.compression > ZSTD or (batch.compression == ZSTD and call.version < 7):
                needs = "zstd needs version 7 of Produce"
                raise TopicError("UNSUPPORTED_COMPRESSION_TYPE", needs)
            appended = log.append(batch)
            if isinstance(appended, ProducerError):
                why = "the producer's epoch or sequence number does not follow"
                raise TopicError(appended.value, why)
        except (TopicError, InvalidBatch, CorruptBatch) as problem:
            return {"error_code": problem.error, "base_offset": -1, "error_message": str(problem)}
        return {"base_offset": appended, "log_start_offset": log.start}

    # -- consumers -------------------------------------------------------------------------

    def fetch(self, call: Call) -> None:
        """Fetch: answered once there are `min_bytes`, or an error, or the time is over."""
        message = call.message
        if call.version >= 7 and (message.session_id != 0 or message.session_epoch > 0):
            call.answer(error_code="FETCH_SESSION_ID_NOT_FOUND")
            return
        fetch = Fetch(call, self.topics, self.settings.max_fetch_bytes)
        if fetch.is_complete():
            fetch.answer()
            return
        self.waiting[call] = fetch
        fetch.wait(self._later, partial(self.waiting.__delitem__, call))

    def list_offsets(self, call: Call) -> None:
        """ListOffsets: the first, the next, or the one at a time."""
        topics = []
        for asked in call.message.topics:
            partitions = [
                {"partition_index": one.partition_index, **self._offset(call, asked.name, one)}
                for one in asked.partitions
            ]
            topics.append({"name": asked.name, "partitions": partitions})
        call.answer(topics=topics)

    def _offset(self, call: Call, topic: str, one: Any) -> dict[str, Any]:
        """The offset that one partition is asked for."""
        try:
            _check_time(one.timestamp, call.version)
            log = self._led(topic, one.partition_index, one)
        except TopicError as problem:
            return {"error_code": problem.error}
        offset, time, epoch = _position(log, one.timestamp)
        return {"offset": offset, "timestamp": time, "leader_epoch": epoch}

    def _led(self, topic: str, partition: int, one: Any) -> PartitionLog:
        """The log of a partition, if the leader epoch that the client knows is current."""
        log = log_of(self.topics.named(topic), partition)
        check_epoch(getattr(one, "current_leader_epoch", -1))
        return log

    def offset_for_leader_epoch(self, call: Call) -> None:
        """OffsetForLeaderEpoch; there is one epoch, which ends at the end of the log."""
        topics = []
        for asked in call.message.topics:
            partitions = [
                {"partition": one.partition, **self._epoch_end(asked.topic, one)}
                for one in asked.partitions
            ]
            topics.append({"topic": asked.topic, "partitions": partitions})
        call.answer(topics=topics)

    def _epoch_end(self, topic: str, one: Any) -> dict[str, Any]:
        """Where the epoch that one partition is asked for ends."""
        try:
            log = self._led(topic, one.partition, one)
        except TopicError as problem:
            return {"error_code": problem.error}
        if one.leader_epoch == LEADER_EPOCH:
            return {"leader_epoch": LEADER_EPOCH, "end_offset": log.end}
        if one.leader_epoch < -1:  # before the first one, which began at 0
            return {"leader_epoch": one.leader_epoch, "end_offset": 0}
        return {}


_LATEST, _EARLIEST, _MAX_TIMESTAMP, _EARLIEST_LOCAL = -1, -2, -3, -4


_FIRST_VERSIONS = {_EARLIEST: 1, _LATEST: 1, _MAX_TIMESTAMP: 7, _EARLIEST_LOCAL: 8, -5: 9}
"""The first version of ListOffsets that has each special time; -5 is of tiered storage."""


def _check_time(time: int, version: int) -> None:
    """Whether a version of ListOffsets has this special time.

    Kafka: `ReplicaManager.isListOffsetsTimestampUnsupported`.
    """
    if time < 0 and version < _FIRST_VERSIONS.get(time, version + 1):
        raise TopicError("UNSUPPORTED_VERSION", f"version {version} has no time {time}")


def _position(log: PartitionLog, time: int) -> tuple[int, int, int]:
    """Offset, time and leader epoch that ListOffsets names for a time or a special number."""
    if time == _LATEST:
        return log.end, -1, LEADER_EPOCH
    if time in (_EARLIEST, _EARLIEST_LOCAL):
        return log.start, -1, LEADER_EPOCH
    if time == _MAX_TIMESTAMP:
        found = log.latest_time()
    else:
        found = log.first_at_or_after(time) if time >= 0 else None
    return (-1, -1, -1) if found is None else (*found, LEADER_EPOCH)


def _max_message_bytes(configs: Any) -> int | None:
    """The `max.message.bytes` of a new topic, if it is given."""
    for config in configs:
        if config.name == "max.message.bytes" and config.value is not None:
            if not (config.value.isascii() and config.value.isdigit()):
                raise TopicError("INVALID_CONFIG", f"{config.name} is not a number: {config.value}")
            return int(config.value)
    return None


def _described(topic: Topic) -> dict[str, Any]:
    """A topic in the response to Metadata."""
    return {
        "name": topic.name,
        "topic_id": topic.id,
        "topic_authorized_operations": NOT_ASKED,
        "partitions": [
            {
                "partition_index": index,
                "leader_id": NODE,
                "leader_epoch": LEADER_EPOCH,
                "replica_nodes": (NODE,),
                "isr_nodes": (NODE,),
            }
            for index in range(len(topic.logs))
        ],
    }


def _node(call: Call) -> dict[str, Any]:
    """The broker, at the address to which the client has connected."""
    host, port = call.address
    return {"node_id": NODE, "host": host, "port": port}


def _unsupported_version(api_keys: list[dict[str, int]]) -> Any:
    """The response to an unknown version of ApiVersions, in version 0 (KIP-511)."""
    return create(
        response_type(_API_VERSIONS, 0),
        error_code="UNSUPPORTED_VERSION",
        api_keys=[entry for entry in api_keys if entry["api_key"] == _API_VERSIONS],
    )


_API_VERSIONS, _PRODUCE = API_KEYS["api_versions"], API_KEYS["produce"]
_TOPIC_RESOURCE, _BROKER_RESOURCE = 2, 4
