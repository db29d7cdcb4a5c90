"""What is rejected in the recorded logs if a generation is altered and lines are missing.

python -m tests.field.logs.recording.missing
"""

from __future__ import annotations

import random

from tests.field.logs.recorded import VERSIONS
from tests.field.logs.test_recorded_logs import ROUNDS, lines, rejections

RUNS = 500


def main() -> None:
    """Print a line for each share of lines that are there."""
    chance = random.Random(16)
    for share in (1.0, 0.9, 0.75, 0.5, 0.25):
        false = caught = at_line = runs = 0
        for version in VERSIONS:
            every = lines(version)
            numbers = [n for n, line in enumerate(every) if line["event"] in ROUNDS]
            for _ in range(RUNS):
                kept = [line for line in every if chance.random() < share]
                false += bool(rejections(kept))
                number = chance.choice(numbers)
                wrong = every[number]["generation"] + chance.choice((-2, -1, 1, 2, 5, 40))
                altered = {**every[number], "generation": max(wrong, 0)}
                if wrong < 0:
                    continue
                runs += 1
                kept = [
                    altered if n == number else line
                    for n, line in enumerate(every)
                    if n == number or chance.random() < share
                ]
                told = [r.event.content["source"] for r in rejections(kept) if r.event is not None]
                caught += bool(told)
                at_line += altered["source"] in told
        print(
            f"{share:4.0%} of the lines: {false} false rejections of {RUNS * len(VERSIONS):,}; "
            f"{caught / runs:.0%} of altered generations rejected, {at_line / runs:.0%} at the line"
        )


if __name__ == "__main__":
    main()
