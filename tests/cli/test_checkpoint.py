"""`kspec check --checkpoint` and `--resume` at the prompt, killed for real."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kspec.checkers.engine.packed import checkpoint
from tests.cli.conftest import Kspec, wait_until_it_has_worked

SMALL = ("check", "replication", "--set", "brokers=2")
LARGER = ("replication", "--set", "max_epoch=2", "--json")


def counts(record: dict[str, Any]) -> dict[str, Any]:
    """The part of a result that must not depend on interruptions."""
    names = ("verdict", "distinct", "generated", "levels", "rules", "violations", "stopped_by")
    return {name: record[name] for name in names}


@pytest.mark.slow
def test_a_run_is_resumed_and_reports_the_disk_space(kspec: Kspec) -> None:
    whole = kspec(*SMALL, "--json", "--engine", "learned")
    ended = kspec(*SMALL, "--json", "--max-depth", "3", "--checkpoint", "new/run")
    assert (ended.code, json.loads(ended.out)["stopped_by"]) == (4, "max-depth 3")
    resumed = kspec(*SMALL, "--json", "--resume", "new/run")
    assert resumed.code == 0
    assert counts(json.loads(resumed.out)) == counts(json.loads(whole.out))
    assert json.loads(resumed.out)["seconds"]["checkpoint"] >= 0
    assert "checkpoint" not in json.loads(whole.out)["seconds"]


@pytest.mark.slow
def test_the_folder_names_what_is_explored(kspec: Kspec) -> None:
    run = [*SMALL, "--variant", "kip-101", "--set", "max_epoch=2", "--property", "StrongIsr"]
    whole = kspec(*run, "--json")
    ended = kspec(*run, "--max-depth", "3", "--checkpoint", "run")
    assert ended.code == 4
    resumed = kspec("check", "--resume", "run", "--max-depth", "5", "--json")
    record = json.loads(resumed.out)
    assert (resumed.code, record["stopped_by"]) == (4, "max-depth 5")
    assert (record["model"], record["variant"]) == ("replication", "kip-101")
    assert (record["bounds"]["brokers"], record["bounds"]["max_epoch"]) == (2, 2)
    assert record["properties"] == ["StrongIsr"]
    given = ["replication", "--set", "brokers=2", "--property", "StrongIsr"]
    for arguments in ([], ["replication"], given, run[1:]):
        finished = kspec("check", *arguments, "--resume", "run", "--json")
        assert finished.code == whole.code
        assert counts(json.loads(finished.out)) == counts(json.loads(whole.out))


def test_properties_are_listed_in_the_order_of_the_model(kspec: Kspec) -> None:
    whole = kspec(*SMALL, "--json", "--checkpoint", "run")
    asked = json.loads(whole.out)["properties"]
    assert asked != sorted(asked)
    assert json.loads(kspec("check", "--resume", "run", "--json").out)["properties"] == asked


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["group"], "model is replication there, and group here"),
        (["--variant", "kip-101"], "variant is kip-320 there, and kip-101 here"),
        (["--set", "max_epoch=2"], "bounds is brokers=2, .*max_epoch=1 there, and brokers=2, .*=2"),
        (["--property", "StrongIsr"], "properties is LeaderInIsr, .* there, and StrongIsr here"),
        (["--property", "none"], "properties is LeaderInIsr, .* there, and none here"),
    ],
)
def test_a_different_option_is_refused_by_name(
    kspec: Kspec, arguments: list[str], says: str
) -> None:
    kspec(*SMALL, "--max-depth", "3", "--checkpoint", "run")
    ran = kspec("check", *arguments, "--resume", "run")
    assert (ran.code, ran.out) == (151, "")
    assert re.fullmatch(f"kspec: run/manifest.json belongs to another run: {says}.*\n", ran.err)


def test_a_checkpoint_names_no_file_to_be_executed(kspec: Kspec) -> None:
    kspec(*SMALL, "--max-depth", "3", "--checkpoint", "run")
    Path("own.py").write_text("raise SystemExit('executed')")
    path = Path("run/manifest.json")
    record = json.loads(path.read_text())
    record["run"]["model"] = "./own.py"
    del record["checksum"]
    path.write_text(json.dumps(record | {"checksum": checkpoint.checksum_of(record)}))
    ran = kspec("check", "--resume", "run")
    assert ran.code == 151
    assert ran.err == "kspec: run holds a run of ./own.py, a model of your own: name it\n"


@pytest.mark.slow
def test_a_run_killed_before_its_first_level_restarts(kspec: Kspec) -> None:
    Path("run").mkdir()
    assert kspec(*SMALL, "--resume", "run").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([*SMALL, "--checkpoint", "a", "--resume", "b"], 2, "omit --checkpoint"),
        ([*SMALL, "--resume", "nowhere"], 151, "there is no checkpoint at nowhere"),
        ([*SMALL, "--checkpoint", "/proc/run"], 151, "cannot save a checkpoint in /proc/run: No s"),
        (
            [*SMALL, "--checkpoint", "a", "--engine", "reference"],
            151,
            "does not support checkpoints",
        ),
        (["check", "--resume", "nowhere"], 151, "there is no checkpoint at nowhere"),
        (["check", "--resume", "."], 151, ". holds no saved run yet: name a MODEL"),
    ],
)
def test_contradictory_options_are_refused_in_one_line(
    kspec: Kspec, arguments: list[str], code: int, says: str
) -> None:
    ran = kspec(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    assert ran.err.count("\n") == 1


def test_a_missing_pyarrow_is_reported_in_one_line(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [
        name for name in sys.modules if name.startswith(("pyarrow", "checkers.engine.packed."))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for option in ("--checkpoint", "--resume"):
        ran = kspec(*SMALL, option, "run")
        assert ran.code == 151
        install = "pip install -e '.[checkpoint]' in a clone of kspec"
        assert ran.err == f"kspec: a checkpoint needs pyarrow: {install}\n"


@pytest.mark.slow
def test_pyarrow_is_imported_only_for_checkpoints() -> None:
    code = (
        "import sys; from kspec.checkers.cli.main import run; "
        "run(['check', 'replication', '--set', 'brokers=2', '--engine', 'native']); "
        "sys.exit('pyarrow' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, timeout=1800
    )
    assert ran.returncode == 0


# -- real processes -------------------------------------------------------------------------------


@contextmanager
def start(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A run in a separate process, which is killed at the end of the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "kspec", "check", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def finish(*arguments: str) -> dict[str, Any]:
    with start(*arguments) as process:
        out, err = process.communicate(timeout=1800)
    assert err == ""
    record: dict[str, Any] = json.loads(out)
    return record


@pytest.mark.slow
def test_a_run_killed_at_any_moment_has_the_same_result(
    tmp_path: Path, chance: random.Random
) -> None:
    """Every other resumed run is killed as well, before one runs to its end."""
    begun = time.perf_counter()
    whole = counts(finish(*LARGER, "--checkpoint", str(tmp_path / "whole")))
    seconds = time.perf_counter() - begun
    for attempt in range(4):
        folder = tmp_path / str(attempt)
        for option in ["--checkpoint", "--resume"][: 1 + attempt % 2]:
            with start(*LARGER, option, str(folder), "--workers", str(1 + attempt % 2)) as process:
                while not folder.exists() and process.poll() is None:
                    time.sleep(0.01)
                time.sleep(chance.uniform(0, seconds))
                process.kill()
        kept = len(list(folder.glob("level-*.parquet")))
        assert counts(finish(*LARGER, "--resume", str(folder))) == whole, f"{kept} levels kept"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("engine", ["learned", "reference"])
def test_a_signal_ends_a_run_with_its_result_so_far(
    tmp_path: Path, number: int, engine: str
) -> None:
    keep = engine == "learned"  # the reference engine saves no checkpoints
    larger = ("--set", "max_epoch=4", "--set", "log_size=3", "--set", "max_records=3")
    # No machine is done with that in four seconds.
    bounds = ("replication", *larger, "--engine", engine, "--json")
    folder = tmp_path / "run"
    finish(*bounds, "--max-depth", "2")  # so the engine is compiled
    with start(*bounds, *(["--checkpoint", str(folder)] if keep else [])) as process:
        wait_until_it_has_worked(process.pid, seconds=4)
        process.send_signal(number)
        out, err = process.communicate(timeout=1800)
    record = json.loads(out)
    assert (process.returncode, err) == (4, "")
    assert (record["verdict"], record["stopped_by"]) == ("inconclusive", "interrupted")
    assert record["distinct"] > 1
    if keep:
        levels = finish(*bounds, "--resume", str(folder), "--max-depth", "12")["levels"]
        assert levels == finish(*bounds, "--max-depth", "12")["levels"]


def test_a_full_disk_is_reported_at_the_prompt(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path, manifest: checkpoint.Manifest) -> None:
        if manifest.levels:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "manifest.json")

    monkeypatch.setattr(checkpoint, "write_manifest", full)
    ended = kspec(*SMALL, "--max-depth", "2", "--checkpoint", "run")
    assert ended.code == 4
    assert "cannot be written (manifest.json: No space left on device)" in ended.out
    assert "\nTo continue" not in ended.out
    assert "Once it can be written, to continue after the last level there: kspec" in ended.out
