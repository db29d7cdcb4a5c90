"""Why a loop is fair: the states in which it blocks the weakly fair rules that it never takes.

A loop may leave out a weakly fair rule that some of its states enable, if another state of it
blocks the rule. This is what surprises people, and what strong fairness would exclude.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kspec.checkers.engine.liveness.region import is_cut_off
from kspec.spec.core import Blocked, Liveness, Rule
from kspec.spec.core.liveness import Fair
from kspec.traces.story import choice_text
from kspec.traces.trace import Trace

MOST = 4
"""How many rules are named; the others are counted."""


def excuses(trace: Trace, prop: Liveness[Any]) -> Iterator[str]:
    """For each weakly fair rule that the loop enables and never takes: where it is blocked."""
    found = [text for fair in prop.weakly_fair for text in excuses_of(trace, fair)]
    yield from found[:MOST]
    if len(found) > MOST:
        more = len(found) - MOST
        yield f"The same goes for {more:,} other weakly fair choice{'s' * (more > 1)}."


def excuses_of(trace: Trace, fair: Fair[Any]) -> Iterator[str]:
    """The same, for each condition of one entry of `weakly_fair`."""
    assert trace.loop is not None
    loop = trace.states[trace.loop :]
    enabled: dict[str, set[int]] = {}
    reasons: dict[tuple[str, int], str] = {}
    taken = set()
    for place, s in enumerate(loop):
        after = loop[(place + 1) % len(loop)]
        for name, rule, choice in members(trace, fair, s):
            result = rule.attempt(s, choice)
            if isinstance(result, Blocked):
                reasons.setdefault((name, place), f"it is blocked by: {result.guard}")
                if not is_cut_off(rule, s, choice):
                    continue
            elif result == s:
                reasons.setdefault((name, place), "it changes nothing")
                continue
            elif result == after:
                taken.add(name)
            enabled.setdefault(name, set()).add(place)
    for name, places in enabled.items():
        blocked = next((place for place in range(len(loop)) if place not in places), None)
        if name not in taken and blocked is not None:
            number = trace.loop + blocked + 1
            reason = reasons.get((name, blocked), "there is no such choice")
            yield f"Weak fairness does not require {name}: in state {number}, {reason}."


def members(trace: Trace, fair: Fair[Any], s: Any) -> Iterator[tuple[str, Rule[Any], Any]]:
    """The choices of the fair rules in a state, and the condition that each belongs to."""
    names = [fair.name] if isinstance(fair, Rule) else [rule.name for rule in fair.rules]
    for rule in trace.system.rules:
        if rule.name not in names:
            continue
        each = rule.choices if isinstance(fair, Rule) else fair.each
        for choice in rule.instances(s):
            chosen = dict(zip(rule.choices, choice, strict=True))
            parts = [f"{name}={choice_text(chosen[name], s)}" for name in each]
            yield " ".join([" or ".join(names), *parts]), rule, choice
