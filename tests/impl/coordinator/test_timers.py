"""The heap of timers: each expires once, at its deadline, in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kspec.impl.coordinator import Deadlines, GroupCoordinator, TimerKey, TimerKind
from kspec.spec.messages import Error, GroupState, Heartbeat, JoinGroup, Settings


def key(number: int) -> TimerKey:
    """One of several timers."""
    return TimerKey(TimerKind.SESSION, "g", str(number))


steps = st.lists(
    st.one_of(
        st.tuples(st.just("schedule"), st.integers(0, 3), st.integers(0, 12)),
        st.tuples(st.just("cancel"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("advance"), st.integers(0, 6), st.just(0)),
    ),
    max_size=60,
)


@given(steps)
def test_timers_expire_as_in_a_plain_dictionary(steps: list[tuple[str, int, int]]) -> None:
    timers, plain, now = Deadlines(), dict[TimerKey, int](), 0
    for what, number, delay in steps:
        if what == "schedule":
            timers.schedule(key(number), delay)
            plain[key(number)] = now + delay
        elif what == "cancel":
            timers.cancel(key(number))
            plain.pop(key(number), None)
        else:
            now += number
            due = sorted((at, k) for k, at in plain.items() if at <= now)
            assert timers.advance(now, lambda k: k) == [k for _, k in due]
            for _, k in due:
                del plain[k]
        assert len(timers) == len(plain)
        assert all(timers.deadline(k) == at for k, at in plain.items())
        at_the_latest = timers.next_deadline()
        assert not plain or (at_the_latest is not None and at_the_latest <= min(plain.values()))


def test_a_timer_sees_its_deadline_and_may_arm_and_cancel_others() -> None:
    timers = Deadlines()
    for number, delay in enumerate([10, 20, 30]):
        timers.schedule(key(number), delay)
    seen = []

    def fire(fired: TimerKey) -> None:
        seen.append((timers.now, fired.member))
        if fired == key(0):
            timers.cancel(key(1))
            timers.schedule(key(3), 5)

    timers.advance(100, fire)
    assert seen == [(10, "0"), (15, "3"), (30, "2")]
    assert timers.now == 100


def test_heartbeats_do_not_grow_the_heap() -> None:
    timers = Deadlines()
    for now in range(2_000):
        for number in range(3):
            timers.schedule(key(number), 45_000)
            timers.schedule(key(number), 44_000 - now)
            timers.cancel(key(number))
            timers.schedule(key(number), 45_000)
        timers.advance(now, lambda k: k)
    assert len(timers._heap) < 100
    assert len(timers) == 3


def test_a_coordinator_with_advancing_time() -> None:
    timers = Deadlines()
    ids = iter("ab")
    coordinator = GroupCoordinator(Settings(), timers, lambda request: next(ids))
    for caller in (1, 2):
        coordinator.handle("g", caller, JoinGroup(version=3))
    assert timers.advance(2_999, coordinator.fire) == []
    timers.advance(3_000, coordinator.fire)
    (outcome,) = timers.advance(6_000, coordinator.fire)
    assert [answer.generation for _, answer in outcome.responses] == [1, 1]  # type: ignore[union-attr]
    timers.advance(40_000, coordinator.fire)
    (beaten,) = coordinator.handle("g", 1, Heartbeat("a", 1)).responses
    assert beaten[1].error is Error.NONE  # type: ignore[union-attr]
    timers.advance(60_000, coordinator.fire)
    assert list(coordinator.groups["g"].members) == ["a"]
    assert coordinator.groups["g"].state is GroupState.PREPARING_REBALANCE
