"""Random models of three families, with more states than those of `random_models`.

- **replicas**: logs of records, with helpers that keep their results by their arguments;
- **sets**: frozensets of up to twenty members, and rules that depend on the order in which they
  iterate;
- **numbers**: components with up to 300,000 values.

A model is made from a seed, as a text. By hand:

    python -m tests.checkers.engine.learned.large_models --count 300
"""

# ruff: noqa: E501 - pieces of text are clearer on one line

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore
from kspec.checkers.engine.verdict import Verdict
from kspec.spec.core import SpecError, System
from tests.checkers.engine.learned.agreement import summary
from tests.checkers.engine.learned.random_models import model_of

HEADER = """\
from __future__ import annotations

import functools

import attrs
from attrs import frozen

from kspec.spec.core import Model, Variant, always, appended, evolve, limit, reachable, replaced, rule

"""

MODEL = """

MODEL = Model(
    name="large", doc="A random model.", initial={initial}, properties=({properties}),
    final=lambda s: True, variants=(Variant("only", rules=({rules}), why="There is no other."),),
)
"""


def model(initial: str, rules: list[str], properties: list[str]) -> str:
    """The text of a model's parts."""
    names = ["".join(f"{name}, " for name in some) for some in (rules, properties)]
    return MODEL.format(initial=initial, rules=names[0], properties=names[1])


# -- replicas with helpers ------------------------------------------------------------------------

LOGS = """
@frozen
class Record:
    key: int
    epoch: int


@frozen
class Log:
    records: tuple[Record, ...] = ()
    tags: frozenset = frozenset()
    start: int = 0


@frozen
class State:
    logs: tuple[Log, ...]
    epoch: int = 0
    seen: frozenset = frozenset()
    best: Log | None = None


def replicas(s):
    return range(len(s.logs))

"""

KEEPS = ["@functools.cache", "@functools.lru_cache(maxsize=4)", "@functools.lru_cache(typed=True)"]

HELPERS = {
    "truncated": "log, end: evolve(log, records=log.records[:end], tags=log.tags | {end})",
    "rebuilt": "log, end: Log(tuple(r for r in log.records if r.key < end), log.tags - {end}, end % 2)",
    "longer": "log, other: log if len(log.records) >= len(other.records) else other",
    "merged": "log, other: evolve(log, records=(log.records + other.records)[:3], tags=log.tags | other.tags)",
    "ordered": "log, other: evolve(log, records=tuple(sorted({*log.records, *other.records}, key=attrs.astuple))[:3])",
    "ends": "log: tuple(r.epoch for r in log.records)",
    "tail": "log: log.records[-1:]",
    "epochs": "log: frozenset(r.epoch for r in log.records)",
    "tagged": "log: len(log.tags) % 2 == 1",
    "known": "log: log.records[0] if log.records else None",
    "all_records": "s: tuple(r for log in s.logs for r in log.records)",
    "higher": "s, one: max((log.start for log in s.logs), default=0) + len(s.logs[one].records)",
}


def replicas_text(random: Random) -> str:
    """Logs that are appended to, truncated and copied, with memoised helpers."""
    lines = [LOGS]
    for name, text in HELPERS.items():
        given, _, value = text.partition(": ")
        how = random.choice([*KEEPS, "memo", ""])
        if how == "memo":
            lines.append(f"KEPT_{name} = {{}}\n\n")
            lines.append(f"def {name}({given}):\n    if ({given},) not in KEPT_{name}:\n")
            lines.append(f"        KEPT_{name}[{given},] = {value}\n")
            lines.append(f"    return KEPT_{name}[{given},]\n\n")
        else:
            lines.append(f"{how}\ndef {name}({given}):\n    return {value}\n\n")
    conditions = [
        "tagged(s.logs[one])", "ends(s.logs[one]) != ends(s.logs[other])",
        "s.epoch in epochs(s.logs[one])", "known(s.logs[one]) is not None",
        "known(s.logs[one]) in s.seen", "len(all_records(s)) < 4", "higher(s, one) > 1",
        "tail(s.logs[one]) == ()",
        "s.best == longer(s.logs[one], s.logs[other])", "tail(s.logs[one]) == tail(s.logs[other])",
        "longer(s.logs[one], s.logs[other]) == s.logs[one]", "len(s.logs[one].records) > 1",
    ]  # fmt: skip
    logs = [
        "truncated(s.logs[one], 1)", "truncated(s.logs[one], len(s.logs[other].records))",
        "longer(s.logs[one], s.logs[other])", "merged(s.logs[one], s.logs[other])",
        "rebuilt(s.logs[one], s.epoch + 1)", "ordered(s.logs[one], s.logs[other])",
        "truncated(longer(s.logs[one], s.logs[other]), 2)", "evolve(s.logs[one], records=tail(s.logs[other]))",
        "evolve(s.logs[one], tags=epochs(s.logs[other]))", "evolve(rebuilt(s.logs[one], 1), start=s.logs[other].start)",
        "evolve(truncated(s.logs[one], 1), tags=truncated(s.logs[other], 1).tags)",
    ]  # fmt: skip
    lines.append(
        '\n@rule(by="leader", one=replicas)\ndef append(s, one):\n'
        '    yield limit("room"), len(s.logs[one].records) < 2\n'
        "    record = Record(len(s.logs[one].records), s.epoch)\n"
        "    log = evolve(s.logs[one], records=appended(s.logs[one].records, record))\n"
        f"    return evolve(s, logs=replaced(s.logs, one, log), epoch=(s.epoch + 1) % {random.choice((2, 3))})\n\n"
    )
    rules = ["append"]
    for number in range(random.randrange(2, 5)):
        rules.append(f"change_{number}")
        others = ", ".join(
            random.sample(["seen=s.seen | set(tail(s.logs[one]))", "best=longer(s.logs[one], s.logs[other])",
                           "best=None", "seen=frozenset(all_records(s)[:2])", "epoch=(s.epoch + 1) % 2"],
                          random.randrange(3))
        )  # fmt: skip
        if others.count("seen=") > 1 or others.count("best=") > 1:
            others = ""
        lines.append(
            f'\n@rule(by="replica", one=replicas, other=replicas)\ndef change_{number}(s, one, other):\n'
            f'    yield "first", {random.choice(conditions)}\n'
            f'    yield "second", {random.choice(conditions)} or {random.choice(conditions)}\n'
            f"    log = {random.choice(logs)}\n"
            f"    return evolve(s, logs=replaced(s.logs, one, log){', ' + others if others else ''})\n\n"
        )
    lines.append(
        "\n@always(one=replicas, other=replicas)\ndef Claim(s, one, other):\n"
        f"    return {random.choice(conditions)} or not ({random.choice(conditions)}) or s.epoch < 9\n\n"
    )
    count = random.choice((2, 2, 2, 3))
    return "".join(lines) + model(f"lambda b: [State((Log(),) * {count})]", rules, ["Claim"])


# -- sets -----------------------------------------------------------------------------------------

MEMBERS = {
    "numbers": "lambda n: (n * {factor}) % 64 - 8",
    "words": "lambda n: 'xyzw'[n % 4] * (1 + n % {factor})",
    "pairs": "lambda n: (n % 3, str(n % {factor}))",
    "records": "lambda n: Message(n % {factor}, 'ab'[n % 2], None if n % 3 else n)",
    "mixed": "lambda n: (None, True, n, str(n), (n,), frozenset({{n}}), Message(n, 'a', None))[n % 7]",
}


def sets_text(random: Random) -> str:
    """Members that join and leave a set, and picks that depend on its order."""
    most = random.randrange(3, 21)
    member = random.choice(list(MEMBERS.values())).format(factor=random.choice((5, 7, 8, 11, 16)))
    picks = [
        "next(iter(s.members))", "tuple(s.members)[-1]", "list(s.members | {member(3)})[0]",
        "set(s.members).pop()", "next(iter(s.members - {member(s.n)}), None)", "[*s.members][1]",
        "next(iter(frozenset(s.members)))", "list({*s.members})[-1]", "next(iter({member(1), member(2)} & s.members), None)",
        "next(iter(frozenset({member(1), member(9)}) | s.members))", "next(m for m in s.members if m != s.last)",
        "next(iter(s.others.union(s.members)))", "list(s.members ^ s.others)[:1]", "max(s.members, key=lambda m: 0)",
    ]  # fmt: skip
    lines = [
        "\n@frozen\nclass Message:\n    n: int\n    text: str\n    more: object\n\n",
        "\n@frozen\nclass State:\n    members: frozenset = frozenset()\n    others: frozenset = frozenset()\n",
        "    n: int = 0\n    last: object = None\n\n",
        f"\nmember = {member}\n\n",
        '\n@rule(by="one", k=lambda s: (1, 4))\ndef join(s, k):\n',
        f'    yield limit("steps"), s.n < {most}\n',
        "    return evolve(s, members=s.members | {member(s.n * k)}, n=s.n + 1)\n\n",
        '\n@rule(by="one")\ndef leave(s):\n    yield "many", len(s.members) > 2\n',
        f'    yield limit("steps"), s.n < {most}\n',
        "    gone = member(s.n - 1)\n",
        "    return evolve(s, members=s.members - {gone}, others=s.others | {gone}, n=s.n + 1)\n\n",
    ]
    rules = ["join", "leave"]
    for number in range(random.randrange(1, 4)):
        rules.append(f"pick_{number}")
        change = random.choice(
            ("last=picked", "last=picked, others=s.others - {picked}", "members=s.members - {picked}, n=s.n + 1",
             "others=frozenset([picked, *s.others][:3]), n=s.n + 1")
        )  # fmt: skip
        lines.append(
            f'\n@rule(by="one")\ndef pick_{number}(s):\n    yield "many", len(s.members) > 2\n'
            f'    yield limit("steps"), s.n < {most}\n    picked = {random.choice(picks)}\n'
            f"    if isinstance(picked, list):\n        picked = tuple(picked)\n"
            f"    return evolve(s, {change})\n\n"
        )
    lines.append(
        "\n@always\ndef Few(s):\n    return len(s.members) < 21 and s.last != s.others\n\n"
    )
    return "".join(lines) + model("lambda b: [State()]", rules, ["Few"])


# -- numbers --------------------------------------------------------------------------------------


def numbers_text(random: Random) -> str:
    """One or two fields with many values, of initial states or of successors."""
    top = random.choice((255, 256, 257, 32_767, 32_768, 65_535, 65_536, 65_537, 300_000))
    if random.random() < 0.5:
        top = int(2 ** random.uniform(4, 18.2))
    modulus = random.choice((top, top // 2 + 1, 65_537, 7, 2))
    div = random.choice((1, 2, 256, 32_768, 65_536))
    live = random.choice((1, 1, 3, 50))
    effects = [
        f"y=s.x // {div}", f"y=1 + s.x % {modulus}", f"y=(s.x * 7 + 3) % {modulus}",
        f"y=int(s.x == {top - 1})", f"y=-s.x, z=s.x % {modulus}", "z=(s.x, s.x % 2)", "y=len(str(s.x))",
    ]  # fmt: skip
    claims = [
        f"s.y < {random.choice((1, 2, modulus, top - 1))}", f"s.y != {top // div - 1}",
        f"not (s.live and s.x == {top - 1} and s.y >= 0)", "s.y <= s.x", f"s.x + s.y < {2 * top}",
    ]  # fmt: skip
    lines = [
        "\n@frozen\nclass State:\n    x: int\n    live: bool\n    y: int = -1\n    z: object = 0\n\n",
        '\n@rule(by="one")\ndef copy(s):\n    yield "live", s.live\n    yield "not done", s.y == -1\n',
        f"    return evolve(s, {random.choice(effects)})\n\n",
    ]
    rules = ["copy"]
    if random.random() < 0.3:
        rules.append("step")
        lines.append(
            '\n@rule(by="one")\ndef step(s):\n    yield "done", s.y > 0\n'
            f"    return evolve(s, x=(s.x + s.y) % {top}, y=0)\n\n"
        )
    lines.append(f"\n@always\ndef Claim(s):\n    return {random.choice(claims)}\n\n")
    initial = f"lambda b: [State(i, i % {live} == 0 or i >= {top - 2}) for i in range({top})]"
    return "".join(lines) + model(initial, rules, ["Claim"])


# -- comparing ------------------------------------------------------------------------------------

MOST = 20_000
"""Models with more states than these are skipped, except where only numbers are many."""

FAMILIES = {"replicas": replicas_text, "sets": sets_text, "numbers": numbers_text}


def text_of(family: str, seed: int) -> str:
    """The text of the model of a family with this seed."""
    return HEADER + FAMILIES[family](Random(f"{family} {seed}"))


def disagreement(text: str, most: int, workers: tuple[int, ...] = (1, 2)) -> str:
    """The first difference between the engines, or nothing.

    Helpers have kept nothing before the first run and the second; before the third, they have the
    results of the second.
    """
    for keep_going in (True, False):
        options = Options(max_states=most, keep_going=keep_going)
        expected = outcome(explore, model_of(text, "large").system(), options)
        if expected.get("stopped_by"):
            return ""
        system = model_of(text, "large").system()
        for number in workers:
            options = Options(workers=number, keep_going=keep_going)
            found = outcome(explore_by_learning, system, options)
            for what, value in expected.items():
                if found.get(what) != value:
                    given = f"{number} workers, keep_going={keep_going}"
                    return f"{given}: {what}: reference {value}, learned {found.get(what, found)}"
    return ""


def outcome(
    engine: Callable[..., Verdict], system: System[Any], options: Options
) -> dict[str, Any]:
    """What an engine says, or its error."""
    try:
        return summary(engine(system, options))
    except SpecError as error:
        return {"error": str(error).partition(" (")[0]}


def differences(family: str, first: int, count: int, most: int = MOST) -> Iterator[str]:
    """The models of a family on which the engines differ, with what they say."""
    for seed in range(first, first + count):
        text = text_of(family, seed)
        limit = 1_000_000 if family == "numbers" else most
        says = disagreement(text, limit)
        if says:
            yield f"{family} {seed}: {says}\n{text[len(HEADER) :]}"


def main() -> int:
    """Compare the engines on many models of each family."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=100, help="models of each family")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--family", choices=FAMILIES, action="append")
    parser.add_argument("--print", action="store_true", help="print the text of the first model")
    given = parser.parse_args()
    found = 0
    for family in given.family or FAMILIES:
        if given.print:
            print(text_of(family, given.first_seed))
            continue
        begun = time.perf_counter()
        for says in differences(family, given.first_seed, given.count):
            found += 1
            print(says, flush=True)
        seconds = time.perf_counter() - begun
        print(f"{family}: {given.count} models, {found} disagreements so far, {seconds:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
