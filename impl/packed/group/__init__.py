"""The kernel of the model `group`: one for all its variants and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from threading import local

from impl.packed.compiled import Words
from impl.packed.group import expand, properties
from impl.packed.group.desk import new_desk
from impl.packed.group.states import Packing
from impl.packed.kernel import DEADLOCK, Kernel
from spec.core import System, Taken
from spec.group.world import Ask, World

VARIANTS = (
    "eager",
    "no-generation-check",
    "before-kafka-12890",
    "before-kafka-9801",
    "before-kafka-8104",
    "before-kip-394",
)

ACTS = (
    "coordinator_gives_id",
    "coordinator_adds_member",
    "coordinator_takes_rejoin",
    "coordinator_replaces_member",
    "coordinator_takes_sync",
    "coordinator_cannot_store",
    "coordinator_refuses",
    "coordinator_takes_commit",
    "coordinator_takes_commit_of_outsider",
    "initial_delay_is_over",
    "join_timer_fires",
    "sync_timer_fires",
    "session_times_out",
    "pending_id_times_out",
    "coordinator_resigns",
    "successor_loads",
    "consumer_finds_coordinator",
    "consumer_joins",
    "consumer_takes_join_answer",
    "consumer_takes_sync_answer",
    "consumer_takes_assignment",
    "leader_sees_partitions",
    "consumer_gives_up",
    "consumer_heartbeats",
    "commit_is_refused",
    "consumer_hears_error",
    "consumer_crashes",
    "consumer_restarts",
    "consumer_closes",
    "consumer_stalls",
    "consumer_polls_again",
    "poll_interval_passes",
    "network_loses",
    "topic_grows",
)

RENAMED = {
    "no-generation-check": {"coordinator_takes_commit": "coordinator_takes_any_commit"},
    "before-kafka-9801": {"coordinator_replaces_member": "coordinator_replaces_member_in_place"},
    "before-kafka-8104": {"consumer_hears_error": "heartbeat_thread_clears_generation"},
    "before-kip-394": {"coordinator_gives_id": "coordinator_adds_member_at_once"},
}
"""By variant: what the rules are called that differ."""


def group_kernel(system: System[World]) -> Kernel[World]:
    """The kernel for one variant and its bounds."""
    variant = system.variant.name
    packing = Packing.of(system.bounds)
    desk = new_desk(packing, VARIANTS.index(variant))
    names = RENAMED.get(variant, {})
    acts = tuple(names.get(act, act) for act in ACTS)
    rules = {rule.name: rule for rule in system.rules}
    desks = local()

    def own_desk() -> Words:
        """This thread's desk: several work at the same time."""
        if not hasattr(desks, "desk"):
            desks.desk = desk.copy()
        return desks.desk  # type: ignore[no-any-return]

    def expand_states(
        words: Words, begin: int, end: int, _: Words, succ: Words, origins: Words, counts: Words
    ) -> tuple[int, int]:
        return expand.expand(words, begin, end, own_desk(), succ, origins, counts)

    def check(words: Words, begin: int, end: int, masks: Words) -> int:
        return properties.check(words, begin, end, own_desk(), masks)

    def taken(origin: int, s: World) -> Taken:
        rule = rules[acts[origin >> 8]]
        choice = origin & 255
        chosen: dict[str, object] = {
            "ask": Ask(choice >> 1, bool(choice & 1)),
            "member": packing.id(choice) if choice < packing.ids else None,
            "consumer": choice,
        }
        return Taken(rule.name, {name: chosen[name] for name in rule.choices})

    return Kernel(
        layout=packing.layout,
        fanout=int(desk[expand.FANOUT]),
        acts=acts,
        properties=(*properties.PROPERTIES, DEADLOCK),
        expand=expand_states,
        check=check,
        pack=packing.pack,
        unpack=packing.unpack,
        taken=taken,
    )
