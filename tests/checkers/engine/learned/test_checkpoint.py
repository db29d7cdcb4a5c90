"""A learned run that is resumed, in any process, equals an uninterrupted one."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import numpy as np
import pytest

from kspec.checkers.engine.learned import levels
from kspec.checkers.engine.learned.backend import LearnedBackend
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.packed import checkpoint
from kspec.checkers.engine.packed.blocks import write_rows
from kspec.checkers.engine.run import run
from kspec.checkers.engine.verdict import Verdict
from kspec.checkers.models.find import find_model
from kspec.spec.core import SpecError, System
from tests.checkers.engine.learned.odd_models import SHELF, SWITCH
from tests.checkers.engine.learned.random_models import random_model
from tests.checkers.engine.learned.test_learning import told


def steps(verdict: Verdict) -> dict[str, Any]:
    """What may not depend on how often a run was begun."""
    traces = [v.trace and (v.trace.states, v.trace.steps) for v in verdict.violations]
    return {**told(verdict), "stopped": verdict.stopped_by, "traces": traces}


def in_pieces(system: System[Any], folder: Path, depths: Sequence[int], **options: Any) -> Verdict:
    """Explore to some depths, one after the other, and then to the end."""
    for number, depth in enumerate([*depths, None]):
        found = explore_by_learning(
            system,
            Options(
                max_depth=depth, checkpoint=folder, resume=number > 0, workers=1 + number % 2,
                **options,
            ),
        )  # fmt: skip
    return found


SYSTEMS = {
    "small bounds": find_model("replication").system(
        "kip-101", {"brokers": 2, "log_size": 1, "max_records": 1}
    ),
    "a violation": find_model("replication").system("truncate-to-hw"),
    "witnesses": find_model("die-hard").system(),
    "a deadlock": find_model("two-phase-lock").system(),
    "tuples whose lengths vary": SHELF.system(),
    "states of two classes": SWITCH.system(),
}


@pytest.mark.slow
@pytest.mark.parametrize("keep_going", [True, False])
@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS.keys())
def test_an_interrupted_run_equals_an_uninterrupted_one(
    system: System[Any], keep_going: bool, tmp_path: Path
) -> None:
    whole = explore_by_learning(system, Options(keep_going=keep_going))
    found = in_pieces(system, tmp_path / "run", (2, 3, 6), keep_going=keep_going)
    assert steps(found) == steps(whole)
    options = Options(keep_going=keep_going, checkpoint=tmp_path / "run", resume=True)
    assert steps(explore_by_learning(system, options)) == steps(whole)


@pytest.mark.slow
def test_random_models_explored_in_several_runs(tmp_path: Path) -> None:
    resumed = 0
    for seed in range(24):
        system = random_model(seed).system()
        try:
            whole = explore_by_learning(system, Options(max_states=3_000, keep_going=True))
            if whole.stopped_by or whole.depth < 3:
                continue
            found = in_pieces(system, tmp_path / str(seed), (2,), keep_going=True)
        except SpecError:  # it raises somewhere, or has states that cannot be written
            continue
        assert steps(found) == steps(whole), f"seed {seed}"
        resumed += 1
    assert resumed >= 5


@pytest.mark.slow
def test_a_run_killed_at_any_moment_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is on the disk whenever something is flushed to it is as good as a whole run."""
    system = SYSTEMS["a violation"]
    moments: list[Path] = []
    fsync = os.fsync

    def remember(handle: int) -> None:
        fsync(handle)
        moments.append(shutil.copytree(tmp_path / "run", tmp_path / f"moment-{len(moments)}"))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", remember)
        whole = explore_by_learning(system, Options(checkpoint=tmp_path / "run"))
    for folder in random.Random(3).sample(moments, 4):
        options = Options(checkpoint=folder, resume=True)
        assert steps(explore_by_learning(system, options)) == steps(whole)


@pytest.mark.slow
def test_states_are_repacked_when_values_outgrow_their_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = find_model("counter").system(bounds={"top": 120})
    repacked: list[int] = []
    repack = LearnedBackend.repack

    def count(self: LearnedBackend, levels: int) -> None:
        repacked.append(levels)
        repack(self, levels)

    explore_by_learning(system, Options(max_depth=100, checkpoint=tmp_path / "run"))
    monkeypatch.setattr(LearnedBackend, "repack", count)
    options = Options(max_depth=100, checkpoint=tmp_path / "run", resume=True)
    assert explore_by_learning(system, options).levels == [1] * 100
    assert repacked


@pytest.mark.slow
def test_large_levels_are_written_in_several_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(levels, "IN_A_FILE", 10)
    system = SYSTEMS["small bounds"]
    whole = in_pieces(system, tmp_path / "run", (8,))
    assert steps(whole) == steps(explore_by_learning(system))
    assert list((tmp_path / "run").glob("level-*-1.parquet"))


# -- what is refused ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that ended at a limit."""
    folder = tmp_path_factory.mktemp("ended") / "run"
    explore_by_learning(SYSTEMS["a violation"], Options(max_depth=6, checkpoint=folder))
    return folder


@pytest.fixture
def kept(ended: Path, tmp_path: Path) -> Path:
    """A copy of it, to be harmed."""
    return shutil.copytree(ended, tmp_path / "run")


def resume(folder: Path) -> Verdict:
    return explore_by_learning(SYSTEMS["a violation"], Options(checkpoint=folder, resume=True))


@pytest.mark.parametrize("harm", ["a byte", "cut short", "missing"])
def test_a_damaged_file_is_named(kept: Path, harm: str) -> None:
    path = min(kept.glob("level-00004-*"))
    content = bytearray(path.read_bytes())
    if harm == "a byte":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    elif harm == "cut short":
        path.write_bytes(content[:-1])
    else:
        path.unlink()
    with pytest.raises(SpecError, match=f"{path.name} is (damaged|missing)"):
        resume(kept)


def test_invalid_states_with_a_valid_checksum_are_rejected(kept: Path) -> None:
    manifest = checkpoint.read_whole(kept)
    part = manifest.levels[3].parts[0]
    states = [b"r\0\0nonsense"]
    shards = np.array([0])
    lengths = np.array([len(states[0])])
    content = np.frombuffer(states[0], np.uint8)
    rows = levels.as_blocks(shards, lengths, content)
    other = write_rows(kept, part.name, rows, part.states)
    manifest.levels[3] = attrs.evolve(manifest.levels[3], parts=(other,))
    checkpoint.write_manifest(kept, manifest)
    with pytest.raises(SpecError, match="these bytes are not states"):
        resume(kept)


def test_a_damaged_checkpoint_leaves_the_learning_cache_intact(kept: Path) -> None:
    learned = Learnable(use_cache=True)
    discarded: list[bool] = []

    def discard() -> bool:
        discarded.append(True)
        return False

    learned.discard_kept = discard  # type: ignore[method-assign]
    min(kept.glob("level-00004-*")).unlink()
    options = Options(checkpoint=kept, resume=True)
    with pytest.raises(SpecError, match="missing"):
        explore_by_learning(SYSTEMS["a violation"], options, learned)
    assert not discarded


def test_the_checkpoint_of_a_hand_written_kernel_is_refused_in_one_line(kept: Path) -> None:
    """Earlier versions had one for replication; its layout was a fingerprint."""
    manifest = checkpoint.read_whole(kept)
    old = attrs.evolve(manifest, run={**manifest.run, "layout": "4335becca20d41bd"})
    checkpoint.write_manifest(kept, old)
    with pytest.raises(
        SpecError, match=r"layout is 4335becca20d41bd there, and states as bytes, 2 here$"
    ):
        run(SYSTEMS["a violation"], Options(checkpoint=kept, resume=True))


MODEL = '''
from kspec.spec.core import Model, Variant, always, limit, rule
import attrs

@attrs.frozen
class Count:
    n: int = 0

def more(n):
    """One more."""
    return n + 1

@rule(by="x")
def count(s):
    """DOC"""
    yield limit("it is low"), s.n < 40
    return Count(EFFECT)

@always
def Low(s):
    """It is low."""
    return s.n < 99

COUNT = Model(name="count", doc="", initial=lambda bounds: [Count()], properties=(Low,),
              variants=(Variant("plain", (count,), why=""),))
'''


def counting(text: str) -> System[Any]:
    """The model of a text, as that of a file is loaded."""
    module = sys.modules["own_count"] = ModuleType("own_count")
    exec(text.replace("DOC", "Count.").replace("EFFECT", "more(s.n)"), vars(module))
    system: System[Any] = module.COUNT.system()
    return system


@pytest.mark.parametrize(
    ("edit", "is_refused"),
    [
        (("DOC", "It counts."), False),
        (("EFFECT", "(more(s.n))"), False),
        (("EFFECT", "s.n + 1"), True),
        (("n + 1", "n + 2"), True),
        (("s.n < 99", "s.n < 98"), True),
        (("[Count()]", "[Count(1)]"), True),
    ],
)
def test_resuming_rejects_edited_rules_but_not_edited_docstrings(
    edit: tuple[str, str], is_refused: bool, tmp_path: Path
) -> None:
    explore_by_learning(counting(MODEL), Options(checkpoint=tmp_path / "run", max_depth=5))
    edited = counting(MODEL.replace(*edit))
    options = Options(checkpoint=tmp_path / "run", resume=True)
    if is_refused:
        with pytest.raises(SpecError, match=r"another run: rules is .* there, and .* here$"):
            explore_by_learning(edited, options)
    else:
        assert explore_by_learning(edited, options).distinct == 41
