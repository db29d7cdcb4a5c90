"""Ordinary Python in rules: helpers that keep their results, and the order of sets."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore
from kspec.spec.core import (
    Model,
    SpecError,
    System,
    Variant,
    always,
    appended,
    evolve,
    limit,
    replaced,
    rule,
)
from tests.checkers.engine.learned import large_models
from tests.checkers.engine.learned.agreement import summary
from tests.known import cache_without_learned_rules


def system_of(state: Any, rules: Any, *properties: Any) -> System[Any]:
    model: Model[Any] = Model(
        name="ordinary", doc="Ordinary.", initial=lambda bounds: [state], properties=properties,
        variants=(Variant("only", rules=tuple(rules), why="There is no other."),),
        final=lambda s: True,
    )  # fmt: skip
    return model.system()


def agree(system: System[Any]) -> dict[str, Any]:
    """What both engines say, one after the other and again with what was learned."""
    expected = summary(explore(system, Options(keep_going=True)))
    learned = Learnable()
    for options in (Options(workers=1), Options(workers=2), Options(check_learning=True)):
        options = attrs.evolve(options, keep_going=True)
        assert summary(explore_by_learning(system, options)) == expected
        assert summary(explore_by_learning(system, options, learned)) == expected
    assert summary(explore(system, Options(keep_going=True))) == expected
    return expected


# -- helpers --------------------------------------------------------------------------------------


@attrs.frozen
class Record:
    offset: int
    epoch: int


@attrs.frozen
class Log:
    records: tuple[Record, ...] = ()
    tags: frozenset[int] = frozenset()


@attrs.frozen
class Replicas:
    logs: tuple[Log, ...] = (Log(), Log())
    epoch: int = 0


def replicas(s: Replicas) -> Iterator[int]:
    return iter((0, 1))


KEPT: dict[Any, Any] = {}


def memoised(function: Callable[..., Any]) -> Callable[..., Any]:
    """A memo as somebody would write it."""

    def find(*given: Any) -> Any:
        if (function, given) not in KEPT:
            KEPT[function, given] = function(*given)
        return KEPT[function, given]

    return find


WAYS: dict[str, Any] = {
    "cache": functools.cache,
    "a small cache": functools.lru_cache(maxsize=2),
    "a memo": memoised,
}


def replicated(way: Any, room: int = 1) -> System[Any]:
    """Replicas whose helpers are functions of a log, of two logs, and of the state."""

    @way  # type: ignore[untyped-decorator]
    def truncated(log: Log, end: int) -> Log:
        tags = log.tags | {end} if len(log.records) > end else log.tags
        return evolve(log, records=log.records[:end], tags=tags)

    @way  # type: ignore[untyped-decorator]
    def longer(one: Log, other: Log) -> Log:
        return one if len(one.records) >= len(other.records) else other

    @way  # type: ignore[untyped-decorator]
    def epochs(log: Log) -> frozenset[int]:
        return frozenset(record.epoch for record in log.records)

    @way  # type: ignore[untyped-decorator]
    def last_of(records: tuple[Record, ...]) -> tuple[Record, ...]:
        return records[-1:]

    @way  # type: ignore[untyped-decorator]
    def without(tags: frozenset[int], tag: int) -> frozenset[int]:
        return tags - {tag} if tag in tags and len(tags) < 3 else tags

    @way  # type: ignore[untyped-decorator]
    def records_of(s: Replicas) -> tuple[Record, ...]:
        return tuple(record for log in s.logs for record in log.records)

    @rule(by="leader", one=replicas)
    def append(s: Replicas, one: int) -> Any:
        yield limit("room"), len(s.logs[one].records) < room
        record = Record(len(s.logs[one].records), s.epoch)
        log = evolve(s.logs[one], records=appended(s.logs[one].records, record))
        return evolve(s, logs=replaced(s.logs, one, log), epoch=(s.epoch + 1) % 2)

    @rule(by="follower", one=replicas, end=lambda s: (0, 1))
    def truncate(s: Replicas, one: int, end: int) -> Any:
        yield "log is longer", len(s.logs[one].records) > end
        yield "epoch is known", s.epoch in epochs(s.logs[one]) or not s.logs[one].tags
        return evolve(s, logs=replaced(s.logs, one, truncated(s.logs[one], end)))

    @rule(by="follower", one=replicas)
    def copy(s: Replicas, one: int) -> Any:
        log = longer(s.logs[one], s.logs[1 - one])
        assert log == s.logs[0] or log == s.logs[1]
        yield "epoch is even", s.epoch == 0
        return evolve(s, logs=replaced(s.logs, one, log))

    @rule(by="follower", one=replicas)
    def keep_last(s: Replicas, one: int) -> Any:
        yield "there are records", last_of(s.logs[one].records) != ()
        yield "epoch is odd", s.epoch == 1
        log = s.logs[1 - one]
        records, tags = last_of(s.logs[one].records), without(log.tags, 1)
        return evolve(s, logs=replaced(s.logs, one, evolve(log, records=records, tags=tags)))

    @always
    def RecordsAreFew(s: Replicas) -> bool:
        return epochs(longer(*s.logs)) != {0, 2} or len(records_of(s)) < 4

    return system_of(Replicas(), (append, truncate, copy, keep_last), RecordsAreFew)


@pytest.mark.parametrize(
    ("way", "room", "states"),
    [
        *((way, 1, 46) for way in WAYS),
        pytest.param("a small cache", 2, 3_213, marks=pytest.mark.slow),
    ],
)
def test_helpers_may_keep_their_results(way: str, room: int, states: int) -> None:
    """Whatever they have kept: nothing, results for values, or results for stand-ins."""
    all_of_it = Options(keep_going=True)
    expected = summary(explore(replicated(lambda f: f, room), all_of_it))
    assert expected["distinct"] == states
    assert agree(replicated(WAYS[way], room)) == expected
    system = replicated(WAYS[way], room)
    for engine in (explore_by_learning, explore, explore_by_learning):
        assert summary(engine(system, all_of_it)) == expected
    checked = attrs.evolve(all_of_it, check_learning=True)
    assert summary(explore_by_learning(replicated(WAYS[way], room), checked)) == expected


def test_a_helper_that_remembers_more_than_its_argument_is_reported() -> None:
    kept: dict[int, Log] = {}

    @rule(by="leader", one=replicas)
    def append(s: Replicas, one: int) -> Any:
        yield limit("room"), len(s.logs[one].records) < 2
        log = kept.setdefault(one, s.logs[one])
        log = evolve(log, records=appended(log.records, Record(0, s.epoch)))
        return evolve(s, logs=replaced(s.logs, one, log), epoch=1 - s.epoch)

    with pytest.raises(SpecError, match="is not a function of the state"):
        explore_by_learning(system_of(Replicas(), [append]))


# -- the order of sets ----------------------------------------------------------------------------


@attrs.frozen
class Members:
    members: frozenset[Any] = frozenset()
    picked: tuple[Any, ...] = ()


PICKS: dict[str, Callable[[Any], Any]] = {
    "the first": lambda some: next(iter(some)),
    "the last": lambda some: tuple(some)[-1],
    "the first of others": lambda some: next(iter(some - {0})),
    "the first of more": lambda some: list(some | {"24"} | {24})[1],
    "one of a copy": lambda some: set(some).pop(),
    "one of a display": lambda some: next(iter({*some})),
    "one of a frozenset": lambda some: list(frozenset(some))[-1],
    "the greatest of equals": lambda some: max(some, key=lambda member: 0),
}


@pytest.mark.parametrize("pick", PICKS)
def test_equal_states_have_equal_successors(pick: str) -> None:
    values = (0, 8, 16, "b", "a")

    @rule(by="x", value=lambda s: values)
    def join(s: Members, value: Any) -> Any:
        yield "value is new", value not in s.members
        return evolve(s, members=frozenset([value, *s.members]))

    @rule(by="x", value=lambda s: s.members)
    def leave(s: Members, value: Any) -> Any:
        return evolve(s, members=s.members - {value})

    @rule(by="x")
    def choose(s: Members) -> Any:
        yield "there are several", len(s.members) > 2
        yield limit("room"), len(s.picked) < 1
        return evolve(s, picked=appended(s.picked, PICKS[pick](s.members)))

    agree(system_of(Members(), (join, leave, choose)))


def test_a_rule_that_depends_on_the_order_of_a_copy_is_run_on_the_state() -> None:
    @rule(by="x", value=lambda s: (0, 8, 16, 24, 40, 3))
    def join(s: Members, value: int) -> Any:
        yield "value is new", value not in s.members
        return evolve(s, members=s.members | {value})

    @rule(by="x")
    def choose(s: Members) -> Any:
        yield "there are several", len(s.members) > 3 and not s.picked
        return evolve(s, picked=(set(s.members).pop(),))

    system = system_of(Members(), (join, choose))
    agree(system)
    found = explore_by_learning(system)
    says = "it depends on the order of a set that it builds"
    assert found.statistics["learned"]["plainer"] == {"rule choose": says}


# -- random models --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("family", "count"), [("replicas", 5), ("sets", 12), ("numbers", 1)])
def test_engines_agree_on_large_random_models(family: str, count: int) -> None:
    assert not list(large_models.differences(family, 0, count))


def test_a_random_model_of_each_family_is_explored() -> None:
    for family, most in (("replicas", 300), ("sets", 400)):
        text = large_models.text_of(family, 2)
        assert text == large_models.text_of(family, 2) != large_models.text_of(family, 3)
        assert not large_models.disagreement(text, most, workers=(1,))


@pytest.mark.slow
def test_what_was_kept_by_another_process_has_the_same_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strings have other hashes there, and so sets have another order of their own."""
    import json
    import os
    import subprocess
    import sys

    file = tmp_path / "strings.py"
    file.write_text(STRINGS)
    counts = set()
    kept = cache_without_learned_rules(tmp_path)
    for seed in ("1", "2", "3"):
        for engine in ("reference", "learned"):
            environment = {**os.environ, **kept, "PYTHONHASHSEED": seed}
            command = [sys.executable, "-m", "kspec", "check", str(file), "--json"]
            ended = subprocess.run(
                [*command, "--engine", engine],
                capture_output=True, check=True, env=environment, text=True,
            )  # fmt: skip
            found = json.loads(ended.stdout)
            counts.add((found["distinct"], found["generated"], found["depth"]))
    assert len(counts) == 1


STRINGS = """
from attrs import evolve, frozen
from kspec.spec.core import Model, Variant, rule

@frozen
class S:
    names: frozenset = frozenset()
    last: tuple = ()

@rule(by="x", name=lambda s: ("ann", "bob", "cy", "dee", None, ("ann", 1)))
def join(s, name):
    yield "new", name not in s.names
    return evolve(s, names=s.names | {name})

@rule(by="x")
def pick(s):
    yield "several", len(s.names) > 2 and len(s.last) < 2
    rest = s.names - {next(iter(s.names))}
    return evolve(s, names=rest, last=(*s.last, tuple(rest | {"eve"})[1]))

MODEL = Model(
    name="names", doc="Names.", initial=lambda b: [S()], properties=(), final=lambda s: True,
    variants=(Variant("only", rules=(join, pick), why="There is no other."),),
)
"""
