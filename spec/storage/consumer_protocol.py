"""What members of a classic consumer group send each other: subscriptions and assignments.

The coordinator stores both as bytes in the record of the group. Each begins with its version, and
version 0 is a prefix of all others, so the coordinator can read the topics in any version. Only a
group of the protocol type `consumer` has them; Connect and others have formats of their own.

Kafka: `ConsumerProtocol`, `ConsumerProtocolSubscription`, `ConsumerProtocolAssignment`,
`ClassicGroup.computeSubscribedTopics` [4.1.0].
"""

from __future__ import annotations

from kspec.spec.storage.schema import NUMBERS, Field, Schema, read_message, write_message
from kspec.spec.storage.varint import Malformed

CONSUMER = "consumer"
"""The protocol type of groups whose members use these formats."""

_TOPICS = Field("topics", "string", is_array=True)
_PARTITIONS = (Field("topic", "string"), Field("partitions", "int32", is_array=True))
_ASSIGNED = Field("assignedPartitions", _PARTITIONS, is_array=True)
_USER_DATA = Field("userData", "bytes", nullable=True, default=None)

SUBSCRIPTION = Schema("ConsumerProtocolSubscription", (_TOPICS, _USER_DATA), flexible=1)
"""The part of a subscription that all versions have."""
ASSIGNMENT = Schema("ConsumerProtocolAssignment", (_ASSIGNED, _USER_DATA), flexible=1)
"""An assignment; versions 1 to 3 add nothing."""

_VERSION = NUMBERS["int16"]


def read_topics(subscription: bytes) -> list[str]:
    """The topics of a subscription, in any version."""
    _check_version(subscription)
    topics: list[str] = read_message(SUBSCRIPTION, 0, subscription, _VERSION.size)["topics"]
    return topics


def write_subscription(topics: list[str]) -> bytes:
    """A subscription in version 0."""
    return _VERSION.pack(0) + write_message(SUBSCRIPTION, 0, {"topics": topics})


def read_assignment(assignment: bytes) -> dict[str, list[int]]:
    """The partitions of each topic in an assignment, in any version; no bytes assign nothing."""
    if not assignment:
        return {}
    _check_version(assignment)
    message = read_message(ASSIGNMENT, 0, assignment, _VERSION.size)
    return {each["topic"]: each["partitions"] for each in message["assignedPartitions"]}


def write_assignment(partitions: dict[str, list[int]]) -> bytes:
    """An assignment in version 0."""
    assigned = [{"topic": topic, "partitions": numbers} for topic, numbers in partitions.items()]
    return _VERSION.pack(0) + write_message(ASSIGNMENT, 0, {"assignedPartitions": assigned})


def _check_version(data: bytes) -> None:
    if len(data) < _VERSION.size or _VERSION.unpack_from(data)[0] < 0:
        raise Malformed("the consumer protocol has no version")
