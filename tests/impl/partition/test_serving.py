"""What a replica answers, and what its leader knows of followers, compared with `spec`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kspec.impl.partition import Leader, Replica, Settings
from kspec.impl.partition.leader import Progress
from kspec.impl.partition.messages import DivergingEpoch, FetchRequest, FetchResponse
from kspec.spec import in_sync, serving
from kspec.spec.leader_epochs import EpochEntry, LeaderEpochs
from kspec.spec.vocabulary import PartitionError
from tests.impl.partition.replicas import lead, with_epochs

LAG = 10
PROGRESS = st.builds(
    in_sync.Progress,
    end=st.integers(-1, 9),
    last_fetch=st.integers(0, 20),
    leader_end=st.integers(-1, 9),
    caught_up=st.integers(0, 20),
)


def copy_of(progress: in_sync.Progress) -> Progress:
    return Progress(progress.end, progress.last_fetch, progress.leader_end, progress.caught_up)


@given(PROGRESS, st.integers(0, 9), st.integers(0, 9), st.integers(0, 30))
def test_progress_agrees(known: in_sync.Progress, offset: int, end: int, now: int) -> None:
    progress = copy_of(known)
    progress.fetched(offset, end, now)
    assert progress == copy_of(in_sync.after_fetch(known, offset, end, now))
    caught_up = in_sync.is_caught_up(known, end, now, LAG)
    assert copy_of(known).is_caught_up(end, LAG, now) == caught_up


@given(PROGRESS, st.sets(st.sampled_from([0, 1])), st.integers(0, 30), st.booleans())
def test_an_election_agrees(known: in_sync.Progress, isr: set[int], now: int, again: bool) -> None:
    replica = with_epochs((1, 9))
    before = lead(replica, 2, {0, 1})
    before.followers[1] = copy_of(known)
    if not again:
        replica.become_follower(3, 30, 1, isr)
    replica.become_leader(4, 40, isr, {0, 1}, now)
    assert isinstance(replica.role, Leader)
    expected = (
        in_sync.after_election(known, 1 in isr, 9, now)
        if again
        else in_sync.after_first_election(1 in isr, now)
    )
    found = replica.role.followers[1]
    if again:
        assert found == copy_of(expected)
    else:  # before the first fetch, when the last one was does not matter
        assert (found.leo, found.caught_up) == (expected.end, expected.caught_up)


@given(
    st.fixed_dictionaries({1: PROGRESS, 2: PROGRESS}),
    st.sets(st.sampled_from([1, 2])),
    st.sets(st.sampled_from([1, 2])),
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(0, 30),
)
def test_the_isr_and_the_high_watermark_agree(
    followers: dict[int, in_sync.Progress],
    members: set[int],
    ineligible: set[int],
    hw: int,
    start: int,
    now: int,
) -> None:
    replica = with_epochs((1, 9), settings=Settings(replica_lag_ms=LAG))
    leader = lead(replica, 2, {0, 1, 2})
    leader.isr = frozenset(members | {0})
    leader.ineligible, leader.epoch_start, replica.hw = ineligible, start, hw
    leader.followers = {broker: copy_of(known) for broker, known in followers.items()}
    lagging = in_sync.out_of_sync(leader.isr, followers, 9, now, LAG)
    assert leader.lagging(now) == lagging
    for broker in followers:
        leader.wanted = None
        reaches = in_sync.reaches_isr(followers[broker], hw, start)
        joins = broker not in members and broker not in ineligible and reaches
        assert leader.want_expansion(broker) is joins
    eligible = followers.keys() - ineligible
    expected = in_sync.next_hw(hw, 9, followers, leader.maximal_isr, eligible, now, LAG)
    leader.advance_hw(now)
    assert replica.hw == expected


@given(
    st.sampled_from([-1, 0, 1, 2]),
    st.integers(1, 4),
    st.sets(st.sampled_from([1, 2])),
    st.booleans(),
    st.integers(9, 11),
    st.booleans(),
)
def test_produce_agrees(
    acks: int, least: int, members: set[int], leads: bool, hw: int, expands: bool
) -> None:
    settings = Settings(min_insync_replicas=least, hw_waits_for_min_isr=False)
    replica = with_epochs((1, 9), settings=settings)
    leader = lead(replica, 2, {0, 1, 2})
    leader.isr = frozenset(members | {0})
    if not leads:
        replica.become_follower(3, 30, 1, {1, 2})
    least = in_sync.effective_min_isr(least, 3)
    error = serving.append_error(leads, acks, len(leader.isr), least)
    appended = replica.append([9], acks)
    assert appended == (error or 9)
    if expands:
        leader.wanted = frozenset({0, 1, 2})
    replica.hw = hw
    maximal = len(leader.maximal_isr)
    assert replica.is_acked(10) == serving.is_acknowledged(leads, 10, hw, maximal, least)


@given(
    st.integers(0, 10),
    st.sampled_from([None, 4, 5, 6]),
    st.sampled_from([None, 0, 1, 2, 3, 4]),
    st.integers(0, 4),
    st.booleans(),
)
def test_a_followers_fetch_agrees(
    offset: int, asked_in: int | None, last_epoch: int | None, start: int, leads: bool
) -> None:
    replica = with_epochs((1, 4), (3, 4))
    replica.delete_before(start)
    if leads:
        lead(replica, 5, {0, 1})
    else:
        replica.become_follower(5, 50, 1, {0, 1})
    epochs = LeaderEpochs(tuple(EpochEntry(*entry) for entry in replica.epochs.entries))
    log = serving.Offsets(start, replica.log.end, replica.hw)
    fetch = serving.Fetch(offset, serving.FetchIsolation.LOG_END, last_epoch=last_epoch)
    end = None if last_epoch is None else epochs.end_of(last_epoch, log.end)
    expected = serving.access_error(leads, 5, asked_in, needs_leader=True)
    expected_answer = expected or serving.fetch_error(fetch, log, end)
    answer = replica.answer(FetchRequest(1, offset, 99, asked_in, last_epoch))
    if isinstance(answer, FetchResponse):
        held = [o for b in answer.batches for o in range(b.base, b.base + len(b.ids))]
        assert expected_answer is None
        assert held == list(serving.readable(log, offset, fetch.isolation))  # type: ignore[arg-type]
    else:
        said = tuple(answer.end) if isinstance(answer, DivergingEpoch) else answer
        wanted = expected_answer
        assert said == (wanted if isinstance(wanted, PartitionError) else tuple(wanted or ()))


def test_a_replica_that_knows_no_leader_answers_nothing() -> None:
    assert serving.access_error(False, -1, None, True) == Replica(0).answer(FetchRequest(1, 0, 1))
