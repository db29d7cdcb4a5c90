"""What if: the same steps under another variant, and where the behaviours diverge.

A variant replaces rules by others with other names. The counterpart of a rule is the rule of the
same name or else the one that stands in its place: variants list their rules in one order. A
counterpart that chooses from other things is taken with the choices that both have.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any

import attrs

from kspec.checkers.explore.moves import Move, moves_of
from kspec.checkers.explore.session import Node, Session
from kspec.spec.core import Rule, SpecError, System, Taken


@attrs.frozen
class WhatIf:
    """The same steps under another variant."""

    node: Node
    """Where they lead."""
    taken: int
    """How many of them could be taken."""
    of: int
    """How many there were."""
    parts_at: int | None = None
    """The number of the first state that differs; None if none of those that were visited does."""
    blocked: str = ""
    """Why the next step could not be taken; empty if all were."""

    @property
    def says(self) -> str:
        """The result, in a sentence or two."""
        if self.blocked:
            ended = f"Step {self.taken + 1} of {self.of} is not possible: {self.blocked}."
        else:
            ended = f"All {self.of} steps are possible."
        if self.parts_at:
            return f"The behaviours diverge at state {self.parts_at}. {ended}"
        return f"{ended} The states {'before it ' if self.blocked else ''}are the same."


def replay_under(session: Session, node: Node, variant: str) -> WhatIf:
    """Take the steps that lead to a node under another variant, as far as it allows them."""
    system = session.system(variant)
    way = session.path(node)
    at = session.begin(system, way[0].state)
    others = counterparts(node.system, system)
    parts_at: int | None = None
    for count, wanted in enumerate(way[1:]):
        assert wanted.taken is not None, "only the first state has no step"
        found = same_move(others.get(wanted.taken.rule), wanted.taken, at.state)
        if isinstance(found, str):
            return WhatIf(at, count, len(way) - 1, parts_at, found)
        at = session.take(at, found)
        if parts_at is None and at.state != wanted.state:
            parts_at = at.number
    return WhatIf(at, len(way) - 1, len(way) - 1, parts_at)


def counterparts(one: System[Any], other: System[Any]) -> dict[str, Rule[Any]]:
    """By name of a rule of one system: the rule of the other in its place, if there is one."""
    rules = {rule.name: rule for rule in other.rules}
    before, after = [rule.name for rule in one.rules], list(rules)
    found = {name: rules[name] for name in before if name in rules}
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, before, after, False).get_opcodes():
        if kind == "replace" and i2 - i1 == j2 - j1:
            pairs = zip(before[i1:i2], after[j1:j2], strict=True)
            found |= {a: rules[b] for a, b in pairs if a not in found}
    return found


def same_move(rule: Rule[Any] | None, wanted: Taken, state: Any) -> Move | str:
    """The instance of a rule with the wanted choices; or why there is none."""
    if rule is None:
        return f"no rule takes the place of {wanted.rule}"
    alike = [
        move
        for move in moves_of(rule, state)
        if all(move.taken.choices[n] == v for n, v in wanted.choices.items() if n in rule.choices)
    ]
    enabled = [move for move in alike if move.is_enabled]
    if enabled:
        return enabled[0]
    if alike:
        return f"{rule.name} is blocked by: {alike[0].blocked_by}"
    return f"{rule.name} cannot choose the same"


def variants_beside(session: Session, node: Node) -> list[str]:
    """The variants under which the steps to a node can be repeated."""
    names = [variant.name for variant in session.model.variants]
    if not names:
        raise SpecError(f"{session.model.name} has no variants")
    return [name for name in names if name != node.system.variant.name]
