"""`kspec validate` on Spark: recorded traces in, verdicts out.

    spark-submit spark_check/validate.py group /logs/2024 --by cluster --by group --out verdicts

Tasks read files, and send events to the task of their trace, which checks them in order with the
functions of `kspec validate`. The driver sees counts, and the first rejected traces.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

if __name__ == "__main__":
    del sys.path[0]  # the modules beside a script have common names

from kspec.checkers.cli.options import all_of, json_option
from kspec.checkers.cli.output import say, say_json
from kspec.checkers.engine.verdict import EXIT_INCONCLUSIVE, EXIT_OK, EXIT_REJECTED
from kspec.spark_check.logs import out_place
from kspec.spark_check.session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kspec.spark_check.verdicts import Question

TASKS_PER_CORE = 8
"""Traces differ in length, and cores should finish together."""

SHOWN = 10
"""How many reports are printed; the table has all."""


# -- the job --------------------------------------------------------------------------------------


def files_in(spark: SparkSession, folders: Sequence[str]) -> DataFrame:
    """The paths of the files in folders, and in folders within them; nothing is read."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", True)
    files = reader.load(list(folders)).select("path")
    return files.repartition(TASKS_PER_CORE * spark.sparkContext.defaultParallelism)


def events_of(files: DataFrame, by: Sequence[str]) -> DataFrame:
    """The events of files."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from kspec.spark_check.events import ROW, event_rows

    return files.mapInArrow(partial(event_rows, by), from_arrow_schema(ROW))


def in_order(events: DataFrame) -> DataFrame:
    """The events of each trace in one partition, in order."""
    from kspec.spark_check.events import ORDER

    tasks = TASKS_PER_CORE * events.sparkSession.sparkContext.defaultParallelism
    return events.repartition(tasks, "trace").sortWithinPartitions(*ORDER)


def verdicts_of(files: DataFrame, question: Question) -> DataFrame:
    """A row for each trace; and for each file with lines that belong to none, without a verdict."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from kspec.spark_check.verdicts import VERDICT, verdicts_of_files, verdicts_of_rows

    schema = from_arrow_schema(VERDICT)
    if not question.by:
        return files.mapInArrow(partial(verdicts_of_files, question), schema)
    rows = in_order(events_of(files, question.by))
    return rows.mapInArrow(partial(verdicts_of_rows, question), schema)


def write_rejected(files: DataFrame, question: Question, verdicts: DataFrame, out: str) -> None:
    """Write each rejected trace as a file that `kspec validate` reads, in a folder of its own."""
    from pyspark.sql import functions as f

    from kspec.spark_check.verdicts import lines_of_rows

    rejected = verdicts.where("verdict = 'rejected'").select("trace")
    events = events_of(files, question.by).join(f.broadcast(rejected), "trace", "left_semi")
    lines = in_order(events).mapInArrow(
        partial(lines_of_rows, question), "trace string, value string"
    )
    lines.write.partitionBy("trace").text(out)


def summary_of(verdicts: DataFrame) -> dict[str, Any]:
    """How many traces have each verdict, and the first reports that are worth reading."""
    from pyspark.sql import functions as f

    sums = [f.count("*"), f.sum("events"), f.sum("unread")]
    counted = verdicts.groupBy("verdict").agg(*sums).collect()
    counts = {row[0]: row[1] for row in counted}
    worth = verdicts.where("unread > 0 or verdict != 'accepted'")
    first = worth.orderBy(f.desc_nulls_last("verdict"), "trace").select("report").take(SHOWN)
    return {
        "traces": sum(count for verdict, count in counts.items() if verdict),
        "events": sum(row[2] for row in counted),
        **{name: counts.get(name, 0) for name in ("accepted", "rejected", "inconclusive")},
        "unread": sum(row[3] for row in counted),
        "reports": [row[0] for row in first],
    }


# -- the command ----------------------------------------------------------------------------------


question_options = all_of(
    click.option("--variant", metavar="V", help="A variant of the model, instead of the header's."),
    click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A bound or setting."
    ),
    click.option("--hidden", multiple=True, metavar="RULE", help="A rule that traces do not show."),
    click.option(
        "--most-hidden", type=click.IntRange(1), metavar="N", help="At most N hidden steps."
    ),
)
"""What is asked of each trace."""

master_option = click.option(
    "--master", metavar="URL", help="The Spark master: local[4], spark://HOST:PORT, …"
)


@click.command(name="kspec.spark_check.validate")
@click.argument("model")
@click.argument("folders", metavar="DIR…", nargs=-1, required=True)
@click.option(
    "--out",
    required=True,
    metavar="FOLDER",
    help="Write the verdicts to this new folder, or to an address such as hdfs://host/verdicts.",
)
@click.option(
    "--by",
    multiple=True,
    metavar="KEY",
    help="A trace is the events with equal values of KEY, such as group. Repeatable. "
    "Without it, each file is a trace.",
)
@question_options
@all_of(master_option, json_option)
def validate(
    model: str,
    folders: tuple[str, ...],
    out: str,
    by: tuple[str, ...],
    master: str | None,
    as_json: bool,
    **asked: Any,
) -> int:
    """Check recorded traces on Spark, as kspec validate does, and write a table of verdicts.

    DIR holds files of events (NDJSON or Parquet), at any depth, which all workers see under the
    same name. With --by, the events of a trace may be spread over files, and a file may have
    events of many traces; rejected traces are written as files for kspec validate.

    \b
    python -m kspec.spark_check.validate replica /logs --by topic --by partition --out verdicts
    spark-submit --master spark://HOST:7077 spark_check/validate.py group /traces --out verdicts

    Exit codes: 0 all accepted, 3 a trace was rejected, 4 inconclusive, 151 bad input.
    """
    question = question_of(model, by, **asked)
    place = out_place(out)
    with session(master, f"kspec validate {model}") as spark:
        files = files_in(spark, folders)
        verdicts_of(files, question).write.parquet(f"{place}/verdicts.parquet")
        verdicts = spark.read.parquet(f"{place}/verdicts.parquet")
        summary = summary_of(verdicts)
        if by and summary["rejected"]:
            write_rejected(files, question, verdicts, f"{place}/rejected")
    if as_json:
        say_json(summary)
    else:
        print_summary(summary, out)
    return exit_code(summary)


def question_of(
    model: str,
    by: tuple[str, ...],
    variant: str | None,
    settings: tuple[str, ...],
    hidden: tuple[str, ...],
    most_hidden: int | None,
) -> Question:
    """What the command asks of each trace; SpecError if the model or an option is bad."""
    from kspec.field.cli.validate import parsed
    from kspec.field.recorded.find import MAPPINGS, find_mapping
    from kspec.spark_check.verdicts import Question

    options: dict[str, Any] = {"mapping": model}
    if variant:
        options["variant"] = variant
    if settings:
        is_model = model not in MAPPINGS
        options["bounds" if is_model else "settings"] = parsed(settings, model, is_model=is_model)
    if hidden:
        options["hidden"] = list(hidden)
    if most_hidden:
        options["most_hidden"] = most_hidden
    find_mapping(options, runs_code=True)
    return Question(options, by)


def print_summary(summary: dict[str, Any], out: str) -> None:
    """Print the first reports, and how many traces have each verdict."""
    for report in summary["reports"]:
        say(report)
        say()
    names = ("accepted", "rejected", "inconclusive")
    counts = ", ".join(f"{summary[name]:,} {name}" for name in names if summary[name])
    say(f"{summary['traces']:,} traces with {summary['events']:,} events: {counts or 'none'}")
    if summary["unread"]:
        say(f"lines that could not be read: {summary['unread']:,}")
    say(f"Written: {out}")


def exit_code(summary: dict[str, Any]) -> int:
    """The exit code: that of the worst trace."""
    if summary["rejected"]:
        return EXIT_REJECTED
    if summary["inconclusive"] or summary["unread"] or not summary["traces"]:
        return EXIT_INCONCLUSIVE
    return EXIT_OK


if __name__ == "__main__":
    # Workers import what they receive from a module; they do not have the script.
    from kspec.checkers.cli.main import main
    from kspec.spark_check.validate import validate as command

    main(None, command, "kspec.spark_check.validate")
