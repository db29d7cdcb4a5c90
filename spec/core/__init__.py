"""The building blocks of a specification: rule, property, bound, variant, model.

A **rule** is a named transition. It is a function that first yields its guards, each as a name
and whether it holds, and then returns the next state:

    @rule(by="leader", leader=brokers)
    def leader_appends(s: Cluster, leader: int) -> Step[Cluster]:
        yield "leader presumes leadership", s.presumes_leadership(leader)
        yield limit("log has room"), s.logs[leader].end < s.bounds.log_size
        return s.with_log(leader, ...)

The first guard that does not hold blocks the rule, so a later guard may rely on an earlier one.
Guards and effect are written once, side by side; exploration, simulation, mutation and
documentation all use them through `Rule.attempt`. A choice (`leader`) is enumerated in a fixed
order, by a function of the state (`brokers`).

A **property** is written in the same way: it yields claims, each a place and whether the property
is true there. The property fails at the first claim that is false.

A **model** has initial states, properties, bounds and variants. A **variant** is a set of rules,
given as the difference from its parent. A **system** is a model with one variant and with values
for its bounds: an engine explores a system.

Read `rules`, `properties`, `bounds` and `models`, in this order.
"""

from __future__ import annotations

from kspec.spec.core.baseline import Baseline
from kspec.spec.core.bounds import Bound, NoBounds, bound, constant, tally
from kspec.spec.core.checks import Check, Checked, Decision, decide
from kspec.spec.core.errors import SpecError, look_up
from kspec.spec.core.liveness import (
    EventuallyAlways,
    InfinitelyOften,
    LeadsTo,
    Liveness,
    Together,
    eventually_always,
    infinitely_often,
    leads_to,
    together,
)
from kspec.spec.core.maps import Bag, Map
from kspec.spec.core.matching import Each, count, distinct, each, highest, matching
from kspec.spec.core.models import Model, System, Taken, Variant, Violated
from kspec.spec.core.properties import (
    Always,
    Claims,
    Property,
    Reachable,
    always,
    reachable,
    reachable_within,
)
from kspec.spec.core.rules import (
    Blocked,
    Budget,
    Choice,
    Guarded,
    Limit,
    Rule,
    Step,
    budget,
    limit,
    present,
    rule,
)
from kspec.spec.core.sets import OrderedSet, ordered
from kspec.spec.core.updates import appended, evolve, replaced

__all__ = [
    "Always",
    "Bag",
    "Baseline",
    "Blocked",
    "Bound",
    "Budget",
    "Check",
    "Checked",
    "Choice",
    "Claims",
    "Decision",
    "Each",
    "EventuallyAlways",
    "Guarded",
    "InfinitelyOften",
    "LeadsTo",
    "Limit",
    "Liveness",
    "Map",
    "Model",
    "NoBounds",
    "OrderedSet",
    "Property",
    "Reachable",
    "Rule",
    "SpecError",
    "Step",
    "System",
    "Taken",
    "Together",
    "Variant",
    "Violated",
    "always",
    "appended",
    "bound",
    "budget",
    "constant",
    "count",
    "decide",
    "distinct",
    "each",
    "eventually_always",
    "evolve",
    "highest",
    "infinitely_often",
    "leads_to",
    "limit",
    "look_up",
    "matching",
    "ordered",
    "present",
    "reachable",
    "reachable_within",
    "replaced",
    "rule",
    "tally",
    "together",
]
