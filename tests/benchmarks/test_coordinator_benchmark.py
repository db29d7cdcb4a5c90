"""The coordinator's benchmark runs the rebalances that it claims to measure."""

from __future__ import annotations

import pytest

from benchmarks.coordinator import GROUP, Figure, Members, in_words, measure
from kspec.spec.messages import GroupState


def test_members_join_settle_and_rebalance() -> None:
    members = Members(5)
    members.join()
    group = members.coordinator.groups[GROUP]
    assert (group.state, group.generation) == (GroupState.COMPLETING_REBALANCE, 1)
    members.sync()
    spent = members.spent
    members.rejoin()
    members.sync()
    assert (group.state, group.generation, len(group.members)) == (GroupState.STABLE, 2, 5)
    assert members.spent > spent > 0
    assert members.beat(2) > 0


@pytest.mark.slow
def test_each_figure_has_its_best_and_its_median() -> None:
    assert Figure.of("rate", "a second", [3, 1, 2], most=True) == Figure("rate", "a second", 3, 2)
    assert Figure.of("time", "ms", [3, 1, 2]) == Figure("time", "ms", 1, 2)
    assert [in_words(value) for value in (12.34, 12_345.6)] == ["12.3", "12,346"]
    figures = measure(3, 1)
    assert [figure.unit for figure in figures] == ["a second", "ms", "ms", "bytes"]
    assert all(figure.best > 0 for figure in figures)
