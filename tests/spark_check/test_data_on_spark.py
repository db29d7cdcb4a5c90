"""The pipelines over files on Spark: their results are those of the commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kspec.checkers.cli.main import run
from tests.field.disk.test_audit import sound
from tests.spark_check.test_logs import (
    audited_or_killed,
    folders_of,
    make_unreadable,
    write_partition,
)
from tests.spark_check.test_validate import altered, events_of, mingled, write

pytestmark = [pytest.mark.slow, pytest.mark.other_software]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """One session on two cores here, for all tests of this module."""
    from kspec.spark_check.session import session

    with session("local[2,4]", "tests") as running:
        yield running


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """The log directories of three brokers, with damages in one of them."""
    root = tmp_path / "cluster"
    for node in (1, 2, 3):
        broker = root / f"broker{node}" / "disk"
        sound(broker)
        for partition in (0, 1, 2):
            write_partition(broker / f"events-{partition}", batches=5 + node)
    bad = root / "broker3" / "disk"
    for name in ("events-0", "orders-0"):
        segment = min((bad / name).glob("*.log"))
        content = bytearray(segment.read_bytes())
        content[-2] ^= 1
        segment.write_bytes(content)
    (bad / "events-1" / f"{0:020}.log").write_bytes(b"\0" * 50)
    (bad / "recovery-point-offset-checkpoint").write_text("nonsense")
    return root


def test_the_audit_of_a_cluster_is_that_of_kspec_log(
    spark: Any, cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from kspec.spark_check.logs import logs

    brokers = [str(path) for path in sorted(cluster.glob("*/disk"))]
    assert run(["log", *brokers, "--json"]) == 3
    here = json.loads(capsys.readouterr().out)
    unreadable = str(make_unreadable(cluster / "copy" / "events-0"))  # kspec log ends there
    out = str(tmp_path / "audit")
    assert run([str(cluster), "--out", out, "--json"], logs) == 3
    summary = json.loads(capsys.readouterr().out)

    table = {row["directory"]: row.asDict(True) for row in spark.read.parquet(out).collect()}
    unread = table.pop(unreadable)
    assert unread["records"] is None
    problems = unread["problems"]
    assert [problem["problem"] for problem in problems] == [f"no segment in {unreadable} is a file"]
    for directory, row in table.items():
        assert row.pop("log_directory") == str(Path(directory).parent)
        assert (row.pop("cluster"), row.pop("node")) == ("c", 1)
    assert table == {row["directory"]: row for row in here["partitions"]}

    assert (summary["replicas"], summary["partitions"]) == (len(table) + 1, 4) == (13, 4)
    for name in ("segments", "batches", "records"):
        assert summary[name] == sum(row[name] for row in table.values())
    for row in [*here["partitions"], *here["log_directories"]]:
        problems += row["problems"]
    assert summary["problems"] == len(problems)
    first = summary["first_problems"]
    assert sorted(map(str, map(dict.items, first))) == sorted(map(str, map(dict.items, problems)))
    assert len({problem["file"] for problem in problems}) > 4


def test_a_replica_that_ends_its_process_stops_nothing_else(spark: Any, tmp_path: Path) -> None:
    from kspec.spark_check.logs import audit_on_spark

    paths = [write_partition(tmp_path / "good" / f"events-{n}") for n in range(3)]
    bad = write_partition(tmp_path / "bad" / "orders-0")
    found = audit_on_spark(spark, folders_of(bad, *paths), audited_or_killed).collect()
    assert {row["directory"]: row["records"] for row in found} == {
        str(bad): None,
        **{str(path): 3 for path in paths},
    }


# -- recorded traces ------------------------------------------------------------------------------


def test_verdicts_are_those_of_kspec_validate(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from kspec.spark_check.validate import validate

    mingled(tmp_path / "in" / "cluster=eu", 6, bad=[1, 4])
    write(tmp_path / "in" / "cluster=eu" / "c.ndjson", ["{"])
    out = tmp_path / "out"
    by = ("--by", "cluster", "--by", "group")
    assert run(["group", str(tmp_path / "in"), *by, "--out", str(out), "--json"], validate) == 3
    summary = json.loads(capsys.readouterr().out)
    counts = [
        summary[name] for name in ("traces", "accepted", "rejected", "inconclusive", "unread")
    ]
    assert counts == [6, 4, 2, 0, 1]
    assert len(summary["reports"]) == 3

    rejected = sorted(out.glob("rejected/*/*.txt"))
    assert [file.parent.name[: len("trace=eu-g1-")] for file in rejected] == [
        "trace=eu-g1-",
        "trace=eu-g4-",
    ]
    assert run(["validate", "group", *map(str, rejected), "--json"]) == 3
    here = json.loads(capsys.readouterr().out)["traces"]
    rows = spark.read.parquet(f"{out}/verdicts.parquet").where("verdict = 'rejected'")
    there = [json.loads(row["details"]) for row in rows.orderBy("trace").collect()]
    names = ("event", "guard", "allowed", "difference", "nearest", "file", "line")
    assert len(there) == 2
    for one, other in zip(here, there, strict=True):
        one["event"]["content"].pop("source")
        for name in names:
            assert one[name] == other[name], name


def test_files_are_traces_on_spark_as_well(spark: Any, tmp_path: Path) -> None:
    from kspec.spark_check.validate import files_in, verdicts_of
    from kspec.spark_check.verdicts import Question

    header = {"kspec_trace": 1, "mapping": "group"}
    good = write(tmp_path / "in" / "good one.ndjson", [header, *events_of(1)])
    bad = write(tmp_path / "in" / "a=b" / "bad.ndjson", [header, *altered(events_of(2), 9)])
    found = verdicts_of(files_in(spark, [str(tmp_path / "in")]), Question({"mapping": "group"}))
    assert {row["trace"]: (row["verdict"], row["event"]) for row in found.collect()} == {
        str(good): ("accepted", None),
        str(bad): ("rejected", 10),
    }


def test_a_stream_continues_where_it_stopped(spark: Any, tmp_path: Path) -> None:
    from kspec.spark_check.stream import read_verdicts, run_stream, stream_of
    from kspec.spark_check.verdicts import Question

    question = Question({"mapping": "group"}, ("group",))
    folder, place = tmp_path / "in", (tmp_path / "out").as_uri()
    earlier, later = mingled(tmp_path, 3, bad=[1])
    folder.mkdir()
    earlier.rename(folder / "first.ndjson")
    tasks = spark.conf.get("spark.sql.shuffle.partitions")
    try:
        run_stream(spark, stream_of(spark, str(folder), ["group"]), question, place, 0)
        assert read_verdicts(spark, place).where("verdict is not null").count() == 0
        later.rename(folder / "second.ndjson")
        run_stream(spark, stream_of(spark, str(folder), ["group"]), question, place, 0)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", tasks)
    rows = spark.read.parquet(f"{place}/verdicts.parquet").where("verdict is not null").collect()
    assert [(row["trace"], row["verdict"], row["event"]) for row in rows] == [
        ('{"group": "g1"}', "rejected", 21)
    ]
