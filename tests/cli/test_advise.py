"""`kspec advise` at the prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kspec.field.advice.questions import Answer
from tests.cli.conftest import Kspec

EXAMPLES = Path(__file__).parents[1] / "cases" / "advise"

ALONE = ("--set", "replication.factor=1")


@pytest.fixture
def no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask nothing about better settings: they have three replicas, and take longer."""
    monkeypatch.setattr("kspec.field.advice.advice.better", lambda *_: (None, None))


def examples(name: str) -> list[str]:
    return [str(file) for file in sorted((EXAMPLES / name).iterdir())]


def asked(kspec: Kspec, *arguments: str, code: int) -> dict[str, Any]:
    ran = kspec("advise", "--json", *arguments)
    assert (ran.code, ran.err) == (code, "")
    record: dict[str, Any] = json.loads(ran.out)
    return record


def by_budget(record: dict[str, Any]) -> dict[str, tuple[bool, bool]]:
    return {v["budget"]: (v["kept"], v["available"]) for v in record["verdicts"]}


@pytest.mark.usefixtures("no_change")
def test_one_replica_is_lost_with_its_disk(kspec: Kspec) -> None:
    record = asked(kspec, *ALONE, "--budget", "one-disk-loss", "--budget", "one-cut-off", code=12)
    assert by_budget(record) == {"one-disk-loss": (False, False), "one-cut-off": (True, False)}
    assert record["verdicts"][0]["states"] == 6
    assert record["verdicts"][1]["searched"] > 1
    assert set(record["verdicts"][0]) == {"budget", "kept", "available", "states", "searched"}
    assert {"setting", "problem", "fix", "because"} == set(record["findings"][0])
    assert {
        "name": "acks",
        "of": "producer",
        "value": "all",
        "from": "the default of Kafka 4.2",
    } in (record["settings"])
    assert "clocks" in record["not_modelled"]


@pytest.mark.usefixtures("no_change")
def test_a_crash_alone_loses_nothing_of_one_replica(kspec: Kspec) -> None:
    ran = kspec("advise", *ALONE, "--budget", "one-crash")
    assert ran.code == 0
    assert ran.out.startswith("These settings keep every acknowledged record")
    assert "Writes stop if one broker process crashes." in ran.out


@pytest.mark.usefixtures("no_change")
def test_the_shortest_loss_is_printed_and_written(kspec: Kspec) -> None:
    loss = ("--budget", "one-power-loss", "--html", "lost.html", "--out-itf", "lost.itf.json")
    ran = kspec("advise", *ALONE, *loss)
    assert ran.code == 12
    assert "The shortest loss, if one machine loses power:" in ran.out
    assert "Now the leader's log lacks an acknowledged record (record 0" in ran.out
    assert "Written: lost.itf.json, lost.html" in ran.out
    assert kspec("show", "lost.itf.json").code == 0
    assert "AcknowledgedRecordsKept" in Path("lost.html").read_text()


@pytest.mark.usefixtures("no_change")
def test_a_page_without_a_loss_is_not_written(kspec: Kspec) -> None:
    ran = kspec("advise", *ALONE, "--budget", "one-crash", "--html", "lost.html")
    assert (ran.code, ran.err) == (0, "kspec: no loss was found; lost.html was not written\n")
    assert not Path("lost.html").exists()


def test_more_replicas_than_the_model_has_are_inconclusive(kspec: Kspec) -> None:
    ran = kspec("advise", "--set", "replication.factor=5", "--set", "acks=1", "--kafka", "2.8")
    assert ran.code == 4
    assert ran.out.startswith("There is no verdict on some failures")
    assert "more than 4 replicas" in ran.out
    assert "Findings:" in ran.out


def test_every_field_of_the_answer_is_explained(kspec: Kspec) -> None:
    record = asked(kspec, "--set", "replication.factor=5", code=4)
    page = (Path(__file__).parents[2] / "docs" / "advise.md").read_text()
    assert [name for name in record if f"\n| `{name}` |" not in page] == []


def test_settings_of_plugins_are_named_in_one_line(kspec: Kspec) -> None:
    Path("s.properties").write_text("node.id=1\nsuper.users=User:a\nx.y=1\n")
    ran = kspec("advise", "s.properties", "--set", "replication.factor=5")
    assert "Not Kafka's own settings (2); a plugin may read them: super.users, x.y." in ran.out
    assert "remove it" not in ran.out


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer every question with no verdict, without a search."""
    monkeypatch.setattr(
        "kspec.field.cli.advise.ask_with_progress",
        lambda _, budget: Answer(budget.name, kept=True, available=True, states=None, searched=1),
    )


@pytest.mark.usefixtures("no_search")
def test_a_brokers_file_without_a_number_of_replicas_has_kafkas_default(kspec: Kspec) -> None:
    Path("s.properties").write_text("node.id=1\nmin.insync.replicas=1\n")
    ran = kspec("advise", "s.properties")
    assert ran.out.startswith("These settings keep every acknowledged record")
    assert "assum" not in ran.out
    assert "the default of default.replication.factor is 1" in " ".join(ran.out.split())
    record = asked(kspec, "s.properties", code=0)
    factor = next(v for v in record["settings"] if v["name"] == "default.replication.factor")
    assert (factor["value"], factor["from"]) == (1, "the default of Kafka 4.2")


@pytest.mark.usefixtures("no_search")
def test_lines_are_folded_on_a_terminal_only(kspec: Kspec, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ("advise", "--set", "acks=1", "--budget", "one-crash")
    monkeypatch.setattr("kspec.checkers.cli.output.width", lambda: 60)
    whole = kspec(*settings).out
    assert max(map(len, whole.splitlines())) > 200
    monkeypatch.setattr("kspec.checkers.cli.output.is_terminal", lambda: True)
    folded = kspec(*settings).out
    assert max(map(len, folded.split("\n\n")[-1].splitlines())) <= 60  # what is not modelled
    assert folded.split() == whole.split()


@pytest.mark.usefixtures("no_search")
def test_the_explored_protocol_is_named(kspec: Kspec) -> None:
    old = kspec("advise", "--set", "acks=all", "--kafka", "3.4").out
    assert "Explored: kafka-3.9, the nearest modelled protocol to that of Kafka 3.4." in old
    assert "(KIP-903), since 3.5; " in old
    new = kspec("advise", "--set", "acks=all", "--kafka", "4.1").out
    assert "Explored: kafka-4.1.\n" in new


@pytest.mark.usefixtures("no_search")
def test_an_assumed_number_of_replicas_is_in_the_first_sentence(kspec: Kspec) -> None:
    Path("p.properties").write_text("acks=all\n")
    ran = kspec("advise", "p.properties")
    assert ran.out.startswith(
        "Assuming replication.factor=3, which no source gives, these settings keep"
    )


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize(
    ("text", "who", "names"),
    [
        (
            (
                "acks=all\nenable.idempotence=true\nmax.in.flight.requests.per.connection=10\n"
                "delivery.timeout.ms=10"
            ),
            "producer",
            ["enable.idempotence", "delivery.timeout.ms"],
        ),
        ("boostrap.servers=a\nacks=all\nlinger.ms=1", "producer", ["bootstrap.servers"]),
        ("group.id=a\nheartbeat.interval.ms=45000", "consumer", ["heartbeat.interval.ms"]),
    ],
)
def test_settings_that_exclude_each_other_end_with_bad_input(
    kspec: Kspec, text: str, who: str, names: list[str]
) -> None:
    Path("c.properties").write_text(text)
    ran = kspec("advise", "c.properties")
    assert ran.code == 151
    first, *rest = ran.out.replace("\n", " ").split(". ")
    assert first == f"The {who} does not start with these settings: {', '.join(names)}"
    assert rest[:2] == [
        "See below",
        (
            "Apart from that, assuming replication.factor=3, which no source gives, these settings "
            "keep every acknowledged record, whichever of these failures happens"
        ),
    ]
    assert asked(kspec, "c.properties", code=151)["not_starting"] == {who: names}
    for name in names:
        assert f"  {name}: " in ran.out


def test_values_that_kafka_refuses_are_each_named(kspec: Kspec, tmp_path: Path) -> None:
    Path("p.properties").write_text("acks=2\r\nretries=-1\r\nlinger.ms=1\r\n")
    ran = kspec("advise", "p.properties")
    assert (ran.code, ran.out) == (151, "")
    refused = "Kafka 4.2 does not start with it"
    assert ran.err.splitlines() == [
        f"kspec: p.properties, line 1: acks must be one of all, -1, 0, 1, not '2': {refused}",
        f"kspec: p.properties, line 2: retries must be at least 0, not -1: {refused}",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (("absent.properties",), 151, "cannot read absent.properties: No such file"),
        (("--set", "acsk=all"), 151, "Kafka 4.2 has no setting named 'acsk': did you mean acks?"),
        (("--set", "acks"), 151, "--set takes NAME=VALUE"),
        (("--kafka", "9.9"), 151, "the settings of Kafka 9.9 are not known"),
        (("--kafka", "new"), 151, "a version of Kafka is a number"),
        (("--budget", "one-crush"), 151, "did you mean one-crash"),
        (("--out-itf", "x.json"), 2, "--out-itf and --ms-per-record need a FILE or --set"),
        (("--ms-per-record", "inf"), 2, "Invalid value for '--ms-per-record'"),
        (("--ms-per-record", "0"), 2, "Invalid value for '--ms-per-record'"),
        ((*ALONE, "--html", "/nowhere/x.html"), 151, "cannot write /nowhere/x.html"),
    ],
)
def test_wrong_input_is_one_line(
    kspec: Kspec, arguments: tuple[str, ...], code: int, problem: str
) -> None:
    ran = kspec("advise", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.count("\n") == 1
    assert problem in ran.err


# -- five real-looking sets of files --------------------------------------------------------------


@pytest.mark.slow
def test_a_healthy_cluster_keeps_everything(kspec: Kspec) -> None:
    record = asked(kspec, *examples("healthy"), "--ms-per-record", "20", code=0)
    assert all(kept for kept, _ in by_budget(record).values())
    assert [b for b, (_, available) in by_budget(record).items() if not available] == [
        "two-crashes"
    ]
    assert [f["setting"] for f in record["findings"]] == [
        "eligible.leader.replicas.version",
        "min.insync.replicas",
    ]
    assert (record["change"], record["upgrade"]) == (None, None)


@pytest.mark.slow
def test_the_settings_as_unpacked_have_one_replica(kspec: Kspec) -> None:
    record = asked(kspec, *examples("defaults"), "--kafka", "3.9", code=12)
    assert record["protocol"] == "kafka-2.7"  # ZooKeeper
    lost = [b for b, (kept, _) in by_budget(record).items() if not kept]
    assert lost == ["one-power-loss", "one-disk-loss"]
    assert not any(available for _, available in by_budget(record).values())
    assert "replication.factor=3" in record["change"]["settings"]
    assert [finding["setting"] for finding in record["findings"]] == ["replication.factor"]


@pytest.mark.slow
def test_fragile_settings_lose_in_every_way(kspec: Kspec) -> None:
    record = asked(kspec, *examples("fragile"), "--kafka", "3.9", code=12)
    assert not any(kept for kept, _ in by_budget(record).values())
    assert record["change"]["settings"] == [
        "unclean.leader.election.enable=false",
        "min.insync.replicas=2",
    ]
    change, upgrade = record["change"], record["upgrade"]
    lost = [b for b, (kept, _) in by_budget(change).items() if not kept]
    assert lost == ["one-power-loss", "one-disk-loss"]
    assert upgrade["settings"] == ["Kafka 4.1 and eligible.leader.replicas.version=1"]
    assert all(kept for kept, _ in by_budget(upgrade).values())
    for after in (change, upgrade):
        writes = by_budget(after)
        assert [b for b, (_, go_on) in writes.items() if not go_on] == ["two-crashes"]
    said = {finding["setting"] for finding in record["findings"]}
    assert {"min.insync.replica", "enable.idempotense", "acks", "session.timeout.ms"} <= said


@pytest.mark.slow
def test_an_old_cluster_loses_by_truncation(kspec: Kspec) -> None:
    record = asked(kspec, *examples("old"), "--kafka", "0.10", code=12)
    assert by_budget(record)["one-crash"] == (False, True)
    unclean = next(v for v in record["settings"] if v["name"] == "unclean.leader.election.enable")
    assert unclean["value"] is True  # the default before 0.11


@pytest.mark.slow
def test_a_topic_that_needs_all_its_replicas_stops_after_one_crash(kspec: Kspec) -> None:
    record = asked(kspec, *examples("halting"), code=0)
    assert not any(available for _, available in by_budget(record).values())
    assert record["change"]["settings"] == ["min.insync.replicas=2"]
    values = {v["name"]: (v["value"], v["from"]) for v in record["settings"]}
    assert values["min.insync.replicas"][0] == 3
    assert values["min.insync.replicas"][1].endswith("topic.txt, line 1")
    told = [f["problem"] for f in record["findings"] if f["setting"] == "min.insync.replicas"]
    assert any("after one crash, all writes fail" in problem for problem in told)


@pytest.mark.slow
def test_the_matrix_is_printed_and_written(kspec: Kspec) -> None:
    ran = kspec("advise", "--json", "--html", "matrix.html")
    assert ran.code == 0
    record = json.loads(ran.out)
    assert len(record["cells"]) == 126
    lost = sum(not cell["kept"] for cell in record["cells"])
    assert Path("matrix.html").read_text().count("data-loss=") == lost
    ran = kspec("advise")
    rows = [line for line in ran.out.splitlines() if line[:8].strip() in ("1", "2", "3")]
    assert len(rows) == 21
