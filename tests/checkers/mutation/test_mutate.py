"""Mutants, and the properties that kill them."""

from __future__ import annotations

import attrs
import pytest

from kspec import examples
from kspec.checkers.models.find import find_model
from kspec.checkers.mutation.equivalent import equivalent_mutants
from kspec.checkers.mutation.mutate import Report, changes, mutants, mutate, pattern, with_part
from kspec.examples.counter import Counter
from kspec.spec.core import Baseline
from kspec.spec.group.state import Faults
from kspec.spec.log import Record
from kspec.spec.replication.state import Cluster

REPLICATION = find_model("replication")
UNFENCED = (
    'broker_becomes_follower_and_truncates without the guard "leader is in the request\'s epoch"'
)


def start() -> Cluster:
    (state,) = REPLICATION.system(bounds={"brokers": 2}).initial()
    return state


def test_changes_are_the_smallest_parts_that_differ() -> None:
    before = start()
    log = before.logs[1].append(Record(0, 3))
    after = before.with_view(1, hw=1).with_log(1, log)
    assert list(changes(before, after)) == [
        (("logs", 1, "records"), (), (Record(0, 3),)),
        (("views", 1, "hw"), 0, 1),
    ]
    longer = after.with_log(1, log.truncate_to(0).append(Record(0, 4)))
    assert list(changes(after, longer)) == [(("logs", 1, "records", 0, "epoch"), 3, 4)]


def test_tallies_are_not_compared() -> None:
    assert list(changes(Faults(), Faults(crashes=1))) == []


def test_a_part_is_replaced_at_its_path() -> None:
    before = start()
    after = before.with_view(1, hw=1)
    for path, old, _ in changes(before, after):
        assert with_part(after, path, old) == before
        assert pattern(path) == ("views", "hw")


@pytest.mark.slow
def test_every_guard_but_limits_and_every_field_of_an_effect_has_a_mutant() -> None:
    system = REPLICATION.system("kip-320", {"brokers": 2})
    found = {m.name for m in mutants(system)}
    guards = {
        f"{r.name} without the guard {name!r}"
        for r in system.rules
        for name, is_limit in r.guard_names()
        if not is_limit
    }
    assert guards <= found
    assert not any("an epoch remains" in name for name in found)
    for effect in (
        "leader_advances_hw forgets views.hw",
        "leader_advances_hw makes views.hw one more",
        "leader_appends loses the end of logs.records",
        "leader_shrinks_isr forgets quorum.isr",
        "broker_becomes_follower_and_truncates forgets logs.records",
    ):
        assert effect in found


def test_a_mutant_has_exactly_its_named_difference() -> None:
    system = examples.COUNTER.system()
    one = Counter(1, bounds=system.bounds)
    after = {m.what: [s.value for _, _, s in m.of(system).steps(one)] for m in mutants(system)}
    assert after == {"forgets value": [1], "makes value one more": [3], "makes value one less": [1]}


def test_mutants_of_the_counter_are_killed_or_survive() -> None:
    report = mutate(examples.COUNTER, examples.COUNTER.variant(), [{"top": 5}])
    fates = {o.mutant: (o.fate, o.killed_by) for o in report.outcomes}
    assert fates == {
        "count forgets value": ("killed", "ReachesTop"),
        "count makes value one less": ("killed", "ReachesTop"),
        "count makes value one more": ("killed", "ReachesTop"),
    }


def test_a_mutant_that_survives_is_a_finding() -> None:
    model = attrs.evolve(examples.COUNTER, properties=())
    report = mutate(model, model.variant(), [{}])
    assert {o.fate for o in report.outcomes} == {"survived"}
    assert all(o.changes_graph for o in report.outcomes)


def test_a_baseline_entry_for_a_killed_mutant_is_stale() -> None:
    variant = examples.COUNTER.variant()
    reasons = {"count forgets value": "no reason", "count sleeps": "?"}
    model = attrs.evolve(examples.COUNTER, baseline=Baseline(equivalent={variant.name: reasons}))
    report = mutate(model, variant, [{}])
    assert set(report.stale) == {"count forgets value", "count sleeps"}


@pytest.fixture(scope="module")
def small_world() -> Report:
    """The mutants of kip-320 with two brokers, which kill most of them."""
    baseline = attrs.evolve(REPLICATION.baseline, bounds_for={})
    model = attrs.evolve(REPLICATION, baseline=baseline)
    return mutate(model, model.variant("kip-320"), [{"brokers": 2}])


@pytest.mark.slow
def test_two_brokers_kill_all_but_four_mutants_of_kip_320(small_world: Report) -> None:
    assert {o.mutant for o in small_world.having("survived")} == {
        UNFENCED,
        'follower_fetches without the guard "follower is in the leader\'s epoch"',
        "leader_expands_isr without the guard 'leadership is current'",
        'leader_expands_isr without the guard "high watermark has reached the leader\'s epoch"',
    }
    assert small_world.stale == []


@pytest.mark.slow
def test_a_killed_mutant_names_the_property(small_world: Report) -> None:
    killed = {o.mutant: o for o in small_world.having("killed")}
    guard = "every ISR member is in the leader's epoch"
    fenced = killed[f"leader_advances_hw without the guard {guard!r}"]
    assert (fenced.killed_by, fenced.states > 0) == ("WeakIsr", True)
    assert fenced.bounds["brokers"] == 2


@pytest.mark.slow
def test_every_mutant_of_kip_320_is_killed_or_equivalent() -> None:
    variant = REPLICATION.variant("kip-320")
    report = mutate(REPLICATION, variant, REPLICATION.baseline.bounds, workers=2)
    assert report.having("survived") == []
    assert report.stale == []
    assert {o.mutant for o in report.having("equivalent")} == set(
        equivalent_mutants(REPLICATION, variant)
    )
    assert len(report.having("killed")) > 60
    rules_with_mutants = {o.rule for o in report.outcomes}
    assert rules_with_mutants == {r.name for r in variant.rules}
