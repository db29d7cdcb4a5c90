"""Random walks of models as recorded traces, whole or with observations removed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from kspec.checkers.models.find import find_model
from kspec.field.recorded.observation import plain
from kspec.spec.core import Choice, Rule, System
from kspec.traces.itf import variables

Walked = tuple[Rule[Any], Choice, Any]


def system_of(name: str, **bounds: int) -> System[Any]:
    return find_model(name).system(None, bounds)


def walk(system: System[Any], seed: int, steps: int) -> list[Walked]:
    """A random walk; it prefers rules that it has taken less often."""
    draw = random.Random(seed)
    state, walked, taken = system.initial()[0], [], dict.fromkeys(system.rules, 0)
    for _ in range(steps):
        enabled = list(system.steps(state))
        if not enabled:
            break
        least = min(taken[rule] for rule, _, _ in enabled)
        step = draw.choice([s for s in enabled if taken[s[0]] <= least + draw.randrange(3)])
        taken[step[0]] += 1
        walked.append(step)
        state = step[2]
    return walked


def whole(step: Walked) -> dict[str, Any]:
    """An event that observes everything; sets are marked as ITF does."""
    rule, choice, state = step
    chosen = {name: plain(v) for name, v in zip(rule.choices, choice, strict=True)}
    return {"rule": rule.name, "choices": chosen, "state": variables(state)}


def thinned(event: dict[str, Any], keep: float, draw: random.Random) -> dict[str, Any]:
    """The event, of which each observation is kept with a probability, down to inner fields."""

    def part(value: Any) -> Any:
        if isinstance(value, dict) and not any(key.startswith("#") for key in value):
            return {k: part(v) for k, v in value.items() if draw.random() < keep}
        if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
            return {str(i): part(v) for i, v in enumerate(value) if draw.random() < keep}
        return value

    found: dict[str, Any] = {"state": part(event["state"])}
    if draw.random() < keep:
        found["rule"] = event["rule"]
        found["choices"] = part(event["choices"])
    return found


def trace(name: str, events: Sequence[dict[str, Any]], **header: Any) -> list[dict[str, Any]]:
    """A recorded trace: the header and the events."""
    return [{"kspec_trace": 1, "mapping": name, **header}, *events]
