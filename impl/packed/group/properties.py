"""What a group is for, as masks."""

from __future__ import annotations

from impl.packed.compiled import Words, compiled
from impl.packed.group.fields import (
    AT_WORK,
    CALL,
    COMMIT_BEHIND,
    COMMIT_BESIDE,
    COMPLETING,
    COORDINATOR,
    CRASHES,
    DEAD,
    EMPTY,
    GENERATION,
    GIVEN,
    HELD,
    HOW_MANY,
    LEADER,
    MEMBERS,
    OF_GENERATION,
    OWNER,
    PARTITIONS,
    PHASE,
    PREPARING,
    PREVIOUS,
    STABLE,
    STALLS,
    STATE,
    STORED_GENERATION,
    SYNCED,
    TOLD,
)
from impl.packed.group.group import is_member, listed, place
from impl.packed.group.writing import lay_down
from impl.packed.pointer import pointer_to

PROPERTIES = (
    "LegalTransitions",
    "LeaderIsAMember",
    "OneOwnerByTheCoordinatorsWord",
    "OneOwnerInAGeneration",
    "EveryPartitionHasAnOwner",
    "NoOldCommit",
    "OutsidersCommitToAnEmptyGroup",
    "GenerationsOnlyGrow",
    "HoldersHaveAGeneration",
    "OneMemberPerConsumer",
)
"""The bits of a mask, lowest first."""


@compiled
def is_legal(before: int, after: int) -> bool:
    """Whether a group may go from one state to the other."""
    if before == EMPTY:
        return after in (PREPARING, DEAD)
    if before == PREPARING:
        return after in (COMPLETING, EMPTY, DEAD)
    if before == COMPLETING:
        return after in (STABLE, PREPARING, DEAD)
    if before == STABLE:
        return after in (PREPARING, DEAD)
    return after in (EMPTY, STABLE)


@compiled
def owns(sheet: Words, c: int) -> int:
    """The mask of the partitions that a consumer's application holds."""
    if sheet[c + TOLD] or sheet[c + CALL] == SYNCED:
        return 0
    return sheet[c + HELD]  # type: ignore[no-any-return]


@compiled
def owned_twice(sheet: Words) -> bool:
    """Whether two consumers hold a partition in the same generation."""
    for one in range(sheet[HOW_MANY]):
        c = place(one)
        for other in range(one):
            d = place(other)
            same = sheet[c + OF_GENERATION] == sheet[d + OF_GENERATION] != 0
            if same and owns(sheet, c) & owns(sheet, d):
                return True
    return False


@compiled
def violated(sheet: Words) -> int:
    """The mask of the properties that the state on the sheet violates."""
    given = 0
    given_twice = 0
    most_selves = 0
    members = sheet[MEMBERS]
    for member in listed(sheet, members):
        given_twice |= given & sheet[GIVEN + member]
        given |= sheet[GIVEN + member]
        selves = 0
        for other in listed(sheet, members):
            selves += int(sheet[OWNER + other] == sheet[OWNER + member])
        most_selves = max(most_selves, selves)
    at_first = (1 << sheet[PARTITIONS]) - 1
    holds_nothing = True
    for consumer in range(sheet[HOW_MANY]):
        c = place(consumer)
        reads = sheet[c + PHASE] == AT_WORK and owns(sheet, c) != 0
        holds_nothing &= not reads or sheet[c + OF_GENERATION] != 0
    state = sheet[STATE]
    shared_out = given & at_first == at_first and given_twice & at_first == 0
    dead_selves = sheet[CRASHES] + sheet[STALLS] + sheet[COORDINATOR]
    found = int(not is_legal(sheet[PREVIOUS], state))
    found |= int(members != 0 and not is_member(sheet, sheet[LEADER])) << 1
    found |= int(given_twice != 0) << 2
    found |= int(owned_twice(sheet)) << 3
    found |= int(state == STABLE and not shared_out) << 4
    found |= int(sheet[COMMIT_BEHIND] != 0) << 5
    found |= int(sheet[COMMIT_BESIDE] != 0) << 6
    found |= int(state != DEAD and sheet[GENERATION] < sheet[STORED_GENERATION]) << 7
    found |= int(not holds_nothing) << 8
    found |= int(most_selves > 1 + dead_selves) << 9
    return found


@compiled
def check(words: Words, begin: int, end: int, whole: Words, masks: Words) -> int:
    """Which properties the states from `begin` to `end` violate; and all of these together."""
    sheet = pointer_to(whole)
    found = 0
    for i in range(begin, end):
        lay_down(words, i, sheet)
        mask = violated(sheet)
        masks[i] = mask
        found |= mask
    return found
