"""A fetch as one step loses nothing: the same versions message by message reach the same states."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import attrs
import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import Reference
from kspec.checkers.engine.search import Search
from kspec.checkers.models.find import find_model
from kspec.spec.core import Rule, Step, System, evolve, rule
from kspec.spec.partition import Broker, Cluster
from kspec.spec.partition.leader import follower_fetches, leader_counts_fetch
from kspec.spec.partition.state import brokers
from tests.known import explore_learned as explore

PARTITION, MESSAGES = find_model("partition"), find_model("partition-messages")

CRASH = {"brokers": 2, "min_insync": 1}
MOVES = {**CRASH, "crashes": 0, "leader_moves": 2}
TWO_RECORDS = {**CRASH, "crashes": 0, "records": 2}

COUNTS = {
    # version, bounds: states where a fetch is one step, states message by message
    ("kafka-2.1", "brokers=2 min_insync=1"): (211, 798),
    ("kafka-2.1", "brokers=2 min_insync=1 leader_moves=1"): (1_311, 9_326),
    ("kafka-2.7", "brokers=2 min_insync=1"): (483, 2_038),
    ("kafka-2.7", "brokers=2 min_insync=1 leader_moves=1"): (2_762, 24_076),
}

SLOW = [
    "brokers=2 crashes=0 cut_offs=1 leader_moves=1",
    "brokers=2 crashes=0 power_losses=1 leader_moves=1",
    "brokers=2 crashes=0 disk_losses=1 leader_moves=1 slow_followers=0",
    "brokers=2 crashes=0 leader_moves=1 acks=1 records=2",
]
"""Larger bounds in which the two forms are compared."""


def bounds_of(text: str) -> dict[str, int]:
    """Bounds as on the command line."""
    return {name: int(value) for name, value in (b.split("=") for b in text.split())}


@cache
def states(system: System[Cluster]) -> frozenset[Cluster]:
    """Every reachable state."""
    search = Reference(system.with_properties([]))
    Search(search.system, search, Options(keep_going=True)).run()
    return frozenset(search.came_from)


def without_messages(found: frozenset[Cluster]) -> frozenset[Cluster]:
    """The states of the cluster, whatever is in flight."""
    return frozenset(evolve(s, requests=frozenset(), responses=frozenset()) for s in found)


def both(version: str, bounds: dict[str, int]) -> tuple[frozenset[Cluster], frozenset[Cluster]]:
    """The states where a fetch is one step, and those message by message."""
    return states(PARTITION.system(version, bounds)), states(MESSAGES.system(version, bounds))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "bounds"),
    [
        pytest.param(*case, marks=pytest.mark.slow if "leader_moves" in case[1] else ())
        for case in COUNTS
    ],
)
def test_both_forms_reach_the_same_states(version: str, bounds: str) -> None:
    short, long = both(version, bounds_of(bounds))
    assert without_messages(long) == short
    assert (len(short), len(long)) == COUNTS[version, bounds]


def test_the_page_has_these_counts() -> None:
    page = (Path(__file__).parents[2] / "docs" / "partition.md").read_text(encoding="utf-8")
    for (version, bounds), (short, long) in COUNTS.items():
        assert f"| `{version}` | `{bounds}` | {short:,} | {long:,} |" in page


@pytest.mark.slow
@pytest.mark.parametrize("version", ["kafka-2.1", "kafka-2.7"])
@pytest.mark.parametrize("bounds", SLOW)
def test_both_forms_reach_the_same_states_within_larger_bounds(version: str, bounds: str) -> None:
    short, long = both(version, bounds_of(bounds))
    assert without_messages(long) == short
    assert len(long) > 3 * len(short)


@pytest.mark.parametrize(
    ("variant", "name"),
    [(variant.name, name) for variant in MESSAGES.variants for name in variant.violates],
)
def test_every_variant_violates_what_it_declares(variant: str, name: str) -> None:
    expected = MESSAGES.variant(variant).violates[name]
    system = MESSAGES.system(variant, expected.bounds).with_properties([name])
    (violation,) = explore(system).violations
    assert violation.states == expected.states


@pytest.mark.parametrize(
    ("version", "name", "short"),
    [
        ("kafka-2.1", "ListedEndNeverGoesBack", 7),
        ("kafka-2.1", "FencedBrokerNotInIsr", 4),
        ("kafka-2.7", "FencedBrokerNotInIsr", 8),
    ],
)
def test_counterexamples_are_longer_message_by_message(version: str, name: str, short: int) -> None:
    expected = MESSAGES.variant(version).violates[name]
    bounds = {"brokers": 2, **expected.bounds}
    system = PARTITION.system(version, bounds).with_properties([name])
    (violation,) = explore(system).violations
    assert violation.states == short < expected.states


@pytest.mark.slow
@pytest.mark.parametrize("name", ["AcknowledgedRecordsKept", "FencedBrokerNotInIsr"])
def test_what_only_a_late_fetch_violates_holds_without_it(name: str) -> None:
    expected = MESSAGES.variant("kafka-2.1-late-requests").violates[name]
    bounds = {"brokers": 2, **expected.bounds}
    for model in (PARTITION, MESSAGES):
        assert explore(model.system("kafka-2.1", bounds).with_properties([name])).verdict == "holds"


@pytest.mark.slow
@pytest.mark.parametrize(("version", "more"), [("kafka-2.1", 0), ("kafka-2.7", 8)])
def test_with_three_brokers_a_parked_fetch_may_be_answered_before_its_follower_joins(
    version: str, more: int
) -> None:
    short, long = both(version, bounds_of("brokers=3 crashes=0"))
    reached = without_messages(long)
    assert short <= reached
    between = reached - short
    assert len(between) == more
    for s in between:  # every member of the ISR but the leader left; one has caught up since
        state = s.replicas[0].leadership
        assert state is not None
        assert (state.pending, state.isr) == (None, {0})
        assert any(end == s.replicas[0].log.end for end in state.ends)


# -- the comparison can fail ----------------------------------------------------------------------


@rule(by="follower", leader=brokers, follower=brokers)
def follower_learns_later_hw(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A mistake: the response has the high watermark from after the fetch was counted."""
    after = yield from follower_fetches.body(s, leader, follower)
    hw = min(after.replicas[leader].hw, after.replicas[follower].log.end)
    return after.with_replica(follower, hw=hw)


def without_guard(of: Rule[Cluster], guard: str) -> Rule[Cluster]:
    """A mistake: the rule has lost a guard."""
    assert guard in dict(of.guard_names())
    return attrs.evolve(of, ignored=frozenset({guard}))


IN_EPOCH = "follower is in the leader's epoch"


@pytest.mark.parametrize(
    ("bounds", "rules"),
    [
        (TWO_RECORDS, {follower_fetches: follower_learns_later_hw}),
        (CRASH, {leader_counts_fetch: None}),
        pytest.param(
            MOVES,
            {follower_fetches: without_guard(follower_fetches, IN_EPOCH)},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            MOVES,
            {leader_counts_fetch: without_guard(leader_counts_fetch, IN_EPOCH)},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_mistake_in_the_short_form_is_found(
    bounds: dict[str, int], rules: dict[Rule[Cluster], Rule[Cluster] | None]
) -> None:
    short, long = both("kafka-2.1", bounds)
    system = PARTITION.system("kafka-2.1", bounds)
    wrong = [rules.get(rule, rule) for rule in system.rules]
    mistaken = attrs.evolve(system, rules=tuple(rule for rule in wrong if rule is not None))
    assert short == without_messages(long) != states(mistaken)


@pytest.mark.slow
def test_a_late_fetch_of_a_stopped_process_reaches_more_states() -> None:
    short = states(PARTITION.system("kafka-2.1", CRASH))
    late = without_messages(states(MESSAGES.system("kafka-2.1-late-requests", CRASH)))
    assert late > short


@pytest.mark.slow
def test_a_late_response_reaches_more_states_and_violates_nothing_else() -> None:
    short = states(PARTITION.system("kafka-2.7", MOVES))
    late = MESSAGES.system("kafka-2.7-late-responses", MOVES)
    assert without_messages(states(late)) > short
    assert explore(late).verdict == "holds"
