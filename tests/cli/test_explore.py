"""`kspec explore` at the prompt."""

from __future__ import annotations

import http.client
import io
import json
import signal
import subprocess
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kspec.checkers.cli.explore import open_browser
from tests.cli.conftest import Kspec


@contextmanager
def exploring(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`kspec explore` in a process of its own."""
    command = [sys.executable, "-m", "kspec", "explore", *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def described(address: str) -> tuple[str, str]:
    """The model and the variant that the server at an address explores."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.netloc, timeout=600)
    headers = {"Content-Type": "application/json"}
    connection.request("POST", place.path, '{"do": "describe"}', headers)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer["model"], answer["variant"]


@pytest.mark.slow
def test_it_prints_its_address_and_ends_with_ctrl_c() -> None:
    with exploring("replication", "--variant", "kip-101", "--no-browser") as process:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        assert words[0] == "Open"
        assert described(words[1]) == ("replication", "kip-101")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=600) == 0
        assert process.communicate() == ("", "")


@pytest.mark.slow
def test_json_gives_the_address_and_sigterm_ends_it() -> None:
    with exploring("die-hard", "--json") as process:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        assert described(address) == ("die-hard", "die-hard")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=600) == 0


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_a_terminal_session_saves_a_trace_that_other_commands_read(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, "2\nfind big == 4\nnonsense\nsave way.json\npage way.html\nquit\n5\n")
    ran = kspec("explore", "die-hard", "--terminal")
    assert ran.code == 0
    assert ran.err.startswith("kspec: no command or rule named 'nonsense': ")
    assert "> find big == 4\n5 steps away: big == 4 (states explored: " in ran.out
    assert ran.out.endswith("Written: way.html\n> quit\n")
    shown = kspec("show", "way.json")
    assert shown.code == 0
    assert shown.out.endswith("GoalIsNeverMeasured fails at 4 litres in the big jug.\n")
    type_in(monkeypatch, "back 2\n")
    again = kspec("explore", "die-hard", "--terminal", "--load", "way.json")
    assert "   7  pour_big_into_small  (hero)" in again.out
    assert "> back 2\n   5  pour_big_into_small  (hero)" in again.out


def test_a_file_brings_its_variant_and_bounds(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, "save two.json\n")
    kspec("explore", "replication", "--variant", "kip-279", "--set", "brokers=2", "--terminal")
    type_in(monkeypatch, "state\n")
    ran = kspec("explore", "replication", "--terminal", "--load", "two.json")
    assert ran.out.startswith("replication, kip-279. ")
    assert "broker 1" in ran.out
    assert "broker 2" not in ran.out
    assert ran.err == ""


def test_a_story_is_loaded_by_its_name(kspec: Kspec, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "")
    ran = kspec("explore", "group", "--terminal", "--load", "first-join")
    assert "  11  consumer_applies_assignment  consumer=0  (consumer)" in ran.out


OWN = """
import attrs
from kspec.spec.core import Model, Step, Variant, evolve, rule

@attrs.frozen
class Node:
    voted: int = -1

@attrs.frozen
class Nodes:
    nodes: tuple[Node, ...] = (Node(), Node())

@rule(by="node", node=lambda s: range(2))
def votes(s: Nodes, node: int) -> Step[Nodes]:
    yield "node has not voted", s.nodes[node].voted < 0
    voted = tuple(Node(1) if i == node else n for i, n in enumerate(s.nodes))
    return evolve(s, nodes=voted)

@rule(by="node")
def breaks(s: Nodes) -> Step[Nodes]:
    yield "divisible", 1 // 0 == 1
    return s

VOTES = Model(name="votes", doc="Votes.", initial=lambda bounds: [Nodes()], properties=[],
              variants=[Variant("votes", (votes, breaks), "It is the only one.")])
"""


def test_a_model_of_ones_own_is_explored_and_its_errors_are_shown(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("votes.py").write_text(OWN, encoding="utf-8")
    type_in(monkeypatch, "blocked\nvotes node=1\n")
    ran = kspec("explore", "votes.py", "--terminal")
    assert (ran.code, ran.err) == (0, "")
    assert "breaks: breaks raised ZeroDivisionError: " in ran.out
    assert "state  nodes[1].voted -1→1" in ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["replicatio"], 151, "did you mean replication"),
        (["replication", "--variant", "kip-102"], 151, "did you mean kip-101"),
        (["replication", "--terminal", "--no-browser"], 2, "--terminal has no page"),
        (["replication", "--terminal", "--json"], 2, "--terminal has no page"),
        (["replication", "--load", "missing.json"], 151, "cannot read missing.json"),
        (["replication", "--port", "70000"], 2, "70000"),
        ([], 2, "Missing argument 'MODEL'"),
    ],
)
def test_wrong_usage_is_said_in_a_line(
    kspec: Kspec, arguments: list[str], code: int, says: str
) -> None:
    ran = kspec("explore", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err


def test_a_browser_that_would_take_the_terminal_is_not_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[str] = []

    class Window(webbrowser.BaseBrowser):
        def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
            opened.append(url)
            return True

    for browser, expected in ((webbrowser.GenericBrowser("false"), 0), (Window("firefox"), 1)):
        monkeypatch.setattr(webbrowser, "get", lambda found=browser: found)
        open_browser("http://127.0.0.1:1/")
        assert len(opened) == expected

    def none() -> None:
        raise webbrowser.Error

    monkeypatch.setattr(webbrowser, "get", none)
    open_browser("http://127.0.0.1:1/")
    assert len(opened) == 1
