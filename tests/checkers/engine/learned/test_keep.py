"""The cache of learned answers is used exactly as far as the code is unchanged."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import numpy as np
import pytest

from kspec.checkers.engine.learned import decode, keep
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.learned.source import Sources
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore
from kspec.checkers.engine.search import RuleFailed
from kspec.checkers.engine.verdict import Verdict
from kspec.spec.core import Model, System

MODEL = '''
from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import attrs

from kspec.spec.core import Model, Variant, always, bound, constant, evolve, limit, reachable, rule


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Mark(NamedTuple):
    height: int
    colour: Colour | None


@attrs.frozen
class Bounds:
    top: int = bound(3, 1, 50, "the highest level")


@attrs.frozen
class Tank:
    level: int = 0
    names: frozenset[str] = frozenset({"a"})
    bounds: Bounds = constant()

    def can_hold(self, more: int) -> bool:
        return self.level + more <= self.bounds.top


@attrs.frozen
class State:
    left: Tank
    right: Tank
    mark: Mark = Mark(0, Colour.RED)
    weight: float = 0.5
    seen: tuple[bytes, ...] = ()
    bounds: Bounds = constant()


def has_room(tank: Tank) -> bool:
    return tank.can_hold(1)


def amounts(s: State) -> range:
    return range(1, 3)


@rule(by="left")
def left_fills(s: State):
    """The left tank fills."""
    yield limit("left has room"), has_room(s.left)
    return evolve(s, left=evolve(s.left, level=s.left.level + 1, names=s.left.names | {"b"}))


@rule(by="right")
def right_fills(s: State):
    """The right tank fills."""
    yield limit("right has room"), has_room(s.right)
    yield "left is higher", s.left.level > s.right.level
    return evolve(s, right=evolve(s.right, level=s.right.level + 1), weight=s.weight / 2)


@rule(by="left", amount=amounts)
def left_drains(s: State, amount: int):
    """The left tank drains."""
    yield "there is so much", s.left.level >= amount
    left = Tank(s.left.level - amount, bounds=s.bounds)
    return evolve(s, left=left, mark=Mark(amount, Colour.GREEN))


@rule(by="right")
def right_is_seen(s: State):
    """The right tank is seen."""
    yield "it is not seen yet", s.seen == ()
    yield "it is full", not has_room(s.right)
    return evolve(s, seen=(b"full",), mark=s.mark._replace(colour=None))


@always
def RightIsLower(s: State):
    """The right tank is lower, or was filled before the left drained."""
    return s.right.level <= s.bounds.top


@reachable
def BothFull(s: State):
    """Both are full."""
    return not has_room(s.left) and not has_room(s.right)


def start(bounds: Bounds) -> list[State]:
    return [State(Tank(bounds=bounds), Tank(bounds=bounds), bounds=bounds)]


TANKS = Model(
    name="tanks",
    doc="Two tanks.",
    bounds=Bounds,
    initial=start,
    properties=(RightIsLower, BothFull),
    variants=(
        Variant("tanks", (left_fills, right_fills, left_drains, right_is_seen), why="All."),
        Variant("no-drain", (left_fills, right_fills, right_is_seen), why="Some."),
    ),
)
'''

RUN = """
import os
import sys
from types import ModuleType
import kspec.checkers.engine.learned.keep as keep
os.environ["XDG_CACHE_HOME"] = sys.argv[2]  # by now it is known where compiled code lies
from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.options import Options
keep.LEAST_SECONDS = 0
module = sys.modules["kept_tanks"] = ModuleType("kept_tanks")
exec(open(sys.argv[1]).read(), vars(module))
for top in (3, 4) * 4:
    tanks = module.TANKS.system(bounds={"top": top})
    explore_by_learning(tanks, Options(workers=1, use_cache=True))
"""


@attrs.frozen
class Run:
    """A run of the learned engine, and what it has learned."""

    verdict: Verdict
    learned: Learnable

    @property
    def said(self) -> tuple[Any, ...]:
        """What an engine says."""
        return said(self.verdict)

    @property
    def runs(self) -> int:
        """How often a rule or a property was run."""
        return int(self.verdict.statistics["learned"]["runs"])

    @property
    def kept(self) -> int:
        """How many paths came from the file."""
        return int(self.verdict.statistics["learned"]["kept_runs"])

    @property
    def asked(self) -> set[str]:
        """What was run."""
        assert self.learned.tables is not None
        return {i.name for i in self.learned.tables.book.instances if i.runs}


def said(verdict: Verdict) -> tuple[Any, ...]:
    """What an engine says."""
    return (
        verdict.verdict, verdict.levels, verdict.generated, verdict.edge_of_bounds,
        {name: (count.fired, count.stopped_by) for name, count in verdict.rules.items()},
        [(v.name, v.says, v.trace and len(v.trace.states)) for v in verdict.violations],
    )  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder of its own, in which everything is worth a file."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(keep, "LEAST_SECONDS", 0)
    yield tmp_path / "cache" / "kspec" / "learned"
    sys.modules.pop("kept_tanks", None)


def tanks(*edits: tuple[str, str]) -> Model[Any]:
    """The model, newly imported, after some edits."""
    text = MODEL
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    module = sys.modules["kept_tanks"] = ModuleType("kept_tanks")
    exec(compile(text, "kept_tanks.py", "exec"), vars(module))
    model: Model[Any] = module.TANKS
    return model


def run(system: System[Any], limits: Options | None = None) -> Run:
    """Explore with what is kept, and keep what is learned."""
    learned = Learnable(use_cache=True)
    options = attrs.evolve(limits or Options(keep_going=True), workers=1, use_cache=True)
    verdict = explore_by_learning(system, options, learned)
    return Run(verdict, learned)


def expected(system: System[Any]) -> tuple[Any, ...]:
    """What the reference engine says."""
    return said(explore(system, Options(keep_going=True)))


def files(folder: Path) -> list[Path]:
    """The files of the cache."""
    return sorted(folder.glob("*.npz"))


def test_a_second_run_learns_nothing(folder: Path) -> None:
    first, second = run(tanks().system()), run(tanks().system())
    assert first.kept == 0
    assert first.runs > 20
    assert second.runs == 0
    assert second.kept == first.runs
    assert second.said == first.said == expected(tanks().system())
    assert len(files(folder)) == 1
    assert not list(folder.glob("*.tmp"))


def test_nothing_is_cached_by_default(folder: Path) -> None:
    verdict = explore_by_learning(tanks().system())
    assert verdict.statistics["learned"]["kept_runs"] == 0
    assert not folder.exists()


def test_short_learning_writes_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keep, "LEAST_SECONDS", 60)
    run(tanks().system())
    assert not files(folder)


def test_only_the_edited_rule_is_learned_again() -> None:
    first = run(tanks().system())
    edit = ("s.left.level > s.right.level", "s.left.level >= s.right.level")
    second = run(tanks(edit).system())
    assert second.asked == {"rule right_fills"}
    assert 0 < second.kept < first.runs
    assert second.said == expected(tanks(edit).system())
    assert second.said != first.said
    third = run(tanks(edit).system())
    assert third.runs == 0
    assert third.said == second.said


def test_only_the_edited_property_is_learned_again() -> None:
    run(tanks().system())
    edit = ("return s.right.level <= s.bounds.top", "return s.right.level < s.bounds.top")
    second = run(tanks(edit).system())
    assert second.asked == {"property RightIsLower"}
    assert second.said == expected(tanks(edit).system())
    assert second.verdict.violations


def test_an_edited_list_of_choices_is_learned_with_its_rule() -> None:
    first = run(tanks().system())
    edit = ("return range(1, 3)", "return range(1, 4)")
    second = run(tanks(edit).system())
    assert second.asked == {"rule left_drains", "rule right_is_seen"}  # which reads the mark
    assert 0 < second.kept < first.runs
    assert second.said == expected(tanks(edit).system())


def test_a_docstring_or_comment_changes_nothing() -> None:
    run(tanks().system())
    edits = [
        ('"""The left tank fills."""', '"""The tank on the left\n\n    fills."""  # slowly'),
        ('    """The right tank fills."""\n', ""),
    ]
    assert run(tanks(*edits).system()).runs == 0


def test_an_edited_helper_affects_all_rules_that_call_it() -> None:
    run(tanks().system())
    edit = ("return tank.can_hold(1)", "return tank.can_hold(2)")
    second = run(tanks(edit).system())
    assert second.asked == {
        "rule left_fills",
        "rule right_fills",
        "rule right_is_seen",
        "property BothFull",
    }
    assert second.said == expected(tanks(edit).system())


@pytest.mark.parametrize(
    "edit",
    [
        ("self.level + more <= self.bounds.top", "self.level + more < self.bounds.top"),
        ('GREEN = "green"', 'GREEN = "verdant"'),
        ("height: int", "depth: int"),
        ("level: int = 0", "level: int = 1"),
    ],
)
def test_an_edited_value_class_invalidates_the_whole_file(edit: tuple[str, str]) -> None:
    run(tanks().system())
    second = run(tanks(edit).system())
    assert second.kept == 0
    assert second.said == expected(tanks(edit).system())


def test_each_bounds_have_their_own_file(folder: Path) -> None:
    for top in (3, 4, 3, 4):
        system = tanks().system(bounds={"top": top})
        assert run(system).said == expected(system)
    assert len(files(folder)) == 2


def test_variants_share_the_answers_of_common_rules() -> None:
    first = run(tanks().system())
    system = tanks().system("no-drain")
    second = run(system)
    assert second.kept == first.runs
    assert second.runs < 5  # where nothing drains, less is enabled
    assert second.said == expected(system)
    assert run(tanks().system()).runs == 0


def test_a_stopped_run_is_cached() -> None:
    stopped = run(tanks().system(), Options(max_depth=4))
    assert stopped.verdict.stopped_by
    whole = run(tanks().system())
    assert whole.kept == stopped.runs
    assert whole.said == expected(tanks().system())


def test_a_run_that_a_rule_fails_is_cached_and_fails_again() -> None:
    edit = ("s.seen == ()", "s.seen[len(s.seen)] == b''")
    for kept in (False, True):
        learned = Learnable(use_cache=True)
        with pytest.raises(RuleFailed, match="right_is_seen"):
            explore_by_learning(tanks(edit).system(), Options(workers=1), learned=learned)
        assert bool(learned.kept_runs) == kept


def test_a_field_of_varying_length_is_remembered() -> None:
    edits = [
        ("seen: tuple[bytes, ...] = ()", "seen: tuple[bytes, ...] = (b'',)"),
        ("s.seen == ()", "s.seen == (b'',)"),
        ('seen=(b"full",)', 'seen=(b"full", b"")'),
    ]
    first = run(tanks(*edits).system())
    second = run(tanks(*edits).system())
    assert second.runs == 0
    assert second.learned.layout.whole == first.learned.layout.whole == {"seen"}
    assert second.said == expected(tanks(*edits).system())


def test_a_rule_without_fingerprint_is_learned_every_time() -> None:
    edit = ("s.left.level > s.right.level", "eval('s.left.level > s.right.level')")
    run(tanks(edit).system())
    second = run(tanks(edit).system())
    assert second.asked == {"rule right_fills"}
    assert second.said == expected(tanks(edit).system())


def test_values_without_an_encoding_are_not_cached(folder: Path) -> None:
    edit = ("s.weight / 2", "complex(s.weight)")
    for _ in range(2):
        assert run(tanks(edit).system()).kept == 0
    assert not files(folder)


def test_without_a_cache_folder_nothing_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keep, "cache_folder", lambda name: None)
    for _ in range(2):
        assert run(tanks().system()).kept == 0


def test_wrong_answers_are_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a fingerprint had missed an edit: the checks of the run find it."""
    monkeypatch.setattr(Sources, "fingerprint_of", lambda self, thing: "same")
    run(tanks().system())
    edit = ("s.left.level > s.right.level", "s.left.level >= s.right.level")
    second = run(tanks(edit).system())
    assert second.kept == 0
    assert second.said == expected(tanks(edit).system())
    third = run(tanks(edit).system())
    assert third.runs == 0
    assert third.said == second.said


def edited(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the arrays of a file, but not its digest."""
    with np.load(path) as file:
        arrays = {name: array.copy() for name, array in file.items()}
    change(arrays)
    with path.open("wb") as file:
        np.savez(file, **arrays)


@pytest.mark.slow
def test_damaged_files_are_ignored(folder: Path) -> None:
    system = tanks().system()
    first = run(system)
    (path,) = files(folder)
    whole = path.read_bytes()
    chance = random.Random(1)
    for turn in range(60):
        damaged = bytearray(whole)
        if turn % 3:
            for _ in range(chance.choice([1, 1, 3, 20])):
                damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        else:
            del damaged[chance.randrange(len(damaged)) :]
        path.write_bytes(damaged)
        assert run(system).said == first.said
    for foreign in (b"", b"PK", b"not at all", bytes(1000)):
        path.write_bytes(foreign)
        assert run(system).said == first.said
        assert run(system).runs == 0


@pytest.mark.slow
def test_invalid_numbers_never_reach_compiled_code(folder: Path) -> None:
    system = tanks().system()
    run(system)
    (path,) = files(folder)
    whole = path.read_bytes()
    with np.load(path) as file:
        names = [name for name in file.files if name not in ("about", "digest") and file[name].size]
    chance = random.Random(2)
    loaded = 0
    for _ in range(60):
        path.write_bytes(whole)

        def change(arrays: dict[str, Any]) -> None:
            array = arrays[chance.choice(names)].reshape(-1)
            numbers = [-(1 << 31), -7, -2, -1, 0, 1, 2, 5, 61, 1000, (1 << 31) - 1]
            number = chance.choice(numbers)
            at = chance.randrange(len(array))
            array[at] = number if array.dtype != np.int8 else max(-128, min(127, number))

        edited(path, change)
        try:
            loaded += run(system, Options(max_states=2000, keep_going=True)).kept > 0
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error}")
    assert loaded < 60


@pytest.mark.slow
def test_two_processes_share_the_cache(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "kept_tanks.py"
    text.write_text(MODEL)
    command = [sys.executable, "-c", RUN, str(text), str(tmp_path / "cache")]
    given = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
    running = [subprocess.Popen(command, env=given) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    assert len(files(folder)) == 2
    assert not list(folder.glob("*.tmp"))
    for top in (3, 4):
        system = tanks().system(bounds={"top": top})
        again = run(system)
        assert again.runs == 0
        assert again.said == expected(system)


def test_least_recently_used_files_are_deleted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tanks().system(bounds={"top": 3}))
    (first,) = files(folder)
    monkeypatch.setattr(keep, "ALL", int(first.stat().st_size * 2.5))
    run(tanks().system(bounds={"top": 2}))
    assert run(tanks().system(bounds={"top": 3})).runs == 0  # used last
    run(tanks().system(bounds={"top": 1}))
    assert len(files(folder)) == 2
    assert first in files(folder)


def test_too_large_a_file_is_not_saved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keep, "LARGEST", 1000)
    run(tanks().system())
    assert not files(folder)


def test_a_file_with_too_many_unused_leaves_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    run(tanks().system())
    monkeypatch.setattr(decode, "UNUSED", -1000)
    again = run(tanks().system())
    assert again.kept == 0
    assert again.said == expected(tanks().system())


def test_undoing_an_edit_leaves_few_unused_leaves(folder: Path) -> None:
    first = run(tanks().system())
    (path,) = files(folder)
    with np.load(path) as file:
        first_instances = len(file["instances"])
    edit = ("s.left.level > s.right.level", "s.right.level < s.left.level")
    sizes = set()
    for edits in ([edit], [], [edit], []):
        again = run(tanks(*edits).system())
        assert again.said == first.said
        assert again.asked == {"rule right_fills"}
        with np.load(path) as file:
            sizes.add((len(file["kinds"]), len(file["probes"]), len(file["effects"])))
            assert len(file["instances"]) < 2 * first_instances
    assert len(sizes) == 1
