"""High watermarks and log end offsets, compared with `spec.watermarks`."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kspec.checkers.lockstep import Adapter, compare_everywhere
from kspec.impl.partition import Leader, Replica
from kspec.spec.core import Taken
from kspec.spec.watermarks import WATERMARKS, Follower, Partition, after_truncation
from tests.impl.partition.replicas import follow


def everyone(state: Partition) -> list[Any]:
    """The leader and its followers: all have a HW and a LEO."""
    return [state.leader, *state.followers]


class Numbers(Adapter[Partition, list[Replica]]):
    """A leader and its followers, all of them in the ISR, as plain offsets."""

    def load(self, state: Partition) -> list[Replica]:
        everybody = range(len(state.followers) + 1)
        leader, *followers = replicas = [Replica(broker) for broker in everybody]
        leader.become_leader(0, 0, everybody, everybody)
        for follower in followers:
            follower.become_follower(0, 0, 0, everybody)
        for replica, numbers in zip(replicas, everyone(state), strict=True):
            replica.write(range(numbers.leo))
            replica.hw = numbers.hw
        assert isinstance(leader.role, Leader)
        for broker, leo in enumerate(state.leader.remote, 1):
            leader.role.followers[broker].leo = leo
        return replicas

    def apply(self, subject: list[Replica], taken: Taken) -> None:
        leader = subject[0]
        if taken.rule == "producer_sends":
            leader.append([leader.log.end])
            return
        role: Any = subject[taken.choices["follower"] + 1].role
        assert role.take(leader.answer(role.next_request()))

    def abstract(self, subject: list[Replica]) -> Any:
        leader = subject[0]
        assert isinstance(leader.role, Leader)
        remote = [progress.leo for progress in leader.role.followers.values()]
        return [(r.hw, r.log.end) for r in subject], remote

    def view(self, state: Partition) -> Any:
        return [(r.hw, r.leo) for r in everyone(state)], list(state.leader.remote)


def test_appends_and_fetches_update_watermarks_as_specified() -> None:
    system = WATERMARKS.system("reply-before-update", {"followers": 2, "records": 3})
    compared = compare_everywhere(Numbers(), system)
    assert compared.differences == []
    assert compared.steps > 100


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 12))
def test_truncation_updates_watermarks_as_specified(end: int, hw: int, offset: int) -> None:
    replica = Replica(1)
    follow(replica, 0)
    replica.write(range(end))
    replica.set_hw(hw)
    replica.truncate_to(offset)
    expected = after_truncation(Follower(min(hw, end), end), offset)
    assert (replica.hw, replica.log.end) == (expected.hw, expected.leo)
