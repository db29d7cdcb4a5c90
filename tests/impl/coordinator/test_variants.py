"""The Java and the Scala coordinator: one test for each difference, and the lockstep finds each."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import settings

from kspec.checkers.lockstep import Differs
from kspec.impl.coordinator import GroupCoordinator, TimerKey, TimerKind
from kspec.spec.messages import (
    JAVA,
    SCALA,
    CoordinatorVariant,
    Error,
    GroupMetadata,
    GroupState,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    MemberIdentity,
    Settings,
    SyncGroup,
)
from tests.impl.coordinator.anything import AnythingAdapter, ask_anything
from tests.impl.coordinator.calls import Account, Handle, Subject
from tests.impl.coordinator.scene import (
    BOTH,
    GROUP,
    P0,
    RANGE,
    A,
    B,
    S,
    Scene,
    absent,
    commit,
    completing,
    empty,
    heartbeat,
    initial,
    preparing,
    stable,
)

PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE

DIFFERENCES = [field.name for field in attrs.fields(CoordinatorVariant) if field.name != "name"]


def test_scala_differs_from_java_in_every_flag() -> None:
    same = [name for name in DIFFERENCES if getattr(JAVA, name) == getattr(SCALA, name)]
    assert same == []
    assert Settings().variant == JAVA


# -- one test for each difference -----------------------------------------------------------------

in_both = pytest.mark.parametrize("variant", [JAVA, SCALA], ids=lambda variant: variant.name)


def of(variant: CoordinatorVariant) -> Settings:
    """The default settings of this coordinator."""
    return Settings(variant=variant)


@in_both
def test_a_refusal_for_size_may_complete_the_rebalance(variant: CoordinatorVariant) -> None:
    scene = Scene(Settings(max_size=2, variant=variant))
    scene.take(scene.coordinator.load(stable().log))
    scene.joins("a", member=A)
    scene.joins("b", member=B)
    refused = scene.joins("s", member=S, instance="s")
    assert refused.error is Error.GROUP_MAX_SIZE_REACHED
    assert scene.state is (COMPLETING if variant is SCALA else PREPARING)


@in_both
def test_a_pending_member_that_leaves_may_begin_a_rebalance(variant: CoordinatorVariant) -> None:
    scene = stable(of(variant))
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    scene.ask("c", LeaveGroup((MemberIdentity(given),)))
    assert not scene.group.pending_joins
    assert scene.state is (STABLE if variant is SCALA else PREPARING)


@in_both
def test_a_pending_member_that_leaves_completes_the_rebalance(variant: CoordinatorVariant) -> None:
    scene = preparing(of(variant))
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    scene.joins("b", member=B)
    scene.joins("s", member=S, instance="s")
    scene.ask("c", LeaveGroup((MemberIdentity(given),)))
    assert scene.state is COMPLETING


@in_both
def test_members_leave_together_or_in_turn(variant: CoordinatorVariant) -> None:
    scene = preparing(of(variant))
    scene.ask("admin", LeaveGroup((MemberIdentity(B), MemberIdentity(S), MemberIdentity(A))))
    if variant is SCALA:
        assert scene.last("a").generation == 2, "a was the last to join before it left"
        assert (scene.state, scene.group.generation) == (GroupState.EMPTY, 3)
    else:
        assert scene.error("a") is Error.UNKNOWN_MEMBER_ID
        assert (scene.state, scene.group.generation) == (GroupState.EMPTY, 2)


@in_both
def test_a_parked_sync_is_answered_before_its_member_leaves_in_turn(
    variant: CoordinatorVariant,
) -> None:
    scene = completing(of(variant))
    scene.syncs("b", B)
    heard = len(scene.heard["b"])
    scene.ask("admin", LeaveGroup((MemberIdentity(A), MemberIdentity(B))))
    assert len(scene.heard["b"]) - heard == (variant is SCALA)
    if variant is SCALA:
        assert scene.error("b") is Error.REBALANCE_IN_PROGRESS


@in_both
def test_a_new_static_member_that_is_replaced_may_stay_new(variant: CoordinatorVariant) -> None:
    scene = initial(of(variant))
    scene.joins("s", instance="s")
    scene.joins("again", instance="s")
    member = scene.group.members["s-3"]
    assert member.is_new == (variant is SCALA)
    assert scene.armed[member.timer] == 45_000
    scene.fire("session", "s-3")
    assert ("s-3" in scene.group.members) == (variant is JAVA)


@in_both
def test_a_sync_in_a_stable_group_may_renew_the_session(variant: CoordinatorVariant) -> None:
    scene = stable(of(variant))
    session = TimerKey(TimerKind.SESSION, GROUP, B)
    del scene.armed[session]
    scene.syncs("b", B)
    assert (session in scene.armed) == (variant is SCALA)


@in_both
def test_an_expiry_may_end_the_initial_delay(variant: CoordinatorVariant) -> None:
    scene = initial(of(variant))
    scene.joins("b")
    scene.fire("session", A)
    assert scene.state is (PREPARING if variant is SCALA else COMPLETING)
    assert (("initial delay",) in scene.timers()) == (variant is SCALA)


@in_both
def test_a_later_initial_delay_may_be_extended(variant: CoordinatorVariant) -> None:
    scene = empty(of(variant))
    scene.joins("a")
    scene.joins("b")
    scene.fire("initial delay")
    assert scene.state is (COMPLETING if variant is SCALA else PREPARING)


@in_both
def test_a_sync_may_name_a_protocol_before_the_group_has_one(variant: CoordinatorVariant) -> None:
    scene = initial(of(variant))
    error = scene.ask("a", SyncGroup(A, 0, protocol="range")).error
    inconsistent = Error.INCONSISTENT_GROUP_PROTOCOL
    assert error is (inconsistent if variant is SCALA else Error.REBALANCE_IN_PROGRESS)


@in_both
def test_a_new_group_may_be_stored(variant: CoordinatorVariant) -> None:
    scene = absent(of(variant))
    scene.ask("c", JoinGroup())
    assert [r.value for r in scene.log] == ([] if variant is SCALA else [GroupMetadata()])


@in_both
def test_a_commit_may_name_an_unknown_group(variant: CoordinatorVariant) -> None:
    scene = absent(of(variant))
    scene.ask("c", commit(generation=0, version=9))
    not_found = Error.GROUP_ID_NOT_FOUND
    assert scene.error("c") is (Error.ILLEGAL_GENERATION if variant is SCALA else not_found)


@in_both
def test_a_sync_during_loading(variant: CoordinatorVariant) -> None:
    scene = absent(of(variant))
    scene.coordinator.start_loading()
    loading = Error.COORDINATOR_LOAD_IN_PROGRESS
    assert scene.ask("b", SyncGroup(B, 1)).error is (
        Error.REBALANCE_IN_PROGRESS if variant is SCALA else loading
    )
    assert scene.ask("b", heartbeat()).error is Error.NONE


@in_both
def test_a_join_elsewhere(variant: CoordinatorVariant) -> None:
    scene = stable(of(variant))
    scene.take(scene.coordinator.unload())
    elsewhere = Error.NOT_COORDINATOR
    member_id = B if variant is SCALA else ""
    assert scene.ask("b", JoinGroup(B)) == JoinGroupResponse(elsewhere, member_id)
    first = elsewhere if variant is SCALA else Error.INVALID_SESSION_TIMEOUT
    assert scene.ask("b", JoinGroup(B, session_timeout=1)) == JoinGroupResponse(first, B)


@in_both
def test_deleting_the_last_offset_may_delete_an_empty_group(variant: CoordinatorVariant) -> None:
    scene = empty(of(variant))
    for offsets in (1, 2):
        scene.ask("c", commit(offsets))
        scene.store()
    error, errors, outcome = scene.coordinator.delete_offsets(GROUP, [P0])
    scene.take(outcome)
    assert (error, errors) == (Error.NONE, ((P0, Error.NONE),))
    assert (GROUP in scene.coordinator.groups) == (variant is JAVA)


@in_both
def test_offsets_are_deleted_while_a_group_begins_again(variant: CoordinatorVariant) -> None:
    worked = empty(of(variant))
    worked.group.subscribed = None
    for scene, error in (
        (empty(of(variant)), Error.NONE),
        (absent(of(variant)), Error.GROUP_SUBSCRIBED_TO_TOPIC),
        (worked, Error.GROUP_SUBSCRIBED_TO_TOPIC),
    ):
        scene.joins("a")
        assert scene.state is PREPARING
        assert scene.coordinator.delete_offsets(GROUP, [P0])[1] == ((P0, error),)


def test_the_mark_of_a_new_member_outlasts_its_initial_delay() -> None:
    scene = Scene()
    scene.joins("a", rebalance_timeout=5_000)
    scene.joins("b")
    scene.fire("initial delay")
    scene.joins("c")
    scene.fire("initial delay")
    assert scene.state is COMPLETING
    scene.ask("admin", LeaveGroup(tuple(map(MemberIdentity, scene.group.members))))
    scene.joins("d", protocols=(RANGE,))
    scene.fire("initial delay")
    assert scene.state is PREPARING, "although no member has joined meanwhile"


# -- the lockstep ---------------------------------------------------------------------------------

WITHOUT_A_TRACE = (
    "sync_renews_session",
    "sync_waits_for_loading",
    "describes_assignments",
    "offset_deletion_dissolves",
)
"""Differences in the duration of a timer, in a state that the lockstep does not enter, and in what
an administrator asks."""


def other(difference: str) -> type[Subject]:
    """The coordinator under test, with this difference turned around."""

    class Other(Subject):
        def start(self) -> None:
            super().start()
            variant = self.settings.variant
            flag: Any = {difference: not getattr(variant, difference)}
            turned = attrs.evolve(variant, **flag)
            given = attrs.evolve(self.settings, variant=turned)
            self.coordinator = GroupCoordinator(given, self.armed, lambda _: self.new_id)

    return Other


@pytest.mark.slow
@pytest.mark.parametrize("difference", [d for d in DIFFERENCES if d not in WITHOUT_A_TRACE])
def test_the_lockstep_notices_each_difference(difference: str) -> None:
    walks = settings(max_examples=1500, stateful_step_count=60)
    with pytest.raises(Differs) as differs:
        ask_anything(walks, AnythingAdapter(other(difference)))
    assert len(differs.value.difference.steps) <= 20


def requests_to(variant: CoordinatorVariant) -> set[str]:
    """The kinds of requests that walks send to this coordinator."""
    made: set[str] = set()

    def note(account: Account, call: object) -> None:
        if isinstance(call, Handle) and account.settings.variant == variant:
            made.add(type(call.request).__name__)

    ask_anything(settings(max_examples=25, stateful_step_count=40), watch=note)
    return made


@in_both
def test_walks_ask_both_coordinators(variant: CoordinatorVariant) -> None:
    requests = {"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit"}
    assert requests_to(variant) == requests
