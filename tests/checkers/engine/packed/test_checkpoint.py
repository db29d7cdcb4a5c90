"""A resumed run equals an uninterrupted one; an unfitting checkpoint is rejected."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kspec.checkers.engine.learned.levels import Keeper
from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.options import Options, Progress
from kspec.checkers.engine.packed import checkpoint
from kspec.checkers.engine.verdict import Verdict
from kspec.checkers.models.find import find_model
from kspec.spec.core import SpecError, System
from kspec.spec.replication.state import Cluster
from tests.checkers.engine.packed.test_native import fired

REPLICATION = find_model("replication")

HOLDS = REPLICATION.system("kip-320")
VIOLATED = REPLICATION.system("kip-101")


def result(found: Verdict) -> dict[str, Any]:
    """What may not depend on how often a run was begun."""
    return {
        "levels": list(found.levels),
        "generated": found.generated,
        "fired": fired(found),
        "edge_of_bounds": found.edge_of_bounds,
        "violations": found.violations,
        "stopped": found.stopped_by,
    }


def explore(system: System[Cluster], **options: Any) -> dict[str, Any]:
    """What comes of a run."""
    return result(explore_by_learning(system, Options(**{"workers": 2, **options})))


def begin(folder: Path, system: System[Cluster] = HOLDS, **options: Any) -> dict[str, Any]:
    return explore(system, checkpoint=folder, **options)


def resume(folder: Path, system: System[Cluster] = HOLDS, **options: Any) -> dict[str, Any]:
    return explore(system, checkpoint=folder, resume=True, **options)


def part_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("level-*"))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that ended at a limit."""
    folder = tmp_path_factory.mktemp("kept") / "run"
    begin(folder, max_depth=8)
    return folder


@pytest.fixture
def copy(kept: Path, tmp_path: Path) -> Path:
    """The same, to be damaged."""
    return Path(shutil.copytree(kept, tmp_path / "copy"))


# -- going on -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "keep_going"), [(HOLDS, False), (VIOLATED, True), (VIOLATED, False)]
)
def test_an_interrupted_run_equals_an_uninterrupted_one(
    system: System[Cluster], keep_going: bool, tmp_path: Path
) -> None:
    """Also with another number of workers each time."""
    whole = explore(system, keep_going=keep_going)
    begin(tmp_path, system, keep_going=keep_going, max_depth=1, workers=1)
    resume(tmp_path, system, keep_going=keep_going, max_depth=9, workers=3)
    resume(tmp_path, system, keep_going=keep_going, max_states=20_000, workers=2)
    assert resume(tmp_path, system, keep_going=keep_going, workers=1) == whole
    assert resume(tmp_path, system, keep_going=keep_going, workers=2) == whole


@pytest.mark.slow
@pytest.mark.parametrize(
    "stop",
    [{"max_depth": 11}, {"max_states": 5_000}, {"max_memory": 1}],
    ids=lambda stop: next(iter(stop)),
)
def test_a_run_resumes_after_a_limit(stop: dict[str, Any], tmp_path: Path) -> None:
    ended = begin(tmp_path, VIOLATED, **stop)
    [name] = stop
    assert ended["stopped"] == Options(**stop).limit(name)
    assert resume(tmp_path, VIOLATED) == explore(VIOLATED)


@pytest.mark.slow
def test_a_run_resumes_after_a_violation_with_keep_going(tmp_path: Path) -> None:
    first = begin(tmp_path, VIOLATED)
    assert resume(tmp_path, VIOLATED, keep_going=True) == explore(VIOLATED, keep_going=True)
    assert resume(tmp_path, VIOLATED) == first


@pytest.mark.slow
def test_a_resumed_run_respects_limits(tmp_path: Path) -> None:
    begin(tmp_path, VIOLATED, keep_going=True)
    assert resume(tmp_path, VIOLATED, max_depth=5) == explore(VIOLATED, max_depth=5)
    assert resume(tmp_path, VIOLATED, max_states=1) == explore(VIOLATED, max_states=1)
    assert resume(tmp_path, VIOLATED) == explore(VIOLATED)


@pytest.mark.slow
def test_reading_a_checkpoint_respects_the_memory_limit(copy: Path) -> None:
    assert resume(copy, max_memory=1)["stopped"] == "max-memory 1B"
    assert resume(copy) == explore(HOLDS)


@pytest.mark.slow
def test_a_finished_run_reports_its_verdict_without_reading_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path / "holds")
    begin(tmp_path / "violated", VIOLATED)
    whole = [explore(system) for system in (HOLDS, VIOLATED)]
    monkeypatch.setattr("kspec.checkers.engine.learned.levels.read_rows", None)
    assert [resume(tmp_path / "holds"), resume(tmp_path / "violated", VIOLATED)] == whole


@pytest.mark.slow
def test_witnesses_are_found_in_saved_levels(tmp_path: Path) -> None:
    system = HOLDS.with_properties(["WeakIsr", "FollowerLearnsHighWatermark", "RecordIsCommitted"])
    whole = explore_by_learning(system)
    explore_by_learning(system, Options(max_depth=4, checkpoint=tmp_path))
    for _ in range(2):  # in the middle of the run, and when it has ended
        again = explore_by_learning(system, Options(checkpoint=tmp_path, resume=True))
        assert again.witnesses == whole.witnesses
        assert result(again) == result(whole)


@pytest.mark.slow
def test_a_run_killed_within_a_level_resumes_from_the_last_complete_one(
    copy: Path, tmp_path: Path
) -> None:
    """What a kill leaves: a level without a manifest that tells of it, and half a file."""
    (copy / "level-00008-0.parquet").write_bytes(b"PAR1 half a fi")
    (copy / "level-00008-1.parquet.tmp").touch()
    (copy / "manifest.json.tmp").write_text("{")
    assert resume(copy) == explore(HOLDS)
    assert "level-00008-1.parquet.tmp" not in part_names(copy)


@pytest.mark.slow
def test_a_run_killed_at_any_moment_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder as it was whenever something was about to be on the disk."""
    moments: list[Path] = []
    fsync = os.fsync

    def remember(handle: int) -> None:
        moments.append(tmp_path / str(len(moments)))
        shutil.copytree(tmp_path / "run", moments[-1])
        fsync(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", remember)
        begin(tmp_path / "run", VIOLATED)
    whole = explore(VIOLATED)
    assert len(moments) > 40
    for folder in random.Random(2).sample(moments, 10):
        assert resume(folder, VIOLATED) == whole, folder.name


@pytest.mark.slow
def test_a_run_killed_before_its_first_level_starts_again(tmp_path: Path) -> None:
    (tmp_path / "manifest.json.tmp").write_text("{")
    assert resume(tmp_path) == explore(HOLDS)
    assert resume(tmp_path, max_depth=3)["levels"] == explore(HOLDS)["levels"][:3]


# -- interruption ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_ctrl_c_ends_a_run_with_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "kspec.checkers.engine.search.PROGRESS_INTERVAL", 0.0
    )  # however fast the machine is
    system = REPLICATION.system("kip-320", {"max_epoch": 2})
    told: list[Progress] = []

    def press(progress: Progress) -> None:
        if not told:
            signal.raise_signal(signal.SIGINT)
        told.append(progress)

    found = begin(tmp_path, system, on_progress=press, workers=1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert found["stopped"] == "interrupted"
    assert 0 < sum(found["levels"]) < 737_794
    assert sum(resume(tmp_path, system)["levels"]) == 737_794


def test_a_second_ctrl_c_ends_a_run_immediately(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "kspec.checkers.engine.search.PROGRESS_INTERVAL", 0.0
    )  # however fast the machine is
    told: list[Progress] = []

    def press(progress: Progress) -> None:
        told.append(progress)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    system = REPLICATION.system("kip-320", {"max_epoch": 2})
    found = explore(system, on_progress=press, workers=1)
    assert (len(told), found["stopped"]) == (1, "interrupted")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# -- the disk -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("write", [8, 60], ids=["early", "late"])
def test_a_run_resumes_after_a_full_disk(
    write: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    fsync = os.fsync

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) >= write:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        ended = begin(tmp_path, VIOLATED, keep_going=True)
    said = re.fullmatch(
        r"a checkpoint that cannot be written \((.*): No space left on device\)", ended["stopped"]
    )
    assert said
    assert Path(said[1]).parent == tmp_path
    assert not list(tmp_path.glob("level-*.tmp"))
    assert resume(tmp_path, VIOLATED) == explore(VIOLATED)


def test_a_full_disk_is_reported_after_a_limit_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Keeper.write_level

    def full(keeper: Keeper, *given: Any) -> None:
        if len(keeper.manifest.levels) == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "level-00004-0.parquet")
        written(keeper, *given)

    monkeypatch.setattr(Keeper, "write_level", full)
    ended = begin(tmp_path, max_depth=5)
    assert ended["stopped"] == (
        "a checkpoint that cannot be written (level-00004-0.parquet: No space left on device)"
    )


def test_a_folder_that_cannot_be_created_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SpecError, match=r"cannot save a checkpoint in .*/file/run: Not a dir"):
        begin(tmp_path / "file" / "run")


def test_two_runs_do_not_share_a_checkpoint(copy: Path) -> None:
    handle = checkpoint.lock(copy)
    with pytest.raises(SpecError, match="another run is using the checkpoint in"):
        resume(copy)
    os.close(handle)


# -- refusals -------------------------------------------------------------------------------------


def test_a_new_checkpoint_requires_an_empty_folder(copy: Path, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"copy has a checkpoint already: --resume"):
        begin(copy)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to grandmother").touch()
    with pytest.raises(SpecError, match=r"letters is neither empty nor a checkpoint: .*to grand"):
        begin(tmp_path / "letters")
    with pytest.raises(SpecError, match=r"letters/manifest\.json is missing: .* not a checkpoint"):
        resume(tmp_path / "letters")
    with pytest.raises(SpecError, match=r"there is no checkpoint at .*nowhere"):
        resume(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("system", "says"),
    [
        (REPLICATION.system("kip-279"), "variant is kip-320 there, and kip-279 here"),
        (REPLICATION.system("kip-320", {"brokers": 2}), "bounds is brokers=3, .*brokers=2,"),
        (HOLDS.with_properties(["StrongIsr"]), "properties is .*WeakIsr there, and StrongIsr here"),
    ],
    ids=["variant", "bounds", "properties"],
)
def test_the_checkpoint_of_another_run_is_rejected(
    kept: Path, system: System[Cluster], says: str
) -> None:
    with pytest.raises(SpecError, match=rf"manifest\.json belongs to another run: {says}"):
        resume(kept, system)


@pytest.mark.parametrize(
    ("name", "value"), [("model", "raft"), ("rules", "edited"), ("layout", "old"), ("new", 1)]
)
def test_the_difference_between_two_runs_is_named(copy: Path, name: str, value: object) -> None:
    edit(copy, lambda record: record["run"].update({name: value}))
    with pytest.raises(SpecError, match=f"belongs to another run: {name} is {value} there, and"):
        resume(copy)


@pytest.mark.slow
def test_properties_may_be_given_in_any_order(copy: Path) -> None:
    names = [p.name for p in HOLDS.properties]
    assert resume(copy, HOLDS.with_properties(names[::-1])) == explore(HOLDS)


def test_another_format_version_is_rejected(copy: Path) -> None:
    edit(copy, lambda record: record.update(version=7))
    with pytest.raises(SpecError, match=r"manifest\.json has version 7 of the format; this"):
        resume(copy)


def edit(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a manifest as its writer would have."""
    path = folder / "manifest.json"
    record = json.loads(path.read_text())
    del record["checksum"]
    change(record)
    path.write_text(json.dumps(record | {"checksum": checkpoint.checksum_of(record)}))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is damaged"),
        ("[1]", "is not the manifest of a checkpoint"),
        ('{"format": "kspec checkpoint", "version": 2}', "is damaged"),
    ],
)
def test_an_invalid_manifest_is_rejected(copy: Path, text: str, says: str) -> None:
    (copy / "manifest.json").write_text(text)
    with pytest.raises(SpecError, match=rf"manifest\.json {says}"):
        resume(copy)


def test_a_changed_digit_in_the_manifest_is_detected(copy: Path) -> None:
    path = copy / "manifest.json"
    path.write_text(path.read_text().replace('"generated": 7', '"generated": 8', 1))
    with pytest.raises(SpecError, match=r"manifest\.json is damaged"):
        resume(copy)


def test_a_manifest_with_missing_fields_is_rejected(copy: Path) -> None:
    edit(copy, lambda record: record["levels"][3].pop("parts"))
    with pytest.raises(SpecError, match=r"manifest\.json is damaged"):
        resume(copy)


@pytest.mark.parametrize("name", ["level-00000-0.parquet", "level-00005-0.parquet"])
def test_a_damaged_file_is_named(copy: Path, name: str) -> None:
    content = (copy / name).read_bytes()
    middle = len(content) // 2
    changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    for now, says in [(changed, "is damaged: its checksum"), (content[:-9], "is damaged: it has")]:
        (copy / name).write_bytes(now)
        with pytest.raises(SpecError, match=f"{name} {says}"):
            resume(copy)
    (copy / name).unlink()
    with pytest.raises(SpecError, match=f"{name} is missing from the checkpoint"):
        resume(copy)


def test_a_level_with_too_few_states_is_named(copy: Path) -> None:
    edit(copy, lambda record: record["levels"][2].update(states=99))
    with pytest.raises(
        SpecError, match=r"level-00002-0\.parquet: \d+ states instead of the 99 in the"
    ):
        resume(copy)
