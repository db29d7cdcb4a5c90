"""The states that a broker may be in, given its responses.

The specification is followed in every state that is possible, wherever Kafka leaves a choice open
and whenever a timer may expire (`spec.coordinator.followed`), and each response rules some of them
out. A broker differs if none is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import permutations
from typing import Any, TypeAlias

import attrs

from kspec.field.conform.history import TOPIC, Ask, RecordsRequest
from kspec.field.conform.responses import PARTITIONS, AnyResponse, Described, comparable
from kspec.spec.coordinator import Group, Outcome
from kspec.spec.coordinator.admin import DescribedMember, describe
from kspec.spec.coordinator.clock import renewed_by
from kspec.spec.coordinator.followed import Followed, possible_answers, possible_outcomes
from kspec.spec.coordinator.sessions import Timer, armed, fire
from kspec.spec.core import evolve
from kspec.spec.messages import (
    NO_MEMBER_ID,
    GroupState,
    JoinGroupResponse,
    LeaveGroupResponse,
    Settings,
)
from kspec.spec.serving.fetch import FetchResponse
from kspec.spec.serving.partition import NEW, Partition
from kspec.spec.serving.requests import handle as handle_records
from kspec.spec.vocabulary import TopicPartition

SLACK = 0.5
"""How much later than its duration a timer may expire, in seconds."""

EXISTING = tuple(TopicPartition(TOPIC, index) for index in range(PARTITIONS))
"""The partitions that exist."""


@attrs.frozen
class Span:
    """When a timer expires, in seconds."""

    earliest: float
    """When it may expire."""
    latest: float
    """When it must have expired."""


@attrs.frozen
class World(Followed):
    """A state that the broker may be in."""

    partition: Partition = NEW
    """The partition of a history of the profile `records`."""
    names: tuple[tuple[str, str], ...] = ()
    """The actual id of each member whose id is known, by its symbol."""
    sent: tuple[tuple[Ask, AnyResponse], ...] = ()
    """The responses that the broker has sent, and that were not compared yet."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing happens now without a request."""
        return not self.writes and not self.has_instant_timer

    @property
    def has_instant_timer(self) -> bool:
        """Whether the group waits for an initial delay of no length."""
        return self.group.in_initial_delay and not self.group.settings.initial_rebalance_delay

    def actual(self, symbol: str) -> str:
        """The actual id of a member; of an unknown one, its symbol."""
        return dict(self.names).get(symbol, symbol)

    def awaits(self, ask: Ask) -> bool:
        """Whether the request is parked."""
        return any(ask in (m.awaiting_join, m.awaiting_sync) for m in self.group.members)


def new_world(settings: Settings) -> World:
    """The world before the first request: the group is unknown."""
    return World(Group(state=GroupState.DEAD, settings=settings))


def longest_delay(worlds: Iterable[World], now: float) -> float:
    """How long it takes until the initial delay has certainly ended, in seconds."""
    timers: Iterable[tuple[Timer, Span]] = (pair for world in worlds for pair in world.timers)
    ends = (span.latest - now for timer, span in timers if timer.kind == "initial delay")
    return max(0.0, *ends, 0.0)


# -- what may happen --------------------------------------------------------------------------


@attrs.frozen
class Moment:
    """The time within which requests reached the broker, in seconds."""

    begin: float
    """When the first may have."""
    end: float
    """When the last has."""


def possible(worlds: Iterable[World], asks: tuple[Ask, ...], moment: Moment) -> set[World]:
    """The worlds after these requests, in any order, and all that follows without a request."""
    todo = [(world, asks) for world in worlds]
    seen = set(todo)
    settled = set()
    while todo:
        world, rest = todo.pop()
        following = [(after, rest) for after in by_itself(world, moment)]
        for ask in rest:
            others = tuple(other for other in rest if other is not ask)
            following += [(after, others) for after in answer(world, ask, moment)]
        if (
            not rest
            and world.is_settled
            and all(span.latest >= moment.end for _, span in world.timers)
        ):
            settled.add(world)
        for each in following:
            if each not in seen:
                seen.add(each)
                todo.append(each)
    return settled


def by_itself(world: World, moment: Moment) -> Iterator[World]:
    """What may happen without a request: a write completes, or a timer expires."""
    if world.writes:
        yield from each_after(world.without_write(), world.completed_writes(), moment)
    for timer, span in world.timers:
        if span.earliest <= moment.end:
            yield from expire(world, timer, moment)
    if world.has_instant_timer:
        yield from expire(world, Timer("initial delay"), moment)


def expire(world: World, timer: Timer, moment: Moment) -> Iterator[World]:
    """The worlds after a timer has expired."""
    stopped = world.without_timer(timer)
    if timer not in armed(world.group):  # the session of a member whose request is parked
        yield stopped
        return
    fired = possible_outcomes(world.group, lambda group: fire(group, timer))
    yield from each_after(stopped, fired, moment)


def answer(world: World, ask: Ask, moment: Moment) -> Iterator[World]:
    """The worlds after a request has arrived."""
    request = ask.request
    if isinstance(request, RecordsRequest):
        partition, response = handle_records(world.partition, request, ask.number)
        yield evolve(world, partition=partition, sent=(*world.sent, (ask, response)))
    else:
        outcomes = possible_answers(world, ask, request, ask.symbol, EXISTING)
        yield from each_after(world, outcomes, moment, ask)


def each_after(
    world: World, outcomes: Iterable[Outcome], moment: Moment, ask: Ask | None = None
) -> Iterator[World]:
    """The worlds after each outcome."""

    def start(_: Timer, milliseconds: int) -> Span:
        length = milliseconds / 1000
        return Span(moment.begin + length, moment.end + length + SLACK)

    request: Any = None if ask is None else ask.request
    renewed = renewed_by(world.group, request)
    for outcome in outcomes:
        sent = (pair for pair in outcome.responses if isinstance(pair[0], Ask))
        after = world.after(outcome, start, request, renewed)
        yield evolve(after, sent=(*world.sent, *sent))


# -- comparison -------------------------------------------------------------------------------


class Names:
    """Which member has which actual id."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.actual = dict(pairs)
        self.symbols = {actual: symbol for symbol, actual in self.actual.items()}

    def agree(self, symbol: str, actual: str) -> bool:
        """Whether an id can be that of a member; one that was unknown is bound to it."""
        bound = self.actual.get(symbol)
        if bound is not None:
            return bound == actual
        if symbol == actual:
            return True
        if NO_MEMBER_ID in (symbol, actual) or actual in self.symbols or symbol[:1] != "m":
            return False
        self.actual[symbol], self.symbols[actual] = actual, symbol
        return True


Observed: TypeAlias = Mapping[Ask, AnyResponse]
"""The responses that have arrived, in the specification's form, with actual ids."""


def agrees(world: World, observed: Observed) -> World | None:
    """The world with the ids in the responses, if these are all that it has sent."""
    if len(world.sent) != len(observed):
        return None
    return may_agree(world, observed)


def may_agree(world: World, observed: Observed) -> World | None:
    """The world with the ids in the responses, if these are among those that it has sent."""
    if not set(observed) <= {ask for ask, _ in world.sent}:
        return None
    names = Names(world.names)
    # Responses that list members come last: the others show whose ids these are.
    for ask, response in sorted(world.sent, key=lambda pair: len(getattr(pair[1], "members", ()))):
        if ask in observed and not same(
            names, comparable(ask, response), comparable(ask, observed[ask])
        ):
            return None
    return evolve(world, names=tuple(sorted(names.actual.items())))


def same(names: Names, expected: AnyResponse, observed: AnyResponse) -> bool:
    """Whether a response is the expected one, except for member ids, which it reveals."""
    match expected, observed:
        case JoinGroupResponse(), JoinGroupResponse():
            plain = {"member": "", "leader": "", "members": ()}
            return (
                evolve(expected, **plain) == evolve(observed, **plain)
                and names.agree(expected.member, observed.member)
                and names.agree(expected.leader, observed.leader)
                and same_members(names, expected.members, observed.members)
            )
        case LeaveGroupResponse(), LeaveGroupResponse():
            return (
                expected.error == observed.error
                and len(expected.members) == len(observed.members)
                and any(
                    all(
                        e[1] == o[1]
                        and e[0].instance == o[0].instance
                        and names.agree(e[0].member, o[0].member)
                        for e, o in zip(expected.members, order, strict=True)
                    )
                    for order in permutations(observed.members)
                )
            )
        case FetchResponse(), FetchResponse():
            return expected.may_be(observed)
        case _:
            return expected == observed


def same_members(names: Names, expected: Any, observed: Any) -> bool:
    """Whether two lists of members are the same, in any order."""
    if len(expected) != len(observed):
        return False
    rest = list(observed)
    for member, *details in sorted(expected, key=lambda m: m[0] not in names.actual):
        for other in rest:
            if list(other[1:]) == details and names.agree(member, other[0]):
                rest.remove(other)
                break
        else:
            return False
    return True


def agrees_with_description(world: World, observed: Described) -> World | None:
    """The world with the ids in DescribeGroups, if it shows this world's group."""
    expected = describe(world.group)
    seen = observed.group
    if seen.state is GroupState.DEAD and was_never_written(world):
        return world
    if (expected.state, expected.protocol_type, expected.protocol) != (
        seen.state,
        seen.protocol_type,
        seen.protocol,
    ) or len(expected.members) != len(seen.members):
        return None
    names = Names(world.names)
    members = list(zip(seen.members, observed.clients, strict=True))
    for member in sorted(expected.members, key=lambda m: m.id not in names.actual):
        for pair in members:
            if is_described(names, member, *pair):
                members.remove(pair)
                break
        else:
            return None
    return evolve(world, names=tuple(sorted(names.actual.items())))


def was_never_written(world: World) -> bool:
    """Whether the group exists, but nothing about it is in the offsets topic.

    A commit creates a group even if none of its offsets are valid. DescribeGroups of the Java
    coordinator reads what is committed, and shows the group once anything else is written.
    """
    return world.group == Group(previous_state=world.group.previous_state) and not world.offsets


def is_described(
    names: Names, expected: DescribedMember, seen: DescribedMember, client: str
) -> bool:
    """Whether DescribeGroups shows this member: by its id, its instance id or its client id."""
    metadata = expected.metadata or b"", expected.assignment or b""
    if (expected.instance, *metadata) != (
        seen.instance,
        seen.metadata or b"",
        seen.assignment or b"",
    ):
        return False
    is_known = expected.id in names.actual or expected.instance is not None
    return (is_known or client == f"k{expected.id[1:]}") and names.agree(expected.id, seen.id)


def forget(world: World) -> World:
    """The world after its responses were compared."""
    return evolve(world, sent=())
