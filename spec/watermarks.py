"""How high watermark (HW) and end offset (LEO) follow each other: functions of plain numbers.

The rules by which a leader learns what its followers hold, and they learn what is committed.
A leader keeps, beside its own LEO, the LEO of each follower as the follower's last fetch told
it: the remote LEO. HW ≤ LEO on every replica.

Kafka: `Partition.maybeIncrementLeaderHW`, `Replica.updateFetchStateOrThrow`,
`ReplicaFetcherThread.processPartitionData`, `UnifiedLog.truncateTo`.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from spec.core import (
    Claims,
    Model,
    Step,
    Taken,
    Variant,
    always,
    bound,
    constant,
    evolve,
    limit,
    reachable,
    replaced,
    rule,
)
from spec.lemmas import NATURAL, false_neighbour, lemma, provided
from spec.picture import Arrow, Lane, Picture

# -- the update rules -----------------------------------------------------------------------


def leader_hw(hw: int, isr_leos: Iterable[int]) -> int:
    """A leader's HW: the least LEO that it knows of in its ISR, itself included; never less.

    It is looked at again after each append and after each follower's fetch.
    """
    return max(hw, min(isr_leos))


def follower_hw(hw_of_leader: int, leo: int) -> int:
    """A follower's HW, after it appended: what the leader said, but not beyond its own LEO."""
    return min(hw_of_leader, leo)


@attrs.frozen
class Leader:
    """What a leader counts with."""

    hw: int = 0
    """High watermark: the records below it are committed."""
    leo: int = 0
    """End offset of its own log."""
    remote: tuple[int, ...] = ()
    """Remote LEO: the end offset of each follower in the ISR, by its last fetch."""


@attrs.frozen
class Follower:
    """What a follower counts with."""

    hw: int = 0
    """High watermark, as far as it has heard."""
    leo: int = 0
    """End offset of its own log: the offset that it fetches from."""


def after_append(leader: Leader, records: int = 1) -> Leader:
    """The leader after it appended what a producer sent."""
    leo = leader.leo + records
    return evolve(leader, leo=leo, hw=leader_hw(leader.hw, [leo, *leader.remote]))


def after_fetch(leader: Leader, follower: int, offset: int) -> Leader:
    """The leader after a follower fetched from `offset`: first the remote LEO, then the HW."""
    remote = replaced(leader.remote, follower, offset)
    return evolve(leader, remote=remote, hw=leader_hw(leader.hw, [leader.leo, *remote]))


def after_response(follower: Follower, records: int, hw_of_leader: int) -> Follower:
    """The follower after the leader's answer: first it appends, then it moves its HW."""
    leo = follower.leo + records
    return Follower(hw=follower_hw(hw_of_leader, leo), leo=leo)


def after_truncation(follower: Follower, offset: int) -> Follower:
    """The follower after it cut its log at `offset`, where it leaves the leader's; HW with it.

    Kafka: `UnifiedLog.truncateTo`. A log that ends before stays as it is.
    """
    leo = min(offset, follower.leo)
    return Follower(hw=min(follower.hw, leo), leo=leo)


# -- what they keep true, for all numbers -----------------------------------------------------
#
# One remote LEO stands for any number of followers: first it is shown that only the least counts.


@lemma(leader_hw, hw=NATURAL, leo=NATURAL, one=NATURAL, other=NATURAL)
def isr_counts_as_its_slowest(hw: int, leo: int, one: int, other: int) -> Claims:
    """Two followers move the HW as the slower of them alone would.

    So, one after the other, do as many as there are.
    """
    both = leader_hw(hw, [leo, one, other])
    alone = leader_hw(hw, [leo, min(one, other)])
    yield f"HW {both} with both is {alone} with the slower", both == alone


@false_neighbour(of=isr_counts_as_its_slowest)
def isr_counts_as_its_latest(hw: int, leo: int, one: int, other: int) -> Claims:
    """The follower that fetched last may be ahead of one that did not fetch for long."""
    both = leader_hw(hw, [leo, one, other])
    alone = leader_hw(hw, [leo, other])
    yield f"HW {both} with both is {alone} with the latest", both == alone


def moves_hw_rightly(before: Leader, after: Leader) -> Claims:
    """What a leader's HW may do: go forward, as far as every member of the ISR holds."""
    yield f"HW {before.hw} does not retreat to {after.hw}", before.hw <= after.hw
    yield f"HW {after.hw} is within LEO {after.leo}", after.hw <= after.leo
    held = after.hw == before.hw or after.hw <= min(after.remote)
    yield f"HW {after.hw} is new and held by all of {after.remote}", held


@lemma(after_append, leader_hw, hw=NATURAL, leo=NATURAL, remote=NATURAL, records=NATURAL)
def append_moves_hw_rightly(hw: int, leo: int, remote: int, records: int) -> Claims:
    """A leader that appends keeps its HW or moves it on, within its LEO and what the ISR holds."""
    yield provided("the leader's HW is within its LEO"), hw <= leo
    leader = Leader(hw, leo, (remote,))
    yield from moves_hw_rightly(leader, after_append(leader, records))


@false_neighbour(of=append_moves_hw_rightly)
def append_that_commits_at_once_moves_hw_rightly(
    hw: int, leo: int, remote: int, records: int
) -> Claims:
    """A HW that counts the leader's own LEO alone commits what no follower holds yet."""
    yield provided("the leader's HW is within its LEO"), hw <= leo
    leader = Leader(hw, leo, (remote,))
    wrong = evolve(leader, leo=leo + records, hw=leader_hw(hw, [leo + records]))
    yield from moves_hw_rightly(leader, wrong)


@lemma(
    after_fetch, leader_hw, hw=NATURAL, leo=NATURAL, remote=NATURAL, others=NATURAL, offset=NATURAL
)
def fetch_moves_hw_rightly(hw: int, leo: int, remote: int, others: int, offset: int) -> Claims:
    """A leader that is fetched from, at any offset, moves its HW within the same limits.

    The offset may lie before the follower's last one: a log that was cut is fetched again.
    """
    yield provided("the leader's HW is within its LEO"), hw <= leo
    leader = Leader(hw, leo, (remote, others))
    yield from moves_hw_rightly(leader, after_fetch(leader, follower=0, offset=offset))


@false_neighbour(of=fetch_moves_hw_rightly)
def fetch_with_the_greatest_leo_moves_hw_rightly(
    hw: int, leo: int, remote: int, others: int, offset: int
) -> Claims:
    """A HW that counts by the greatest remote LEO commits what the slower followers lack."""
    yield provided("the leader's HW is within its LEO"), hw <= leo
    leader = Leader(hw, leo, (remote, others))
    greatest = leader_hw(hw, [leo, max(offset, others)])
    yield from moves_hw_rightly(leader, evolve(leader, remote=(offset, others), hw=greatest))


@lemma(after_response, follower_hw, leo=NATURAL, records=NATURAL, hw_of_leader=NATURAL)
def response_keeps_hw_within_the_log(leo: int, records: int, hw_of_leader: int) -> Claims:
    """A follower's HW is within its LEO and the leader's HW, whatever the leader answers."""
    after = after_response(Follower(leo=leo), records, hw_of_leader)
    yield f"HW {after.hw} is within LEO {after.leo}", after.hw <= after.leo
    yield f"HW {after.hw} is within the leader's {hw_of_leader}", after.hw <= hw_of_leader


@false_neighbour(of=response_keeps_hw_within_the_log)
def hw_as_the_leader_says_is_within_the_log(leo: int, records: int, hw_of_leader: int) -> Claims:
    """An answer carries only some of the records, and a HW that may be beyond them."""
    after = Follower(hw=hw_of_leader, leo=leo + records)
    yield f"HW {after.hw} is within LEO {after.leo}", after.hw <= after.leo


def cuts_rightly(before: Follower, offset: int, after: Follower) -> Claims:
    """What truncation may do: cut the log, and the HW only where the cut is below it."""
    yield f"LEO {before.leo} cut at {offset} is {after.leo}", after.leo == min(before.leo, offset)
    yield f"HW {after.hw} is within LEO {after.leo}", after.hw <= after.leo
    yield f"HW {before.hw} stays at {after.hw}", offset < before.hw or after.hw == before.hw


@lemma(after_truncation, hw=NATURAL, leo=NATURAL, offset=NATURAL)
def truncation_keeps_hw_within_the_log(hw: int, leo: int, offset: int) -> Claims:
    """A follower's HW stays within its LEO when it truncates; as it is, if cut at or above it."""
    yield provided("the follower's HW is within its LEO"), hw <= leo
    follower = Follower(hw, leo)
    yield from cuts_rightly(follower, offset, after_truncation(follower, offset))


@false_neighbour(of=truncation_keeps_hw_within_the_log)
def truncation_of_the_log_alone_keeps_hw_within_it(hw: int, leo: int, offset: int) -> Claims:
    """Truncation that forgets the HW leaves it where the log no longer is."""
    yield provided("the follower's HW is within its LEO"), hw <= leo
    follower = Follower(hw, leo)
    yield from cuts_rightly(follower, offset, evolve(follower, leo=min(offset, leo)))


# -- a model around them --------------------------------------------------------------------


@attrs.frozen
class Bounds:
    """How many replicas, and how much is written."""

    followers: int = bound(1, 1, 4, "followers, all of them in the ISR")
    records: int = bound(1, 0, 9, "records that the producer sends")


@attrs.frozen
class Partition:
    """A leader and its followers, none of which ever fails."""

    leader: Leader
    """The leader's numbers."""
    followers: tuple[Follower, ...]
    """Each follower's numbers."""
    bounds: Bounds = constant()
    """How much is written."""


def followers(s: Partition) -> range:
    """Every follower."""
    return range(len(s.followers))


@rule(by="producer")
def producer_sends(s: Partition) -> Step[Partition]:
    """A record reaches the leader's log."""
    yield limit("a record is left"), s.leader.leo < s.bounds.records
    return evolve(s, leader=after_append(s.leader))


def fetch(s: Partition, follower: int, *, reply_after_update: bool) -> Partition:
    """A follower asks for what it does not have yet, and gets all of it."""
    asking = s.followers[follower]
    leader = after_fetch(s.leader, follower, asking.leo)
    told = leader.hw if reply_after_update else s.leader.hw
    answered = after_response(asking, leader.leo - asking.leo, told)
    return evolve(s, leader=leader, followers=replaced(s.followers, follower, answered))


@rule(by="follower", follower=followers)
def follower_fetches(s: Partition, follower: int) -> Partition:
    """The leader notes the follower's LEO, moves its HW, and answers with the HW that results."""
    return fetch(s, follower, reply_after_update=True)


@rule(by="follower", follower=followers)
def follower_fetches_old_hw(s: Partition, follower: int) -> Partition:
    """The leader reads the HW for its answer before it notes the follower's LEO.

    Kafka: `ReplicaManager.readFromLog`, then `Partition.updateFollowerFetchState`.
    """
    return fetch(s, follower, reply_after_update=False)


@always
def HwWithinLog(s: Partition) -> Claims:
    """No replica's HW is beyond its own LEO."""
    yield "leader", s.leader.hw <= s.leader.leo
    for i, f in enumerate(s.followers):
        yield f"follower {i}", f.hw <= f.leo


@always
def CommittedIsHeld(s: Partition) -> Claims:
    """Every member of the ISR holds what the leader counts as committed."""
    for i, f in enumerate(s.followers):
        yield f"follower {i}", s.leader.hw <= f.leo


@always
def RemoteLeoIsPast(s: Partition) -> Claims:
    """What a leader knows of a follower's LEO is never more than the follower holds."""
    for i, f in enumerate(s.followers):
        yield f"follower {i}", s.leader.remote[i] <= f.leo


@always
def FollowersCopy(s: Partition) -> Claims:
    """No follower holds what its leader does not."""
    for i, f in enumerate(s.followers):
        yield f"follower {i}", f.leo <= s.leader.leo


@always
def FollowerHwIsBehind(s: Partition) -> Claims:
    """A follower never counts more as committed than the leader does."""
    for i, f in enumerate(s.followers):
        yield f"follower {i}", f.hw <= s.leader.hw


@reachable
def EveryoneKnows(s: Partition) -> bool:
    """All that was sent is committed, and every replica has heard so."""
    hws = [s.leader.hw, *(f.hw for f in s.followers)]
    return all(hw == s.bounds.records for hw in hws)


WORDS = {
    "HW": "high watermark: the records before it are committed, as far as this replica knows",
    "LEO": "log end offset: where the replica's next record goes",
    "remote LEO": "what the leader knows of each follower's LEO, by its last fetch",
}


def picture(s: Partition, taken: Taken | None) -> Picture:
    """A lane for each replica, with its numbers."""
    numbers = {"HW": str(s.leader.hw), "LEO": str(s.leader.leo)}
    remote = {"remote LEO": " ".join(map(str, s.leader.remote))}
    lanes = [Lane("leader", facts=numbers | remote, place="leader")]
    lanes += [
        Lane(f"follower {i}", facts={"HW": str(f.hw), "LEO": str(f.leo)}, place=f"follower {i}")
        for i, f in enumerate(s.followers)
    ]
    arrows = []
    if taken is not None and "follower" in taken.choices:
        arrows.append(Arrow("leader", f"follower {taken.choices['follower']}", "records, HW"))
    return Picture(lanes, arrows, words=WORDS)


REPLY_AFTER_UPDATE = Variant(
    "reply-after-update",
    rules=(producer_sends, follower_fetches),
    why=(
        "The mechanism as it is usually told, in four moments: a record is written, fetched, "
        "committed by the next fetch, and the answer to that fetch tells the follower so."
    ),
)

WATERMARKS = Model(
    name="watermarks",
    doc="How a leader and its followers learn what is committed, in plain numbers.",
    bounds=Bounds,
    initial=lambda bounds: [
        Partition(
            Leader(remote=(0,) * bounds.followers), (Follower(),) * bounds.followers, bounds=bounds
        )
    ],
    properties=(
        HwWithinLog,
        CommittedIsHeld,
        RemoteLeoIsPast,
        FollowersCopy,
        FollowerHwIsBehind,
        EveryoneKnows,
    ),
    variants=(
        REPLY_AFTER_UPDATE,
        REPLY_AFTER_UPDATE.derive(
            "reply-before-update",
            replace={follower_fetches: follower_fetches_old_hw},
            why=(
                "What Kafka's code does: the answer carries the HW as it was before this fetch, "
                "so the follower learns it one fetch later still."
            ),
        ),
    ),
    picture=picture,
    mutation_bounds=({"followers": 2, "records": 3},),
)
