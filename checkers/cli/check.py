"""`kspec check`: explore every state within the bounds."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from checkers.cli.options import (
    FILE,
    all_of,
    as_size,
    asking,
    find_system,
    json_option,
    optional_model_argument,
    parse_settings,
    property_option,
    set_option,
    story_options,
    variant_option,
)
from checkers.cli.output import (
    OutputFile,
    as_json_text,
    complain,
    console,
    progress_line,
    say,
    say_json,
    say_story,
)
from checkers.engines import ENGINES
from checkers.limits import INTERRUPTED
from checkers.models import BUILT_IN, find_model
from checkers.verdict import (
    DEADLOCK,
    EXIT_BAD_INPUT,
    HOLDS,
    INCONCLUSIVE,
    SAMPLED,
    Verdict,
)
from spec.core import Always, Blocked, LeadsTo, SpecError, System

if TYPE_CHECKING:
    from checkers.limits import Keep
    from traces.trace import Trace


@click.command()
@all_of(optional_model_argument, variant_option, set_option, property_option)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="auto",
    show_default=True,
    help="What explores: `reference` runs the rules, `learned` remembers what they answer, "
    "`kernel` is written by hand for some models, `native` is the kernel where there is one, "
    "else learned. `auto` takes the fastest.",
)
@click.option(
    "--master",
    metavar="URL",
    help="For the spark engine: local[2], spark://HOST:PORT, yarn, k8s://…; by default all cores.",
)
@click.option("--workers", type=click.IntRange(1, 256), metavar="N", help="Cores to use.")
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop at so many.")
@click.option("--max-depth", type=click.IntRange(min=1), metavar="N", help="Stop at this depth.")
@click.option(
    "--max-memory",
    callback=as_size,
    metavar="SIZE",
    help="Stop before more memory is taken, such as 500M or 8G; by default most of what there is.",
)
@click.option(
    "--keep-going",
    is_flag=True,
    help="The shortest violation of every property, and the whole graph; not only the first.",
)
@click.option(
    "--checkpoint",
    type=FILE,
    metavar="DIR",
    help="Keep the levels in this new folder, so that the run can go on after whatever ends it.",
)
@click.option(
    "--resume",
    type=FILE,
    metavar="DIR",
    help="Continue the run that is kept in this folder, and keep its new levels there. MODEL, "
    "--variant, --set and --property may be left out.",
)
@click.option(
    "--witness",
    metavar="P",
    help="Show the shortest way to a state that shows P, one of the model's reachable properties.",
)
@click.option(
    "--symmetry",
    is_flag=True,
    help="Explore one state for all that differ by names only; the kernel engine can.",
)
@click.option("--coverage", is_flag=True, help="How often each rule happened, and what stopped it.")
@click.option(
    "--check-learning",
    is_flag=True,
    help="With the learned engine: run the rules in every state as well, and compare.",
)
@all_of(story_options, json_option)
def check(
    model: str | None,
    variant: str | None,
    settings: tuple[str, ...],
    properties: tuple[str, ...],
    engine: str,
    master: str | None,
    workers: int | None,
    max_states: int | None,
    max_depth: int | None,
    max_memory: int | None,
    keep_going: bool,
    checkpoint: Path | None,
    resume: Path | None,
    witness: str | None,
    symmetry: bool,
    coverage: bool,
    check_learning: bool,
    out_itf: Path | None,
    html: Path | None,
    as_json: bool,
) -> int:
    """Explore every state of MODEL within its bounds, and show the shortest counterexample.

    MODEL is one that `kspec models` lists, or your own: `module:attribute`, or the path of a
    Python file, which is then executed. With --resume, it is by default the model that is kept.

    \b
    kspec check replication --variant kip-101
    kspec check replication --set max_epoch=2 --property StrongIsr
    kspec check my_protocol.py --html counterexample.html
    kspec check --resume run
    """
    from checkers.engines import Options, run
    from checkers.limits import Limits
    from checkers.search import RuleFailed

    if checkpoint and resume:
        raise click.UsageError("--resume keeps what comes where it is: leave out --checkpoint")
    started = time.perf_counter()
    if witness:
        properties = (*properties, witness)
    if resume:
        system = find_kept_system(resume, model, variant, settings, properties)
    elif model:
        system = find_system(model, variant, settings, properties)
    else:
        raise click.UsageError("Missing argument 'MODEL'.")
    if witness and any(
        isinstance(p, Always | LeadsTo) and p.name == witness for p in system.properties
    ):
        raise SpecError(f"{witness} is no reachable property: a state that shows it is no news")
    files = StoryFiles(out_itf, html)
    limits = Limits(max_states, max_depth, keep_going)
    if max_memory:
        limits = attrs.evolve(limits, max_memory=max_memory)
    keep = keep_in(checkpoint, resume)
    what = f"{system.model.name}, {system.variant.name}"
    try:
        with progress_line(what) as on_progress:
            verdict = run(
                system,
                Options(
                    engine=engine,
                    limits=limits,
                    workers=workers,
                    coverage=coverage,
                    symmetry=symmetry,
                    keep=keep,
                    master=master,
                    check_learning=check_learning,
                    kept=True,
                    on_progress=on_progress,
                ),
            )
    except RuleFailed as error:
        show_failure(error, files, drawn=not as_json)
        return EXIT_BAD_INPUT
    seconds = time.perf_counter() - started
    trace = verdict.witnesses.get(witness) if witness else None
    files.write(verdict, trace)
    if as_json:
        say_json(verdict.to_json(seconds))
        return verdict.exit_code
    show(verdict, trace)
    say_what_is_expected(verdict, model or system.model.name)
    if coverage:
        show_coverage(verdict)
    if keep and verdict.stopped_by:
        say(f"--resume {shlex.quote(str(keep.folder))} goes on from here.")
    files.say_where(verdict)
    return verdict.exit_code


def keep_in(checkpoint: Path | None, resume: Path | None) -> Keep | None:
    """Where the run is kept, if that is asked for."""
    from checkers.limits import Keep

    if resume:
        return Keep(resume, resume=True)
    if not checkpoint:
        return None
    try:
        checkpoint.mkdir(parents=True, exist_ok=True)  # now: to resume an early death is no error
    except OSError as error:
        raise SpecError(f"cannot keep a checkpoint in {checkpoint}: {error.strerror}") from None
    return Keep(checkpoint, resume=False)


def find_kept_system(
    folder: Path,
    model: str | None,
    variant: str | None,
    settings: Sequence[str],
    properties: Sequence[str],
) -> System[Any]:
    """The system of the run that is kept in a folder, but for what the command line says."""
    from checkers.native.checkpoint import assert_same_run, run_kept

    run = run_kept(folder)
    if run is None:
        if model is None:
            raise SpecError(f"nothing is kept in {folder} yet: name the MODEL to begin with")
        return find_system(model, variant, settings, properties)
    if model is None and run["model"] not in BUILT_IN:  # no file is executed unless it is named
        raise SpecError(f"{folder} keeps a run of {run['model']}, which is not kspec's: name it")
    found = find_model(model or run["model"])
    assert_same_run(folder, {"model": run["model"]}, {"model": found.name})
    bounds = {**run["bounds"], **parse_settings(settings)}
    system = found.system(variant or run["variant"], bounds)
    if properties:
        return asking(system, properties)
    in_order = [p.name for p in (*found.properties, *found.sanity) if p.name in run["properties"]]
    return system.with_properties(dict.fromkeys([*in_order, *run["properties"]]))


class StoryFiles:
    """The files that a counterexample is written to, if there is one."""

    def __init__(self, out_itf: Path | None, html: Path | None) -> None:
        """Make sure that they can be written."""
        if out_itf and html and out_itf.absolute() == html.absolute():
            raise SpecError(f"--out-itf and --html are one file: {html}")
        self.itf = OutputFile(out_itf) if out_itf else None
        self.html = OutputFile(html) if html else None

    def write(self, verdict: Verdict, witness: Trace | None = None) -> None:
        """Write the first counterexample, or the witness that was asked for."""
        first = next((v for v in verdict.violations if v.trace), None)
        if first and first.trace:
            self.write_trace(first.trace, first.says, violated=True)
        elif witness:
            self.write_trace(witness, f"{witness.property} is reached", violated=False)
        else:
            for file in (self.itf, self.html):
                if file:
                    complain(f"there is no counterexample, so {file.path} was not written")

    def say_where(self, verdict: Verdict) -> None:
        """Say which files were written, or how a counterexample becomes one."""
        written = [str(file.path) for file in (self.itf, self.html) if file and file.written]
        if written:
            say(f"Written: {', '.join(written)}")
        elif any(violation.trace for violation in verdict.violations):
            again = shlex.join(["kspec", *sys.argv[1:]])
            say(f"As a page to step through: {again} --html story.html")

    def write_trace(self, trace: Trace, says: str, *, violated: bool) -> None:
        """Write one trace to whatever files were asked for."""
        from traces.itf import to_itf
        from traces.story import tell

        if self.itf:
            self.itf.write(as_json_text(to_itf(trace)))
        if self.html:
            from traces.page import page

            self.html.write(page(tell(trace, says, violated=violated)))


# -- for a person ---------------------------------------------------------------------------------


def show(verdict: Verdict, witness: Trace | None = None) -> None:
    """The verdict, as it is read."""
    from traces.story import tell
    from traces.trace import settings

    system = verdict.system
    bounds = ", ".join(f"{name} {value}" for name, value in settings(system.bounds).items())
    say(f"{system.model.name}, {system.variant.name}" + (f": {bounds}" if bounds else ""))
    told: list[object] = []
    for violation in verdict.violations:
        trace = violation.trace
        if trace and trace.states not in told:
            told.append(trace.states)
            say()
            say_story(tell(trace, violation.says, violated=True))
            say()
        say(f"{violation.says}" + (f" ({violation.states} states)." if trace else "."))
        if trace and violation.name == DEADLOCK:
            show_what_blocks(trace)
    if witness:
        say()
        say_story(tell(witness, "", violated=False))
    say()
    say(outcome(verdict))
    for line in findings(verdict):
        say(line)
    say(effort(verdict))


def show_what_blocks(trace: Trace) -> None:
    """For each rule that could be meant, the guard in its way."""
    from traces.story import choice_text

    state = trace.states[-1]
    for rule in trace.system.rules:
        for choice in rule.instances(state):
            chosen = " ".join(
                f"{name}={choice_text(value)}"
                for name, value in zip(rule.choices, choice, strict=True)
            )
            blocked = rule.attempt(state, choice)
            if isinstance(blocked, Blocked):
                say(f"    {' '.join([rule.name, chosen]).rstrip()} is blocked by: {blocked.guard}")
    say("    (Where a behaviour may end for good, the model says so with `final=`.)")


def outcome(verdict: Verdict) -> str:
    """The verdict in a sentence."""
    asked = ", ".join(p.name for p in verdict.system.properties) or "nothing"
    if verdict.verdict == HOLDS:
        if not verdict.system.properties:
            return "Every state within these bounds was explored; no property was asked about."
        return f"Holds in every state within these bounds: {asked}."
    if verdict.verdict == SAMPLED:
        return f"No walk violated anything, which proves nothing. Asked about: {asked}."
    if verdict.verdict == INCONCLUSIVE:
        stopped = verdict.stopped_by
        why = stopped if stopped == INTERRUPTED else f"stopped by {stopped}"
        return f"Inconclusive, {why}. Nothing violated so far: {asked}."
    told = ", ".join(
        f"{v.name} ({v.states} states)" if v.trace else v.name for v in verdict.violations
    )
    return f"Violated: {told}."


def findings(verdict: Verdict) -> list[str]:
    """What else is worth knowing."""
    lines = [
        f"{name} is reached in {len(trace.states)} states."
        for name, trace in verdict.witnesses.items()
    ]
    if verdict.silent_rules:
        lines.append(f"Rules that never happened: {', '.join(verdict.silent_rules)}.")
    unsettled = any(isinstance(p, LeadsTo) for p in verdict.system.properties)
    if verdict.edge_of_bounds and unsettled:
        lines.append(
            f"{verdict.edge_of_bounds:,} states are the edge of the bounds: how behaviours go on "
            "from there was not judged."
        )
    return lines


def effort(verdict: Verdict) -> str:
    """What it took."""
    seconds = verdict.seconds.get("explore", 0.0)
    counts = f"{verdict.distinct:,} distinct states, {verdict.generated:,} generated"
    if verdict.stands_for is not None:
        counts = f"{verdict.distinct:,} distinct states up to symmetry, for {verdict.stands_for:,}"
    if "walks" in verdict.statistics:
        walks = verdict.statistics["walks"]
        walked = "1 walk" if walks == 1 else f"{walks:,} walks"
        mean = verdict.statistics["states_per_walk"]["mean"]
        extent = f"{walked} of {mean} states on average, the longest of {verdict.depth}"
        extent += f", seed {verdict.seed}"
    else:
        extent = f"depth {verdict.depth}"
    rate = f"{verdict.states_per_second:,} states/s"
    return f"{counts}, {extent}; {seconds:.1f} s, {rate}, {verdict.engine} engine."


def say_what_is_expected(verdict: Verdict, model: str) -> None:
    """Where a variant that must fail does so, if this run did not look there."""
    if not verdict.expected:
        return
    name, violated = next(iter(verdict.expected.items()))
    where = ["kspec", "check", model, "--variant", verdict.system.variant.name]
    for bound, value in violated.bounds.items():
        where += ["--set", f"{bound}={value}"]
    if name != DEADLOCK:
        where += ["--property", name]
    say(f"This variant is expected to fail, by {name}: {shlex.join(where)}")


def show_coverage(verdict: Verdict) -> None:
    """How often each rule happened, and what stopped it otherwise."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("rule and guard", "happened", "new states", "stopped by this guard"):
        table.add_column(column, justify="left" if column.startswith("rule") else "right")
    for name, count in verdict.rules.items():
        new = "" if count.new is None else f"{count.new:,}"
        table.add_row(name, f"{count.fired:,}", new, "")
        for guard, times in count.stopped_by.items():
            table.add_row(f"    {guard}", "", "", f"{times:,}")
    say()
    console().print(table)


def show_failure(error: Any, files: StoryFiles, *, drawn: bool) -> None:
    """A model that cannot be evaluated somewhere: how to get there, and what is wrong."""
    from traces.story import tell

    if drawn:
        say_story(tell(error.trace, str(error), violated=True))
    files.write_trace(error.trace, str(error), violated=True)
    complain(f"{error}, in state {len(error.trace.states)}")
