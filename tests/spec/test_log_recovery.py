"""The model `log-recovery`, and its agreement with the functions of `spec.storage`."""

from __future__ import annotations

import attrs
import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.graph.graph import states_of
from kspec.checkers.models.find import find_model
from kspec.checkers.mutation.mutate import mutate
from kspec.spec.log_recovery.recovery import broker_recovers_log
from kspec.spec.log_recovery.state import SegmentFiles, StoredLog
from kspec.spec.storage.batches import Batch
from kspec.spec.storage.recovery import FoundLog, load
from kspec.spec.storage.segments import Segment, SegmentSettings, new_segment
from tests.known import explore_learned as explore

LOG_RECOVERY = find_model("log-recovery")
NAMES = [variant.name for variant in LOG_RECOVERY.variants]


@pytest.mark.slow
def test_the_counts_at_the_default_bounds() -> None:
    verdict = explore(LOG_RECOVERY.system().with_all_properties())
    assert (verdict.verdict, verdict.distinct, verdict.generated, verdict.depth) == (
        "holds",
        1_379,
        6_642,
        11,
    )
    assert verdict.silent_rules == []


@pytest.mark.parametrize("name", ["kafka-3.7", "kafka-3.8", "index-trusted", "segments-apart"])
def test_every_fault_has_its_shortest_counterexample(name: str) -> None:
    said = LOG_RECOVERY.variant(name).violates
    found = explore(LOG_RECOVERY.system(name).with_properties([*said])).violations
    assert found
    assert all(said[v.name].states == v.states for v in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_variant_violates_what_it_declares(name: str) -> None:
    system = LOG_RECOVERY.system(name)
    found = explore(system, Options(keep_going=True)).violations
    assert {v.name: v.states for v in found} == {
        p: v.states for p, v in LOG_RECOVERY.variant(name).violates.items()
    }


@pytest.mark.slow
def test_larger_bounds_hold() -> None:
    verdict = explore(LOG_RECOVERY.system(bounds={"offsets": 5}).with_all_properties())
    assert (verdict.verdict, verdict.distinct, verdict.generated, verdict.depth) == (
        "holds",
        13_392,
        90_448,
        14,
    )


@pytest.mark.slow
def test_no_mutant_survives() -> None:
    bounds = LOG_RECOVERY.baseline.bounds
    report = mutate(LOG_RECOVERY, LOG_RECOVERY.variant(), bounds, workers=2)
    assert [o.mutant for o in report.having("survived")] == []
    assert report.stale == []


# -- agreement with the functions -----------------------------------------------------------------

SETTINGS = SegmentSettings(index_interval_bytes=0)


def as_segment(files: SegmentFiles) -> Segment:
    """The files of the model as a segment of `spec.storage`, with batches of one byte."""
    batches = tuple(
        Batch(b.base_offset, b.last_offset, leader_epoch=b.epoch, is_valid=b.is_valid)
        for b in files.batches
    )
    made = new_segment(files.base_offset, SETTINGS)
    index = attrs.evolve(made.offset_index, entries=files.index)
    return attrs.evolve(made, batches=batches, offset_index=index)


@pytest.mark.slow
def test_recovery_is_that_of_the_functions() -> None:
    """From every state after a crash, the rule and `spec.storage.recovery.load` agree."""
    compared = 0
    for state in states_of(LOG_RECOVERY.system()):
        after = broker_recovers_log.attempt(state, ())
        if not isinstance(after, StoredLog):
            continue
        found = FoundLog(
            tuple(map(as_segment, state.segments)), state.recovery_file, 0, state.epoch_file
        )
        loaded = load(found, SETTINGS)
        assert after.memory is not None
        assert [s.base_offset for s in loaded.segments] == [s.base_offset for s in after.segments]
        for segment, files in zip(loaded.segments, after.segments, strict=True):
            assert segment.batches == as_segment(files).batches
            assert segment.offset_index.entries == files.index
        assert loaded.recovery_point == after.memory.recovery_point
        assert loaded.leader_epochs == after.memory.epochs
        compared += 1
    assert compared == 622
