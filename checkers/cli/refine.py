"""`kspec refine`: compare every step within the bounds with learned rules or an implementation.

`checkers.lockstep.refine` defines what is compared. The parent process finds the states by learned
rules; evaluating the rules takes the time, so blocks of states go to processes of this machine or,
under `spark-submit` or with `--master`, to Spark.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import click

from kspec.checkers.cli.options import (
    Asked,
    all_of,
    json_option,
    names_system,
    number_option,
    option,
)
from kspec.checkers.cli.output import progress_line, say, say_json, say_trace
from kspec.checkers.cli.report import TraceFiles, story_options, title
from kspec.checkers.engine.interrupt import processes
from kspec.checkers.engine.options import cores
from kspec.checkers.engine.verdict import EXIT_ALWAYS, EXIT_INCONCLUSIVE, EXIT_OK, steps_to_json
from kspec.checkers.lockstep.refine import (
    FEW,
    LEARNED,
    Refinement,
    Spread,
    Work,
    is_small,
    one_by_one,
    ready,
)
from kspec.checkers.lockstep.refine import refine as compare
from kspec.checkers.lockstep.step import Compared, step_text
from kspec.checkers.models.named import Named
from kspec.checkers.registered import SPARK, load
from kspec.traces.trace import settings as bounds_of


@contextmanager
def on_processes(workers: int) -> Iterator[Spread]:
    """Blocks go to processes of this machine."""
    with processes(workers) as pool:

        def spread(work: Work, blocks: Sequence[Sequence[Any]]) -> Iterator[Compared]:
            return one_by_one(work, blocks) if is_small(blocks) else pool.imap(work, blocks)

        yield spread


def spread_over(
    master: str | None, workers: int | None, app: str
) -> AbstractContextManager[Spread]:
    """Spark where the user asked for it, else processes of this machine."""
    if master or "PYSPARK_GATEWAY_PORT" in os.environ:
        spread: AbstractContextManager[Spread] = load(SPARK, "refine")(master, app)
        return spread
    return on_processes(workers or cores())


@click.command()
@names_system()
@option(
    "--subject",
    "What to compare with the rules: a lockstep adapter as module:attribute or "
    "file.py:attribute; learned rules by default.",
    default=LEARNED,
    metavar="S",
)
@number_option("--most", "How many differences to show.", low=1, default=FEW)
@number_option("--workers", "Processes; all cores.", low=1, high=256)
@option("--master", "Compare on this Spark master, such as local[4].", metavar="URL")
@all_of(story_options, json_option)
def refine(
    asked: Asked,
    subject: str,
    most: int,
    workers: int | None,
    master: str | None,
    written: TraceFiles,
    as_json: bool,
) -> int:
    """Compare every step of MODEL within its bounds with learned rules or an implementation.

    The enabled steps, the states they lead to, the guards that block the others and the violated
    properties must be equal. The nearest differences are shown, each with a shortest behaviour
    that leads there.

    \b
    kspec refine replication --set max_epoch=2
    kspec refine replication --subject my_tests/replica.py:ReplicaAdapter
    spark-submit --master spark://host:7077 spark_check/refine.py replication
    """
    work = Work(Named.of(asked.model, asked.system()), subject, most)
    system, _ = ready(work)
    what = f"{system.model.name}, {system.variant.name}"
    spreading = spread_over(master, workers, f"kspec refine {what}")
    with spreading as spread, progress_line(what) as on_progress:
        found = compare(work, spread, on_progress)
    if found.traces:
        written.write_trace(found.traces[0], what_differs(found, 0), violated=True)
    if as_json:
        say_json(as_record(found))
    else:
        show(found, written)
    if found.compared.differences:
        return EXIT_ALWAYS
    return EXIT_INCONCLUSIVE if found.stopped_by else EXIT_OK


def what_differs(found: Refinement, index: int) -> str:
    """A difference in a line."""
    difference = found.compared.differences[index]
    says = "; ".join(difference.says)
    if len(difference.steps) < len(difference.states) and not difference.blocked_by:
        return f"Here: {says}"
    last = step_text(difference.steps[-1], difference.states[len(difference.steps) - 1])
    if difference.blocked_by:
        return f"{last}: {says}, and the specification forbids it: not {difference.blocked_by!r}"
    return f"{last}: {says}"


def show(found: Refinement, files: TraceFiles) -> None:
    """Print the result."""
    system, compared = found.system, found.compared
    subject = "learned rules" if found.subject == LEARNED else found.subject
    say(title(system))
    for index, trace in enumerate(found.traces):
        says = what_differs(found, index)
        say()
        say_trace(files.story(trace, says, violated=True))
        say()
        say(f"{says} ({len(trace.states)} states).")
    say()
    if compared.differences:
        verb = "differ" if found.subject == LEARNED else "differs"
        say(f"{subject} {verb} from the rules, first in level {len(found.levels)}.")
    elif found.stopped_by:
        level = len(found.levels)
        say(f"Inconclusive, {found.stopped_by} in level {level}. Nothing differs so far.")
    else:
        say(f"{subject} and the rules agree on every step within these bounds.")
    left_out = compared.left_out.total()
    extent = f"{found.states:,} states, {compared.steps:,} steps alike, "
    extent += f"{compared.refused:,} refused alike"
    if left_out:
        extent += f", {left_out:,} left out"
    say(f"{extent}; {found.seconds:.1f} s.")


def as_record(found: Refinement) -> dict[str, Any]:
    """The result as JSON."""
    return {
        "model": found.system.model.name,
        "variant": found.system.variant.name,
        "bounds": bounds_of(found.system.bounds),
        "subject": found.subject,
        "states": found.states,
        "levels": found.levels,
        "stopped_by": found.stopped_by,
        "steps": found.compared.steps,
        "refused": found.compared.refused,
        "left_out": dict(found.compared.left_out),
        "differences": [
            {
                "says": list(difference.says),
                "blocked_by": difference.blocked_by or None,
                "steps": steps_to_json(difference.steps),
            }
            for difference in found.compared.differences
        ],
        "seconds": round(found.seconds, 3),
    }
