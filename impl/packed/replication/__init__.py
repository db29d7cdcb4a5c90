"""The kernel of the model `replication`, for every variant and all bounds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

from kspec.impl.packed.compiled import Words
from kspec.impl.packed.kernel import Kernel
from kspec.impl.packed.replication import coverage, effects, properties, symmetry
from kspec.impl.packed.replication.facts import facts_and_tables
from kspec.impl.packed.replication.states import pack, replication_layout, unpack
from kspec.impl.packed.replication.words import (
    EXPANDS,
    FETCHES,
    FOLLOWS,
    KIP_320_FIRST_TRY,
    LEADS,
    SHRINKS,
    TRUNCATES,
)
from kspec.spec.core import System, Taken
from kspec.spec.replication.state import Bounds, Cluster

VARIANTS = ("truncate-to-hw", "kip-101", "kip-279", "kip-320-first-try", "kip-320")

ACTS = (
    "controller_shrinks_isr",
    "controller_elects_leader",
    "leader_appends",
    "leader_shrinks_isr",
    "leader_expands_isr",
    "leader_advances_hw",
    "follower_fetches",
    "follower_truncates",
    "broker_becomes_leader",
    "broker_becomes_follower_and_truncates",
)


def taken(origin: int, s: Cluster) -> tuple[int, tuple[object, ...]]:
    """The act and its choices, in the order of the rule's parameters."""
    act, epoch, broker = origin >> 8, origin >> 3 & 7, origin & 7
    if act == LEADS:
        return act, (s.requests[epoch],)
    if act == FOLLOWS:
        return act, (broker, s.requests[epoch])
    if act in (SHRINKS, EXPANDS):
        return act, (s.quorum.leader, broker)
    if act in (FETCHES, TRUNCATES):
        return act, (s.views[broker].leader, broker)
    return act, (broker,)


def replication_kernel(system: System[Cluster]) -> Kernel[Cluster]:
    """The kernel of one variant in its bounds."""
    bounds: Bounds = system.bounds
    layout = replication_layout(bounds)
    variant = VARIANTS.index(system.variant.name)
    facts, tables = facts_and_tables(layout, bounds, variant)
    renamings = cache(partial(symmetry.renamings, facts))  # made on demand
    acts = list(ACTS)
    if variant == KIP_320_FIRST_TRY:
        acts[FOLLOWS] = "broker_becomes_follower"
    rules = {rule.name: rule for rule in system.rules}

    def expand(
        words: Words, begin: int, end: int, todo: Words, succ: Words, origins: Words, counts: Words
    ) -> tuple[int, int]:
        return effects.expand(words, begin, end, facts, tables, todo, succ, origins, counts)

    def check(words: Words, begin: int, end: int, masks: Words) -> int:
        return properties.check(words, begin, end, facts, tables, masks)

    def ends(words: Words, places: Words) -> int:
        return properties.ends(words, places, facts)

    def stops(words: Words, count: int, stopped: Words) -> None:
        coverage.stops(words, count, facts, tables, stopped)

    def represent(words: Words, count: int) -> int:
        return symmetry.representatives(words, count, facts, *renamings())

    def as_taken(origin: int, s: Cluster) -> Taken:
        act, choice = taken(origin, s)
        rule = rules[acts[act]]
        return Taken(rule.name, dict(zip(rule.choices, choice, strict=True)))

    def as_state(words: Sequence[int]) -> Cluster:
        return unpack(words, layout, bounds)

    def as_words(s: Cluster) -> tuple[int, ...]:
        return pack(s, layout)

    return Kernel(
        layout=layout,
        fanout=facts.fanout,
        acts=tuple(acts),
        properties=("WeakIsr", "StrongIsr", "LeaderInIsr"),
        expand=expand,
        check=check,
        pack=as_words,
        unpack=as_state,
        taken=as_taken,
        stops=stops,
        ends=ends,
        representatives=represent,
    )
