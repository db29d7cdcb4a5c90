"""What the updates preserve, for all numbers.

One remote LEO stands for any number of followers: the first lemma shows that only the smallest
counts.
"""

from __future__ import annotations

from kspec.spec.core import Claims, evolve
from kspec.spec.lemmas import NATURAL, false_neighbour, lemma, provided
from kspec.spec.watermarks.updates import (
    Follower,
    Leader,
    after_append,
    after_fetch,
    after_response,
    after_truncation,
    follower_hw,
    leader_hw,
)


@lemma(leader_hw, hw=NATURAL, leo=NATURAL, one=NATURAL, other=NATURAL)
def slowest_follower_determines_hw(hw: int, leo: int, one: int, other: int) -> Claims:
    """Two followers move the HW as the slower of them alone would.

    By induction, so do any number of followers.
    """
    both = leader_hw(hw, [leo, one, other])
    alone = leader_hw(hw, [leo, min(one, other)])
    yield f"HW {both} with both is {alone} with the slower", both == alone


@false_neighbour(of=slowest_follower_determines_hw)
def latest_fetch_determines_hw(hw: int, leo: int, one: int, other: int) -> Claims:
    """The follower that fetched last may be ahead of one that has not fetched for long."""
    both = leader_hw(hw, [leo, one, other])
    alone = leader_hw(hw, [leo, other])
    yield f"HW {both} with both is {alone} with the latest", both == alone


def is_valid_hw_update(before: Leader, after: Leader) -> Claims:
    """A leader's HW only increases, and at most to where the logs of all ISR members end."""
    yield f"HW {before.hw} does not decrease to {after.hw}", before.hw <= after.hw
    yield f"HW {after.hw} is within LEO {after.leo}", after.hw <= after.leo
    held = after.hw == before.hw or after.hw <= min(after.remote)
    yield f"HW {after.hw} is new and held by all of {after.remote}", held


@lemma(after_append, leader_hw, hw=NATURAL, leo=NATURAL, remote=NATURAL, records=NATURAL)
def append_updates_hw_correctly(hw: int, leo: int, remote: int, records: int) -> Claims:
    """An append leaves the HW or increases it, within the LEO and the logs of the ISR."""
    yield provided("the leader's HW is within its LEO"), hw <= leo
    leader = Leader(hw, leo, (remote,))
    yield from is_valid_hw_update(leader, after_append(leader, records))


@false_neighbour(of=append_updates_hw_correctly)
def committing_on_append_updates_hw_correctly(
    hw: int, leo: int, remote: int, records: int
) -> Claims:
    """A HW that counts only the leader's LEO commits records that no follower holds yet."""
    yield provided("the leader's HW is within its LEO"), hw <= leo
    leader = Leader(hw, leo, (remote,))
    wrong = evolve(leader, leo=leo + records, hw=leader_hw(hw, [leo + records]))
    yield from is_valid_hw_update(leader, wrong)


@lemma(
    after_fetch, leader_hw, hw=NATURAL, leo=NATURAL, remote=NATURAL, others=NATURAL, offset=NATURAL
)
def fetch_updates_hw_correctly(hw: int, leo: int, remote: int, others: int, offset: int) -> Claims:
    """A fetch from any offset leaves the HW or increases it, within the same limits.

    The offset may be below the follower's last one: after truncation it fetches again.
    """
    yield provided("the leader's HW is within its LEO"), hw <= leo
    leader = Leader(hw, leo, (remote, others))
    yield from is_valid_hw_update(leader, after_fetch(leader, follower=0, offset=offset))


@false_neighbour(of=fetch_updates_hw_correctly)
def greatest_leo_updates_hw_correctly(
    hw: int, leo: int, remote: int, others: int, offset: int
) -> Claims:
    """A HW that counts the greatest remote LEO commits records that slower followers lack."""
    yield provided("the leader's HW is within its LEO"), hw <= leo
    leader = Leader(hw, leo, (remote, others))
    greatest = leader_hw(hw, [leo, max(offset, others)])
    yield from is_valid_hw_update(leader, evolve(leader, remote=(offset, others), hw=greatest))


@lemma(after_response, follower_hw, leo=NATURAL, records=NATURAL, hw_of_leader=NATURAL)
def response_keeps_hw_within_log(leo: int, records: int, hw_of_leader: int) -> Claims:
    """After a response, a follower's HW is within its LEO and the leader's HW."""
    after = after_response(Follower(leo=leo), records, hw_of_leader)
    yield f"HW {after.hw} is within LEO {after.leo}", after.hw <= after.leo
    yield f"HW {after.hw} is within the leader's {hw_of_leader}", after.hw <= hw_of_leader


@false_neighbour(of=response_keeps_hw_within_log)
def leader_hw_is_within_follower_log(leo: int, records: int, hw_of_leader: int) -> Claims:
    """A response has only some of the records, and its HW may be beyond them."""
    after = Follower(hw=hw_of_leader, leo=leo + records)
    yield f"HW {after.hw} is within LEO {after.leo}", after.hw <= after.leo


def is_valid_truncation(before: Follower, offset: int, after: Follower) -> Claims:
    """A truncation shortens the log, and lowers the HW only if it is below the HW."""
    yield f"LEO {before.leo} cut at {offset} is {after.leo}", after.leo == min(before.leo, offset)
    yield f"HW {after.hw} is within LEO {after.leo}", after.hw <= after.leo
    yield f"HW {before.hw} stays at {after.hw}", offset < before.hw or after.hw == before.hw


@lemma(after_truncation, hw=NATURAL, leo=NATURAL, offset=NATURAL)
def truncation_keeps_hw_within_log(hw: int, leo: int, offset: int) -> Claims:
    """Truncation keeps a follower's HW within its LEO, and does not change it if above it."""
    yield provided("the follower's HW is within its LEO"), hw <= leo
    follower = Follower(hw, leo)
    yield from is_valid_truncation(follower, offset, after_truncation(follower, offset))


@false_neighbour(of=truncation_keeps_hw_within_log)
def truncating_only_the_log_keeps_hw_within_it(hw: int, leo: int, offset: int) -> Claims:
    """Truncation that does not lower the HW leaves it beyond the end of the log."""
    yield provided("the follower's HW is within its LEO"), hw <= leo
    follower = Follower(hw, leo)
    yield from is_valid_truncation(follower, offset, evolve(follower, leo=min(offset, leo)))
