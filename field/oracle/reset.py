"""The oracle of offset resets: `spec.consumer.reset`, under the names of the tool's options."""

from __future__ import annotations

from typing import Any

from kspec.field.oracle.draws import Draw
from kspec.field.oracle.questions import Oracle, oracle_of
from kspec.spec.consumer.reset import (
    by_duration,
    shift_by,
    to_current,
    to_datetime,
    to_earliest,
    to_latest,
    to_offset,
)


def oracle() -> Oracle:
    """The methods."""
    return oracle_of(
        to_earliest,
        to_latest,
        to_current,
        to_offset,
        shift_by,
        to_datetime,
        by_duration,
    )


# -- vectors --------------------------------------------------------------------------------------


def drawn(draw: Draw) -> tuple[str, dict[str, Any]]:
    """A method and its parameters: offsets within the log and outside, times in any order."""
    start = draw.below(10)
    times = [100 + draw.below(50) for _ in range(draw.below(8))]
    end = start + len(times)
    near = draw.between(start - 3, end + 3)
    committed = None if draw.chance(0.25) else max(near, 0)
    offsets = {"start": start, "end": end, "committed": committed, "times": times}
    partition = {"partition": offsets}
    match draw.below(7):
        case 0:
            return "toEarliest", partition
        case 1:
            return "toLatest", partition
        case 2:
            return "toCurrent", partition
        case 3:
            return "toOffset", {**partition, "offset": draw.below(end + 6)}
        case 4:
            return "shiftBy", {**partition, "by": draw.between(-6, 6)}
        case 5:
            return "toDatetime", {**partition, "time": draw.between(95, 155)}
        case _:
            return "byDuration", {**partition, "now": 150, "duration": draw.below(60)}
