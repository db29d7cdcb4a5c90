"""Responses to the requests of a history, and what of them is compared.

What a version of an API cannot express is removed from both sides.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from kspec.field.conform.history import Ask
from kspec.spec.coordinator.admin import Description
from kspec.spec.leader_epochs import UNDEFINED
from kspec.spec.messages import (
    JoinGroupResponse,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchResponse,
    Response,
    SyncGroupResponse,
)
from kspec.spec.serving.list_offsets import ListOffsetsResponse
from kspec.spec.serving.requests import Response as RecordsResponse

PARTITIONS = 2
"""How many partitions the topic has."""


@attrs.frozen
class UnknownError:
    """An error code that the specification never answers with."""

    name: str
    """Its name in the protocol."""


AnyResponse: TypeAlias = Response | RecordsResponse
"""A response to a request of a history."""


@attrs.frozen
class Described:
    """A group as DescribeGroups shows it."""

    group: Description
    """The group, with actual ids of members."""
    clients: tuple[str, ...] = ()
    """The client id of each member."""


def comparable(ask: Ask, response: AnyResponse) -> AnyResponse:
    """The response without what its version cannot express, and without orders that are open."""
    version = ask.version
    match response:
        case JoinGroupResponse():
            members = tuple(
                (m, instance if version >= 5 else None, metadata or b"")
                for m, instance, metadata in response.members
            )
            return attrs.evolve(
                response,
                members=members,
                protocol_type=response.protocol_type if version >= 7 else None,
            )
        case SyncGroupResponse():
            given = response.assignment or b""
            if version >= 5:
                return attrs.evolve(response, assignment=given)
            return SyncGroupResponse(response.error, given)
        case OffsetFetchResponse():
            offsets = tuple(
                (tp, attrs.evolve(o, leader_epoch=-1) if o is not None and version < 5 else o)
                for tp, o in response.offsets
            )
            return attrs.evolve(response, offsets=tuple(sorted(offsets, key=lambda pair: pair[0])))
        case ListOffsetsResponse() if version < 4:
            return attrs.evolve(response, epoch=UNDEFINED)
        case OffsetCommitResponse() | OffsetDeleteResponse():
            in_order = tuple(sorted(response.partitions, key=lambda pair: pair[0]))
            return attrs.evolve(response, partitions=in_order)
        case _:
            return response
