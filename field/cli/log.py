"""`kspec log`: check the segments of partitions, and report each problem with its byte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kspec.checkers.cli.options import FILE, json_option, writes
from kspec.checkers.cli.output import OutputFile, counted, or_dash, say, say_json, say_table
from kspec.checkers.engine.verdict import EXIT_REJECTED
from kspec.checkers.needs import needs

if TYPE_CHECKING:
    from kspec.field.disk.audit import PartitionReport
    from kspec.field.disk.problems import Problem


@click.command()
@click.argument("folders", metavar="DIR…", nargs=-1, required=True, type=FILE)
@writes("--html", "Write a page with segments, leader epochs, holes and problems.")
@json_option
def log(folders: tuple[Path, ...], html: Path | None, as_json: bool) -> int:
    """Check the segments of partitions: checksums, offsets, indexes, checkpoints, transactions.

    DIR is the folder of a partition, or a log directory with such folders. Name the log
    directories of several brokers to compare their replicas below the high watermark.

    \b
    kspec log /var/lib/kafka/data
    kspec log /var/lib/kafka/data/orders-0 --json
    kspec log broker1/orders-0 broker2/orders-0 --html logs.html

    The files are only read. A running broker may be writing the end of a log meanwhile.

    Exit codes: 0 if there is no problem, 3 if there is a problem, 151 if a folder cannot be read.
    """
    needs("kspec log", "storage", "cramjam", "crc32c")
    from kspec.field.disk.audit import audit
    from kspec.field.disk.folders import find_partitions
    from kspec.field.disk.replicas import compare_replicas

    page = OutputFile(html) if html else None
    directories, partitions = find_partitions(folders)
    reports = compare_replicas([audit(folder) for folder in counted("log", partitions)])
    others = [problem for directory in directories for problem in directory.problems]
    if page:
        from kspec.field.disk.page import log_page

        page.write(log_page(reports, others))
    problems = [problem for report in reports for problem in report.problems] + others
    if as_json:
        say_json(
            {
                "partitions": [report.to_json() for report in reports],
                "log_directories": [directory.to_json() for directory in directories],
            }
        )
    else:
        print_reports(reports)
        say()
        say_problems(problems, sum(report.more_problems for report in reports))
        if page:
            say(f"Written: {page.path}")
    return EXIT_REJECTED if problems else 0


def say_problems(problems: Sequence[Problem], more: int) -> None:
    """Print the problems of files."""
    for problem in problems:
        say(f"{problem.file}, byte {problem.position}: {problem.problem}")
    if more:
        say(f"And {more} more problems.")
    if not problems:
        say("No problem was found.")


def print_reports(reports: Sequence[PartitionReport]) -> None:
    """Print a line for each partition, and its open transactions."""
    rows = []
    for report in reports:
        counts = (report.segments, report.batches, report.records, report.start, report.end)
        rows.append(
            [
                *map("{:,}".format, counts[:3]),
                *map(str, counts[3:]),
                or_dash(report.high_watermark),
                str(report.last_stable_offset),
                str(len(report.problems) + report.more_problems),
                str(report.folder.path),
            ]
        )
    columns = ("segments", "batches", "records", "start", "end", "HW", "LSO", "problems", "folder")
    say_table(columns, rows, right=range(8))
    for report in reports:
        for id_, start in sorted(report.open_transactions.items()):
            say(f"{report.folder.path}: producer {id_} has a transaction open since offset {start}")
