"""Answers that say only what is wrong; made once, since they never change."""

from __future__ import annotations

from spec.messages import (
    Answer,
    Beaten,
    Committed,
    Error,
    Fetched,
    Heartbeat,
    Joined,
    JoinGroup,
    LeaveGroup,
    Left,
    OffsetCommit,
    OffsetFetch,
    Request,
    Synced,
    SyncGroup,
)

JOINED = {error: Joined(error) for error in Error}
SYNCED = {error: Synced(error) for error in Error}
BEATEN = {error: Beaten(error) for error in Error}
LEFT = {error: Left(error) for error in Error}
FETCHED = {error: Fetched(error) for error in Error}


def committed(request: OffsetCommit, error: Error) -> Committed:
    """The same answer for each partition of a commit."""
    return Committed(tuple((partition, error) for partition, _ in request.offsets))


def refusal(request: Request, error: Error) -> Answer:
    """Any request, answered with an error."""
    match request:
        case JoinGroup():
            return JOINED[error]
        case SyncGroup():
            return SYNCED[error]
        case Heartbeat():
            return BEATEN[error]
        case LeaveGroup():
            return LEFT[error]
        case OffsetCommit():
            return committed(request, error)
        case OffsetFetch():
            return FETCHED[error]


_TOLD_INSTEAD = {
    Error.UNKNOWN_TOPIC_OR_PARTITION: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS: Error.COORDINATOR_NOT_AVAILABLE,
    Error.REQUEST_TIMED_OUT: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_LEADER_OR_FOLLOWER: Error.NOT_COORDINATOR,
    Error.KAFKA_STORAGE_ERROR: Error.NOT_COORDINATOR,
    Error.MESSAGE_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
    Error.RECORD_LIST_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
    Error.INVALID_FETCH_SIZE: Error.UNKNOWN_SERVER_ERROR,
}


def told_instead(error: Error) -> Error:
    """What a client is told when the offsets topic could not be written for this reason."""
    return _TOLD_INSTEAD.get(error, error)
