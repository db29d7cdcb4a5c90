"""The mapping consumer: each fact has a trace that only it rejects."""

from __future__ import annotations

from typing import Any

import pytest

from kspec.spec.core.text import guards_in_text
from kspec.spec.observed.consumer import consumer_acts
from tests.field.recorded.recorded import Line, check, load, names, thinned

HEADER: Line = {"kspec_trace": 1, "mapping": "consumer", "group": "g", "observed": "all"}


def event(kind: str, consumer: str = "c1", generation: int = 1, **keys: Any) -> Line:
    """An event of a consumer, whose member id is its name with an m."""
    own = {"consumer": consumer, "member_id": f"m-{consumer}", "generation": generation}
    return {"event": kind, **own, **keys}


def assigned(consumer: str, generation: int, *partitions: int) -> Line:
    return event("assigned", consumer, generation, partitions=[["t", p] for p in partitions])


def revoked(consumer: str, generation: int, *partitions: int) -> Line:
    return event("revoked", consumer, generation, partitions=[["t", p] for p in partitions])


def polled(consumer: str, generation: int, partition: int, first: int, after: int) -> Line:
    offsets = {"from": {f"t-{partition}": first}, "offsets": {f"t-{partition}": after}}
    return event("polled", consumer, generation, **offsets)


def commit(kind: str, consumer: str, generation: int, partition: int, offset: int) -> Line:
    return event(kind, consumer, generation, offsets={f"t-{partition}": offset})


HEALTHY = [
    assigned("c1", 1, 0, 1),
    polled("c1", 1, 0, 0, 5),
    commit("committing", "c1", 1, 0, 5),
    commit("committed", "c1", 1, 0, 5),
    revoked("c1", 1, 0),
    assigned("c1", 2),
    assigned("c2", 2, 0),
    polled("c2", 2, 0, 5, 9),
    polled("c1", 2, 1, 0, 3),
    event("sought", "c1", 2, offsets={"t-1": 0}),
    polled("c1", 2, 1, 0, 2),
    event("closed", "c1", 2),
    assigned("c2", 3, 1),
    polled("c2", 3, 1, 0, 4),
]
"""A partition moves from one consumer to another."""

FAULTS = {
    "a partition has one owner in a generation": [assigned("c1", 4, 0), assigned("c2", 4, 0)],
    "a partition is revoked before another consumer is assigned it": [
        assigned("c1", 3, 0),
        assigned("c2", 4, 0),
        assigned("c1", 4, 1),
    ],
    "the generation of a member does not decrease": [assigned("c1", 4, 0), assigned("c1", 3, 0)],
    "generation is current": [
        assigned("c1", 3, 0),
        revoked("c1", 3, 0),
        assigned("c2", 4, 0),
        commit("committing", "c1", 3, 0, 5),
        commit("committed", "c1", 3, 0, 5),
    ],
    "the consumer owns the partition": [assigned("c1", 1, 0), polled("c1", 1, 1, 0, 1)],
    "a commit is within the position": [
        assigned("c1", 1, 0),
        polled("c1", 1, 0, 0, 4),
        commit("committed", "c1", 1, 0, 5),
    ],
    "the position begins at the committed offset": [
        assigned("c1", 1, 0),
        polled("c1", 1, 0, 0, 4),
        commit("committed", "c1", 1, 0, 4),
        revoked("c1", 1, 0),
        assigned("c1", 2, 0),
        polled("c1", 2, 0, 3, 5),
    ],
    "the position does not decrease": [
        assigned("c1", 1, 0),
        polled("c1", 1, 0, 0, 4),
        polled("c1", 1, 0, 2, 5),
    ],
}
EVEN_IF_EVENTS_ARE_MISSING = {
    "a partition has one owner in a generation",
    "the generation of a member does not decrease",
    "generation is current",
}


def test_every_guard_has_a_fault() -> None:
    assert {name for name, _ in guards_in_text(consumer_acts)} == set(FAULTS)


def test_a_healthy_trace_is_accepted() -> None:
    assert check([HEADER, *HEALTHY]).verdict == "accepted"


@pytest.mark.parametrize("guard", FAULTS)
def test_a_fault_is_rejected_at_its_last_event(guard: str) -> None:
    lines = FAULTS[guard]
    rejection = check([HEADER, *lines]).rejection
    assert rejection is not None
    assert rejection.event is not None
    assert (rejection.event.number, rejection.guard) == (len(lines), guard)
    some = check([{**HEADER, "observed": "some"}, *lines]).verdict
    assert some == ("rejected" if guard in EVEN_IF_EVENTS_ARE_MISSING else "accepted")
    assert check([HEADER, *lines[:-1]]).verdict == "accepted"


def test_a_commit_that_began_in_time_may_be_answered_late() -> None:
    lines = [
        assigned("c1", 3, 0),
        commit("committing", "c1", 3, 0, 5),
        assigned("c2", 4, 0),
        commit("committed", "c1", 3, 0, 5),
    ]
    assert check([HEADER, *lines]).verdict == "accepted"


def test_a_commit_may_pass_a_transaction_marker() -> None:
    """`position()` is beyond the last record and its marker, and applications commit it."""
    lines = [
        assigned("c1", 1, 0),
        polled("c1", 1, 0, 0, 4),
        commit("committing", "c1", 1, 0, 5),
        commit("committing", "c1", 1, 0, 4),  # another one, of which the result comes later
        commit("committed", "c1", 1, 0, 5),
    ]
    assert check([HEADER, *lines]).verdict == "accepted"
    lines[-1]["offsets"]["t-0"] = 6
    assert check([HEADER, *lines]).verdict == "rejected"


def test_a_poll_may_overlap_a_rebalance() -> None:
    late = [assigned("c1", 1, 0), revoked("c1", 1, 0), polled("c1", 1, 0, 0, 1)]
    assert check([HEADER, *late]).verdict == "rejected"
    late[-1]["overlaps_rebalance"] = True
    assert check([HEADER, *late]).verdict == "accepted"


def test_a_static_member_is_replaced_in_its_generation() -> None:
    twice = [assigned("c1", 1, 0), assigned("c2", 1, 0)]
    assert check([HEADER, *twice]).verdict == "rejected"
    for line in twice:
        line["instance"] = "i"
    assert check([HEADER, *twice]).verdict == "accepted"


def test_a_gap_in_the_sequence_shows_that_events_are_missing() -> None:
    lines = [assigned("c1", 1, 0), polled("c1", 1, 1, 0, 1)]
    header = {key: value for key, value in HEADER.items() if key != "observed"}
    for sequences, verdict in (((1, 2), "rejected"), ((1, 3), "accepted"), ((2, 3), "accepted")):
        numbered = [{**e, "sequence": n} for e, n in zip(lines, sequences, strict=True)]
        assert check([header, *numbered]).verdict == verdict


@pytest.mark.parametrize("name", names("consumer"))
def test_real_clients_are_accepted(name: str) -> None:
    lines = load(name)
    assert check(lines).verdict == "accepted"
    for seed in range(5):
        assert check(thinned(lines, seed, 0.5)).verdict == "accepted", seed


def test_a_malformed_event_is_named() -> None:
    for line in (
        event("assigned", partitions="t-0"),
        event("assigned", partitions=[0]),
        event("committed", offsets={"t-0": "five"}),
        {"event": "polled"},
        {"event": "polled", "consumer": "c1", "generation": "1"},
    ):
        assert check([HEADER, *HEALTHY, line]).problems.counts == {"malformed event": 1}
