"""Fingerprints change with everything that can affect an answer, and with nothing else."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kspec.checkers.engine.learned.source import Sources, environment
from kspec.checkers.models.find import find_model, from_file, load_code, registered_models
from kspec.spec.core import Always, Reachable

HELPERS = """
LIMIT = 7
SECRET = {"a": (1, frozenset({"x", "y"}))}

def far(x):
    return x + LIMIT

def other(x):
    return x
"""

TEXT = '''
from __future__ import annotations

import functools
import math
from enum import Enum, IntEnum
from functools import cache, cached_property, partial
from typing import NamedTuple

import attrs

import fp_helpers
from fp_helpers import other

TOP = 3
NAMES = ("a", "b")
TABLE = {"a": 1}


class Kind(Enum):
    A = 1
    B = 2

    @property
    def is_a(self):
        return self is Kind.A


class Pair(NamedTuple):
    one: int = 0
    two: int = 0

    def sum(self):
        return self.one + self.two


class Base:
    def base(self):
        return 1


@attrs.frozen
class Thing(Base):
    """A thing."""

    size: int = 0
    kind: Kind = Kind.A
    more: tuple = attrs.field(factory=tuple)

    def grown(self, by: int = 1) -> int:
        """Grown."""
        return self.size + by + near(0)

    @property
    def big(self):
        return self.size > TOP

    @staticmethod
    def make():
        return Thing(4)

    @classmethod
    def named(cls, name):
        return cls(NAMES.index(name))


DEFAULT = Thing(2)
BY_TWO = partial(pow, 2)


def near(x):
    return x * 2


@cache
def kept(x):
    return x - 1


def made(n):
    def inner(x):
        return x + n
    return inner


ADD = made(5)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def f(s, by=1, *, with_=2):
    """What it does."""
    # a comment
    local = 10
    if near(local) > TOP and s in NAMES and other(1):
        return fp_helpers.far(1), [near(i) for i in range(by)], math.floor(1.5)
    return TABLE["a"], DEFAULT.size, Kind.A, kept(2), ADD(3), even(4), BY_TWO(3), Pair(1), "end"


def g(s):
    return s.grown(), Thing
'''


@pytest.fixture(autouse=True)
def _modules() -> Iterator[None]:
    yield
    for name in ("fp_model", "fp_helpers"):
        sys.modules.pop(name, None)


def fingerprint_of(thing: Any) -> str | None:
    """The fingerprint of a function or class, found anew."""
    return Sources().fingerprint_of(thing)


def module(*edits: tuple[str, str]) -> Any:
    """The modules, newly imported, after some edits."""
    texts = {"fp_helpers": HELPERS, "fp_model": TEXT}
    for old, new in edits:
        assert any(old in text for text in texts.values())
        texts = {name: text.replace(old, new) for name, text in texts.items()}
    for name, text in texts.items():
        made = sys.modules[name] = ModuleType(name)
        exec(compile(text, f"{name}.py", "exec"), vars(made))
    return sys.modules["fp_model"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""What it does."""', '"""Something\n\n    else."""'),
        ('    """What it does."""\n', ""),
        ("    # a comment\n", "\n\n\n"),
        ('    """Grown."""\n', ""),
        ('    """A thing."""\n', ""),
        ("by: int = 1) -> int:", "by: float = 1) -> str:"),
        ("    return x\n", "    return x\n\n\ndef unused():\n    return 1\n"),
    ],
)
def test_docstrings_comments_and_annotations_keep_the_fingerprint(old: str, new: str) -> None:
    before = [fingerprint_of(getattr(module(), name)) for name in ("f", "g", "Thing")]
    after = [fingerprint_of(getattr(module((old, new)), name)) for name in ("f", "g", "Thing")]
    assert None not in before
    assert before == after


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("local = 10", "local = 11"),
        ("> TOP and", ">= TOP and"),
        ("by=1, *", "by=2, *"),
        ("with_=2", "with_=3"),
        ("with_=2", "without=2"),
        ("TOP = 3", "TOP = 4"),
        ("TOP = 3", "TOP = 3.0"),
        ("TOP = 3", "TOP = True"),
        ('NAMES = ("a", "b")', 'NAMES = ("a", "c")'),
        ('NAMES = ("a", "b")', 'NAMES = {"a", "b"}'),
        ('{"a": 1}', '{"a": 2}'),
        ("return x * 2", "return x * 3"),
        ("return x - 1", "return x - 2"),
        ("return x + n", "return n - x"),
        ("made(5)", "made(6)"),
        ("return n != 0 and even(n - 1)", "return n != 0 and even(n - 2)"),
        ("LIMIT = 7", "LIMIT = 8"),
        ("return x + LIMIT", "return x - LIMIT"),
        ("    return x\n", "    return -x\n"),
        ("Thing(2)", "Thing(3)"),
        ("size: int = 0", "size: int = 9"),
        ("factory=tuple", "factory=list"),
        ("kind: Kind = Kind.A", "kind: Kind = Kind.B"),
        ("    A = 1", "    A = 5"),
        ("return self is Kind.A", "return self is Kind.B"),
        ("return self.one + self.two", "return self.one - self.two"),
        ("one: int = 0", "one: int = 1"),
        ("by: int = 1", "by: int = 2"),
        ("return self.size + by", "return self.size - by"),
        ("self.size > TOP", "self.size < TOP"),
        ("return Thing(4)", "return Thing(5)"),
        ("cls(NAMES.index(name))", "cls(1 + NAMES.index(name))"),
        ("def base(self):\n        return 1", "def base(self):\n        return 2"),
        ("partial(pow, 2)", "partial(pow, 3)"),
        ("math.floor", "math.ceil"),
        ("i in range(by)", "i in range(by + 1)"),
    ],
)
def test_an_edit_that_may_change_an_answer_changes_the_fingerprint(old: str, new: str) -> None:
    assert fingerprint_of(module().f) != fingerprint_of(module((old, new)).f)


def test_uncalled_code_keeps_the_fingerprint() -> None:
    assert fingerprint_of(module().g) == fingerprint_of(module(("return x - 1", "return x")).g)
    assert fingerprint_of(module().g) == fingerprint_of(module(("LIMIT = 7", "LIMIT = 8")).g)
    assert fingerprint_of(module().g) != fingerprint_of(module(("TOP = 3", "TOP = 4")).g)


@pytest.mark.parametrize(
    "statement",
    [
        "return eval('TOP')",
        "return globals()['TOP']",
        "return open(s).read()",
        "import fp_helpers as h; return h.LIMIT",
        "import os; return os.environ",
        "import importlib; return importlib.import_module(s)",
        "return fp_helpers",
        "return getattr(fp_helpers, s)",
        "return THING.x",
        "global TOP; TOP = s",
        "return GENERATOR",
    ],
)
def test_code_that_cannot_be_followed_has_no_fingerprint(statement: str) -> None:
    text = (
        "    local = 10\n",
        f"    {statement}\n",
    )
    more = (
        "ADD = made(5)",
        "ADD = made(5)\nclass Plain:\n    x = 1\nTHING = Plain()\nGENERATOR = (i for i in ())",
    )
    assert fingerprint_of(module(more).f) is not None
    assert fingerprint_of(module(more, text).f) is None


def test_local_imports_of_the_standard_library_are_followed() -> None:
    edit = ("    local = 10\n", "    local = 10\n    from operator import itemgetter\n")
    assert fingerprint_of(module(edit).f) not in (None, fingerprint_of(module().f))


def test_a_module_named_like_a_standard_module_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert fingerprint_of(queue.Queue.qsize)
    found = []
    for size in (1, 2):
        path = tmp_path / str(size) / "queue.py"
        path.parent.mkdir()
        path.write_text(f"def f(s):\n    return {size}\n")
        monkeypatch.setitem(sys.modules, "queue", queue)
        found.append(fingerprint_of(load_code(str(path), from_file).f))
    assert None not in found
    assert found[0] != found[1]


def test_methods_compiled_from_a_string_are_followed() -> None:
    space: list[Any] = []
    for size in (1, 2):
        made: dict[str, Any] = {"__name__": "fp_model"}
        exec(f"class C:\n    def m(self):\n        return {size}", made)
        space.append(fingerprint_of(made["C"]))
    assert None not in space
    assert space[0] != space[1]


@pytest.mark.slow
def test_a_fingerprint_is_the_same_in_every_process() -> None:
    code = (
        "import sys; from tests.checkers.engine.learned.test_source import module, fingerprint_of;"
        "m = module(); print(fingerprint_of(m.f), fingerprint_of(m.Thing))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in (1, 2)
    }  # fmt: skip
    assert found == {f"{fingerprint_of(module().f)} {fingerprint_of(module().Thing)}\n"}


@pytest.mark.parametrize("name", registered_models())
def test_every_shipped_model_has_a_fingerprint(name: str) -> None:
    model, sources = find_model(name), Sources()
    bounds = model.system().bounds
    things = [type(model.system().initial()[0]), bounds, model.final]
    for prop in model.all_properties:
        if isinstance(prop, Always | Reachable):
            things.append(prop.body)
    for variant in model.variants:
        for rule in variant.rules:
            things += [rule.body, tuple(rule.choices.items())]
    assert all(sources.fingerprint_of(thing) for thing in things)
    assert len(environment()) == 32
