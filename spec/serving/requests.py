"""Any request of a client to a partition's leader, answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from kspec.spec.core import decide
from kspec.spec.serving.fetch import Fetch, FetchResponse, fetch
from kspec.spec.serving.list_offsets import (
    EpochOfLeader,
    EpochOfLeaderResponse,
    ListOffsets,
    ListOffsetsResponse,
    end_of_epoch,
    list_offsets,
)
from kspec.spec.serving.partition import Handler, Partition
from kspec.spec.serving.produce import Produce, ProduceResponse, produce

Request: TypeAlias = Produce | ListOffsets | EpochOfLeader | Fetch
"""A request of a client."""
Response: TypeAlias = ProduceResponse | ListOffsetsResponse | EpochOfLeaderResponse | FetchResponse
"""The response to a client."""

RESPONSES: Mapping[type, Any] = {
    Produce: ProduceResponse,
    ListOffsets: ListOffsetsResponse,
    EpochOfLeader: EpochOfLeaderResponse,
    Fetch: FetchResponse,
}
"""The response to each kind of request."""


def handler_of(partition: Partition, request: Request, number: int) -> Handler[Response]:
    """The handler of a request; `number` is the id of the records that it produces."""
    match request:
        case Produce():
            return produce(partition, request, number)
        case ListOffsets():
            return list_offsets(partition, request)
        case EpochOfLeader():
            return end_of_epoch(partition, request)
        case Fetch():
            return fetch(partition, request)


def handle(partition: Partition, request: Request, number: int) -> tuple[Partition, Response]:
    """The partition after a request, and the response."""
    decision = decide(handler_of(partition, request, number))
    if decision.effect is None:
        return partition, RESPONSES[type(request)](decision.error)
    return decision.effect
