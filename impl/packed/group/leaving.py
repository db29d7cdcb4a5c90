"""What the coordinator makes of a LeaveGroup."""

from __future__ import annotations

from impl.packed.compiled import Words, compiled
from impl.packed.group.fields import MEMBER, PENDING, STATIC
from impl.packed.group.group import NOBODY, after_a_loss, is_member, place, remove
from impl.packed.group.requests import finds, member_id


@compiled
def leaves(sheet: Words, consumer: int) -> None:
    """A consumer's LeaveGroup; a static one sends none, nor one that has no id."""
    c = place(consumer)
    member = member_id(sheet, consumer, sheet[c + MEMBER])
    if consumer < sheet[STATIC] or member == NOBODY or not finds(sheet, c):
        return
    if sheet[PENDING] >> member & 1:
        sheet[PENDING] &= ~(1 << member)
    elif is_member(sheet, member):
        remove(sheet, member)
    else:
        return
    after_a_loss(sheet)
