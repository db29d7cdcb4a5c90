"""The states that a broker may be in, given its responses.

Kafka leaves some things open: which member leads once the leader is gone, which of two protocols
with equally many votes is selected, and when exactly a timer expires. So the specification is
followed in every state that is possible, and each response rules some of them out. A broker
differs if none is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import permutations
from typing import Any, TypeAlias

import attrs

from kspec.field.conform.history import TOPIC, Ask, DeleteGroup, OffsetDelete, RecordsRequest
from kspec.field.conform.responses import (
    PARTITIONS,
    AnyResponse,
    DeleteGroupResponse,
    Described,
    OffsetDeleteResponse,
    comparable,
)
from kspec.spec.coordinator import Group, Outcome, first_error, handle, handle_unknown
from kspec.spec.coordinator.admin import (
    DescribedMember,
    after_offset_deletion,
    describe,
    refuse_deletion,
    refuse_deletion_of_one,
    refuse_offset_deletion,
)
from kspec.spec.coordinator.clock import duration, renewed_by, starts
from kspec.spec.coordinator.membership import replacement_stored, with_new_id
from kspec.spec.coordinator.rebalance import assignments_stored, join_response, select_protocol
from kspec.spec.coordinator.requests import handler_of
from kspec.spec.coordinator.sessions import Timer, armed, fire
from kspec.spec.coordinator.state import Replacement
from kspec.spec.core import evolve
from kspec.spec.messages import (
    NO_MEMBER_ID,
    Error,
    GroupState,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroupResponse,
    Offset,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    Settings,
)
from kspec.spec.serving.fetch import FetchResponse
from kspec.spec.serving.partition import NEW, Partition
from kspec.spec.serving.requests import handle as handle_records
from kspec.spec.vocabulary import TopicPartition

Write: TypeAlias = int | Replacement
"""A write to the offsets topic whose completion has an effect: a generation's assignments, or a
static member's new id."""

SLACK = 0.5
"""How much later than its duration a timer may expire, in seconds."""


@attrs.frozen
class Clock:
    """An armed timer, and when it expires, in seconds."""

    timer: Timer
    """The timer."""
    earliest: float
    """When it may expire."""
    latest: float
    """When it must have expired."""


@attrs.frozen
class World:
    """A state that the broker may be in."""

    group: Group
    """The group; Dead if the coordinator does not know it."""
    offsets: tuple[tuple[TopicPartition, Offset], ...] = ()
    """The committed offsets."""
    writes: tuple[Write, ...] = ()
    """The writes in progress, oldest first."""
    clocks: tuple[Clock, ...] = ()
    """The armed timers."""
    emptied_as: str | None = None
    """The protocol type with which the group last became empty."""
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
        if not rest and world.is_settled and all(c.latest >= moment.end for c in world.clocks):
            settled.add(world)
        for each in following:
            if each not in seen:
                seen.add(each)
                todo.append(each)
    return settled


def by_itself(world: World, moment: Moment) -> Iterator[World]:
    """What may happen without a request: a write completes, or a timer expires."""
    if world.writes:
        write, rest = world.writes[0], world.writes[1:]
        written = evolve(world, writes=rest)
        for group in orders(world.group):
            if isinstance(write, Replacement):
                outcome = replacement_stored(group, write)
            else:
                outcome = assignments_stored(group, write)
            yield from after(written, outcome, moment)
    for clock in world.clocks:
        if clock.earliest <= moment.end:
            yield from expire(world, clock.timer, moment)
    if world.has_instant_timer:
        yield from expire(world, Timer("initial delay"), moment)


def expire(world: World, timer: Timer, moment: Moment) -> Iterator[World]:
    """The worlds after a timer has expired."""
    stopped = evolve(world, clocks=tuple(c for c in world.clocks if c.timer != timer))
    if timer not in armed(world.group):  # the session of a member whose request is parked
        yield stopped
        return
    for group in orders(world.group):
        yield from after(stopped, fire(group, timer), moment)


def answer(world: World, ask: Ask, moment: Moment) -> Iterator[World]:
    """The worlds after a request has arrived."""
    request, group = ask.request, world.group
    match request:
        case DeleteGroup():
            error = refuse_deletion(group)
            deleted = new_world(group.settings)
            kept = world if error is not Error.NONE else evolve(deleted, names=world.names)
            yield answered(kept, ask, DeleteGroupResponse(error), world.sent)
        case OffsetDelete():
            yield delete_offsets(world, ask, request)
        case OffsetFetch():
            yield answered(world, ask, OffsetFetchResponse(offsets=fetch(world, request)))
        case _ if isinstance(request, RecordsRequest):
            partition, response = handle_records(world.partition, request, ask.number)
            yield answered(evolve(world, partition=partition), ask, response)
        case OffsetCommit():
            yield from commit(world, ask, request, moment)
        case _:
            for outcome in outcomes(group, ask, request):
                yield from after(world, outcome, moment, ask)


def answered(
    world: World, ask: Ask, response: AnyResponse, sent: tuple[Any, ...] | None = None
) -> World:
    """The world after another response."""
    return evolve(world, sent=(*(world.sent if sent is None else sent), (ask, response)))


def outcomes(group: Group, ask: Ask, request: Any) -> Iterator[Outcome]:
    """What the specification does with a request, for each order of members."""
    if group.state is GroupState.DEAD:
        yield handle_unknown(ask, request, ask.symbol, group.settings)
        return
    for ordered in orders(group):
        yield handle(ordered, ask, request, ask.symbol)
    if isinstance(request, JoinGroup) and may_keep_generation(group, ask, request):
        yield from tied_replacements(group, ask, request)


def may_keep_generation(group: Group, ask: Ask, request: JoinGroup) -> bool:
    """Whether a static member returns to a stable group whose vote is tied.

    Then Kafka's hash order decides whether the selected protocol, and so the generation, is kept.
    """
    returns = request.member == NO_MEMBER_ID and group.static_member(request.instance) is not None
    if not returns or group.state is not GroupState.STABLE:
        return False
    if first_error(handler_of(group, ask, request, ask.symbol)) is not None:
        return False
    replaced, _ = with_new_id(group, request, ask, ask.symbol)
    tied = {select_protocol(ordered.members) for ordered in orders(replaced)}
    return group.protocol in tied and len(tied) > 1


def tied_replacements(group: Group, ask: Ask, request: JoinGroup) -> Iterator[Outcome]:
    """What the specification does if the generation is kept, and if it is not."""
    replaced, _ = with_new_id(group, request, ask, ask.symbol)
    for pretended in (select_protocol(replaced.members), "another protocol"):
        outcome = handle(evolve(group, protocol=pretended), ask, request, ask.symbol)
        if outcome.group.protocol == pretended:
            restored = evolve(outcome.group, protocol=group.protocol)
            outcome = evolve(outcome, group=restored)
        yield outcome


def orders(group: Group) -> Iterator[Group]:
    """The group with each of its members first: where Kafka picks any, that one is picked."""
    yield group
    for index in range(1, len(group.members)):
        yield evolve(group, members=(*group.members[index:], *group.members[:index]))


def after(
    world: World, outcome: Outcome, moment: Moment, ask: Ask | None = None
) -> Iterator[World]:
    """The worlds after an outcome; ties of the vote are broken in every way."""
    for group, responses in ties(world.group, outcome):
        in_order = evolve(group, members=tuple(sorted(group.members, key=lambda m: m.id)))
        writes = world.writes
        began = in_order.unstored is not None and in_order.generation not in writes
        if outcome.replacement is not None:
            writes = (*writes, outcome.replacement)
        if outcome.record is not None and began:
            writes = (*writes, in_order.generation)
        sent = (pair for pair in responses if isinstance(pair[0], Ask))
        changed = evolve(world, group=in_order, writes=writes, sent=(*world.sent, *sent))
        yield with_clocks(world, changed, moment, ask)


def ties(before: Group, outcome: Outcome) -> Iterator[tuple[Group, tuple[tuple[Any, Any], ...]]]:
    """The outcome with each protocol that has the most votes. Kafka breaks ties by hash order."""
    group = outcome.group
    began = group.state is GroupState.COMPLETING_REBALANCE and group.generation > before.generation
    if not began:
        yield group, outcome.responses
        return
    for name in {select_protocol(ordered.members) for ordered in orders(group)}:
        selected = evolve(group, protocol=name)
        responses = []
        for caller, response in outcome.responses:
            if isinstance(response, JoinGroupResponse) and response.generation == group.generation:
                member = selected.member(response.member)
                assert member is not None, "a generation's responses go to its members"
                response = join_response(selected, member)
            responses.append((caller, response))
        yield selected, tuple(responses)


# -- offsets ----------------------------------------------------------------------------------


def exists(partition: TopicPartition) -> bool:
    """Whether the partition exists."""
    return partition.topic == TOPIC and 0 <= partition.partition < PARTITIONS


def commit(world: World, ask: Ask, request: OffsetCommit, moment: Moment) -> Iterator[World]:
    """The worlds after an OffsetCommit; the coordinator does not see partitions that do not exist.

    Kafka: `KafkaApis.handleOffsetCommitRequest`.
    """
    missing = tuple(
        (tp, Error.UNKNOWN_TOPIC_OR_PARTITION) for tp, _ in request.offsets if not exists(tp)
    )
    seen = tuple((tp, offset) for tp, offset in request.offsets if exists(tp))
    if missing and not seen:
        yield answered(world, ask, OffsetCommitResponse(missing))
        return
    for outcome in outcomes(world.group, ask, evolve(request, offsets=seen)):
        responses = tuple(
            (caller, OffsetCommitResponse((*response.partitions, *missing)))
            if isinstance(response, OffsetCommitResponse)
            else (caller, response)
            for caller, response in outcome.responses
        )
        committed = dict(world.offsets) | dict(outcome.offsets)
        written = evolve(world, offsets=tuple(sorted(committed.items(), key=lambda p: p[0])))
        yield from after(written, evolve(outcome, responses=responses), moment, ask)


def fetch(world: World, request: OffsetFetch) -> tuple[tuple[TopicPartition, Offset | None], ...]:
    """The committed offsets that an OffsetFetch asks for. Kafka: `OffsetMetadataManager`."""
    committed = dict(world.offsets)
    wanted = committed if request.partitions is None else request.partitions
    return tuple((tp, committed.get(tp)) for tp in wanted)


def delete_offsets(world: World, ask: Ask, request: OffsetDelete) -> World:
    """The world after an OffsetDelete.

    The coordinator does not see partitions that do not exist. Kafka:
    `KafkaApis.handleOffsetDeleteRequest`.
    """
    group = world.group
    error = refuse_offset_deletion(group)
    if error is not Error.NONE:
        return answered(world, ask, OffsetDeleteResponse(error))
    refusal = refuse_deletion_of_one(group, world.emptied_as)
    results = tuple(
        (tp, refusal if exists(tp) else Error.UNKNOWN_TOPIC_OR_PARTITION)
        for tp in request.partitions
    )
    deleted = [tp for tp, result in results if result is Error.NONE]
    kept = tuple(pair for pair in world.offsets if pair[0] not in deleted)
    if deleted:
        group = after_offset_deletion(group, has_offsets=bool(kept))
    changed = evolve(world, offsets=kept, group=group)
    return answered(changed, ask, OffsetDeleteResponse(Error.NONE, results))


# -- timers -----------------------------------------------------------------------------------


def with_clocks(before: World, changed: World, moment: Moment, ask: Ask | None) -> World:
    """The world with its timers: new ones start, and those that have no effect any more stop."""
    group = changed.group
    request: Any = None if ask is None else ask.request
    running = {clock.timer: clock for clock in changed.clocks}
    sessions = {Timer("session", member.id) for member in group.members}
    renewed = renewed_by(before.group, request)
    clocks = []
    for timer in sorted(armed(group) | sessions):
        if timer == renewed or starts(timer, before.group, group, running):
            length = duration(timer, before.group, group, request) / 1000
            clocks.append(Clock(timer, moment.begin + length, moment.end + length + SLACK))
        elif timer in running:
            clocks.append(running[timer])
    is_empty = group.state is GroupState.EMPTY
    return evolve(
        changed,
        clocks=tuple(clocks),
        emptied_as=group.protocol_type if is_empty else changed.emptied_as,
    )


# -- comparison -------------------------------------------------------------------------------


class Names:
    """Which member has which actual id."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.actual = dict(pairs)
        self.symbols = {actual: symbol for symbol, actual in self.actual.items()}

    def copy(self) -> Names:
        """A copy."""
        return Names(self.actual.items())

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
