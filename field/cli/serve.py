"""`kspec serve`: a broker in one process, to which real clients connect."""

from __future__ import annotations

import ipaddress
import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kspec.checkers.cli.options import flag, json_option, number_option, option, repeated, writes
from kspec.checkers.cli.output import say
from kspec.checkers.needs import needs
from kspec.spec.core import SpecError
from kspec.traces.source import numbered_lines, parse_json

if TYPE_CHECKING:
    from kspec.impl.broker import EmbeddedBroker
    from kspec.impl.recording.proxy import RecordingProxy

_LONGEST_COMMAND = 65_536


@click.command()
@number_option(
    "--port", "The port to listen on; 0 for any free one.", low=0, high=65_535, default=9092
)
@option("--host", "The address to listen on.", default="127.0.0.1", metavar="ADDRESS")
@flag("--any-host", "Allow an address that other machines can reach: there is no authentication.")
@repeated("--topic", "topics", "Create this topic. Repeatable.", metavar="NAME:PARTITIONS")
@repeated(
    "--set",
    "settings",
    "Change a setting, such as group.initial.rebalance.delay.ms. Repeatable.",
    metavar="NAME=VALUE",
)
@flag("--virtual-clock", "Let the coordinator's time pass only with the command advance.")
@flag("--control", "Read commands that inject faults from standard input, one line of JSON each.")
@writes("--record", "Record the requests and responses of groups, for kspec validate coordinator.")
@option(
    "--forward",
    "Act as a proxy for this broker or cluster, instead of a broker. Needs --record.",
    metavar="HOST:PORT",
)
@json_option
def serve(
    port: int,
    host: str,
    any_host: bool,
    topics: tuple[str, ...],
    settings: tuple[str, ...],
    virtual_clock: bool,
    control: bool,
    record: Path | None,
    forward: str | None,
    as_json: bool,
) -> int:
    """Run a broker in memory, for the tests of real clients.

    Consumers form groups, commit and fetch offsets, and producers and consumers exchange records.
    Tests compare its group coordinator with the specification. Nothing is stored on disk. Ctrl-C
    ends the broker.

    \b
    kspec serve --topic orders:3
    kspec serve --port 0 --json --control --virtual-clock
    kspec serve --set group.initial.rebalance.delay.ms=0
    kspec serve --port 9093 --forward 127.0.0.1:9092 --record trace.ndjson

    With --control, each line of standard input is a command, such as {"do": "fail_over"}, and each
    line of standard output its answer; the broker ends when its standard input does.
    """
    needs("kspec serve", "broker", "kio")
    from kspec.impl.broker import BrokerSettings, EmbeddedBroker
    from kspec.impl.recording import Recording

    if not any_host and not is_loopback(host):
        raise click.UsageError(
            f"{host or 'no host'} is not a loopback address, and the broker has no authentication: "
            "add --any-host if other machines should reach it"
        )
    if forward is not None:
        if record is None:
            raise click.UsageError("--forward needs --record FILE")
        if topics or settings or virtual_clock or control:
            raise click.UsageError("--forward has no broker of its own for the other options")
        return be_proxy(forward, record, host, port, as_json=as_json)
    named = BrokerSettings.named(dict(pairs(settings, "=", "NAME=VALUE")))
    recording = Recording("coordinator", record, **named.for_trace()) if record else None
    broker = EmbeddedBroker(
        named, virtual_clock=virtual_clock, host=host, port=port, recording=recording
    )
    wanted = [(name, partitions(number)) for name, number in pairs(topics, ":", "NAME:PARTITIONS")]
    with recording or nullcontext(), listening(broker, host, port):
        for name, number in wanted:
            broker.create_topic(name, number)
        announce(broker.bootstrap, as_json=as_json)
        if control:
            obey(broker)
        else:
            threading.Event().wait()
    return 0


def be_proxy(broker: str, file: Path, host: str, port: int, *, as_json: bool) -> int:
    """Record what passes between clients and a broker."""
    from kspec.impl.recording import Recording
    from kspec.impl.recording.proxy import RecordingProxy

    with Recording("coordinator", file) as recording:
        proxy = RecordingProxy(broker, recording, host=host, port=port)
        with listening(proxy, host, port):
            announce(proxy.bootstrap, as_json=as_json)
            threading.Event().wait()
    return 0


@contextmanager
def listening(listener: EmbeddedBroker | RecordingProxy, host: str, port: int) -> Iterator[None]:
    """Start a broker or a proxy, and stop it at the end, or at Ctrl-C."""
    try:
        listener.start()
    except (OSError, UnicodeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise SpecError(f"cannot listen on {host}, port {port}: {reason}") from None
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        listener.stop()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        found = socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return bool(host)  # no host is every address; listening at another fails, with the reason
    return all(ipaddress.ip_address(f"{entry[4][0]}").is_loopback for entry in found)


def pairs(texts: tuple[str, ...], separator: str, form: str) -> list[tuple[str, str]]:
    """Options of two parts."""
    found = [
        text.rpartition(separator) if separator == ":" else text.partition(separator)
        for text in texts
    ]
    for text, (first, middle, second) in zip(texts, found, strict=True):
        if not (first and middle and second):
            raise SpecError(f"{text!r:.80} is not {form}")
    return [(first, second) for first, _, second in found]


def partitions(text: str) -> int:
    """A number of partitions."""
    if not text.isascii() or not text.isdigit() or len(text) > 6 or int(text) < 1:
        raise SpecError(f"the number of partitions must be positive, not {text!r:.40}")
    return int(text)


def announce(bootstrap: str, *, as_json: bool) -> None:
    """Print where the broker or proxy listens, in one line."""
    if as_json:
        say(json.dumps({"bootstrap": bootstrap}))
    else:
        say(f"Listening on {bootstrap}. Ctrl-C ends it.")
    sys.stdout.flush()


def obey(broker: EmbeddedBroker) -> None:
    """Carry out the commands of standard input until it ends."""
    for _, line in numbered_lines(_LONGEST_COMMAND):
        say(json.dumps(answer_to(broker, line)))
        sys.stdout.flush()


def answer_to(broker: EmbeddedBroker, line: bytes) -> dict[str, Any]:
    """The answer to one command: its result, or what is wrong with it."""
    from kspec.impl.broker.embedded import perform

    if len(line) > _LONGEST_COMMAND:
        return {"error": f"longer than {_LONGEST_COMMAND} bytes"}
    try:
        return {"result": perform(broker, parse_json(line.decode()))}
    except UnicodeDecodeError:
        return {"error": "not UTF-8"}
    except SpecError as problem:
        return {"error": str(problem)}
