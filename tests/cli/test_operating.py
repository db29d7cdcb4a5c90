"""`kspec lag`, `kspec reset` and `kspec start` at the prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Kspec, Ran
from tests.field.groups.recorded import FACTS, outputs

MOMENT = FACTS["first_timestamp"] + 10_000


def recorded(release: str, *arguments: str, tool: str = "groups") -> str:
    """What a tool printed for these arguments and no others."""
    [text] = [
        each["output"]
        for each in outputs(*arguments, tool=tool)
        if each["release"] == release and len(each["arguments"]) == len(arguments)
    ]
    return str(text)


@pytest.fixture(params=["2.4.1", "4.1.0"])
def files(request: pytest.FixtureRequest, kspec: Kspec) -> None:
    """The recorded groups, log starts, ends, and the offsets of a moment, of two releases."""
    Path("now.txt").write_text(recorded(request.param, "--describe", "--all-groups"))
    for name, time in (("starts", "-2"), ("ends", "-1"), ("found", str(MOMENT))):
        text = recorded(request.param, "--topic", "orders", "--time", time, tool="offsets")
        Path(f"{name}.txt").write_text(text)


def as_json(ran: Ran) -> dict[str, dict[str, Any]]:
    """The groups that a command printed, by name."""
    assert ran.code == 0, ran.err
    return {group["group"]: group for group in json.loads(ran.out)["groups"]}


def assert_refused(ran: Ran, code: int = 151) -> None:
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)


# -- kspec lag ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("files")
def test_lag_and_lead(kspec: Kspec) -> None:
    groups = as_json(kspec("lag", "now.txt", "--starts", "starts.txt", "--json"))
    billing, ahead = groups["billing"], groups["ahead"]
    assert (billing["state"], billing["lag"], ahead["lag"]) == ("empty", 8, -43)
    assert [(p["lag"], p["lead"], p["overtaken"]) for p in billing["partitions"]] == [
        (8, 7, "unknown"),
        (0, 7, "unknown"),
    ]
    assert [p["lag"] for p in groups["shipping"]["partitions"]] == [0, None, None]
    said = kspec("lag", "now.txt", "--group", "billing", "--starts", "starts.txt").out
    assert said.splitlines() == [
        "group    topic   partition  committed  end  lag  start  lead",
        "billing  orders          0         12   20    8      5     7",
        "billing  orders          1          7    7    0      0     7",
        "",
        "Group billing (no members): lag 8 in 2 partitions.",
    ]


@pytest.mark.usefixtures("files")
def test_the_json_of_lag_is_a_source_too(kspec: Kspec) -> None:
    printed = kspec("lag", "now.txt", "--starts", "starts.txt", "--json").out
    Path("now.json").write_text(printed)
    assert kspec("lag", "now.json", "--json").out == printed


@pytest.mark.usefixtures("files")
def test_the_time_until_retention_overtakes_a_group(kspec: Kspec) -> None:
    rates = ("--produced", "36/h", "--consumed", "18/h", "--retention", "1h", "--json")
    found = as_json(kspec("lag", "now.txt", "--group", "billing", *rates))["billing"]["partitions"]
    hour = 3_600_000
    assert [(p["overtaken"], p["overtaken_in_ms"]) for p in found] == [
        ("later", 28 * hour // 18),
        ("later", 2 * hour),
    ]
    said = kspec("lag", "now.txt", "--group", "billing", *rates[:-1]).out
    assert "in 1 h 33 m" in said


def description(committed: int, end: int, topic: str = "orders") -> str:
    """A description with single blanks, of one partition."""
    header = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID"
    return f"{header}\ng {topic} 0 {committed} {end} {end - committed} - - -\n"


@pytest.mark.parametrize(
    ("committed", "end", "overtaken", "after"),
    [
        (100, 300, "later", 400_000),  # 600 records are kept, 0.5 more are unread each second
        (150, 300, "later", 900_000),
        (200, 300, "never", None),
        (99, 300, "unknown", None),  # the group was reset in between
    ],
)
def test_rates_come_from_two_descriptions(
    kspec: Kspec, committed: int, end: int, overtaken: str, after: int | None
) -> None:
    Path("before.txt").write_text(description(100, 200))
    Path("now.txt").write_text(description(committed, end))
    asked = ("lag", "now.txt", "--earlier", "before.txt", "--elapsed", "100s", "--json")
    [found] = as_json(kspec(*asked, "--retention", "10m"))["g"]["partitions"]
    assert (found["overtaken"], found["overtaken_in_ms"]) == (overtaken, after)


def test_what_was_deleted_is_said(kspec: Kspec) -> None:
    Path("now.txt").write_text(description(3, 30))
    Path("starts.txt").write_text("orders:0:8\n")
    ran = kspec("lag", "now.txt", "--starts", "starts.txt", "--retention", "1h")
    assert "orders-0: 5 offsets were deleted before the group read them" in ran.out
    assert "already" in ran.out
    assert "above the end" in kspec_lag_of(kspec, description(50, 7))


def kspec_lag_of(kspec: Kspec, text: str) -> str:
    """What `kspec lag` prints of a description."""
    Path("other.txt").write_text(text)
    return kspec("lag", "other.txt").out


def test_a_cluster_needs_a_client(kspec: Kspec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kspec.checkers.needs.find_spec", lambda name: None)
    ran = kspec("lag", "--bootstrap-server", ":9092")
    assert_refused(ran)
    assert "pip install -e '.[clients]'" in ran.err
    assert_refused(kspec("lag"), code=2)
    assert_refused(kspec("lag", "now.txt", "--bootstrap-server", ":9092"), code=2)
    assert_refused(kspec("lag", "--bootstrap-server", ":9092", "--starts", "starts.txt"), code=2)


@pytest.mark.parametrize(
    "wrong",
    [
        ["--earlier", "before.txt"],
        ["--elapsed", "1h"],
        ["--produced", "1/s"],
        ["--produced", "1"],
        ["--retention", "week"],
        ["--retention-bytes", "100"],
        ["--earlier", "now.txt", "--elapsed", "1h"],
        ["--earlier", "before.txt", "--elapsed", "0s"],
        ["--earlier", "a", "--elapsed", "1h", "--produced", "1/s", "--consumed", "1/s"],
    ],
)
def test_options_that_do_not_fit_are_wrong_usage(kspec: Kspec, wrong: list[str]) -> None:
    Path("now.txt").write_text(description(3, 30))
    assert_refused(kspec("lag", "now.txt", *wrong), code=2)


def test_bad_files_are_refused_with_their_name(kspec: Kspec) -> None:
    Path("now.txt").write_text(description(3, 30)[:-20])
    Path("other.txt").write_text("orders:0")
    ran = kspec("lag", "now.txt")
    assert_refused(ran)
    assert "now.txt: line 2: " in ran.err
    Path("now.txt").write_text(description(3, 30))
    ran = kspec("lag", "now.txt", "--starts", "other.txt")
    assert_refused(ran)
    assert "other.txt: the last line has no line ending" in ran.err
    assert_refused(kspec("lag", "missing.txt"))
    ran = kspec("lag", "now.txt", "--group", "h")
    assert_refused(ran)
    assert "no group named 'h'" in ran.err
    Path("starts.txt").write_text("orders:0:31\n")
    assert "starts at 31, above its end 30" in kspec("lag", "now.txt", "--starts", "starts.txt").err


# -- kspec reset ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("reset", "new", "skipped", "repeated"),
    [
        (["--to-earliest"], [5, 0], 0, 14),
        (["--to-latest"], [20, 7], 8, 0),
        (["--to-current"], [12, 7], 0, 0),
        (["--to-offset", "6"], [6, 6], 0, 7),
        (["--to-offset", "0"], [5, 0], 0, 14),
        (["--shift-by", "-3"], [9, 4], 0, 6),
        (["--to-datetime", "2023-11-14T22:13:30.000", "--found", "found.txt"], [10, 7], 0, 2),
        (["--by-duration", "P1000D", "--found", "found.txt"], [10, 7], 0, 2),
        (["--from-file", "plan.csv"], [9, 7], 0, 3),
    ],
)
def test_each_reset(
    kspec: Kspec, reset: list[str], new: list[int], skipped: int, repeated: int
) -> None:
    Path("plan.csv").write_text("orders,0,9\norders,1,99\n")
    asked = ("reset", "now.txt", "--group", "billing", *reset, "--starts", "starts.txt")
    found = as_json(kspec(*asked, "--json"))["billing"]
    assert [p["new"] for p in found["partitions"]] == new
    assert (found["skipped"], found["repeated"]) == (skipped, repeated)
    assert f"{skipped} skipped, {repeated} read twice" in kspec(*asked).out
    csv = kspec(*asked, "--export").out
    assert csv == "".join(f"orders,{index},{offset}\n" for index, offset in enumerate(new))
    Path("plan.csv").write_text(csv)
    again = ("reset", "now.txt", "--group", "billing", "--from-file", "plan.csv", "--export")
    assert kspec(*again, "--starts", "starts.txt").out == csv


@pytest.mark.usefixtures("files")
def test_several_groups_have_a_column_in_the_csv(kspec: Kspec) -> None:
    chosen = ("--group", "billing", "--group", "my group", "--group", "billing")
    csv = kspec("reset", "now.txt", *chosen, "--to-latest", "--export").out
    assert csv == 'billing,orders,0,20\nbilling,orders,1,7\n"my group",payments,0,30\n'
    Path("plan.csv").write_text(csv)
    assert kspec("reset", "now.txt", "--from-file", "plan.csv", "--export").out == csv


@pytest.mark.usefixtures("files")
def test_a_topic_may_have_partitions_without_a_commit(kspec: Kspec) -> None:
    """Kafka's tool resets them with --topic, and --describe does not list them."""
    asked = ("reset", "now.txt", "--group", "billing", "--to-latest", "--topic", "orders")
    assert "--ends adds them" in kspec(*asked).out
    whole = kspec(*asked, "--ends", "ends.txt", "--starts", "starts.txt", "--export").out
    assert whole == "orders,0,20\norders,1,7\norders,2,0\n"
    one = kspec("reset", "now.txt", "--group", "billing", "--to-latest", "--topic", "orders:1")
    assert "0 skipped" in one.out


@pytest.mark.usefixtures("files")
def test_a_plan_says_what_would_not_work(kspec: Kspec) -> None:
    ran = kspec("reset", "now.txt", "--group", "shipping", "--to-latest")
    assert "It has members, so Kafka refuses to reset it" in ran.out
    ran = kspec("reset", "now.txt", "--group", "ahead", "--to-current")
    assert "orders-1: 50 is outside the log" in ran.out
    ran = kspec("reset", "now.txt", "--group", "billing", "--to-offset", "3")
    assert "2 unknown log starts, taken as 0" in ran.out
    ran = kspec("reset", "now.txt", "--group", "billing", "--to-earliest")
    assert_refused(ran)
    assert "give --starts the output of kafka-get-offsets --time earliest" in ran.err
    ran = kspec("reset", "now.txt", "--group", "shipping", "--shift-by", "1", "--topic", "orders")
    assert_refused(ran)
    assert "orders-1: cannot shift" in ran.err


def test_a_moment_needs_the_offsets_that_kafka_finds_for_it(kspec: Kspec) -> None:
    Path("now.txt").write_text(description(3, 30))
    ran = kspec("reset", "now.txt", "--to-datetime", "2023-11-14T22:13:30.000+01:00")
    assert_refused(ran, code=2)
    assert f"kafka-get-offsets --time {MOMENT - 3_600_000} (2023-11-14 21:13:30 UTC)" in ran.err
    assert_refused(kspec("reset", "now.txt", "--by-duration", "P99999999D"), code=2)


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["--to-latest", "--to-current"],
        ["--to-latest", "--to-offset", "0"],
        ["--to-latest", "--export", "--json"],
        ["--to-offset", "x"],
        ["--to-datetime", "2023-11-14T22:13:30.000+0530"],
        ["--from-file", "plan.csv", "--topic", "orders"],
        ["--to-latest", "--ends", "ends.txt"],
    ],
)
def test_a_reset_that_is_not_clear_is_wrong_usage(kspec: Kspec, wrong: list[str]) -> None:
    Path("now.txt").write_text(description(3, 30))
    assert_refused(kspec("reset", "now.txt", *wrong), code=2)


def test_plans_of_other_groups_are_refused(kspec: Kspec) -> None:
    Path("now.txt").write_text(description(3, 30))
    Path("plan.csv").write_text("h,orders,0,3\n")
    ran = kspec("reset", "now.txt", "--from-file", "plan.csv")
    assert_refused(ran)
    assert "the plan has the group h, but FILE does not" in ran.err
    Path("plan.csv").write_text("h,orders,0")
    assert "plan.csv: the last line" in kspec("reset", "now.txt", "--from-file", "plan.csv").err


def test_a_group_without_a_commit_has_nothing_to_reset(kspec: Kspec) -> None:
    Path("now.txt").write_text(description(3, 30).replace("0 3 30 27", "0 - 30 -"))
    ran = kspec("reset", "now.txt", "--to-latest")
    assert_refused(ran)
    assert "there is nothing to reset" in ran.err


# -- kspec start ----------------------------------------------------------------------------------


def begins(kspec: Kspec, *options: str) -> list[dict[str, Any]]:
    """Where the group of a description begins."""
    Path("now.txt").write_text(description(12, 20))
    Path("starts.txt").write_text("orders:0:10\n")
    asked = ("start", "now.txt", "--starts", "starts.txt", "--json", *options)
    [found] = as_json(kspec(*asked))["g"]["partitions"]
    return list(found["begins"])


DAY = 86_400_000


def test_where_a_group_begins_changes_twice(kspec: Kspec) -> None:
    found = begins(kspec, "--produced", "24/d", "--retention", "3d")
    hour = DAY // 24
    assert [(b["after_ms"], b["offset"], b["because"], b["skipped"]) for b in found] == [
        (0, 12, "committed", 0),
        (65 * hour, 85, "out of range", 72),
        (7 * DAY, 188, "nothing committed", 72),
    ]
    Path("starts.txt").write_text("orders:0:10\n")
    said = kspec("start", "now.txt", "--starts", "starts.txt", "--after", "0s").out
    assert said.splitlines()[:2] == [
        "group  topic   partition  after  begins at  deleted  skipped  repeated  because",
        "g      orders          0    0 s         12        0        0         0  committed",
    ]


@pytest.mark.parametrize(
    ("policy", "offset", "skipped", "repeated"),
    [
        ("earliest", 10, 0, 2),
        ("latest", 260, 248, 0),
        ("none", None, None, None),
        ("by_duration:PT24H", 236, 224, 0),
    ],
)
def test_after_the_commit_has_expired_the_policy_decides(
    kspec: Kspec, policy: str, offset: int | None, skipped: int | None, repeated: int | None
) -> None:
    [found] = begins(
        kspec, "--produced", "24/d", "--retention", "-1", "--after", "10d",
        "--offsets-retention", "12d", "--stopped-for", "2d", "--auto-offset-reset", policy,
    )  # fmt: skip
    assert found["because"] == "nothing committed"
    assert (found["offset"], found["skipped"], found["repeated"]) == (offset, skipped, repeated)
    assert found["raises"] == (None if offset else "NoOffsetForPartitionException")


@pytest.mark.parametrize("policy", ["first", "by_duration", "by_duration:1h", "by_duration:-PT1H"])
def test_policies_are_kafkas(kspec: Kspec, policy: str) -> None:
    Path("now.txt").write_text(description(12, 20))
    assert_refused(kspec("start", "now.txt", "--auto-offset-reset", policy), code=2)


def test_a_moment_is_shown_once(kspec: Kspec) -> None:
    """Offsets expire after seven days, records a millisecond later: both are 7 d."""
    Path("now.txt").write_text(description(12, 20))
    said = kspec("start", "now.txt").out
    assert [line.split()[3:5] for line in said.splitlines()[1:3]] == [["0", "s"], ["7", "d"]]
    assert "7 d" not in said.splitlines()[3]


@pytest.mark.usefixtures("files")
def test_assumptions_are_said(kspec: Kspec) -> None:
    said = kspec("start", "now.txt", "--auto-offset-reset", "none").out
    assert "Group shipping has members; it counts as stopped now." in said
    assert "Group billing: log starts are unknown and count as 0; give --starts." in said
    assert "OffsetOutOfRangeException" in said


def test_a_group_that_does_not_exist_has_no_partitions(kspec: Kspec) -> None:
    Path("now.txt").write_text("\nError: Consumer group 'g' does not exist.\n")
    assert "Group g does not exist" in kspec("start", "now.txt").out
    assert "Group g (does not exist): lag 0 in 0 partitions." in kspec("lag", "now.txt").out
    assert_refused(kspec("reset", "now.txt", "--to-latest"))
