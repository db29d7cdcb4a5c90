"""`kspec oracle`, `kspec vectors`, and traces as one JSON document."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kspec.field.cli import oracle as command
from kspec.field.oracle import questions, vectors
from tests.cli.conftest import Kspec


@pytest.fixture
def standard_input(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give the next command this on standard input."""

    def give(text: str | bytes) -> None:
        raw = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))

    return give


def hashing(text: str) -> str:
    """A request."""
    return json.dumps({"method": "hashCode", "params": {"text": text}}) + "\n"


def test_each_line_is_answered_by_a_line(kspec: Kspec, standard_input: Any) -> None:
    standard_input(hashing("a") + "\n" + "wrong\n" + hashing("ü").strip())
    ran = kspec("oracle", "placement")
    assert (ran.code, ran.err) == (0, "")
    answers = [json.loads(line) for line in ran.out.splitlines()]
    assert answers[0] == {"id": 1, "result": 97}
    assert answers[1]["error"]["line"] == 3
    assert answers[2] == {"id": 4, "result": 252}


def test_strict_ends_at_the_first_wrong_request(kspec: Kspec, standard_input: Any) -> None:
    standard_input("{}\n" + hashing("a"))
    ran = kspec("oracle", "placement", "--strict")
    assert ran.code == 151
    assert ran.err == "kspec: line 1: method is the name of a method\n"
    assert len(ran.out.splitlines()) == 1


def test_the_rest_of_a_line_that_is_too_long_is_skipped(
    kspec: Kspec, standard_input: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (command, questions):
        monkeypatch.setattr(module, "MOST_BYTES", 100)
    standard_input(hashing("x" * 950) + hashing("a"))
    ran = kspec("oracle", "placement")
    first, second = map(json.loads, ran.out.splitlines())
    assert first["error"]["message"].startswith("longer than")
    assert second == {"id": 2, "result": 97}


@pytest.mark.slow
def test_an_answer_comes_before_the_next_request() -> None:
    line = [sys.executable, "-m", "kspec", "oracle", "placement"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as asked:
        assert asked.stdin
        assert asked.stdout
        for text, expected in (("a", 97), ("b", 98)):
            asked.stdin.write(hashing(text))
            asked.stdin.flush()
            assert json.loads(asked.stdout.readline())["result"] == expected
        asked.stdin.close()
    assert asked.returncode == 0


def test_oracles_are_listed_with_their_schemas(kspec: Kspec) -> None:
    listed = kspec("oracle", "--list").out
    for name in questions.ORACLES:
        assert name in listed
    schema = json.loads(kspec("oracle", "epochs", "--schema").out)
    assert schema == questions.json_schema("epochs")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("oracle",), 2, "missing NAME"),
        (("oracle", "epochs", "--list"), 2, "--list takes no NAME"),
        (("oracle", "epoch"), 151, "no oracle named 'epoch': did you mean epochs?"),
        (("oracle", "epoch", "--schema"), 151, "no oracle named 'epoch'"),
        (("vectors", "epoch"), 151, "no oracle named 'epoch'"),
        (("vectors", "epochs", "--count", "0"), 2, "0 is not in the range"),
        (("vectors", "epochs", "--check", "x", "--out", "y"), 2, "--check excludes --out"),
        (("vectors", "epochs", "--check", "none.json"), 151, "cannot read none.json"),
        (("vectors", "epochs", "--out", "no/where"), 151, "cannot write no/where"),
        (("traces", "counter", "--out", "x.json", "--itf"), 2, "--itf requires --out DIR"),
        (("traces", "counter", "--out", "x.json", "--master", "local"), 2, "Spark writes tables"),
    ],
)
def test_wrong_usage_is_refused(
    kspec: Kspec, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ran = kspec(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err


def test_vectors_are_printed_or_written(kspec: Kspec) -> None:
    printed = kspec("vectors", "reset", "--count", "5", "--seed", "9").out
    assert printed == vectors.document("reset", 5, 9)
    ran = kspec("vectors", "reset", "--count", "5", "--seed", "9", "--out", "mine.json")
    assert ran.out == "Written: mine.json.\n"
    assert Path("mine.json").read_text(encoding="utf-8") == printed
    assert json.loads(kspec("vectors", "reset", "--schema").out) == vectors.json_schema("reset")


def test_results_in_a_file_are_compared(kspec: Kspec) -> None:
    kspec("vectors", "placement", "--count", "20", "--out", "mine.json")
    ran = kspec("vectors", "placement", "--check", "mine.json")
    assert (ran.code, ran.out) == (0, "mine.json: every result agrees with the specification.\n")
    file = json.loads(Path("mine.json").read_text(encoding="utf-8"))
    for vector in file["vectors"]:
        vector["result"] += 1
    Path("mine.json").write_text(json.dumps(file), encoding="utf-8")
    ran = kspec("vectors", "placement", "--check", "mine.json")
    assert ran.code == 3
    assert ran.out.splitlines()[-1] == "20 vectors differ."
    assert json.loads(ran.out.splitlines()[0])["vector"] == 0
    Path("mine.json").write_text("{", encoding="utf-8")
    assert kspec("vectors", "placement", "--check", "mine.json").code == 151


@pytest.mark.parametrize("model", ["watermarks", "die-hard"])
def test_traces_are_written_as_one_valid_document(kspec: Kspec, model: str) -> None:
    ran = kspec("traces", model, "--out", "t.json", "--by-rules")
    assert ran.code == 0
    schema = json.loads(kspec("traces", model, "--schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    file = json.loads(Path("t.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(file)
    for trace in file["traces"]:
        follow(file, trace)
    assert len(file["states"]) == file["about"]["states"]
    taken = {step for trace in file["traces"] for step in trace["steps"]}
    assert taken == set(range(file["about"]["steps"]))


def follow(file: Any, trace: Any) -> None:
    """Check that each step of a trace begins where the one before it ends."""
    at = trace["initial"]
    for step in (file["steps"][number] for number in trace["steps"]):
        assert step["from"] == at
        at = step["to"]
