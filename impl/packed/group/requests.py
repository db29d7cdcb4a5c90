"""A request on its way: who sent it, and that the coordinator has it."""

from __future__ import annotations

from impl.packed.compiled import Words, compiled
from impl.packed.group.fields import (
    COORDINATOR,
    DEAD,
    IDS_EACH,
    KNOWS,
    LATE,
    LATE_GENERATION,
    LATE_GROWN,
    LATE_MEMBER,
    LATE_PLAN,
    MEMBER,
    NOTHING,
    STATE,
)
from impl.packed.group.group import NOBODY, clear_call, place


@compiled
def finds(sheet: Words, c: int) -> bool:
    """Whether the coordinator that a consumer knows is the one."""
    return bool(sheet[c + KNOWS] == sheet[COORDINATOR] + 1 and sheet[STATE] != DEAD)


@compiled
def member_id(sheet: Words, consumer: int, nth: int) -> int:
    """The id that a consumer was given as its nth, or NOBODY."""
    return consumer * sheet[IDS_EACH] + nth - 1 if nth else NOBODY


@compiled
def asked_as(sheet: Words, consumer: int, late: int) -> int:
    """The member id that a request on its way brings, or NOBODY."""
    nth = sheet[place(consumer) + (LATE_MEMBER if late else MEMBER)]
    return member_id(sheet, consumer, nth)


@compiled
def take(sheet: Words, consumer: int, late: int) -> None:
    """The coordinator has the request."""
    c = place(consumer)
    if late:
        sheet[c + LATE] = NOTHING
        sheet[c + LATE_MEMBER] = 0
        sheet[c + LATE_GENERATION] = 0
        sheet[c + LATE_PLAN] = 0
        sheet[c + LATE_GROWN] = 0
    else:
        clear_call(sheet, c)
