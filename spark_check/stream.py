"""`kspec validate` on a stream: verdicts as events arrive.

    spark-submit spark_check/stream.py group /logs --by cluster --by group --out verdicts
    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.0 \\
        spark_check/stream.py group kafka://HOST:9092/TOPIC --by group --out verdicts

Structured Streaming keeps what explains each trace so far in its state store (RocksDB), and gives
the events of a trace to one task. `live` says what a task does with them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

if __name__ == "__main__":
    del sys.path[0]  # the modules beside a script have common names

from kspec.checkers.cli.options import all_of, json_option
from kspec.checkers.cli.output import say_json
from kspec.checkers.engine.verdict import EXIT_OK, EXIT_REJECTED
from kspec.spark_check.session import session
from kspec.spark_check.validate import (
    TASKS_PER_CORE,
    events_of,
    master_option,
    print_summary,
    question_of,
    question_options,
    summary_of,
)
from kspec.spec.core import SpecError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.state import GroupState

    from kspec.spark_check.verdicts import Question

STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
FILES = "path string, modificationTime timestamp, length bigint, content binary"


# -- the stream -----------------------------------------------------------------------------------


def stream_of(spark: SparkSession, source: str, by: Sequence[str]) -> DataFrame:
    """The events of new files in a folder, or of a topic."""
    place = urlsplit(source)
    if place.scheme == "kafka":
        return events_of_topic(spark, place.netloc, place.path.strip("/"), by)
    if not Path(source).is_dir():
        raise SpecError(f"{source} is not a folder")
    reader = spark.readStream.format("binaryFile").schema(FILES)
    files = reader.option("recursiveFileLookup", True).load(source).select("path")
    return events_of(files, by)


def events_of_topic(spark: SparkSession, broker: str, topic: str, by: Sequence[str]) -> DataFrame:
    """The events of a topic: each record's value is one."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from kspec.spark_check.events import ROW, record_rows

    if not broker or not topic:
        raise SpecError("a topic is written as kafka://HOST:PORT/TOPIC")
    options = {
        "kafka.bootstrap.servers": broker,
        "subscribe": topic,
        "startingOffsets": "earliest",
    }
    records = spark.readStream.format("kafka").options(**options).load()
    records = records.selectExpr("concat(topic, '-', partition) as file", "offset", "value")
    return records.mapInArrow(partial(record_rows, by), from_arrow_schema(ROW))


def verdicts_of_stream(
    events: DataFrame, question: Question, delay: float, idle: float | None
) -> DataFrame:
    """A row for each trace that is rejected, or was idle; without `idle`, traces never end."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from kspec.spark_check.verdicts import VERDICT

    return events.groupBy("trace").applyInPandasWithState(
        partial(step, question, delay, idle),
        from_arrow_schema(VERDICT),
        "live binary",
        "append",
        "ProcessingTimeTimeout" if idle else "NoTimeout",
    )


def step(
    question: Question,
    delay: float,
    idle: float | None,
    key: tuple[str],
    batches: Iterable[Any],
    state: GroupState,
) -> Iterator[Any]:
    """Add events to a trace, or end it if it was idle."""
    import pandas as pd

    from kspec.spark_check.live import Live, end, from_bytes, take, to_bytes
    from kspec.spark_check.verdicts import VERDICT, safely, with_problems

    (trace,) = key
    live = from_bytes(state.get[0]) if state.exists else Live(trace)
    found: list[dict[str, Any]] = []
    if state.hasTimedOut:
        state.remove()
        if not live.is_over:
            found.append(safely(trace, partial(end, question, live)))
    else:
        rows, problems = with_problems(batches)
        found += problems
        if rows:
            verdict = safely(trace, partial(take, question, live, rows, 1000 * delay))
            live.is_over = live.is_over or verdict is not None
            found += [] if verdict is None else [verdict]
            state.update((to_bytes(live),))
            if idle:
                state.setTimeoutDuration(int(1000 * idle))
    yield pd.DataFrame(found, columns=VERDICT.names, dtype=object)


# -- the command ----------------------------------------------------------------------------------


@click.command(name="kspec.spark_check.stream")
@click.argument("model")
@click.argument("source", metavar="DIR|kafka://HOST:PORT/TOPIC")
@click.option("--out", required=True, metavar="FOLDER", help="The folder of verdicts and state.")
@click.option(
    "--by", multiple=True, required=True, metavar="KEY", help="The keys of a trace. Repeatable."
)
@question_options
@click.option(
    "--delay",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="An event waits until one of its trace is this much later.",
)
@click.option(
    "--idle",
    type=click.FloatRange(0, min_open=True),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="With --every: a trace without new events for this long has ended.",
)
@click.option(
    "--every",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Keep running, and read new events this often. By default, read what is there, and stop.",
)
@all_of(master_option, json_option)
def stream(
    model: str,
    source: str,
    out: str,
    by: tuple[str, ...],
    delay: float,
    idle: float,
    every: float | None,
    master: str | None,
    as_json: bool,
    **asked: Any,
) -> int:
    """Check recorded traces while they grow, and write a verdict for each that is rejected.

    Run the command again with the same options to continue where it stopped. With --every, a trace
    that is not rejected gets its verdict when it was idle; without, it may always go on.

    \b
    python -m kspec.spark_check.stream replica /logs --by topic --by partition --out verdicts

    Exit codes: 0 no trace was rejected, 3 a trace was rejected, 151 bad input.
    """
    question = question_of(model, by, **asked)
    place = out if "://" in out else Path(out).resolve().as_uri()
    with session(master, f"kspec validate {model}, stream") as spark:
        run_stream(spark, stream_of(spark, source, by), question, place, delay, idle, every)
        summary = summary_of(read_verdicts(spark, place))
    if as_json:
        say_json(summary)
    else:
        print_summary(summary, out)
    return EXIT_REJECTED if summary["rejected"] else EXIT_OK


def run_stream(
    spark: SparkSession,
    events: DataFrame,
    question: Question,
    place: str,
    delay: float,
    idle: float | None = None,
    every: float | None = None,
) -> None:
    """Run the stream until what there is was read, or until Ctrl-C.

    Timers need a stream that goes on: with them, Spark takes no input for the last.
    """
    spark.conf.set(STATE_STORE, ROCKSDB)
    tasks = TASKS_PER_CORE * spark.sparkContext.defaultParallelism
    spark.conf.set("spark.sql.shuffle.partitions", str(tasks))
    verdicts = verdicts_of_stream(events, question, delay, idle if every else None)
    trigger: Any = {"processingTime": f"{every} seconds"} if every else {"availableNow": True}
    writer = verdicts.writeStream.format("parquet").trigger(**trigger)
    writer = writer.option("checkpointLocation", f"{place}/checkpoint")
    query = writer.start(f"{place}/verdicts.parquet")
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()


def read_verdicts(spark: SparkSession, place: str) -> DataFrame:
    """The verdicts so far; no rows if there are none."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from kspec.spark_check.verdicts import VERDICT

    schema = from_arrow_schema(VERDICT)
    return spark.read.schema(schema).parquet(f"{place}/verdicts.parquet")


if __name__ == "__main__":
    # Workers import what they receive from a module; they do not have the script.
    from kspec.checkers.cli.main import main
    from kspec.spark_check.stream import stream as command

    main(None, command, "kspec.spark_check.stream")
