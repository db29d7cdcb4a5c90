"""`kspec serve`: a broker at the prompt."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kspec.impl.broker import EmbeddedBroker
from tests.cli.conftest import Kspec


@contextmanager
def serving(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`kspec serve` in a process of its own, on any free port."""
    command = [sys.executable, "-m", "kspec", "serve", "--port", "0", *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    """The next line that it prints."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_where_it_listens_and_ends_with_a_signal(number: int) -> None:
    with serving("--topic", "orders:3") as process:
        text = line(process)
        assert text.startswith("Listening on 127.0.0.1:")
        port = int(text.split(":")[1].split(".")[0])
        socket.create_connection(("127.0.0.1", port)).close()
        process.send_signal(number)
        assert process.wait(timeout=600) == 0
        assert process.communicate() == ("", "")


@pytest.mark.slow
def test_commands_are_read_from_standard_input() -> None:
    with serving("--json", "--control", "--virtual-clock") as process:
        host, port = json.loads(line(process))["bootstrap"].rsplit(":", 1)
        socket.create_connection((host, int(port))).close()

        def do(command: str) -> Any:
            assert process.stdin is not None
            process.stdin.write(command + "\n")
            process.stdin.flush()
            return json.loads(line(process))

        assert do('{"do": "create_topic", "topic": "orders", "partitions": 3}') == {"result": None}
        assert do('{"do": "groups"}') == {"result": {}}
        assert do('{"do": "advance", "ms": 86400000}') == {"result": None}
        assert "did you mean fail_over" in do('{"do": "fail_ovr"}')["error"]
        assert "cut short" in do('{"do": ')["error"]
        long = '{"do": "create_topic", "topic": "' + "x" * 200_000 + '"}'
        assert "longer than" in do(long)["error"]
        assert do('{"do": "fail_over"}') == {"result": None}
        assert process.communicate() == ("", "")  # standard input ends
        assert process.returncode == 0


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ([], 'an object with "do"'),
        ({"do": 1}, 'an object with "do"'),
        ({"do": "advance"}, "advance needs ms"),
        ({"do": "advance", "ms": -1}, "not negative"),
        ({"do": "advance", "ms": True}, "a number"),
        ({"do": "advance", "ms": 1}, "real clock"),
        ({"do": "advance", "ms": 1, "why": "so"}, "why"),
        ({"do": "create_topic", "topic": 1}, "topic is text"),
        ({"do": "create_topic", "topic": "a b"}, "name of the topic"),
        ({"do": "create_topic", "topic": "a", "partitions": 0}, "at least one"),
        ({"do": "hold", "api": "heartbaet"}, "did you mean heartbeat"),
        ({"do": "expire_session", "group": "g", "member": "m"}, "has no member"),
        ({"do": "__init__"}, "__init__"),
    ],
)
def test_a_bad_command_is_answered_with_what_is_wrong(command: Any, error: str) -> None:
    from kspec.field.cli.serve import answer_to

    with EmbeddedBroker() as broker:
        answer = answer_to(broker, json.dumps(command).encode())
        assert error in answer["error"]
        assert answer_to(broker, b"\xff") == {"error": "not UTF-8"}


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["--host", "0.0.0.0"], 2, "--any-host"),  # noqa: S104
        (["--host", "::"], 2, "--any-host"),
        (["--host", ""], 2, "--any-host"),
        (["--host", "no.such.host.invalid"], 151, "cannot listen"),
        (["--host", "x" * 300], 151, "cannot listen"),
        (["--port", "70000"], 2, "70000"),
        (["--topic", "orders"], 151, "NAME:PARTITIONS"),
        (["--topic", "orders:0"], 151, "number of partitions"),
        (["--topic", "or ders:1"], 151, "name of the topic"),
        (["--topic", "a:1", "--topic", "a:1"], 151, "already exists"),
        (["--set", "num.partition=3"], 151, "did you mean num.partitions"),
        (["--set", "num.partitions"], 151, "NAME=VALUE"),
        (["--set", "num.partitions=x"], 151, "whole number"),
    ],
)
def test_bad_options_are_refused_in_one_line(
    kspec: Kspec, arguments: list[str], code: int, error: str
) -> None:
    if "--port" not in arguments:
        arguments = [*arguments, "--port", "0"]
    ran = kspec("serve", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert error in ran.err


def test_a_port_that_is_taken_is_named(kspec: Kspec) -> None:
    with EmbeddedBroker() as broker:
        port = broker.bootstrap.rsplit(":", 1)[1]
        ran = kspec("serve", "--port", port)
    assert (ran.code, ran.err.count("\n")) == (151, 1)
    assert f"cannot listen on 127.0.0.1, port {port}: " in ran.err


def test_the_extra_is_named_if_it_is_missing(kspec: Kspec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kspec.checkers.needs.find_spec", lambda _: None)
    ran = kspec("serve")
    assert ran.code == 151
    assert "pip install -e '.[broker]'" in ran.err


@pytest.mark.slow
def test_groups_are_recorded_by_a_broker_and_by_a_proxy_before_it(tmp_path: Path) -> None:
    files = tmp_path / "broker.ndjson", tmp_path / "proxy.ndjson"
    with serving("--json", "--record", str(files[0])) as process:
        address = json.loads(line(process))["bootstrap"]
        with serving("--json", "--record", str(files[1]), "--forward", address) as proxy:
            host, port = json.loads(line(proxy))["bootstrap"].rsplit(":", 1)
            with socket.create_connection((host, int(port)), timeout=600) as client:
                client.sendall(len(HEARTBEAT).to_bytes(4) + HEARTBEAT)
                assert client.recv(4) == b"\0\0\0\6"
    for file in files:
        header, *events = [json.loads(text) for text in file.read_text().splitlines()]
        assert header["mapping"] == "coordinator"
        found = [(event["event"], event["api"]) for event in events if "api" in event]
        assert found == [("request", "Heartbeat"), ("response", "Heartbeat")]


HEARTBEAT = bytes.fromhex("000c0000000000010002") + b"me" + b"\0\1g\0\0\0\1\0\1m"
"""A Heartbeat of version 0."""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--forward", "127.0.0.1:1"], "--forward needs --record"),
        (["--forward", "127.0.0.1:1", "--record", "x", "--control"], "no broker of its own"),
        (["--forward", "nowhere", "--record", "x", "--port", "0"], "is not HOST:PORT"),
    ],
)
def test_a_proxy_needs_a_file_and_an_address(kspec: Kspec, arguments: list[str], told: str) -> None:
    ran = kspec("serve", *arguments)
    assert ran.code in (2, 151)
    assert told in ran.err
