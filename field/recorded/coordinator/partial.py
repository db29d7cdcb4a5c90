"""What holds of any subset of a group's events, whatever is missing between them.

Each fact compares two calls, or looks at one. None depends on what was not seen: other requests,
failovers and the deletion of an empty group included.

- The generation of a stored assignment is stored with it. So once a SyncGroup has succeeded, no
  member that was known before is accepted in an older generation.
- A member that has left, or was answered UNKNOWN_MEMBER_ID after it had been accepted, is never
  accepted again: member ids are not issued twice. Static members are left out.
- A member has one assignment in a generation, whenever it asks.
- A response repeats the member id and the protocol of its request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from kspec.spec.core import Check, Checked, decide
from kspec.spec.messages import (
    NO_MEMBER_ID,
    Error,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetCommitResponse,
    SyncGroup,
)
from kspec.spec.observed.contradiction import Contradiction

MOST_MEMBERS = 1_000
"""How many members of a group are remembered."""


@attrs.frozen
class Known:
    """What is known of one member."""

    floor: int = -1
    """No request that is sent from now on is accepted in an older generation."""
    was_accepted: bool = False
    """Whether it has been a member."""
    is_gone: bool = False
    """Whether it was removed: nothing that is sent from now on is accepted."""
    assigned: tuple[int, Any] | None = None
    """Its latest generation with an assignment, and the assignment."""


@attrs.frozen(eq=False)
class Facts:
    """What is known of a group."""

    members: Mapping[str, Known] = attrs.field(factory=dict)
    """By member id, in the order in which they were first seen."""

    def of(self, request: Any) -> Known:
        """What is known of the member that sends a request."""
        return self.members.get(getattr(request, "member", NO_MEMBER_ID), Known())

    def with_member(self, member: str, **changes: Any) -> Facts:
        """With more knowledge of a member."""
        if member == NO_MEMBER_ID or (not changes and member in self.members):
            return self
        members = dict(self.members)
        members[member] = attrs.evolve(members.get(member, Known()), **changes)
        while len(members) > MOST_MEMBERS:
            del members[next(iter(members))]
        return Facts(members)

    def with_floor(self, generation: int) -> Facts:
        """After an assignment of this generation was stored."""
        if all(known.floor >= generation for known in self.members.values()):
            return self
        return Facts(
            {
                member: attrs.evolve(known, floor=max(known.floor, generation))
                for member, known in self.members.items()
            }
        )


def named_in(request: Any) -> set[str]:
    """The member ids that a request names as its sender, or as leaving."""
    leaving = (m.member for m in request.members) if isinstance(request, LeaveGroup) else ()
    return {getattr(request, "member", NO_MEMBER_ID), *leaving} - {NO_MEMBER_ID}


def asked(facts: Facts, request: Any) -> Facts:
    """The facts after a request."""
    for member in sorted(named_in(request)):
        facts = facts.with_member(member)
    return facts


def contradicted(facts: Facts, before: Known, request: Any, observed: Any) -> Check | None:
    """The fact that a response contradicts; None if it contradicts none."""
    return decide(checks(facts, before, request, observed)).failed


def checks(facts: Facts, before: Known, request: Any, observed: Any) -> Checked[None]:
    """What holds of a response; `before` was known of the member when it sent the request."""
    if not is_accepted(observed):
        return
    is_dynamic = getattr(request, "instance", None) is None
    if isinstance(request, OffsetCommit) and request.generation < 0:
        is_dynamic = False  # an empty group accepts it from anyone
    gone = Contradiction("error", "UNKNOWN_MEMBER_ID", "NONE")
    yield Check("member is known", not (before.is_gone and is_dynamic), gone)
    match request:
        case JoinGroup():
            same = request.member in (NO_MEMBER_ID, observed.member)
            older = Contradiction("generation", before.floor, observed.generation)
            other = Contradiction("member", request.member, observed.member)
            yield Check("generation is current", observed.generation >= before.floor, older)
            yield Check("response repeats the member id", same, other)
        case Heartbeat() | SyncGroup() | OffsetCommit():
            is_older = 0 <= request.generation < before.floor
            refused = Contradiction("error", "ILLEGAL_GENERATION", "NONE")
            yield Check("generation is current", not is_older, refused)
    if isinstance(request, SyncGroup):
        generation, assigned = facts.of(request).assigned or (None, None)
        same = generation != request.generation or assigned == observed.assignment
        another = Contradiction("assignment", assigned, observed.assignment)
        yield Check("a member has one assignment in a generation", same, another)
        named = request.protocol, observed.protocol
        same = None in named or named[0] == named[1]
        yield Check("protocol is the selected one", same, Contradiction("protocol", *named))


def answered(facts: Facts, request: Any, observed: Any) -> Facts:
    """The facts after a response that contradicts none."""
    member = getattr(request, "member", NO_MEMBER_ID)
    if isinstance(request, JoinGroup):
        member = observed.member
        for other, _, _ in observed.members:
            facts = facts.with_member(other)
    if not is_accepted(observed):
        is_dynamic = getattr(request, "instance", None) is None  # else the instance is unknown
        unknown = is_dynamic and Error.UNKNOWN_MEMBER_ID in errors_in(observed)
        if unknown and facts.of(request).was_accepted:
            return facts.with_member(member, is_gone=True)
        return facts.with_member(member)
    match request:
        case SyncGroup():
            facts = with_assignment(facts, member, request.generation, observed.assignment)
            facts = facts.with_member(member, was_accepted=True)
            return facts.with_floor(request.generation)
        case LeaveGroup():
            for identity in request.members:
                if identity.instance is None and left(identity, observed):
                    facts = facts.with_member(identity.member, is_gone=True)
            return facts
        case _:
            return facts.with_member(member, was_accepted=True)


def with_assignment(facts: Facts, member: str, generation: int, assignment: Any) -> Facts:
    """With the assignment of a member."""
    known = facts.members.get(member, Known()).assigned
    if known is not None and known[0] >= generation:
        return facts
    return facts.with_member(member, assigned=(generation, assignment))


def left(identity: Any, observed: Any) -> bool:
    """Whether the response to a LeaveGroup says that a member has left."""
    return not observed.members or any(
        each.member == identity.member and error is Error.NONE for each, error in observed.members
    )


def is_accepted(observed: Any) -> bool:
    """Whether a response says that the request was accepted."""
    return Error.NONE in errors_in(observed)


def errors_in(response: Any) -> set[Any]:
    """The errors of a response, those of its partitions included."""
    if isinstance(response, OffsetCommitResponse):
        return {error for _, error in response.partitions}
    return {response.error}
