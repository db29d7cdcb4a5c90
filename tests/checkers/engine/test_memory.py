"""Memory: sizes as text, the machine's memory, and the limit of a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from kspec.checkers.engine.memory import machine_bytes, parse_size, size_text
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.run import run
from kspec.spec.replication import REPLICATION


@pytest.mark.parametrize(
    ("text", "size"),
    [("500", 500), ("2K", 2048), ("500M", 500 << 20), ("1.5g", 3 << 29), ("8GiB", 8 << 30)],
)
def test_sizes_are_parsed(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "8X", "-1G", "0", "1e3"])
def test_invalid_sizes_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size such as 500M or 8G"):
        parse_size(text)


@pytest.mark.parametrize("text", ["0B", "1023B", "1K", "1.5G", "500M", "2048T"])
def test_formatted_sizes_are_as_parsed(text: str) -> None:
    assert size_text(0 if text == "0B" else parse_size(text)) == text


def test_a_container_has_its_own_limit(tmp_path: Path) -> None:
    whole = machine_bytes(tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    assert machine_bytes(tmp_path) == whole
    (tmp_path / "memory.max").write_text(f"{1 << 20}\n")
    assert machine_bytes(tmp_path) == 1 << 20


def test_the_default_limit_is_most_of_the_machines_memory() -> None:
    assert machine_bytes() / 2 < Options().max_memory < machine_bytes()


def test_resident_memory_grows_with_what_is_allocated() -> None:
    """In a process of its own: here, memory that other tests held may be freed meanwhile."""
    code = (
        "from kspec.checkers.engine.memory import resident_bytes; before = resident_bytes(); "
        "block = b'x' * (64 << 20); print(resident_bytes() - before)"
    )
    grown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert int(grown) > 32 << 20


@pytest.mark.slow
def test_learned_runs_stop_before_their_arrays_exceed_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The limit then applies to the engine's arrays alone, whatever else this process holds.
    monkeypatch.setattr("kspec.checkers.engine.learned.backend.resident_bytes", lambda: 0)
    monkeypatch.setattr("kspec.checkers.engine.search.resident_bytes", lambda: 0)
    monkeypatch.setattr("kspec.checkers.engine.learned.search.resident_bytes", lambda: 0)
    system = REPLICATION.system(bounds={"max_epoch": 2})
    limit = 16 << 20
    verdict = run(system, Options("learned", max_memory=limit, workers=1))
    assert (verdict.verdict, verdict.exit_code) == ("inconclusive", 4)
    assert verdict.stopped_by == f"max-memory {size_text(limit)}"
    assert 0 < verdict.distinct < 737_794


@pytest.mark.parametrize("engine", ["reference", "learned"])
def test_every_engine_stops_when_the_process_exceeds_the_limit(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kspec.checkers.engine.search.resident_bytes", lambda: 1 << 50)
    system = REPLICATION.system(bounds={"max_epoch": 2})
    verdict = run(system, Options(engine, max_memory=1 << 49))
    assert (verdict.verdict, verdict.exit_code) == ("inconclusive", 4)
    assert verdict.stopped_by == "max-memory 512T"
    assert 0 < verdict.distinct < 737_794


@pytest.mark.parametrize("engine", ["reference", "learned"])
@pytest.mark.parametrize("limits", [Options(max_states=100), Options(max_depth=4)])
def test_all_engines_name_limits_alike(engine: str, limits: Options) -> None:
    stopped_by = run(REPLICATION.system(), attrs.evolve(limits, engine=engine)).stopped_by
    assert stopped_by == ("max-states 100" if limits.max_states else "max-depth 4")
