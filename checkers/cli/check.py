"""`kspec check`: explore every state within the bounds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import click

from kspec.checkers.cli.options import (
    FILE,
    NEW_FILE,
    all_of,
    as_size,
    checking,
    find_system,
    flag,
    json_option,
    number_option,
    option,
    optional_model_argument,
    parse_settings,
    property_option,
    set_option,
    story_options,
    variant_option,
)
from kspec.checkers.cli.output import (
    complain,
    print_compiling,
    progress_line,
    say_command,
    say_json,
)
from kspec.checkers.cli.report import (
    TraceFiles,
    print_coverage,
    print_effort_in_detail,
    print_failure,
    print_report,
)
from kspec.checkers.engine.run import ENGINES
from kspec.checkers.engine.verdict import EXIT_BAD_INPUT
from kspec.checkers.models.find import find_model, registered_models
from kspec.spec.core import Always, Liveness, SpecError, System


@click.command()
@all_of(optional_model_argument, variant_option, set_option, property_option)
@option(
    "--engine",
    "`reference` runs the rules in every state; `learned` runs each rule once for all that "
    "it reads, and then uses compiled tables; `kernel` is hand-written code for some models; "
    "`native` is the kernel, or else `learned`; `auto` is the fastest.",
    type=click.Choice(ENGINES),
    default="auto",
)
@option(
    "--master",
    "Spark master: local[2], spark://HOST:PORT, yarn, k8s://…; all local cores by default.",
    metavar="URL",
)
@number_option("--workers", "Worker processes; all cores by default.", low=1, high=256)
@number_option("--max-states", "Stop after N distinct states.", low=1)
@number_option("--max-depth", "Stop at depth N.", low=1)
@click.option(
    "--max-memory",
    callback=as_size,
    metavar="SIZE",
    help="Stop before using more memory than this: 500M, 8G; by default 80% of the machine's.",
)
@flag(
    "--keep-going", "Explore the whole graph and report the shortest violation of every property."
)
@option(
    "--checkpoint",
    "Save each level in this new folder, so that --resume can continue the run.",
    type=NEW_FILE,
    metavar="DIR",
)
@option(
    "--resume",
    "Continue the run saved in this folder. MODEL, --variant, --set and --property default "
    "to those of the saved run.",
    type=FILE,
    metavar="DIR",
)
@option(
    "--witness",
    "Show a shortest trace to a state that satisfies P, a reachability property.",
    metavar="P",
)
@flag("--symmetry", "Explore one representative of each set of states that differ only by names.")
@flag("--coverage", "Count how often each rule was enabled, and which guards blocked it.")
@flag(
    "--verbose",
    "Print the time of each phase and, with the learned engine, the rules that are slow to "
    "learn, with the reason.",
)
@flag("--check-learning", "Compare every answer of the learned engine with the rule itself.")
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
    verbose: bool,
    check_learning: bool,
    out_itf: Path | None,
    html: Path | None,
    as_json: bool,
) -> int:
    """Explore every reachable state of MODEL within its bounds; show a shortest counterexample.

    MODEL is a name listed by `kspec models`, or a model of your own: `module:attribute` or the
    path of a Python file. A model of your own is code, and is executed.

    \b
    kspec check replication --variant kip-101
    kspec check replication --set max_epoch=2 --property StrongIsr
    kspec check my_protocol.py --html counterexample.html
    kspec check --resume run
    """
    from kspec.checkers.engine.options import NOT_WRITTEN, Options
    from kspec.checkers.engine.run import run
    from kspec.checkers.engine.search import RuleFailed

    if checkpoint and resume:
        raise click.UsageError("--resume saves new levels in its own folder: omit --checkpoint")
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
        isinstance(p, Always | Liveness) and p.name == witness for p in system.properties
    ):
        raise SpecError(f"{witness} is not a reachability property, so it has no witness")
    if not properties and (engine == "spark" or symmetry):
        system = without_liveness(system, "the spark engine" if engine == "spark" else "--symmetry")
    files = TraceFiles(out_itf, html)
    make_checkpoint_folder(checkpoint)
    options = Options(
        engine=engine,
        max_states=max_states,
        max_depth=max_depth,
        keep_going=keep_going,
        workers=workers,
        coverage=coverage,
        symmetry=symmetry,
        checkpoint=checkpoint or resume,
        resume=resume is not None,
        master=master,
        check_learning=check_learning,
        use_cache=True,
        on_compiling=print_compiling,
    )
    if max_memory:
        options = attrs.evolve(options, max_memory=max_memory)
    what = f"{system.model.name}, {system.variant.name}"
    try:
        with progress_line(what) as on_progress:
            verdict = run(system, attrs.evolve(options, on_progress=on_progress))
    except RuleFailed as error:
        print_failure(error, files, drawn=not as_json)
        return EXIT_BAD_INPUT
    seconds = time.perf_counter() - started
    if workers and verdict.workers != workers:
        complain(
            f"--workers {workers} was not used: the {verdict.engine} engine had {verdict.workers}"
        )
    trace = verdict.witnesses.get(witness) if witness else None
    files.write(verdict, trace)
    if as_json:
        say_json(verdict.to_json(seconds))
        return verdict.exit_code
    print_report(verdict, model or system.model.name, files, witness=trace)
    if coverage:
        print_coverage(verdict)
    if verbose:
        print_effort_in_detail(verdict)
    if options.checkpoint and verdict.stopped_by:
        full = verdict.stopped_by.startswith(NOT_WRITTEN)
        when = "Once it can be written, to continue after the last level there"
        say_command(
            when if full else "To continue", ["kspec", "check", "--resume", str(options.checkpoint)]
        )
    files.print_where(verdict)
    return verdict.exit_code


def without_liveness(system: System[Any], what: str) -> System[Any]:
    """The system without the liveness properties that nobody named, which this cannot judge."""
    left_out = [p.name for p in system.properties if isinstance(p, Liveness)]
    if left_out:
        complain(f"{', '.join(left_out)} is not checked: {what} cannot judge liveness")
    kept = tuple(p for p in system.properties if not isinstance(p, Liveness))
    return attrs.evolve(system, properties=kept)


def make_checkpoint_folder(checkpoint: Path | None) -> None:
    """Make the folder now, so that a run that ends early can be resumed."""
    if checkpoint is None:
        return
    try:
        checkpoint.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(f"cannot save a checkpoint in {checkpoint}: {error.strerror}") from None


def find_kept_system(
    folder: Path,
    model: str | None,
    variant: str | None,
    settings: Sequence[str],
    properties: Sequence[str],
) -> System[Any]:
    """The system of the run saved in a folder, with the changes of the command line."""
    from kspec.checkers.engine.packed.checkpoint import assert_same_run, run_kept

    run = run_kept(folder)
    if run is None:
        if model is None:
            raise SpecError(f"{folder} holds no saved run yet: name a MODEL")
        return find_system(model, variant, settings, properties)
    if (
        model is None and run["model"] not in registered_models()
    ):  # no file is executed unless it is named
        raise SpecError(f"{folder} holds a run of {run['model']}, a model of your own: name it")
    found = find_model(model or run["model"])
    assert_same_run(folder, {"model": run["model"]}, {"model": found.name})
    bounds = {**run["bounds"], **parse_settings(settings, found)}
    system = found.system(variant or run["variant"], bounds)
    if properties:
        return checking(system, properties)
    in_order = [p.name for p in found.all_properties if p.name in run["properties"]]
    return system.with_properties(dict.fromkeys([*in_order, *run["properties"]]))
