"""The words a specification is written in: rule, property, bound, variant, model.

A **rule** is one named thing that can happen. It is a function that first yields its guards,
each a name and whether it holds, and then returns the next state:

    @rule(by="leader", leader=brokers)
    def leader_writes(s: Cluster, leader: int) -> Step[Cluster]:
        yield "presumes leadership", s.presumes_leadership(leader)
        yield limit("log has room"), s.logs[leader].end < s.bounds.log_size
        return s.with_log(leader, ...)

The first guard that does not hold stops the rule, so a later guard may rely on an earlier
one. Guards and effect stand together, once; whoever needs the rule (exploration, simulation,
mutation, documentation) goes through `Rule.attempt`. What a rule chooses (`leader`) is
enumerated in a fixed order, from a function of the state (`brokers`).

A **property** is written in the same way: it yields claims, each the place that it speaks of
and whether it is true there. The first claim that is false is where the property fails.

A **model** is initial states, properties, bounds and variants. A **variant** is a set of
rules, given as the smallest difference from its parent. A **system** is a model with variant
and bounds decided: what an engine explores.

Read `rules`, `properties`, `bounds` and `models`, in this order.
"""

from __future__ import annotations

from spec.core.bounds import Bound, NoBounds, bound, constant, tally
from spec.core.errors import SpecError, look_up
from spec.core.models import Model, System, Taken, Variant, Violated
from spec.core.properties import (
    Always,
    Claims,
    LeadsTo,
    Property,
    Reachable,
    always,
    leads_to,
    reachable,
    reachable_within,
)
from spec.core.rules import Blocked, Choice, Limit, Rule, Step, limit, rule
from spec.core.updates import appended, differing, evolve, kind_of, replaced

__all__ = [
    "Always",
    "Blocked",
    "Bound",
    "Choice",
    "Claims",
    "LeadsTo",
    "Limit",
    "Model",
    "NoBounds",
    "Property",
    "Reachable",
    "Rule",
    "SpecError",
    "Step",
    "System",
    "Taken",
    "Variant",
    "Violated",
    "always",
    "appended",
    "bound",
    "constant",
    "differing",
    "evolve",
    "kind_of",
    "leads_to",
    "limit",
    "look_up",
    "reachable",
    "reachable_within",
    "replaced",
    "rule",
    "tally",
]
