"""Which files are read, in which order, and of which broker they are."""

from __future__ import annotations

import gzip
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from kspec.field.logs import adapter
from kspec.field.logs.adapter import Reading, read_logs
from kspec.field.logs.files import find_files
from kspec.field.logs.validate import validate_logs
from kspec.spec.core import SpecError


def line(time: str, generation: int, prefix: str = "[GroupCoordinator 1]: ") -> str:
    """A line of a Scala coordinator."""
    said = f"Stabilized group g generation {generation} (__consumer_offsets-0) with 1 members"
    return f"[2024-05-01 {time}] INFO {prefix}{said} (kafka.coordinator.group.GroupCoordinator)\n"


def write(file: Path, *lines: str) -> Path:
    """A file with these lines; compressed if its name ends so."""
    file.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(lines).encode()
    file.write_bytes(gzip.compress(content) if file.suffix == ".gz" else content)
    return file


def read(*paths: Path, brokers: tuple[str, ...] = ()) -> Reading:
    """What files tell."""
    return read_logs(find_files(paths, brokers))


def generations(reading: Reading) -> list[int]:
    """The generations of the events, in their order."""
    return [event["generation"] for event in reading.events]


def test_rolled_files_are_read_in_the_order_of_their_times(tmp_path: Path) -> None:
    live = write(tmp_path / "server.log", line("15:00:00,000", 4))
    hour = write(tmp_path / "server.log.2024-05-01-13", line("13:00:00,000", 2))
    older = write(tmp_path / "server.log.2024-05-01-12.gz", line("12:00:00,000", 1))
    later = write(tmp_path / "server.log.1", line("14:00:00,000", 3))
    reading = read(live, later, hour, older)
    assert generations(reading) == [1, 2, 3, 4]
    assert [report.backwards for report in reading.files] == [0, 0, 0, 0]
    assert generations(read(tmp_path)) == [1, 2, 3, 4]


def test_equal_times_keep_the_order_of_the_file(tmp_path: Path) -> None:
    lines = [line("12:00:00,000", number) for number in (3, 1, 2)]
    assert generations(read(write(tmp_path / "server.log", *lines))) == [3, 1, 2]


def test_a_clock_that_goes_back_keeps_the_order_and_is_counted(tmp_path: Path) -> None:
    lines = [line("12:00:01,000", 1), line("12:00:00,500", 2), line("12:00:02,000", 3)]
    reading = read(write(tmp_path / "server.log", *lines))
    assert generations(reading) == [1, 2, 3]
    assert reading.files[0].backwards == 1


def test_brokers_are_merged_by_their_times(tmp_path: Path) -> None:
    one = write(tmp_path / "1" / "server.log", line("12:00:00,000", 1), line("12:00:02,000", 3))
    two = write(tmp_path / "2" / "server.log", line("12:00:01,000", 2, "[GroupCoordinator 2]: "))
    reading = read(one.parent, two.parent)
    assert [(event["node"], event["generation"]) for event in reading.events] == [
        ("1", 1),
        ("2", 2),
        ("1", 3),
    ]


def test_a_broker_is_named_by_its_lines_an_option_or_its_folder(tmp_path: Path) -> None:
    bare = write(tmp_path / "broker-a" / "server.log", line("12:00:00,000", 1, ""))
    assert [event["node"] for event in read(bare).events] == ["broker-a"]
    assert [event["node"] for event in read(brokers=(f"7={bare}",)).events] == ["7"]
    mixed = write(
        tmp_path / "x" / "server.log", line("12:00:00,000", 1), line("12:00:01,000", 2, "")
    )
    assert [event["node"] for event in read(mixed).events] == ["1", "1"]


def test_a_line_that_two_files_have_is_told_once(tmp_path: Path) -> None:
    both = [line("12:00:00,000", 1), line("12:00:01,000", 2)]
    reading = read(
        write(tmp_path / "server.log", *both), write(tmp_path / "stdout.txt", *both, both[1])
    )
    assert generations(reading) == [1, 2]
    assert reading.duplicates == 3


def test_each_file_has_the_zone_of_the_logs(tmp_path: Path) -> None:
    file = write(tmp_path / "server.log", line("12:00:00,000", 1))
    [utc] = read(file).events
    [berlin] = read_logs(find_files([file], []), ZoneInfo("Europe/Berlin")).events
    assert utc["time_ms"] - berlin["time_ms"] == 2 * 3_600_000


def test_lines_that_look_like_the_protocol_are_counted_with_samples(tmp_path: Path) -> None:
    odd = [
        f"[2024-05-01 12:00:0{number},000] INFO [GroupCoordinator 1]: Group g did thing {number} "
        "(kafka.coordinator.group.GroupCoordinator)\n"
        for number in range(3)
    ]
    trace = ["java.lang.IllegalStateException: no\n", "\tat kafka.GroupCoordinator.x(Y.scala:1)\n"]
    report = read(write(tmp_path / "server.log", *odd, *trace)).files[0].to_json()
    assert (report["lines"], report["protocol_lines"], report["not_understood"]) == (5, 0, 3)
    assert [(s["count"], s["line"]) for s in report["samples"]] == [(3, 1)]


@pytest.mark.parametrize("number", ["9" * 5000, "²", ""])
def test_a_partition_without_a_number_is_a_name(tmp_path: Path, number: str) -> None:
    said = f"[Partition orders-{number} broker=1] ISR updated to 1,2 and version updated to 3"
    text = f"[2024-05-01 12:00:00,000] INFO {said} (kafka.cluster.Partition)\n"
    [event] = read(write(tmp_path / "server.log", text)).events
    assert "partition" not in event or event["partition"] == f"orders-{number}"


@pytest.mark.parametrize("option", ["server.log", "=server.log", "1="])
def test_a_malformed_broker_is_refused(option: str) -> None:
    with pytest.raises(SpecError, match="--broker takes ID=FILE"):
        find_files([], [option])


def test_a_folder_without_logs_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "notes.txt", "text")
    with pytest.raises(SpecError, match="no broker's log is in"):
        find_files([tmp_path], [])


def test_more_events_than_fit_are_told_and_not_validated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "MOST_EVENTS", 3)
    lines = [line(f"12:00:0{number},000", number) for number in range(1, 6)]
    reading = read(write(tmp_path / "server.log", *lines))
    assert (generations(reading), reading.is_whole) == ([1, 2, 3], False)
    with pytest.raises(SpecError, match="validate the logs in parts"):
        validate_logs("kafka-log", reading, {})
