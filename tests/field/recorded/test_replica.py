"""Reports of replicas: each guard has a trace that only it rejects."""

from __future__ import annotations

from typing import Any

import pytest

from kspec.field.recorded import from_objects, validate_recordings
from kspec.spec.core.text import guards_in_text
from kspec.spec.observed.replica import HANDLERS


def report(node: int, epoch: int, leader: int | None = None, **more: Any) -> dict[str, Any]:
    keys = {"end": "log_end_offset", "hw": "high_watermark"}
    told = {keys.get(name, name): value for name, value in more.items()}
    by = {} if leader is None else {"leader": leader}
    return {"event": "state", "node": node, "leader_epoch": epoch, **by, **told}


def truncated(node: int, epoch: int, offset: int) -> dict[str, Any]:
    return {"event": "truncated", "node": node, "leader_epoch": epoch, "offset": offset}


HEALTHY = [
    report(1, 0, 1, end=5, hw=3, isr=[1, 2, 3], epochs=[[0, 0]]),
    report(2, 0, 1, end=3, hw=2),
    report(2, 0, 1, end=5, hw=3),
    report(3, 0, 1, end=5, hw=3, epochs=[[0, 0]]),
    report(1, 0, 1, end=9, hw=5, isr=[1, 2, 3]),
    report(2, 1, 2, end=7, hw=5, isr=[2, 3], partition_epoch=4, epochs=[[0, 0], [1, 7]]),
    report(1, 1, 2, end=9, hw=5),
    truncated(1, 1, 7),
    report(1, 1, 2, end=7, hw=5),
    report(2, 1, 2, end=8, hw=8, isr=[2, 3, 1], partition_epoch=5, epochs=[[0, 0], [1, 7]]),
    report(1, 1, 2, end=8, hw=8, epochs=[[0, 0], [1, 7]]),
    report(3, 1, -1),
]
"""An election, and the truncation of the old leader."""

FAULTS = {
    "high watermark is within the log": [report(1, 0, 1, end=3, hw=4)],
    "leader epoch does not decrease": [report(1, 2), report(1, 1)],
    "partition epoch does not decrease": [
        report(1, 2, partition_epoch=4),
        report(1, 2, partition_epoch=3),
    ],
    "leader epoch has one leader": [report(1, 2, 1), report(2, 2, 2)],
    "leader's log does not shrink": [report(1, 2, 1, end=5), report(1, 2, 1, end=4)],
    "leader's high watermark does not decrease": [report(1, 2, 1, hw=5), report(1, 2, 1, hw=4)],
    "leader is in its ISR": [report(1, 2, 1, isr=[2, 3])],
    "leader holds the committed records": [report(1, 2, 1, hw=5), report(2, 3, 2, end=4)],
    "later leaders hold the committed records": [report(2, 3, 2, end=4), report(1, 2, 1, hw=5)],
    "leader holds what followers fetched": [
        report(2, 3, 1, end=4),
        report(2, 3, 1, end=6),
        report(1, 3, 1, end=5),
    ],
    "ISR member holds the committed records": [
        report(1, 3, 1, end=6, hw=6, isr=[1, 2]),
        report(2, 3, 1, end=5),
    ],
    "committed records have one leader epoch": [
        report(1, 3, 1, end=9, hw=8, epochs=[[0, 0], [3, 5]]),
        report(2, 3, 1, end=9, hw=7, epochs=[[0, 0], [2, 5], [3, 8]]),
    ],
    "leader does not truncate": [report(1, 3, 1, end=5), truncated(1, 3, 4)],
    "committed records are kept": [report(1, 3, 2, end=5, hw=5), truncated(1, 4, 4)],
}
"""By guard: reports that it alone rejects, the last one."""


def verdict_on(events: list[dict[str, Any]], **header: Any) -> dict[str, Any]:
    lines = [{"kspec_trace": 1, "mapping": "replica", **header}, *events]
    return validate_recordings([from_objects("trace", lines)], {}).to_json()


@pytest.mark.parametrize("order", ["total", "node"])
def test_a_healthy_election_is_accepted(order: str) -> None:
    assert verdict_on(HEALTHY, order=order)["verdict"] == "accepted"


@pytest.mark.parametrize("guard", FAULTS)
def test_each_guard_rejects_a_fault(guard: str) -> None:
    found = verdict_on(FAULTS[guard], order="total")
    assert (found["verdict"], found["guard"]) == ("rejected", guard)
    assert found["event"]["number"] == len(FAULTS[guard])
    if guard != "leader does not truncate":
        assert found["difference"]


def test_every_guard_has_a_fault() -> None:
    named = [name for handler in HANDLERS.values() for name, _ in guards_in_text(handler)]
    assert set(named) == set(FAULTS)


@pytest.mark.parametrize("offset", range(len(HEALTHY)))
def test_reports_may_lack_any_value(offset: int) -> None:
    """Each key is removed from every third event, and each event once."""
    for key in ("leader", "leader_epoch", "log_end_offset", "high_watermark", "isr", "epochs"):
        thinned = [
            {k: v for k, v in event.items() if k != key or n % 3 != offset % 3}
            for n, event in enumerate(HEALTHY)
        ]
        assert verdict_on(thinned, order="total")["verdict"] == "accepted"
    fewer = HEALTHY[:offset] + HEALTHY[offset + 1 :]
    assert verdict_on(fewer, order="total")["verdict"] == "accepted"


def test_lost_records_are_allowed_after_an_unclean_election() -> None:
    lost = FAULTS["leader holds the committed records"]
    assert verdict_on(lost, unclean=True)["verdict"] == "accepted"


def test_epochs_order_reports_of_nodes_without_a_common_clock() -> None:
    by_node = sorted(HEALTHY, key=lambda event: -event["node"])
    assert verdict_on(by_node)["verdict"] == "accepted"
    found = verdict_on([*by_node, report(4, 1, 4)])
    assert found["guard"] == "leader epoch has one leader"
