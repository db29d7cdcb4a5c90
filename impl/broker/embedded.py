"""A broker in a thread of this process, with the faults that a test may inject.

    with EmbeddedBroker() as broker:
        consumer = KafkaConsumer("orders", bootstrap_servers=broker.bootstrap)

Its commands may be called from any thread, and return when their effect is complete. They are also
the commands that `kspec serve --control` reads as JSON.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from kspec.impl.background import Address, InBackground
from kspec.impl.broker.server import Server
from kspec.impl.broker.settings import BrokerSettings
from kspec.impl.broker.topics import TopicError
from kspec.impl.recording import Recording
from kspec.impl.wire import API_KEYS
from kspec.spec.core import SpecError, look_up

P = ParamSpec("P")
T = TypeVar("T")

COMMANDS: dict[str, Callable[..., Any]] = {}
"""The commands, by name."""


def command(
    function: Callable[Concatenate[EmbeddedBroker, P], T],
) -> Callable[Concatenate[EmbeddedBroker, P], T]:
    """Let a method run in the thread of the broker, and add it to the commands."""

    @wraps(function)
    def run(self: EmbeddedBroker, /, *args: P.args, **kwargs: P.kwargs) -> T:
        async def call() -> T:
            try:
                return function(self, *args, **kwargs)
            finally:
                self._server.set_timer()

        return self._run(call())

    COMMANDS[function.__name__] = run
    return run


class EmbeddedBroker(InBackground):
    """A broker that listens while the `with` block runs."""

    thread = "kspec"

    def __init__(
        self,
        settings: BrokerSettings | None = None,
        *,
        virtual_clock: bool = False,
        host: str = "127.0.0.1",
        port: int = 0,
        recording: Recording | None = None,
    ) -> None:
        self._new_server = partial(
            Server, settings, virtual_clock=virtual_clock, recording=recording
        )
        self._place = host, port

    async def _open(self) -> Address:
        self._server = self._new_server()
        await self._server.start(*self._place)
        return Address(*self._server.address)

    async def _close(self) -> None:
        await self._server.stop()

    # -- commands --------------------------------------------------------------------------

    @command
    def create_topic(self, topic: str, partitions: int = 1) -> None:
        """Create a topic."""
        try:
            self._server.broker.topics.create(topic, partitions)
        except TopicError as problem:
            raise SpecError(str(problem)) from None

    @command
    def groups(self) -> dict[str, dict[str, Any]]:
        """Each group's state, generation, protocol, leader, members and offsets."""
        return self._server.broker.groups.states()

    @command
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._server.connections)

    @command
    def failures(self) -> int:
        """How many requests failed because of a bug in the broker."""
        return self._server.failures

    @command
    def advance(self, ms: int) -> None:
        """Let virtual time pass for the coordinator; needs the virtual clock."""
        if not self._server.clock.is_virtual:
            raise SpecError("the broker follows the real clock: start it with the virtual one")
        self._server.broker.groups.advance(self._server.clock.advance(ms))

    @command
    def expire_session(self, group: str, member: str) -> None:
        """Let a member's session expire now; it is named by member, instance or client id."""
        if not self._server.broker.groups.expire_session(group, member):
            raise SpecError(f"group {group!r:.80} has no member {member!r:.80}")

    @command
    def begin_failover(self) -> None:
        """The coordinator moves away and back: parked requests receive NOT_COORDINATOR.

        Requests are answered with COORDINATOR_LOAD_IN_PROGRESS until `end_failover`.
        """
        self._server.broker.groups.begin_failover()

    @command
    def end_failover(self) -> None:
        """The coordinator has loaded its groups from the offsets topic."""
        self._server.broker.groups.end_failover()

    @command
    def fail_over(self) -> None:
        """The whole failover: a rebalance in progress and pending members are lost."""
        self._server.broker.groups.begin_failover()
        self._server.broker.groups.end_failover()

    @command
    def drop_connections(self, client: str | None = None) -> int:
        """Close the connections of a client id, or all; returns how many."""
        return self._server.drop_connections(client)

    @command
    def hold(self, api: str, times: int = 1) -> None:
        """Delay the next responses of an API, such as `heartbeat`, until `release`."""
        self._server.hold(look_up("API", api, API_KEYS), times)

    @command
    def release(self) -> int:
        """Send the delayed responses, and delay no more; returns how many."""
        return self._server.release()


def perform(broker: EmbeddedBroker, request: Any) -> Any:
    """Carry out a command given as JSON: its name under `do`, beside its arguments."""
    if not isinstance(request, dict) or not isinstance(request.get("do"), str):
        raise SpecError('a command is an object with "do", such as {"do": "fail_over"}')
    name = request["do"]
    function = look_up("command", name, COMMANDS)
    parameters = dict(list(inspect.signature(function).parameters.items())[1:])
    arguments = {argument: value for argument, value in request.items() if argument != "do"}
    for argument, value in arguments.items():
        parameter = look_up(f"argument of {name}", argument, parameters)
        if parameter.annotation != "int":
            if not isinstance(value, str):
                raise SpecError(f"{argument} is text")
        elif type(value) is not int or not 0 <= value < 2**53:
            raise SpecError(f"{argument} is a number, and not negative")
    for argument, parameter in parameters.items():
        if argument not in arguments and parameter.default is inspect.Parameter.empty:
            raise SpecError(f"{name} needs {argument}")
    return function(broker, **arguments)
