"""Which bits of which word hold which field of a state, for some bounds."""

from __future__ import annotations

from impl.packed.group import fields as at
from impl.packed.group.ids import PHASES, STATES
from impl.packed.group.lists import Lists
from impl.packed.layout import WORD_BITS, Layout, LayoutError, layout
from spec.group.world import NAMES, REBALANCE_TIMEOUT, Bounds


def values_by_place(bounds: Bounds, lists: int) -> dict[int, tuple[str, int]]:
    """By place on the sheet: the field's name, and how many values it may have."""
    ids = range(bounds.consumers * bounds.ids)
    generations = bounds.generations + 1
    assignments = 1 << bounds.partitions + bounds.growths
    masks = 1 << len(ids)
    places = {
        at.STATE: ("state", len(STATES)),
        at.PREVIOUS: ("previous", len(STATES)),
        at.GENERATION: ("generation", generations),
        at.LEADER: ("leader", len(ids)),
        at.MEMBERS: ("members", lists),
        at.PENDING: ("pending", masks),
        at.JOINED_MEANWHILE: ("joined_meanwhile", 2),
        at.DELAY_LEFT: ("delay_left", REBALANCE_TIMEOUT),
        **{at.WAIT + i: (f"wait of {i}", 8) for i in ids},
        **{at.GIVEN + i: (f"given to {i}", assignments) for i in ids},
        at.STORED_GENERATION: ("stored generation", generations),
        at.STORED_LEADER: ("stored leader", len(ids)),
        at.STORED_MEMBERS: ("stored members", lists),
        **{at.STORED_GIVEN + i: (f"stored for {i}", assignments) for i in ids},
        at.COORDINATOR: ("coordinator", bounds.failovers + 1),
        at.GROWN: ("grown", bounds.growths + 1),
        at.CRASHES: ("crashes", bounds.crashes + 1),
        at.LOSSES: ("losses", bounds.losses + 1),
        at.EARLY: ("early", bounds.early + 1),
        at.STALLS: ("stalls", bounds.stalls + 1),
        at.LEAVES: ("leaves", bounds.leaves + 1),
        at.COMMIT_BEHIND: ("commit_behind", generations + 1),
        at.COMMIT_BESIDE: ("commit_beside", 2),
    }
    consumer = {
        at.PHASE: ("phase", len(PHASES)),
        at.STALLED: ("stalled", min(bounds.stalls, 1) + 1),
        at.MEMBER: ("member", bounds.ids + 1),
        at.OF_GENERATION: ("generation", generations),
        at.HELD: ("held", assignments),
        at.TOLD: ("told", 2),
        at.WANTS_TO_REJOIN: ("wants_to_rejoin", 2),
        at.PLANNED: ("planned", bounds.growths + 2),
        at.KNOWS: ("coordinator", bounds.failovers + 2),
        at.CALL: ("call", at.CALLS),
        at.ANSWERED_MEMBER: ("member answered", bounds.ids + 1),
        at.ANSWERED_GENERATION: ("generation answered", generations),
        at.CALL_SAYS: ("call says", max(lists, masks)),
        at.LATE: ("late", 3),
        at.LATE_MEMBER: ("late member", bounds.ids + 1),
        at.LATE_GENERATION: ("late generation", generations),
        at.LATE_PLAN: ("late plan", masks),
        at.LATE_GROWN: ("late grown", bounds.growths + 1),
        at.BEAT: ("beat", at.ERRORS),
        at.BEAT_IS_OLD: ("beat_is_old", 2),
        at.IDS: ("ids", bounds.ids + 1),
    }
    for c in range(bounds.consumers):
        for place, (name, values) in consumer.items():
            places[at.CONSUMERS + c * at.CONSUMER_SIZE + place] = f"{name} of {NAMES[c]}", values
    return places


def group_layout(bounds: Bounds) -> tuple[Layout, dict[str, int]]:
    """As many words as it takes, the fields in their order on the sheet; and each one's place."""
    ids = bounds.consumers * bounds.ids
    if ids > at.MOST_MEMBERS:
        raise LayoutError(f"there are {ids} member ids, {at.MOST_MEMBERS} at most")
    blocks: dict[int, list[tuple[str, int, int]]] = {}
    places = {}
    for place, (name, values) in values_by_place(bounds, Lists(ids).count).items():
        blocks.setdefault(place // at.BLOCK, []).append((name, values, 1))
        places[name] = place
    words: list[list[tuple[str, int, int]]] = [[]]
    used = 0
    for block in blocks.values():
        width = sum((values - 1).bit_length() for _, values, _ in block)
        if used + width > WORD_BITS:
            words.append([])
            used = 0
        words[-1] += block
        used += width
    return layout(*words), places
