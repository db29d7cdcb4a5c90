"""The benchmark of protocols with messages: every checker explores the same states."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest

from benchmarks import messages
from benchmarks.messages import PROTOCOLS, Options, Row, main, measure
from benchmarks.peers import stateright, tlc
from kspec.checkers.engine.options import Options as Limits
from kspec.checkers.engine.run import run
from kspec.checkers.models.find import find_model

PEERS: list[tuple[str, Mapping[str, int], int]] = [
    ("paxos", {}, 3_921),
    ("paxos", {"ballots": 3}, 185_369),
    ("paxos", {"acceptors": 5}, 701_505),
    ("raft", {}, 5_479),
    ("raft", {"losses": 1, "restarts": 1}, 40_550),
    ("raft", {"elections": 2, "entries": 0, "restarts": 1}, 68_906),
    ("raft", {"entries": 2, "losses": 1}, 163_900),
    ("snapshot", {}, 329),
    ("snapshot", {"nodes": 3}, 415_630),
]
"""Distinct states: those of `tests/test_examples.py`."""


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_both_forms_of_a_protocol_have_the_same_states(protocol: messages.Protocol) -> None:
    forms = [form for form in (protocol.words, protocol.plain) if form]
    bounds = SMALL[protocol.name]
    counts = [
        (found.generated, found.levels)
        for found in (run(find_model(form).system(bounds=bounds), Limits()) for form in forms)
    ]
    assert counts == counts[:1] * len(forms)


SMALL: Mapping[str, Mapping[str, int]] = {
    "paxos": {"values": 1},
    "raft": {"entries": 0, "losses": 1, "restarts": 1},
    "snapshot": {},
}


@pytest.mark.slow
def test_kspec_explores_the_expected_states(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = attrs.evolve(PROTOCOLS[0], sizes=PROTOCOLS[0].sizes[:1])
    monkeypatch.setattr(messages, "PROTOCOLS", (first,))
    monkeypatch.setattr(stateright, "is_here", lambda: False)
    monkeypatch.setattr(tlc, "is_here", lambda: False)
    monkeypatch.setattr(sys, "argv", ["messages", "--only", "paxos"])
    main()
    said = capsys.readouterr().out
    assert said.count("3,921") == 4
    assert "Stateright is left out: needs cargo" in said
    assert "TLC is left out: needs" in said


@pytest.mark.slow
@pytest.mark.skipif(not tlc.is_here(), reason=f"needs {tlc.HOW_TO_GET}")
def test_tlc_explores_as_many_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, (model, bounds, states) in enumerate(PEERS):
        if states < 50_000:
            assert tlc.run(model, bounds, 2, tmp_path / str(number))[0] == states


@pytest.mark.slow
def test_a_checker_that_exceeds_the_limit_is_named(tmp_path: Path) -> None:
    options = Options(threads=1, engine="auto", limit=0.01, repeat=1, folder=tmp_path)
    rows = measure(PROTOCOLS[2], {}, 329, options)
    assert [row for row in rows if not isinstance(row, Row)] == ["kspec, cold", "kspec, warm"]


@pytest.mark.slow
@pytest.mark.skipif(not stateright.is_here(), reason=f"needs cargo: {stateright.HOW_TO_GET}")
@pytest.mark.parametrize("release", stateright.RELEASES)
def test_stateright_explores_as_many_states(release: str) -> None:
    stateright.build()
    for model, bounds, states in PEERS:
        assert stateright.run(model, bounds, 2, release).states == states


def test_the_configuration_for_tlc_gets_its_bounds() -> None:
    text = tlc.configuration("raft", {"elections": 2, "losses": 1})
    assert "elections = 2\n" in text
    assert "losses = 1\n" in text
    assert "entries = 1\n" in text


def test_output_of_tlc_without_a_result_is_an_error() -> None:
    counts = "9 states generated, 7 distinct states found, 0 states left on queue."
    good = f"No error has been found.\n{counts}"
    assert tlc.states(good) == 7
    with pytest.raises(SystemExit, match="TLC did not explore the model"):
        tlc.states("Invariant OneValueChosen is violated.")
