"""Memory: how it is said, how much there is, and that a run ends instead of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers.engines import Options, run
from checkers.limits import Limits
from checkers.memory import machine_bytes, parse_size, resident_bytes, size_text
from spec.replication import REPLICATION


@pytest.mark.parametrize(
    ("text", "size"),
    [("500", 500), ("2K", 2048), ("500M", 500 << 20), ("1.5g", 3 << 29), ("8GiB", 8 << 30)],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "8X", "-1G", "0", "1e3"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no size such as 500M or 8G"):
        parse_size(text)


@pytest.mark.parametrize("text", ["0B", "1023B", "1K", "1.5G", "500M", "2048T"])
def test_sizes_are_told_as_they_are_read(text: str) -> None:
    assert size_text(0 if text == "0B" else parse_size(text)) == text


def test_a_container_has_its_own_limit(tmp_path: Path) -> None:
    whole = machine_bytes(tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    assert machine_bytes(tmp_path) == whole
    (tmp_path / "memory.max").write_text(f"{1 << 20}\n")
    assert machine_bytes(tmp_path) == 1 << 20


def test_unless_told_otherwise_a_run_takes_most_of_the_machine_and_not_all() -> None:
    assert machine_bytes() / 2 < Limits().max_memory < machine_bytes()


@pytest.mark.parametrize(
    ("engine", "more"),
    [
        pytest.param("reference", 0, marks=pytest.mark.slow),
        ("kernel", 8 << 20),
        ("learned", 8 << 20),
    ],
)
def test_a_run_ends_before_it_takes_more_memory_than_it_may(engine: str, more: int) -> None:
    run(
        REPLICATION.system(), Options(engine, limits=Limits(max_depth=1))
    )  # compiled code is loaded
    system = REPLICATION.system(bounds={"max_epoch": 2})
    limit = resident_bytes() + more
    verdict = run(system, Options(engine, limits=Limits(max_memory=limit)))
    assert (verdict.verdict, verdict.exit_code) == ("inconclusive", 4)
    assert verdict.stopped_by == f"max-memory {size_text(limit)}"
    assert 0 < verdict.distinct < 737_794


@pytest.mark.parametrize("engine", ["reference", "kernel", "learned"])
@pytest.mark.parametrize("limits", [Limits(max_states=100), Limits(max_depth=4)])
def test_all_engines_tell_limits_in_the_same_words(engine: str, limits: Limits) -> None:
    stopped_by = run(REPLICATION.system(), Options(engine, limits=limits)).stopped_by
    assert stopped_by == ("max-states 100" if limits.max_states else "max-depth 4")
