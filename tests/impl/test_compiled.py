"""The cache of compiled code is where the user can write, and only there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kspec.impl import compiled
from kspec.impl.compiled import cache_folder, made_ready

SOURCES = Path(__file__).parents[2] / "src"
EXPLORE = """
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.spec.replication import REPLICATION
how = Options(on_compiling=lambda: print("compiling"))
print(explore_by_learning(REPLICATION.system(), how).distinct)
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def no_folder(tmp_path: Path) -> str:
    """A path under which nobody can make a folder, not even root."""
    (tmp_path / "file").write_text("no folder")
    return str(tmp_path / "file" / "below")


def test_the_cache_is_in_xdg_cache_home(cache: Path) -> None:
    folder = cache_folder()
    assert folder is not None
    assert folder.parent == cache / "kspec"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_without_a_cache_directory_it_is_in_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = cache_folder()
    assert folder is not None
    assert folder.parent == tmp_path / ".cache" / "kspec"


def test_without_a_home_it_is_among_temporary_files(
    tmp_path: Path, no_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", no_folder)
    monkeypatch.setenv("HOME", no_folder)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = cache_folder()
    assert folder is not None
    assert folder.parent == tmp_path / f"kspec-{os.getuid()}"


def test_an_unknown_user_has_no_home(
    tmp_path: Path, no_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("XDG_CACHE_HOME", no_folder)
    monkeypatch.setattr(Path, "home", nobody)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cache_folder() is not None


def test_a_relative_cache_directory_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for relative in (".", "cache", "../cache"):
        monkeypatch.setenv("XDG_CACHE_HOME", relative)
        folder = cache_folder()
        assert folder is not None
        assert folder.parent == tmp_path / "home" / ".cache" / "kspec"


ON_A_FULL_DISK = """
import resource, sys
from kspec.impl import compiled
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))  # any file that is longer cannot be written

@compiled.compiled
def double(n):
    return 2 * n

with compiled.made_ready("double", lambda: None):
    print(double(21), compiled.Kept.failed)
"""


@pytest.mark.slow
def test_a_full_disk_does_not_stop_a_run(cache: Path) -> None:
    script = cache.parent / "double.py"
    script.write_text(ON_A_FULL_DISK)
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, str(script)], cwd=SOURCES, capture_output=True, text=True,
            env=os.environ | {"PYTHONPATH": str(SOURCES)},
        )  # fmt: skip
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "42 True\n", "")
    assert not list(cache.rglob("double.ready"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"\x80",
        b"no pickle",
    ],
)
def test_a_damaged_cache_file_is_ignored(cache: Path, damaged: bytes) -> None:
    script = cache.parent / "double.py"
    script.write_text(ON_A_FULL_DISK.replace("(200, 200)", "(-1, -1)"))
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, str(script)], cwd=SOURCES, capture_output=True, text=True,
            env=os.environ | {"PYTHONPATH": str(SOURCES)},
        )  # fmt: skip
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "42 False\n", "")
        kept = [p for p in cache.rglob("double.double*") if p.suffix in (".nbi", ".nbc")]
        assert len(kept) == 2
        for path in kept:
            path.write_bytes(damaged)


def test_without_a_writable_folder_there_is_no_cache(
    no_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", no_folder)
    monkeypatch.setenv("HOME", no_folder)
    monkeypatch.setattr("tempfile.tempdir", no_folder)
    assert cache_folder() is None


def test_a_folder_that_others_can_write_is_not_trusted(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (cache / "kspec").mkdir(parents=True)
    (cache / "kspec").chmod(0o777)
    folder = cache_folder()
    assert folder is not None
    assert cache not in folder.parents


def test_compiling_is_announced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "CACHE", tmp_path)
    said = []
    for part in ("engine", "engine", "another"):
        with made_ready(part, lambda part=part: said.append(part)):  # type: ignore[misc]
            pass
    assert said == ["engine", "another"]


def test_failed_compilation_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "CACHE", tmp_path)
    said = []
    for _ in range(2):
        with (
            pytest.raises(KeyboardInterrupt),
            made_ready("engine", lambda: said.append("compiling")),
        ):
            raise KeyboardInterrupt
    assert said == ["compiling", "compiling"]


def test_concurrent_compilation_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "CACHE", tmp_path)
    said, order = [], []
    begun, go_on = threading.Event(), threading.Event()

    def first() -> None:
        with made_ready("engine", lambda: said.append("first")):
            begun.set()
            go_on.wait(600)
            order.append("first")

    def second() -> None:
        with made_ready("engine", lambda: said.append("second")):
            order.append("second")

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert begun.wait(600)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(600)
    assert (said, order) == (["first"], ["first", "second"])


def start(folder: Path, **environment: str) -> subprocess.Popen[str]:
    """A process that explores, with the project in that folder."""
    without_bytecode = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", EXPLORE],
        cwd=folder,
        env=os.environ | without_bytecode | environment,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_several_processes_at_once_compile_once(cache: Path) -> None:
    processes = [start(SOURCES, XDG_CACHE_HOME=str(cache)) for _ in range(3)]
    said = sorted(process.communicate(timeout=1800)[0] for process in processes)
    assert said == ["39619\n", "39619\n", "compiling\n39619\n"]


@pytest.mark.slow
def test_nothing_is_written_to_the_installation(cache: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    no_bytecode = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCES / "kspec", installed / "kspec", ignore=no_bytecode)
    before = sorted(installed.rglob("*"))
    for path in before:
        path.chmod(0o555 if path.is_dir() else 0o444)
    answer = start(installed, XDG_CACHE_HOME=str(cache)).communicate(timeout=1800)[0]
    assert answer == "compiling\n39619\n"
    assert sorted(installed.rglob("*")) == before
    assert start(installed, XDG_CACHE_HOME=str(cache)).communicate(timeout=1800)[0] == "39619\n"
