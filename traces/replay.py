"""Replay: a trace from a file, step by step under the rules of the specification."""

from __future__ import annotations

from typing import Any

from kspec.spec.core import Blocked, System, Taken
from kspec.traces.itf import ACTION, PICKS, BadTrace, Document, encode, text, variables
from kspec.traces.trace import Trace, between


def replay(system: System[Any], document: Document) -> Trace:
    """The trace of the system that a file describes; BadTrace if the rules do not allow it."""
    first = [s for s in system.initial() if same(s, document, 0)]
    if not first:
        raise BadTrace("state 1 is not an initial state")
    states, steps = [first[0]], []
    for index in range(1, len(document.states)):
        taken, state = take(system, states[-1], document, index)
        steps.append(taken)
        states.append(state)
    if document.loop is not None:
        steps.append(between(system, states[-1], states[document.loop]))
    about = document.about
    return Trace(
        system=system,
        states=tuple(states),
        steps=tuple(steps),
        property=str(about.get("property", "")),
        where=str(about.get("where", "")),
        loop=document.loop,
    )


def same(state: Any, document: Document, index: int) -> bool:
    """Whether the file has this state at this index."""
    return all(document.states[index].get(k) == v for k, v in variables(state).items())


def leads_to(after: Any, document: Document, index: int) -> bool:
    """Whether a rule was enabled, and led to the state that the file has at this index."""
    return not isinstance(after, Blocked) and same(after, document, index)


def take(system: System[Any], state: Any, document: Document, index: int) -> tuple[Taken, Any]:
    """The step that the file names, and the state it leads to."""
    name = document.states[index].get(ACTION)
    picks = document.states[index].get(PICKS)
    rule = next((r for r in system.rules if r.name == name), None)
    at = f"state {index + 1}"
    if name is None:
        raise BadTrace(f"{at} names no rule")
    if rule is None:
        raise BadTrace(f"{at}: {system.variant.name} has no rule {name}")
    if not isinstance(picks, dict):
        raise BadTrace(f"{at} lacks the choices of {name}")
    chosen = [picks.get(parameter) for parameter in rule.choices]
    possible = [
        (choice, rule.attempt(state, choice))
        for choice in rule.instances(state)
        if [encode(value) for value in choice] == chosen
    ]
    if not possible:
        values = ", ".join(f"{p}={text(v)}" for p, v in zip(rule.choices, chosen, strict=True))
        raise BadTrace(f"{at}: {name} cannot choose {values}")
    # Records of two classes may look alike in a file: then the state decides.
    choice, after = next(
        (one for one in possible if leads_to(one[1], document, index)), possible[0]
    )
    if isinstance(after, Blocked):
        raise BadTrace(f"{at}: {name} is blocked by: {after.guard}")
    if not same(after, document, index):
        wrong = [k for k, v in variables(after).items() if document.states[index].get(k) != v]
        raise BadTrace(f"{at}: {name} leads to a state with another {', '.join(wrong)}")
    return Taken(rule.name, dict(zip(rule.choices, choice, strict=True))), after
