"""Lassos by enumeration, straight from the definitions: slow, and independent of the checker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kspec.spec.core import Blocked, EventuallyAlways, LeadsTo, Liveness, System, Together


def shortest_violation(system: System[Any], most: int) -> int | None:
    """The number of states of the shortest lasso that violates the property, if up to `most`."""
    (prop,) = system.properties
    assert isinstance(prop, Liveness)
    for length in range(1, most + 1):
        for states in walks(system, length):
            for loop in range(length):
                if is_behaviour(system, states, loop) and is_violation(system, prop, states, loop):
                    return length
    return None


def walks(system: System[Any], length: int) -> Iterator[list[Any]]:
    """All walks with so many states, without stuttering."""
    if length == 1:
        yield from ([state] for state in system.initial())
        return
    for walk in walks(system, length - 1):
        for after in dict.fromkeys(after for _, _, after in system.steps(walk[-1])):
            if after != walk[-1]:
                yield [*walk, after]


def is_behaviour(system: System[Any], states: list[Any], loop: int) -> bool:
    """Whether the last state leads back to the loop; a state may stutter."""
    last = states[-1]
    return loop == len(states) - 1 or states[loop] in [s for _, _, s in system.steps(last)]


def is_violation(system: System[Any], prop: Any, states: list[Any], loop: int) -> bool:
    """Whether the lasso is fair and violates the property."""
    looped = states[loop:]
    if isinstance(prop, EventuallyAlways):
        violates = not all(prop.body(s) for s in looped)
    elif isinstance(prop, LeadsTo):
        bodies = [prop.body(s) for s in states]
        around = [*bodies, *bodies[loop:]]
        violates = any(
            first and not any(second for _, second in around[place:])
            for place, (first, _) in enumerate(bodies)
        )
    else:
        violates = not any(prop.body(s) for s in looped)
    return violates and is_fair(system, prop, looped)


def is_fair(system: System[Any], prop: Any, looped: list[Any]) -> bool:
    """Whether a loop satisfies each fairness condition."""
    pairs = list(zip(looped, [*looped[1:], looped[0]], strict=True))
    for fair, strong in ((prop.weakly_fair, False), (prop.strongly_fair, True)):
        for one in fair:
            for condition in conditions(system, one):
                enabled = [any(steps(system, s, condition)) for s in looped]
                taken = any(b in steps(system, a, condition) for a, b in pairs if a != b)
                asked = any(enabled) if strong else all(enabled)
                if asked and not taken:
                    return False
    return True


def conditions(system: System[Any], one: Any) -> Iterator[Any]:
    """The conditions of a fair rule: functions of a rule and its choice."""
    rules = one.rules if isinstance(one, Together) else (one,)
    for value in sorted({key(one, r, c) for r in rules for c in all_choices(system, r)}, key=repr):
        yield lambda r, c, value=value: r in rules and key(one, r, c) == value


def key(one: Any, rule: Any, choice: Any) -> Any:
    """What tells the conditions of a fair rule apart."""
    if isinstance(one, Together):
        return tuple(c for name, c in zip(rule.choices, choice, strict=True) if name in one.each)
    return choice


def all_choices(system: System[Any], rule: Any) -> list[Any]:
    """The choices of a rule, which in these models are the same in every state."""
    return list(rule.instances(system.initial()[0]))


def steps(system: System[Any], state: Any, condition: Any) -> list[Any]:
    """The other states that a state leads to by a step of the condition."""
    found = []
    for rule in system.rules:
        for choice in rule.instances(state):
            after = rule.attempt(state, choice)
            if not isinstance(after, Blocked) and after != state and condition(rule, choice):
                found.append(after)
    return found
