"""Which property each difference between the Java and the Scala coordinator breaks.

Both coordinators receive the same arbitrary calls. A property is violated by one of them only, and
holds in the same walks once the difference is turned around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeAlias

import attrs
import pytest

from kspec.spec.coordinator import Group
from kspec.spec.messages import (
    JAVA,
    SCALA,
    CoordinatorVariant,
    Error,
    GroupState,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetCommitResponse,
    Settings,
    SyncGroup,
)
from tests.impl.coordinator.anything import Chooser
from tests.impl.coordinator.calls import Account, Answers, Call, Fire, Handle, Unload


@attrs.frozen
class Moment:
    """A call to the coordinator, with its state before and after."""

    before: Account
    call: Call
    after: Account
    answers: Answers
    replacements: frozenset[str]
    """The ids of all members that have replaced another."""

    @property
    def request(self) -> object:
        """The request, if the call is one."""
        return self.call.request if isinstance(self.call, Handle) else None

    def groups(self) -> tuple[Group, Group]:
        """The group before and after; dead if there is none."""
        dead = Group(GroupState.DEAD)
        return self.before.group or dead, self.after.group or dead

    def answer(self) -> Any:
        """The response to the request, if it was sent at once."""
        caller = self.call.caller if isinstance(self.call, Handle) else None
        return next((answer for to, answer in self.answers if to == caller), None)


Property: TypeAlias = Callable[[Moment], bool]


def rebalance_completes_once_all_have_joined(m: Moment) -> bool:
    """No rebalance waits although every member has joined, except during the initial delay."""
    _, group = m.groups()
    waits = group.state is GroupState.PREPARING_REBALANCE and not group.in_initial_delay
    return not (waits and group.members and group.all_members_joined)


def leave_rebalances_only_if_a_member_left(m: Moment) -> bool:
    """A LeaveGroup that removes no member begins no rebalance."""
    before, after = m.groups()
    same = [x.id for x in before.members] == [x.id for x in after.members]
    settled = before.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE)
    rebalances = settled and after.state is not before.state
    return not (isinstance(m.request, LeaveGroup) and same and rebalances)


def request_begins_one_generation(m: Moment) -> bool:
    """No request begins more than one generation."""
    before, after = m.groups()
    return not isinstance(m.call, Handle) or after.generation <= before.generation + 1


def replacement_is_not_removed_while_parked(m: Moment) -> bool:
    """A static member that replaced another is not removed while its JoinGroup is parked."""
    before, after = m.groups()
    if not isinstance(m.call, Fire) or m.call.timer.kind != "session":
        return True
    member = before.member(m.call.timer.member)
    parked = member is not None and member.awaiting_join is not None
    kept = member is None or after.member(member.id) is not None
    return not parked or kept or m.call.timer.member not in m.replacements


def only_its_timer_ends_the_initial_delay(m: Moment) -> bool:
    """The initial delay lasts until its timer ends it, or the group moves."""
    before, after = m.groups()
    ends = before.in_initial_delay and not after.in_initial_delay
    timer = isinstance(m.call, Fire) and m.call.timer.kind == "initial delay"
    return not ends or timer or isinstance(m.call, Unload)


def joining_member_extends_the_initial_delay(m: Moment) -> bool:
    """A member that joins during the initial delay extends it."""
    before, after = m.groups()
    joins = before.in_initial_delay and len(after.members) > len(before.members)
    return not joins or after.new_member_added


def first_sync_may_be_repeated(m: Moment) -> bool:
    """A SyncGroup before the first generation is answered with an error that can be retried."""
    before, _ = m.groups()
    request, answer = m.request, m.answer()
    if not isinstance(request, SyncGroup) or before.protocol is not None or request.lacks_protocol:
        return True
    same_type = request.protocol_type in (None, before.protocol_type)
    return not same_type or answer.error is not Error.INCONSISTENT_GROUP_PROTOCOL


def joined_group_is_stored(m: Moment) -> bool:
    """A group that a JoinGroup has created is in the offsets topic."""
    created = m.before.group is None and m.after.group is not None
    return not (created and isinstance(m.request, JoinGroup)) or m.after.stored is not None


def commit_names_an_unknown_group(m: Moment) -> bool:
    """A commit to an unknown group is answered with GROUP_ID_NOT_FOUND from version 9 on."""
    answer = m.answer()
    if m.before.group is not None or not isinstance(m.request, OffsetCommit):
        return True
    assert answer is None or isinstance(answer, OffsetCommitResponse)
    errors = [error for _, error in answer.partitions] if answer else []
    return m.request.version < 9 or Error.ILLEGAL_GENERATION not in errors


BREAKS: list[tuple[str, CoordinatorVariant, Property]] = [
    ("refusal_completes_join", JAVA, rebalance_completes_once_all_have_joined),
    ("pending_leave_rebalances", JAVA, leave_rebalances_only_if_a_member_left),
    ("expiry_ends_initial_delay", JAVA, only_its_timer_ends_the_initial_delay),
    ("leaves_in_turn", SCALA, request_begins_one_generation),
    ("replacement_stays_new", SCALA, replacement_is_not_removed_while_parked),
    ("extends_every_initial_delay", SCALA, joining_member_extends_the_initial_delay),
    ("compares_missing_protocol", SCALA, first_sync_may_be_repeated),
    ("stores_new_group", SCALA, joined_group_is_stored),
    ("commit_misses_group", SCALA, commit_names_an_unknown_group),
]
"""Each difference, the coordinator that breaks a property by it, and the property."""

SETTINGS = Settings(max_size=3, max_metadata=8, new_member_mark_lasts=False)
WALKS, STEPS = 600, 60


def walk(variant: CoordinatorVariant, seed: int) -> Iterator[Moment]:
    """Arbitrary calls to a coordinator; the same seed gives the same calls."""
    random, given = Random(seed), list[str]()
    account = Account(settings=attrs.evolve(SETTINGS, variant=variant))
    replacements: frozenset[str] = frozenset()
    for _ in range(STEPS):
        group = account.group or Group()
        call = Chooser(random, group, given).call(account)
        after, answers = account.after(call)
        request = call.request if isinstance(call, Handle) else None
        instance = request.instance if isinstance(request, JoinGroup) else None
        if isinstance(call, Handle) and group.static_member(instance) is not None:
            replacements |= {call.new_id}
        yield Moment(account, call, after, answers, replacements)
        account = after


def violations(variant: CoordinatorVariant, prop: Property) -> int:
    """How many moments of all walks violate the property."""
    return sum(not prop(m) for seed in range(WALKS) for m in walk(variant, seed))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("difference", "variant", "prop"), BREAKS, ids=[difference for difference, _, _ in BREAKS]
)
def test_each_difference_breaks_its_property(
    difference: str, variant: CoordinatorVariant, prop: Property
) -> None:
    other = SCALA if variant == JAVA else JAVA
    assert violations(variant, prop)
    assert not violations(other, prop)
    turned: Any = {difference: getattr(other, difference)}
    assert not violations(attrs.evolve(variant, **turned), prop)
