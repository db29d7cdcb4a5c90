"""Where lines of a group are missing, and where a line contradicts those around it.

Logs are sampled, filtered and lost, so a line that cannot follow is first taken as a sign that
lines between are missing: a `gap`, after which the group's state is unknown. What missing lines
do not excuse is a line that its neighbours on both sides contradict. A generation only grows
while a group lives, so a line that lies behind both neighbours or ahead of both is wrong, unless
the group ended and a new life of it reached that generation, without any line of this in the log.
That is believed where few lines would have to be missing and the rest of the log has gaps too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kspec.spec.messages import Settings
from kspec.spec.observed.group_log import SAME_COUNT, GroupLife, Line, after, blocked

ENOUGH = 8
"""So many lines in a row without a gap, or missing at once, decide: with half of all lines missing
at random this happens by chance once in 256 places."""
NEW_LIFE_MS = Settings().initial_rebalance_delay
"""A group needs at least as long to become empty, be deleted, and have a generation again."""
RANKS = {"stabilized": 0, "emptied": 0, "assigned": 1, "preparing": 2}
PER_GENERATION = len(set(RANKS.values()))
ENDS = frozenset({"dead", "deleted", "loaded", "unloaded", "converted"})
"""Lines after which a generation may be lower."""


def mark_gaps(lines: Sequence[Line]) -> tuple[list[Line], list[dict[str, Any]]]:
    """The lines with a `gap` wherever lines must be missing; and what each gap excuses."""
    run = longest_run(lines)
    marked: list[Line] = []
    excused: list[dict[str, Any]] = []
    life, latest = GroupLife(), None
    for number, line in enumerate(lines):
        why = blocked(life, line)
        if why is not None and not is_wrong(lines, number, latest, why, run, not excused):
            gap = {"event": "gap", "because": why, "source": line.get("source")}
            excused.append({**(line.get("source") or {}), "guard": why})
            marked.append(gap)
            life, why = GroupLife(), None
        marked.append(line)
        if why is not None:  # the checker rejects here: nothing after it matters
            return [*marked, *lines[number + 1 :]], excused
        life = after(life, line)
        latest = None if line["event"] in ENDS else place(line, latest)
    return marked, excused


def place(line: Line, otherwise: int | None = None) -> int | None:
    """Where in a group's life a line stands: of two, the later has the greater place."""
    rank = RANKS.get(line["event"])
    return otherwise if rank is None else PER_GENERATION * line["generation"] + rank


def is_wrong(
    lines: Sequence[Line], number: int, before: int | None, why: str, run: int, is_first: bool
) -> bool:
    """Whether no missing lines excuse this one."""
    here = place(lines[number])
    if why == SAME_COUNT:
        new_life = lines[number]["generation"] < ENOUGH and not at_once(lines, number)
        return run >= ENOUGH or not new_life
    if here is None or before is None:
        return False
    following = next_place(lines, number)
    if following is None:
        return here <= before and is_first and run >= ENOUGH
    is_ahead, is_behind = before < following < here, here <= before < following
    missing = following if is_ahead else here
    is_believable = missing < ENOUGH or here <= PER_GENERATION
    return (is_ahead or is_behind) and (run >= ENOUGH or not is_believable)


def at_once(lines: Sequence[Line], number: int) -> bool:
    """Whether a line follows too soon for the group to have been deleted and made anew between."""
    before, here = lines[number - 1].get("time_ms"), lines[number].get("time_ms")
    return before is not None and here is not None and abs(here - before) < NEW_LIFE_MS


def next_place(lines: Sequence[Line], number: int) -> int | None:
    """The place of the next line that has one, in the same life of the group."""
    for line in lines[number + 1 :]:
        if line["event"] in ENDS:
            return None
        found = place(line)
        if found is not None:
            return found
    return None


def longest_run(lines: Sequence[Line]) -> int:
    """How many lines about generations follow each other at most, none missing between them."""
    longest = run = 0
    life = GroupLife()
    for line in lines:
        if blocked(life, line) is not None:
            life, run = GroupLife(), 0
        elif life.generation is not None and place(line) is not None:
            run += 1
            longest = max(longest, run)
        life = after(life, line)
    return longest
