"""Names of fields in Kafka's words, where they differ from the Python names in camel case.

Those of requests and responses are the names in Kafka's message schemas
(`clients/src/main/resources/common/message`, tag 4.0.0).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kspec.field.shapes import Notation, choice
from kspec.spec.leader_epochs import EpochEnd, EpochEntry
from kspec.spec.messages import (
    GROUP_SETTINGS,
    JAVA,
    SCALA,
    CoordinatorVariant,
    Heartbeat,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroupResponse,
    MemberIdentity,
    Offset,
    OffsetCommit,
    OffsetCommitResponse,
    Settings,
    SyncGroup,
    SyncGroupResponse,
)
from kspec.spec.producer.entries import (
    BatchMetadata,
    DataBatch,
    EndMarker,
    ProducerEntry,
    Verification,
)
from kspec.spec.producer.settings import ProducerSettings
from kspec.spec.producer.stable_offset import AbortedTransaction
from kspec.spec.vocabulary import Member


def camel_case(name: str) -> str:
    """A Python name as Kafka writes names."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


PRODUCER = {"producer": "producerId", "epoch": "producerEpoch"}
MEMBER = {"member": "memberId", "instance": "groupInstanceId"}

NAMES: Mapping[Any, Mapping[str, str | None]] = {
    EpochEntry: {"start": "startOffset"},
    EpochEnd: {"epoch": "leaderEpoch", "offset": "endOffset"},
    DataBatch: {
        **PRODUCER,
        "first_sequence": "baseSequence",
        "first_offset": "baseOffset",
        "timestamp": "maxTimestamp",
    },
    EndMarker: {**PRODUCER, "first_offset": "offset"},
    BatchMetadata: {"last_sequence": "lastSeq"},
    ProducerEntry: {
        **PRODUCER,
        "batches": "batchMetadata",
        "transaction_start": "currentTxnFirstOffset",
    },
    AbortedTransaction: {"producer": "producerId"},
    Verification: {"bumps_epochs": "supportsEpochBump", "started": "timestamp"},
    JoinGroup: {
        **MEMBER,
        "session_timeout": "sessionTimeoutMs",
        "rebalance_timeout": "rebalanceTimeoutMs",
        "client": "clientId",
    },
    JoinGroupResponse: {
        **MEMBER,
        "generation": "generationId",
        "protocol": "protocolName",
    },
    SyncGroup: {**MEMBER, "generation": "generationId", "protocol": "protocolName"},
    SyncGroupResponse: {"protocol": "protocolName"},
    Heartbeat: {**MEMBER, "generation": "generationId"},
    MemberIdentity: MEMBER,
    OffsetCommit: {**MEMBER, "generation": "generationId", "offsets": "partitions"},
    Offset: {
        "offset": "committedOffset",
        "metadata": "committedMetadata",
        "leader_epoch": "committedLeaderEpoch",
        "expires": None,
    },
    Settings: {
        **{field: name for name, field in GROUP_SETTINGS.items()},
        "new_member_timeout": "newMemberTimeoutMs",
    },
    ProducerSettings: {
        "in_flight": "max.in.flight.requests.per.connection",
        "enable_idempotence": "enable.idempotence",
        "transactional_id": "hasTransactionalId",
        "linger_ms": "linger.ms",
        "request_timeout_ms": "request.timeout.ms",
        "delivery_timeout_ms": "delivery.timeout.ms",
    },
    Member: {
        "owned": "ownedPartitions",
        "generation": "generationId",
        "instance_id": "groupInstanceId",
        "subscription_generation": None,
        "rack": "rackId",
    },
}

ROWS: Mapping[tuple[Any, str], Sequence[str]] = {
    (JoinGroupResponse, "members"): ("memberId", "groupInstanceId", "metadata"),
    (SyncGroup, "assignments"): ("memberId", "assignment"),
    (LeaveGroupResponse, "members"): ("", "error"),
    (OffsetCommit, "offsets"): ("", ""),
    (OffsetCommitResponse, "partitions"): ("", "error"),
}

KAFKA = Notation(
    camel_case,
    NAMES,
    ROWS,
    {CoordinatorVariant: choice({variant.name: variant for variant in (JAVA, SCALA)})},
)
"""The notation of requests and their answers: Kafka's names."""
