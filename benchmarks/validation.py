"""What `kspec validate` still catches if observations are missing.

    python -m benchmarks.validation [--walks 20] [--json]

Random walks of models are recorded, and one value of each is altered. Then each observation (a
variable, down to its innermost fields, the name of a rule, a choice) is kept with a probability. A
trace counts as caught if it is rejected: at the altered event, or later, at the first event that
the altered value makes impossible. The same walks without the alteration are never rejected.
"""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.measuring import options_of, print_json
from kspec.field.recorded import Limits, Validation, from_objects, validate_recordings
from kspec.field.recorded.models import ModelMapping
from kspec.spec.core import System
from tests.field.recorded.walks import system_of, thinned, trace, walk, whole

MODELS: Mapping[str, Mapping[str, int]] = {
    "group": {"consumers": 2, "crashes": 2, "failovers": 2, "generations": 6},
    "replication": {"brokers": 3, "log_size": 4, "max_records": 8, "max_epoch": 4},
    "partition": {"brokers": 3, "records": 3, "crashes": 2, "cut_offs": 1, "leader_moves": 1},
}
"""By model: bounds of the walks."""
DEGREES = (1.0, 0.75, 0.5, 0.25)
"""How much is observed."""
STEPS = 15
MOST_STATES = 500

Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The numbers, names and truth values in an observation."""
    if isinstance(value, dict) and "#bigint" not in value:
        if not any(key.startswith("#") for key in value):
            for key, part in value.items():
                yield from leaves(part, (*path, key))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from leaves(part, (*path, place))
    else:
        yield path, value


def altered(
    events: list[dict[str, Any]], draw: random.Random
) -> tuple[list[dict[str, Any]], int] | None:
    """The events with one value that another event has there, and the event's number."""
    found = copy.deepcopy(events)
    place = draw.randrange(len(events))
    own = dict(leaves(found[place]["state"]))
    other = dict(leaves(draw.choice(events)["state"]))
    paths = [path for path, value in own.items() if path in other and other[path] != value]
    if not paths:
        return None
    path = draw.choice(paths)
    part = found[place]["state"]
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = other[path]
    return found, place + 1


def verdict_on(system: System[Any], events: list[dict[str, Any]]) -> Validation:
    """The verdict on a trace of the system."""
    lines = trace(system.model.name, events)
    found = from_objects("walk", lines)
    return validate_recordings([found], {}, Limits(MOST_STATES), ModelMapping(system))


def measure(name: str, degree: float, walks: int) -> dict[str, int]:
    """How many altered walks of a model are caught at a degree of observation."""
    system = system_of(name, **MODELS[name])
    counts = dict.fromkeys(("altered", "at_event", "later", "inconclusive", "false"), 0)
    for seed in range(walks):
        draw = random.Random(f"{name}, {degree}, {seed}")
        events = [whole(step) for step in walk(system, seed, STEPS)]
        unaltered = verdict_on(system, [thinned(event, degree, draw) for event in events])
        counts["false"] += unaltered.verdict == "rejected"
        changed = altered(events, draw)
        if changed is None:
            continue
        counts["altered"] += 1
        result = verdict_on(system, [thinned(event, degree, draw) for event in changed[0]])
        if result.verdict == "inconclusive":
            counts["inconclusive"] += 1
        elif result.rejection is not None:
            assert result.rejection.event is not None
            at = result.rejection.event.number
            assert at >= changed[1], "rejected before the altered event"
            counts["at_event" if at == changed[1] else "later"] += 1
    return counts


def main() -> None:
    """Print the table."""
    parser = options_of(__doc__)
    parser.add_argument("--walks", type=int, default=20)
    options = parser.parse_args()
    started = time.perf_counter()
    if not options.json:
        print(f"| observed | {' | '.join(MODELS)} | false rejections |")
        print(f"|---|{'---|' * len(MODELS)}---|", flush=True)
    found = {}
    for degree in DEGREES:
        row = {name: measure(name, degree, options.walks) for name in MODELS}
        found[str(degree)] = row
        if options.json:
            continue
        cells = [
            f"{100 * (c['at_event'] + c['later']) / c['altered']:.0f} % ({c['later']} later)"
            for c in row.values()
        ]
        false = sum(c["false"] for c in row.values())
        print(f"| {degree:.0%} | {' | '.join(cells)} | {false} |", flush=True)
    if options.json:
        print_json(found)
    else:
        print(f"{options.walks} walks of each model, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
