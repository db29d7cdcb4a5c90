"""The records of coordinators: keys and values of `__consumer_offsets` and `__transaction_state`.

A key begins with its type, 16 bits that Kafka also calls the key's version; a value begins with its
own version. A record without value is a tombstone. A reader skips a type that it does not know, so
that a broker can be downgraded (KIP-915).

Version 1 of an offset commit has the time at which it expires, which the client chose; since
KIP-211 (2.1) the broker decides. Version 3 added the leader epoch (KIP-320). Versions of a group
added the rebalance timeout (1), the time of the last transition (2, KIP-211) and the instance id
(3, KIP-345). The groups of KIP-848 have types of their own, those of shares (KIP-932) and of
streams (KIP-1071) too.

Kafka: `CoordinatorRecordType` and the schemas beside it in `group-coordinator` and
`transaction-coordinator` [4.1.0]. The records of share and streams groups are those of 4.1; earlier
previews stored others.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kspec.spec.storage.schema import NUMBERS, ZERO_UUID, Field, Message, Schema, read_message
from kspec.spec.storage.schema import write_message as write_fields
from kspec.spec.storage.varint import Malformed


@attrs.frozen
class RecordType:
    """A type of records: what its key and its value contain."""

    key: Schema
    """The key, which has one version."""
    value: Schema
    """The value."""

    @property
    def name(self) -> str:
        """The name of the type, as in Kafka's `CoordinatorRecordType`."""
        return self.value.name.removesuffix("Value")


@attrs.frozen
class CoordinatorRecord:
    """A record of a coordinator."""

    type: int
    """The number of its type."""
    key: Message
    """Its key."""
    version: int | None = None
    """The version of its value."""
    value: Message | None = None
    """Its value; None for a tombstone."""


# -- structures -----------------------------------------------------------------------------------


def array(name: str, *fields: Field, kind: str = "", nullable: bool = False) -> Field:
    """A field with any number of structures, or of values of one kind."""
    return Field(name, kind or fields, is_array=True, nullable=nullable)


GROUP, GROUP_ID = Field("group", "string"), Field("groupId", "string")
MEMBER_ID = Field("memberId", "string")
TOPIC_ID, TOPIC_NAME = Field("topicId", "uuid"), Field("topicName", "string")
PARTITIONS = array("partitions", kind="int32")
RACK_ID = Field("rackId", "string", nullable=True)
CLIENT_ID, CLIENT_HOST = Field("clientId", "string"), Field("clientHost", "string")
SUBSCRIBED = array("subscribedTopicNames", kind="string")
EPOCH = Field("epoch", "int32")
METADATA_HASH = Field("metadataHash", "int64")
MEMBER_EPOCHS = (
    Field("memberEpoch", "int32"),
    Field("previousMemberEpoch", "int32"),
    Field("state", "int8"),
)
OFFSET_COMMIT_KEY = (GROUP, Field("topic", "string"), Field("partition", "int32"))
MEMBER = (
    MEMBER_ID,
    Field("groupInstanceId", "string", since=3, nullable=True, default=None),
    CLIENT_ID,
    CLIENT_HOST,
    Field("rebalanceTimeout", "int32", since=1, default=-1),
    Field("sessionTimeout", "int32"),
    Field("subscription", "bytes"),
    Field("assignment", "bytes"),
)
CLASSIC_METADATA = (
    Field("sessionTimeoutMs", "int32"),
    array("supportedProtocols", Field("name", "string"), Field("metadata", "bytes")),
)
TOPIC_METADATA = (
    TOPIC_ID,
    TOPIC_NAME,
    Field("numPartitions", "int32"),
    array("partitionMetadata", Field("partition", "int32"), array("racks", kind="string")),
)
KEY_VALUE = (Field("key", "string"), Field("value", "string"))
TOPIC_INFO = (
    Field("name", "string"),
    Field("partitions", "int32"),
    Field("replicationFactor", "int16"),
    array("topicConfigs", *KEY_VALUE),
)
TASKS = (Field("subtopologyId", "string"), PARTITIONS)
SUBTOPOLOGY = (
    Field("subtopologyId", "string"),
    array("sourceTopics", kind="string"),
    array("sourceTopicRegex", kind="string"),
    array("stateChangelogTopics", *TOPIC_INFO),
    array("repartitionSinkTopics", kind="string"),
    array("repartitionSourceTopics", *TOPIC_INFO),
    array(
        "copartitionGroups",
        array("sourceTopics", kind="int16"),
        array("sourceTopicRegex", kind="int16"),
        array("repartitionSourceTopics", kind="int16"),
    ),
)

# -- groups ---------------------------------------------------------------------------------------


def record_type(
    name: str, key: tuple[Field, ...], *value: Field, newest: int = 0, flexible: int = 0
) -> RecordType:
    """A type whose key is not flexible, as all keys."""
    return RecordType(
        Schema(f"{name}Key", key, flexible=1), Schema(f"{name}Value", value, newest, flexible)
    )


GROUP_RECORDS: Mapping[int, RecordType] = {
    0: record_type(
        "LegacyOffsetCommit",
        OFFSET_COMMIT_KEY,
        Field("offset", "int64"),
        Field("metadata", "string"),
        Field("commitTimestamp", "int64"),
        flexible=1,
    ),
    1: record_type(
        "OffsetCommit",
        OFFSET_COMMIT_KEY,
        Field("offset", "int64"),
        Field("leaderEpoch", "int32", since=3, default=-1),
        Field("metadata", "string"),
        Field("commitTimestamp", "int64"),
        Field("expireTimestamp", "int64", since=1, until=1, default=-1),
        Field("topicId", "uuid", since=4, tag=0, default=ZERO_UUID),
        newest=4,
        flexible=4,
    ),
    2: record_type(
        "GroupMetadata",
        (GROUP,),
        Field("protocolType", "string"),
        Field("generation", "int32"),
        Field("protocol", "string", nullable=True),
        Field("leader", "string", nullable=True),
        Field("currentStateTimestamp", "int64", since=2, default=-1),
        array("members", *MEMBER),
        newest=4,
        flexible=4,
    ),
    3: record_type(
        "ConsumerGroupMetadata",
        (GROUP_ID,),
        EPOCH,
        Field("metadataHash", "int64", tag=0, default=0),
    ),
    4: record_type("ConsumerGroupPartitionMetadata", (GROUP_ID,), array("topics", *TOPIC_METADATA)),
    5: record_type(
        "ConsumerGroupMemberMetadata",
        (GROUP_ID, MEMBER_ID),
        Field("instanceId", "string", nullable=True),
        RACK_ID,
        CLIENT_ID,
        CLIENT_HOST,
        SUBSCRIBED,
        Field("subscribedTopicRegex", "string", nullable=True),
        Field("rebalanceTimeoutMs", "int32"),
        Field("serverAssignor", "string", nullable=True),
        # Its default is an empty structure; for other members than classic ones, null is stored.
        Field("classicMemberMetadata", CLASSIC_METADATA, nullable=True, tag=0),
    ),
    6: record_type(
        "ConsumerGroupTargetAssignmentMetadata", (GROUP_ID,), Field("assignmentEpoch", "int32")
    ),
    7: record_type(
        "ConsumerGroupTargetAssignmentMember",
        (GROUP_ID, MEMBER_ID),
        array("topicPartitions", TOPIC_ID, PARTITIONS),
    ),
    8: record_type(
        "ConsumerGroupCurrentMemberAssignment",
        (GROUP_ID, MEMBER_ID),
        *MEMBER_EPOCHS,
        array("assignedPartitions", TOPIC_ID, PARTITIONS),
        array("partitionsPendingRevocation", TOPIC_ID, PARTITIONS),
    ),
    10: record_type(
        "ShareGroupMemberMetadata",
        (GROUP_ID, MEMBER_ID),
        RACK_ID,
        CLIENT_ID,
        CLIENT_HOST,
        SUBSCRIBED,
    ),
    11: record_type("ShareGroupMetadata", (GROUP_ID,), EPOCH, METADATA_HASH),
    12: record_type(
        "ShareGroupTargetAssignmentMetadata", (GROUP_ID,), Field("assignmentEpoch", "int32")
    ),
    13: record_type(
        "ShareGroupTargetAssignmentMember",
        (GROUP_ID, MEMBER_ID),
        array("topicPartitions", TOPIC_ID, PARTITIONS),
    ),
    14: record_type(
        "ShareGroupCurrentMemberAssignment",
        (GROUP_ID, MEMBER_ID),
        *MEMBER_EPOCHS,
        array("assignedPartitions", TOPIC_ID, PARTITIONS),
    ),
    15: record_type(
        "ShareGroupStatePartitionMetadata",
        (GROUP_ID,),
        array("initializingTopics", TOPIC_ID, TOPIC_NAME, PARTITIONS),
        array("initializedTopics", TOPIC_ID, TOPIC_NAME, PARTITIONS),
        array("deletingTopics", TOPIC_ID, TOPIC_NAME),
    ),
    16: record_type(
        "ConsumerGroupRegularExpression",
        (GROUP_ID, Field("regularExpression", "string")),
        array("topics", kind="string"),
        Field("version", "int64"),
        Field("timestamp", "int64"),
    ),
    17: record_type("StreamsGroupMetadata", (GROUP_ID,), EPOCH, METADATA_HASH),
    19: record_type(
        "StreamsGroupMemberMetadata",
        (GROUP_ID, MEMBER_ID),
        Field("instanceId", "string", nullable=True),
        RACK_ID,
        CLIENT_ID,
        CLIENT_HOST,
        Field("rebalanceTimeoutMs", "int32"),
        Field("topologyEpoch", "int32"),
        Field("processId", "string"),
        Field(
            "userEndpoint",
            (Field("host", "string"), Field("port", "uint16")),
            nullable=True,
            default=None,
        ),
        array("clientTags", *KEY_VALUE),
    ),
    20: record_type(
        "StreamsGroupTargetAssignmentMetadata", (GROUP_ID,), Field("assignmentEpoch", "int32")
    ),
    21: record_type(
        "StreamsGroupTargetAssignmentMember",
        (GROUP_ID, MEMBER_ID),
        array("activeTasks", *TASKS),
        array("standbyTasks", *TASKS),
        array("warmupTasks", *TASKS),
    ),
    22: record_type(
        "StreamsGroupCurrentMemberAssignment",
        (GROUP_ID, MEMBER_ID),
        *MEMBER_EPOCHS,
        array("activeTasks", *TASKS),
        array("standbyTasks", *TASKS),
        array("warmupTasks", *TASKS),
        array("activeTasksPendingRevocation", *TASKS),
        array("standbyTasksPendingRevocation", *TASKS),
        array("warmupTasksPendingRevocation", *TASKS),
    ),
    23: record_type(
        "StreamsGroupTopology", (GROUP_ID,), EPOCH, array("subtopologies", *SUBTOPOLOGY)
    ),
}
"""The records of `__consumer_offsets`, by the number of their type."""

# -- transactions ---------------------------------------------------------------------------------

TRANSACTION_RECORDS: Mapping[int, RecordType] = {
    0: record_type(
        "TransactionLog",
        (Field("transactionalId", "string"),),
        Field("producerId", "int64"),
        Field("previousProducerId", "int64", since=1, tag=0, default=-1),
        Field("nextProducerId", "int64", since=1, tag=1, default=-1),
        Field("producerEpoch", "int16"),
        Field("nextProducerEpoch", "int16", since=1, tag=3, default=-1),
        Field("transactionTimeoutMs", "int32"),
        Field("transactionStatus", "int8"),
        array(
            "transactionPartitions",
            Field("topic", "string"),
            array("partitionIds", kind="int32"),
            nullable=True,
        ),
        Field("transactionLastUpdateTimestampMs", "int64"),
        Field("transactionStartTimestampMs", "int64"),
        Field("clientTransactionVersion", "int16", since=1, tag=2, default=0),
        newest=1,
        flexible=1,
    ),
}
"""The records of `__transaction_state`."""


# -- records of either topic ----------------------------------------------------------------------

_TYPE = NUMBERS["int16"]


def read_record(
    types: Mapping[int, RecordType], key: bytes | None, value: bytes | None
) -> CoordinatorRecord | None:
    """The record with this key and value; None if its type is not known."""
    kind = _read_type(key, "key")
    if kind not in types:
        return None
    # Key and type have one number; the schema of a key does not depend on it.
    fields = read_message(types[kind].key, 0, key or b"", _TYPE.size)
    if value is None:
        return CoordinatorRecord(kind, fields)
    version = _read_type(value, "value")
    message = read_message(types[kind].value, version, value, _TYPE.size)
    return CoordinatorRecord(kind, fields, version, message)


def write_record(
    types: Mapping[int, RecordType], record: CoordinatorRecord
) -> tuple[bytes, bytes | None]:
    """The key and the value of a record."""
    kind = types[record.type]
    key = _TYPE.pack(record.type) + write_fields(kind.key, 0, record.key)
    if record.value is None or record.version is None:
        return key, None
    value = write_fields(kind.value, record.version, record.value)
    return key, _TYPE.pack(record.version) + value


def _read_type(data: bytes | None, what: str) -> int:
    if data is None or len(data) < _TYPE.size:
        raise Malformed(f"the {what} of a coordinator's record has no version")
    number: int = _TYPE.unpack_from(data)[0]
    return number
