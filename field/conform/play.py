"""Play a history against the broker, and compare every response and every description."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from kspec.field.conform import records
from kspec.field.conform.broker import Broker
from kspec.field.conform.connection import Connection, Lost, wait
from kspec.field.conform.guards import Coverage, decide
from kspec.field.conform.history import (
    APIS,
    Ask,
    Pause,
    RecordsRequest,
    Send,
    Step,
    is_of_records,
)
from kspec.field.conform.records import Place
from kspec.field.conform.responses import AnyResponse, Described, comparable
from kspec.field.conform.translate import to_description, to_message, to_response
from kspec.field.conform.worlds import (
    Moment,
    Names,
    World,
    agrees,
    agrees_with_description,
    forget,
    longest_delay,
    may_agree,
    new_world,
    possible,
    same,
)
from kspec.impl.background import Address
from kspec.impl.wire import Message
from kspec.spec.coordinator.admin import describe
from kspec.spec.core import Decision, SpecError
from kspec.spec.messages import LeaveGroupResponse, Settings

PATIENCE = 3.0
"""How long the broker may take until it has sent the responses that it must send, in seconds."""
SETTLING = 0.7
"""How long its group may differ once it has, in seconds."""
GRACE = 0.02
"""How long to wait for more responses where some worlds have sent more."""
LOOKS = 3
"""How often the group must be as expected until an unanswered request is taken for a parked one:
requests on other connections may overtake it."""
ROUNDS = 10
"""How often the broker is observed at least before it differs: on a busy machine, time passes
without anything happening."""
MOST_WORLDS = 2_000
"""A history ends undecided if the broker may be in more states than this."""


@attrs.frozen
class Clock:
    """The time by which the broker's timers expire."""

    now: Callable[[], float] = time.monotonic
    """The time in seconds."""
    sleep: Callable[[float], None] = time.sleep
    """Let seconds pass."""


REAL = Clock()


@attrs.frozen
class Difference:
    """Where a broker differs from the specification."""

    at: int
    """The index of the step."""
    step: Step
    """The step."""
    problem: str
    """What differs: `response`, `group` or `connection`."""
    expected: tuple[str, ...]
    """What the specification allows, in a line each."""
    observed: str
    """What the broker did."""
    decision: Decision[Any] | None
    """How the specification decides the request."""

    @property
    def signature(self) -> str:
        """What identifies this difference, without ids and numbers."""
        kind = "pause"
        if isinstance(self.step, Send):
            kind = "+".join(sorted(type(ask.request).__name__ for ask in self.step.asks))
        guard = "" if self.decision is None else self.decision.guard
        return f"{kind}; {guard}; {self.problem}; {self.outline}"

    outline: str = ""
    """Expected and observed errors or states, as the signature has them."""


@attrs.frozen
class Played:
    """The result of playing a history."""

    difference: Difference | None
    """The first difference, if any."""
    steps: int
    """How many steps were played."""
    coverage: Coverage
    """The guards that the broker was seen to pass and to fail."""
    undecided: bool = False
    """Whether it ended early, since the broker may be in too many states."""


class Player:
    """Plays histories, one after the other, on connections that it keeps."""

    def __init__(self, broker: Broker, settings: Settings, clock: Clock = REAL) -> None:
        self.broker = broker
        self.settings = settings
        self.clock = clock
        self.patience = PATIENCE
        self.idle: dict[Address, list[Connection]] = {}

    def close(self) -> None:
        """Close the connections."""
        for connections in self.idle.values():
            for connection in connections:
                connection.close()

    def connect(self, address: Address) -> Connection:
        """A connection without a request in flight."""
        idle = self.idle.setdefault(address, [])
        return idle.pop() if idle else Connection(address, self.broker.security)

    def play(self, steps: Sequence[Step], name: str) -> Played:
        """Play a history with its own group or topic, which is deleted afterwards."""
        if is_of_records(steps):
            game = Game(self, None, self.broker.new_partition(name))
        else:
            game = Game(self, name, Place(self.broker.coordinator(name), self.broker.topic))
        done = 0
        difference = None
        try:
            game.await_coordinator()
            for done, step in enumerate(steps, 1):
                difference = game.take(done - 1, step)
                if difference is not None or len(game.worlds) > MOST_WORLDS:
                    break
        finally:
            game.clean()
        undecided = difference is None and done < len(steps)
        return Played(difference, done, game.coverage, undecided)


class Game:
    """One history in play."""

    def __init__(self, player: Player, group: str | None, place: Place) -> None:
        self.player = player
        self.group = group
        self.place = place
        self.worlds = {new_world(player.settings)}
        self.in_flight: dict[Ask, Connection] = {}
        self.coverage = Coverage()
        self.control = player.connect(place.address)
        self.describing: Message | None = None
        if group is not None and "describe_groups" in player.broker.versions:
            self.describing = player.broker.request("describe_groups", 5, groups=[group])

    def await_coordinator(self) -> None:
        """Wait until the coordinator has loaded its groups."""
        if self.describing is None:
            return
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            error = self.control.call(self.describing).groups[0].error_code.name.upper()
            if error not in ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"):
                return
            time.sleep(0.1)
        raise SpecError(f"the coordinator of {self.group} is not ready within 30 s: {error}")

    # -- steps ------------------------------------------------------------------------------------

    def take(self, at: int, step: Step) -> Difference | None:
        """Play the step with this index; the difference, if the broker differs."""
        self.at, self.step = at, step
        begin = self.player.clock.now()
        try:
            if isinstance(step, Pause):
                self.player.clock.sleep(self.pause(step))
            else:
                self.send(step.asks)
            return self.observe(step.asks, begin)
        except Lost as lost:
            return self.difference("connection", ["a response"], str(lost), str(lost))

    def pause(self, step: Pause) -> float:
        """How long a pause takes, in seconds."""
        if step.milliseconds:
            return step.milliseconds / 1000
        return longest_delay(self.worlds, self.player.clock.now())

    def send(self, asks: tuple[Ask, ...]) -> None:
        """Send requests, each on its own connection."""
        world = min(self.worlds, key=lambda w: len(w.names))
        messages = []
        for ask in asks:
            lowest, highest = self.player.broker.versions.get(APIS[type(ask.request)], (0, -1))
            if not lowest <= ask.version <= highest:
                kind = type(ask.request).__name__
                raise SpecError(f"the broker does not offer version {ask.version} of {kind}")
            if isinstance(ask.request, RecordsRequest):
                messages.append(records.to_message(ask, self.place))
            else:
                group = self.group or ""
                messages.append(to_message(ask, group, world.actual, self.place.topic))
        for ask, message in zip(asks, messages, strict=True):
            connection = self.player.connect(self.place.address)
            self.in_flight[ask] = connection
            connection.send(message, ask.client)

    def receive(self, observed: dict[Ask, AnyResponse]) -> None:
        """Add the responses that have arrived."""
        for ask, connection in list(self.in_flight.items()):
            message = connection.poll()
            if message is not None:
                if isinstance(ask.request, RecordsRequest):
                    observed[ask] = records.to_response(ask, message, self.place)
                else:
                    observed[ask] = to_response(ask, message, self.place.topic)
                del self.in_flight[ask]
                self.player.idle[self.place.address].append(connection)

    def observe(self, asks: tuple[Ask, ...], begin: float) -> Difference | None:
        """Wait until some world agrees with the broker; a difference if none does in time."""
        before = self.worlds
        observed: dict[Ask, AnyResponse] = {}
        deadline = time.monotonic() + self.player.patience
        last = self.player.clock.now()
        worlds = possible(before, asks, Moment(begin, last))
        agreed: float | None = None
        described: Described | None = None
        rounds = looks = 0
        while True:
            rounds += 1
            self.receive(observed)
            now, then = time.monotonic(), self.player.clock.now()
            if then - last > 0.01 and has_near_timer(before, then, self.player.patience):
                worlds, last = possible(before, asks, Moment(begin, then)), then
            agreeing = all_that(agrees(world, observed) for world in worlds)
            if agreeing:
                agreed = agreed or now
                more = any(len(world.sent) > len(observed) for world in worlds)
                if not more or now >= agreed + GRACE:
                    found = agreeing
                    if self.describing is not None:
                        described = to_description(self.control.call(self.describing))
                        self.receive(observed)
                        agreeing = all_that(agrees(world, observed) for world in worlds)
                        found = all_that(agrees_with_description(w, described) for w in agreeing)
                    looks += bool(found)
                    if found and (looks >= LOOKS or self.are_answered(asks)):
                        self.conclude(asks, before, {forget(world) for world in found})
                        return None
                    if found:
                        continue
            elif not has_near_timer(before, then, self.player.patience) and not any(
                may_agree(world, observed) for world in worlds
            ):
                break
            is_over = now > deadline or (agreeing and agreed and now > agreed + SETTLING)
            if is_over and rounds >= ROUNDS:
                break
            wait(self.in_flight.values(), 0.005 if agreeing else 0.05)
        return self.explain(worlds, observed, described)

    def are_answered(self, asks: tuple[Ask, ...]) -> bool:
        """Whether nothing is left to wait for; without descriptions, nothing shows that."""
        return self.describing is None or self.in_flight.keys().isdisjoint(asks)

    def conclude(self, asks: tuple[Ask, ...], before: set[World], found: set[World]) -> None:
        """Keep the worlds that agree, and drop connections whose requests are parked in none."""
        if len(asks) == 1:
            self.coverage.add(next(iter(before)), asks[0])
        self.worlds = found
        for ask in list(self.in_flight):
            if not any(world.awaits(ask) for world in found):
                self.in_flight.pop(ask).close()

    # -- differences ------------------------------------------------------------------------------

    def explain(
        self,
        worlds: set[World],
        observed: dict[Ask, AnyResponse],
        described: Described | None,
    ) -> Difference:
        """The difference between what the worlds have sent and what was observed."""
        agreeing = all_that(agrees(world, observed) for world in worlds)
        some = next(iter(worlds))
        if agreeing and described is not None:
            expected = sorted({show(describe(world.group)) for world in agreeing})
            outline = f"{agreeing[0].group.state} not {described.group.state}"
            seen = show(described.group, names(some))
            if outline.split(" not ")[0] == outline.split(" not ")[1]:
                outline = "the members differ"
            return self.difference("group", expected, seen, outline)
        expected = sorted({show_responses(world.sent, {}) for world in worlds})
        errors = sorted({outline_of(world.sent) for world in worlds})
        seen = show_responses(tuple(observed.items()), names(some))
        outline = f"{' or '.join(errors)}, not {outline_of(tuple(observed.items()))}"
        if [outline_of(tuple(observed.items()))] == errors:
            outline = f"other {', '.join(fields_that_differ(some, observed))}"
        return self.difference("response", expected, seen, outline)

    def difference(
        self, problem: str, expected: Sequence[str], observed: str, outline: str
    ) -> Difference:
        """A difference in this step, with how the specification decides its request."""
        asks, shown = self.step.asks, tuple(expected)
        decision = decide(next(iter(self.worlds)), asks[0]) if len(asks) == 1 else None
        return Difference(self.at, self.step, problem, shown, observed, decision, outline)

    # -- the end ----------------------------------------------------------------------------------

    def clean(self) -> None:
        """Remove the members, pending ones too, and delete the group."""
        for connection in self.in_flight.values():
            connection.close()
        broker = self.player.broker
        if self.group is None:
            broker.delete_topic(self.place.topic)
            self.player.idle[self.place.address].append(self.control)
            return
        ids = {actual for world in self.worlds for _, actual in world.names}
        try:
            for _ in range(50):
                if self.describing is not None:
                    group = self.control.call(self.describing).groups[0]
                    ids |= {member.member_id for member in group.members}
                for member in ids:
                    leaving = {"member_id": member, "members": [{"member_id": member}]}
                    self.control.call(broker.request("leave_group", group_id=self.group, **leaving))
                if "delete_groups" not in broker.versions:
                    break
                deleted = self.control.call(
                    broker.request("delete_groups", groups_names=[self.group])
                )
                if deleted.results[0].error_code.name != "non_empty_group":
                    break
                time.sleep(0.02)
        except Lost:
            self.control.close()
            return
        self.player.idle[self.place.address].append(self.control)


def all_that(worlds: Iterable[World | None]) -> list[World]:
    """The worlds that are left."""
    return [world for world in worlds if world is not None]


def has_near_timer(worlds: set[World], now: float, patience: float) -> bool:
    """Whether a timer may expire while the broker is observed."""
    return any(span.earliest <= now + patience for world in worlds for _, span in world.timers)


def names(world: World) -> dict[str, str]:
    """The symbols of actual ids."""
    return {actual: symbol for symbol, actual in world.names}


def show(value: Any, symbols: dict[str, str] | None = None) -> str:
    """A description or response in a line, with symbols instead of actual ids."""
    fields = []
    for field in attrs.fields(type(value)):
        item = getattr(value, field.name)
        if item != field.default:
            fields.append(f"{field.name}={show_item(item, symbols or {})}")
    return f"{type(value).__name__}({', '.join(fields)})"


def show_item(item: Any, symbols: dict[str, str]) -> str:
    """A part of a response."""
    match item:
        case bytes():
            return repr(item.decode("latin-1"))
        case str():
            return symbols.get(item, item) or "''"
        case tuple():
            return f"[{', '.join(show_item(each, symbols) for each in item)}]"
        case _ if attrs.has(type(item)):
            return show(item, symbols)
        case _:
            return str(item)


def show_responses(sent: tuple[tuple[Ask, AnyResponse], ...], symbols: dict[str, str]) -> str:
    """Responses in a line."""
    return (
        "; ".join(
            f"to {ask.client}: {show(response, symbols)}"
            for ask, response in sorted(sent, key=lambda pair: pair[0].number)
        )
        or "no response"
    )


def fields_that_differ(world: World, observed: dict[Ask, AnyResponse]) -> list[str]:
    """The fields of the observed responses that are not as this world has sent them."""
    found = set()
    for ask, response in world.sent:
        sent, seen = comparable(ask, response), comparable(ask, observed[ask])
        for field in attrs.fields(type(sent)):
            changed = attrs.evolve(sent, **{field.name: getattr(seen, field.name)})
            if not same(Names(()), sent, changed):
                found.add(f"{type(ask.request).__name__} {field.name}")
    return sorted(found) or ["member ids"]


def outline_of(sent: tuple[tuple[Ask, AnyResponse], ...]) -> str:
    """The errors of responses."""
    outlines = []
    for ask, response in sorted(sent, key=lambda pair: type(pair[0].request).__name__):
        parts = [getattr(response, "error", None)]
        parts += [error for _, error in getattr(response, "partitions", ())]
        if isinstance(response, LeaveGroupResponse):
            parts += [error for _, error in response.members]
        errors = [str(getattr(part, "name", part)) for part in parts if part is not None]
        outlines.append(f"{type(ask.request).__name__} {'/'.join(dict.fromkeys(errors))}")
    return ", ".join(outlines) or "no response"
