"""Every step within the bounds, by the rules and by a subject, on many cores or a cluster.

    kspec-refine replication --set max_epoch=2
    spark-submit spark_check/refine.py replication --set max_epoch=2

What is compared is told in `checkers.refine`. The states are found in the driver, since a kernel
finds millions a second; what takes time is the rules, and these go where there are cores: to
processes of this machine, or, under `spark-submit` or with `--master`, to Spark.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import click

if __name__ == "__main__":  # as a script: its neighbours are no modules by themselves
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from checkers.cli.main import main as run_command
from checkers.cli.options import (
    all_of,
    json_option,
    model_argument,
    set_option,
    story_options,
    variant_option,
)
from checkers.cli.output import OutputFile, as_json_text, progress_line, say, say_json, say_story
from checkers.engines import cores
from checkers.lockstep.step import Compared, told
from checkers.named import named
from checkers.refine import (
    BLOCK,
    FEW,
    KERNEL,
    Refinement,
    Spread,
    Work,
    one_by_one,
    ready,
    refine,
)
from checkers.verdict import EXIT_ALWAYS, EXIT_INCONCLUSIVE, EXIT_OK
from spark_check.session import session
from traces.itf import to_itf
from traces.story import choice_text, tell
from traces.trace import settings as bounds_of

WORTH = 8 * BLOCK
"""A level of fewer states is compared in this process."""


@contextmanager
def on_spark(master: str | None, app: str) -> Iterator[Spread]:
    """Blocks go to Spark's workers; those of small levels do not."""
    with session(master, app) as spark:
        context = spark.sparkContext
        level = 0

        def spread(work: Work, blocks: Sequence[Sequence[Any]]) -> Iterator[Compared]:
            nonlocal level
            level += 1
            if len(blocks) * BLOCK <= WORTH:
                return one_by_one(work, blocks)
            context.setJobDescription(f"{app}: level {level}, comparing steps")
            slices = min(len(blocks), 4 * context.defaultParallelism)
            return iter(context.parallelize(blocks, slices).map(work).collect())

        yield spread


@contextmanager
def on_processes(workers: int) -> Iterator[Spread]:
    """Blocks go to processes of this machine."""
    fork = multiprocessing.get_context("fork")
    with fork.Pool(workers, initializer=_leave_signals_to_the_parent) as pool:

        def spread(work: Work, blocks: Sequence[Sequence[Any]]) -> Iterator[Compared]:
            small = len(blocks) * BLOCK <= WORTH
            return one_by_one(work, blocks) if small else pool.imap(work, blocks)

        yield spread


def _leave_signals_to_the_parent() -> None:
    """Ctrl-C goes to all processes; the parent ends them, which is no interruption of theirs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def spread_over(
    master: str | None, workers: int | None, app: str
) -> AbstractContextManager[Spread]:
    """Spark where it was asked for, else the cores here."""
    if master or "PYSPARK_GATEWAY_PORT" in os.environ:
        return on_spark(master, app)
    return on_processes(workers or cores())


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@all_of(model_argument, variant_option, set_option)
@click.option(
    "--subject",
    default=KERNEL,
    show_default=True,
    metavar="S",
    help="What is held against the rules: the model's kernel, or a lockstep adapter as "
    "module:attribute or file.py:attribute.",
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=FEW,
    show_default=True,
    metavar="N",
    help="Differences to tell.",
)
@click.option("--workers", type=click.IntRange(1, 256), metavar="N", help="Processes; all cores.")
@click.option("--master", metavar="URL", help="Compare on this Spark master, such as local[4].")
@all_of(story_options, json_option)
def command(
    model: str,
    variant: str | None,
    settings: tuple[str, ...],
    subject: str,
    most: int,
    workers: int | None,
    master: str | None,
    out_itf: Path | None,
    html: Path | None,
    as_json: bool,
) -> int:
    """Compare, over every step of MODEL within its bounds, the rules with another reading.

    What can be done in a state, where it leads, which guard stops what cannot, and which
    properties fail must be the same. The nearest differences are shown, with how one gets there.

    \b
    kspec-refine replication --set max_epoch=2
    kspec-refine replication --subject my_tests/replica.py:ReplicaAdapter --out-itf differs.itf.json
    spark-submit --master spark://host:7077 spark_check/refine.py replication
    """
    files = [OutputFile(path) if path else None for path in (out_itf, html)]
    work = Work(named(model, variant, settings), subject, most)
    system, _, _ = ready(work)
    what = f"{system.model.name}, {system.variant.name}"
    spreading = spread_over(master, workers, f"kspec refine {what}")
    with spreading as spread, progress_line(what) as on_progress:
        found = refine(work, spread, on_progress)
    write(found, *files)
    if as_json:
        say_json(as_record(found))
    else:
        show(found)
    if found.compared.differences:
        return EXIT_ALWAYS
    return EXIT_INCONCLUSIVE if found.stopped_by else EXIT_OK


def what_differs(found: Refinement, index: int) -> str:
    """A difference in a line."""
    difference = found.compared.differences[index]
    says = "; ".join(difference.says)
    if len(difference.steps) < len(difference.states) and not difference.blocked_by:
        return f"Here: {says}"
    last = told(difference.steps[-1])
    if difference.blocked_by:
        return f"{last}: {says}, and the specification forbids it: not {difference.blocked_by!r}"
    return f"{last}: {says}"


def write(found: Refinement, itf: OutputFile | None, html: OutputFile | None) -> None:
    """Write the first difference, if there is one."""
    if not found.traces:
        return
    trace, says = found.traces[0], what_differs(found, 0)
    if itf:
        itf.write(as_json_text(to_itf(trace)))
    if html:
        from traces.page import page

        html.write(page(tell(trace, says, violated=True)))


def show(found: Refinement) -> None:
    """What came of it, as it is read."""
    system, compared = found.system, found.compared
    bounds = ", ".join(f"{name} {value}" for name, value in bounds_of(system.bounds).items())
    say(f"{system.model.name}, {system.variant.name}" + (f": {bounds}" if bounds else ""))
    for index, trace in enumerate(found.traces):
        says = what_differs(found, index)
        say()
        say_story(tell(trace, says, violated=True))
        say()
        say(f"{says} ({len(trace.states)} states).")
    say()
    if compared.differences:
        say(f"{found.subject} differs from the rules, first in level {len(found.levels)}.")
    elif found.stopped_by:
        level = len(found.levels)
        say(f"Inconclusive, {found.stopped_by} in level {level}. Nothing differs so far.")
    else:
        say(f"{found.subject} and the rules do not differ anywhere within these bounds.")
    left_out = compared.left_out.total()
    extent = f"{found.states:,} states, {compared.steps:,} steps alike, "
    extent += f"{compared.refused:,} refused alike"
    if left_out:
        extent += f", {left_out:,} left out"
    say(f"{extent}; {found.seconds:.1f} s.")


def as_record(found: Refinement) -> dict[str, Any]:
    """What came of it, for a machine."""
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
                "steps": [
                    {"rule": s.rule, "choices": {n: choice_text(v) for n, v in s.choices.items()}}
                    for s in difference.steps
                ],
            }
            for difference in found.compared.differences
        ],
        "seconds": round(found.seconds, 3),
    }


def main() -> None:
    """Run it and leave with its exit code."""
    run_command(None, command, "kspec-refine")


if __name__ == "__main__":
    # Workers look for what they are sent in a module; they do not have the script.
    from spark_check.refine import main as main_of_module

    main_of_module()
