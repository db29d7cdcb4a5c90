"""`kspec check`: explore every state within the bounds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import attrs
import click

from kspec.checkers.cli.options import (
    FILE,
    NEW_FILE,
    Asked,
    Parsed,
    all_of,
    checking,
    flag,
    json_option,
    names_system,
    number_option,
    option,
    optional_model_argument,
    parse_settings,
    property_option,
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
    print_report,
    story_options,
)
from kspec.checkers.engine.memory import parse_size
from kspec.checkers.engine.run import ENGINES
from kspec.checkers.models.find import find_model, registered_models
from kspec.spec.core import Always, Liveness, SpecError, System


@click.command()
@names_system(property_option, model=optional_model_argument)
@option(
    "--engine",
    "`reference` runs the rules in every state; `learned` runs each rule once for all that "
    "it reads, and then uses compiled tables; `kernel` and `native` mean `learned`; `auto` "
    "explores by both, and the first to end gives the verdict.",
    type=click.Choice(ENGINES),
    default="auto",
)
@option(
    "--master",
    "Spark master: local[2], spark://HOST:PORT, yarn, k8s://…; all local cores by default.",
    metavar="URL",
)
@number_option(
    "--workers",
    "Workers: threads of the learned engine, processes of the reference engine; all cores by "
    "default, and one with --engine reference.",
    low=1,
    high=256,
)
@number_option("--max-states", "Stop after N distinct states.", low=1)
@number_option("--max-depth", "Stop at depth N.", low=1)
@option(
    "--max-memory",
    "Stop before using more memory than this: 500M, 8G; by default 80% of the machine's.",
    type=Parsed("size", parse_size),
    metavar="SIZE",
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
    "Print the time of each phase, how `auto` decided and, with the learned engine, the rules "
    "that are slow to learn, with the reason.",
)
@flag("--check-learning", "Compare every answer of the learned engine with the rule itself.")
@all_of(story_options, json_option)
def check(
    asked: Asked,
    checkpoint: Path | None,
    resume: Path | None,
    witness: str | None,
    verbose: bool,
    written: TraceFiles,
    as_json: bool,
    **chosen: Any,
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
    from kspec.checkers.engine.interrupt import noted
    from kspec.checkers.engine.options import NOT_WRITTEN, Options
    from kspec.checkers.engine.run import run

    if checkpoint and resume:
        raise click.UsageError("--resume saves new levels in its own folder: omit --checkpoint")
    if not (asked.model or resume):
        raise click.UsageError("Missing argument 'MODEL'.")
    started = time.perf_counter()
    options = Options(
        **{name: value for name, value in chosen.items() if value is not None},
        checkpoint=checkpoint or resume,
        resume=resume is not None,
        use_cache=True,
        on_compiling=print_compiling,
    )
    if witness:
        asked = attrs.evolve(asked, properties=(*asked.properties, witness))
    system = find_kept_system(resume, asked) if resume else asked.system()
    if witness:
        assert_has_witness(system, witness)
    if not asked.properties and (options.engine == "spark" or options.symmetry):
        by = "the spark engine" if options.engine == "spark" else "--symmetry"
        system = without_liveness(system, by)
    if checkpoint:
        make_checkpoint_folder(checkpoint)
    with progress_line(f"{system.model.name}, {system.variant.name}") as on_progress:
        verdict = run(system, attrs.evolve(options, on_progress=on_progress))
    seconds = time.perf_counter() - started
    with noted():  # the result is known: a signal does not discard it
        if options.workers not in (None, verdict.workers):
            unused = f"--workers {options.workers} was not used"
            complain(f"{unused}: the {verdict.engine} engine had {verdict.workers}")
        trace = verdict.witnesses.get(witness) if witness else None
        written.write(verdict, trace)
        if as_json:
            say_json(verdict.to_json(seconds))
            return verdict.exit_code
        print_report(verdict, asked.model or system.model.name, written, witness=trace)
        if options.coverage:
            print_coverage(verdict)
        if verbose:
            print_effort_in_detail(verdict)
        if options.checkpoint and verdict.stopped_by:
            full = verdict.stopped_by.startswith(NOT_WRITTEN)
            when = "Once it can be written, to continue after the last level there"
            say_command(
                when if full else "To continue",
                ["kspec", "check", "--resume", str(options.checkpoint)],
            )
        written.print_where(verdict)
        return verdict.exit_code


def without_liveness(system: System[Any], what: str) -> System[Any]:
    """The system without the liveness properties that nobody named, which this cannot judge."""
    left_out = [p.name for p in system.properties if isinstance(p, Liveness)]
    if left_out:
        complain(f"{', '.join(left_out)} is not checked: {what} cannot judge liveness")
    kept = tuple(p for p in system.properties if not isinstance(p, Liveness))
    return attrs.evolve(system, properties=kept)


def make_checkpoint_folder(checkpoint: Path) -> None:
    """Make the folder now, so that a run that ends early can be resumed."""
    try:
        checkpoint.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(f"cannot save a checkpoint in {checkpoint}: {error.strerror}") from None


def assert_has_witness(system: System[Any], name: str) -> None:
    """Refuse a property of which a trace may be a counterexample, but no witness."""
    if any(isinstance(p, Always | Liveness) and p.name == name for p in system.properties):
        raise SpecError(f"{name} is not a reachability property, so it has no witness")


def find_kept_system(folder: Path, asked: Asked) -> System[Any]:
    """The system of the run saved in a folder, with the changes of the command line."""
    from kspec.checkers.engine.packed.checkpoint import assert_same_run, run_kept

    run = run_kept(folder)
    if run is None:
        if not asked.model:
            raise SpecError(f"{folder} holds no saved run yet: name a MODEL")
        return asked.system()
    # No file is executed unless it is named.
    if not asked.model and run["model"] not in registered_models():
        raise SpecError(f"{folder} holds a run of {run['model']}, a model of your own: name it")
    found = find_model(asked.model or run["model"])
    assert_same_run(folder, {"model": run["model"]}, {"model": found.name})
    bounds = {**run["bounds"], **parse_settings(asked.settings, found)}
    system = found.system(asked.variant or run["variant"], bounds)
    if asked.properties:
        return checking(system, asked.properties)
    in_order = [p.name for p in found.all_properties if p.name in run["properties"]]
    return system.with_properties(dict.fromkeys([*in_order, *run["properties"]]))
