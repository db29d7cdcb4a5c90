"""Histories: drawn from the specification, written to files, read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kspec.field.cli.conform_broker import PROFILES
from kspec.field.conform.generate import write_history
from kspec.field.conform.guards import Coverage
from kspec.field.conform.history import APIS, Pause, Step, describe, from_json, to_json
from kspec.field.conform.report import FORMAT, read_known
from kspec.field.conform.search import parts_of, together
from kspec.field.conform.translate import MOST_VERSIONS
from kspec.impl.wire import API_KEYS, VERSIONS
from kspec.spec.core import SpecError
from kspec.spec.messages import Settings

SETTINGS = Settings(initial_rebalance_delay=0, min_session_timeout=100, max_size=4)


def versions() -> dict[str, tuple[int, int]]:
    known = {api: VERSIONS[API_KEYS[api]] for api in APIS.values()}
    return {api: (low, min(high, MOST_VERSIONS.get(api, 99))) for api, (low, high) in known.items()}


def written(profile: str, index: int = 0, coverage: Coverage | None = None) -> list[Step]:
    return write_history(1, index, 40, SETTINGS, versions(), profile, coverage or Coverage())


@pytest.mark.parametrize("profile", PROFILES)
def test_a_history_is_read_as_it_was_written(profile: str) -> None:
    history = written(profile)
    assert [from_json(json.loads(json.dumps(to_json(step)))) for step in history] == history
    assert all(describe(step) for step in history)
    assert together(parts_of(history)) == history


def test_the_same_seed_writes_the_same_history() -> None:
    assert written("group") == written("group")
    assert written("group") != written("group", index=1)


def test_histories_aim_at_every_guard() -> None:
    coverage = Coverage()
    for index in range(14):
        written(("group", "offsets")[index % 2], index, coverage)
    never_blocked = {guard for _, guard, _, failed in coverage.rows() if not failed}
    assert never_blocked == {"group is not dead"}
    assert {state for state, _, _ in coverage.edges} == {
        "Dead", "Empty", "PreparingRebalance", "CompletingRebalance", "Stable",
    }  # fmt: skip
    assert len(coverage.rows()) >= 38


def test_timers_have_pauses() -> None:
    assert any(isinstance(step, Pause) and step.milliseconds for step in written("timers"))


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        '{"format": "other"}',
        json.dumps({"format": FORMAT}),
        json.dumps({"format": FORMAT, "differences": [{}]}),
        json.dumps({"format": FORMAT, "differences": [{"signature": "s", "history": 3}]}),
        json.dumps({"format": FORMAT, "differences": [{"signature": "s", "history": [{}]}]}),
        json.dumps({"format": FORMAT, "differences": [{"signature": "s", "history": [3]}]}),
    ],
)
def test_a_file_that_is_no_file_of_differences_is_refused(content: str, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text(content)
    with pytest.raises(SpecError) as refused:
        read_known(file)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "ask",
    [
        {"request": "Nonsense", "number": 1, "version": 1},
        {"request": "Heartbeat", "number": -1, "version": 1, "member": "m1", "generation": 1},
        {"request": "Heartbeat", "number": 1, "version": 1, "member": 5, "generation": 1},
        {"request": "Heartbeat", "number": 1, "version": 1, "member": "m", "generation": "1"},
        {"request": "Heartbeat", "number": 1, "version": 1, "member": "m", "other": 1},
        {"request": "OffsetCommit", "number": 1, "version": 1, "offsets": [[["t"], [1, "", -1]]]},
        {"request": "Produce", "number": 1, "version": 9, "times": []},
        {"request": "Produce", "number": 1, "version": 9, "acks": 0},
        {"request": "Produce", "number": 1, "version": 9, "times": [2**40]},
        {"request": "Fetch", "number": 1, "version": 9, "epoch": 2**20},
        {"request": "ListOffsets", "number": 1, "version": 7, "partition": "t"},
        "text",
    ],
)
def test_a_request_that_is_none_is_refused(ask: Any) -> None:
    with pytest.raises(SpecError):
        from_json({"send": [ask]})


def test_an_error_names_the_place() -> None:
    ask = {"request": "Heartbeat", "number": 1, "version": 1, "member": "m", "generation": "1"}
    with pytest.raises(SpecError, match=r"\.send\[0\]\.generation: expected a whole number"):
        from_json({"send": [ask]})
