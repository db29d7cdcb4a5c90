"""What runs without any extra, and what says which extra it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kspec.checkers.cli.main import summaries

EXTRAS = (
    "aiokafka", "confluent_kafka", "cramjam", "crc32c", "hypothesis", "kafka", "kio", "pandas",
    "pyarrow", "pyspark", "yaml", "z3",
)  # fmt: skip
"""The packages that only extras install."""

IN_THIS_PROCESS = """
import contextlib, io, json, sys
sys.modules.update(dict.fromkeys(json.loads(sys.argv[1])))
from kspec.checkers.cli.main import run
results = []
for arguments in json.loads(sys.argv[2]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    results.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(results))
"""

EVENT = '{"event": "%s", "connection": 1, "correlation": 1, "api": "Heartbeat", "version": 3, %s}'
HEARTBEAT = '"fields": {"groupId": "g", "memberId": "m", "generationId": 1}'

FILES = {
    "group.json": '{"topics": {"t": 3}, "members": {"a": ["t"], "b": ["t"]}}',
    "group.yaml": "topics: {t: 3}\nmembers: {a: [t]}\n",
    "coordinator.ndjson": "\n".join(
        [
            '{"kspec_trace": 1, "mapping": "coordinator", "observed": "all"}',
            EVENT % ("request", HEARTBEAT),
            EVENT % ("response", '"fields": {"errorCode": 25}'),
        ]
    ),
    "replica.ndjson": '{"kspec_trace": 1, "mapping": "replica"}\n'
    '{"node": 1, "topic": "t", "leader": 1, "leader_epoch": 4, "log_end_offset": 9}\n',
    "consumer.ndjson": '{"kspec_trace": 1, "mapping": "consumer", "group": "g"}\n'
    '{"event": "assigned", "consumer": "one", "generation": 7, "partitions": [["t", 0]]}\n',
    "model.ndjson": '{"kspec_trace": 1, "mapping": "two-phase-commit"}\n'
    '{"rule": "manager_prepares"}\n',
    "trace.parquet": "PAR1",
    "server.log": "[2024-05-01 12:00:00,000] INFO [GroupCoordinator 1]: Stabilized group g "
    "generation 7 (__consumer_offsets-0) with 1 members (kafka.coordinator.group."
    "GroupCoordinator)\n",
    "lag.json": '{"groups": [{"group": "g", "state": "empty", "partitions": ['
    '{"topic": "t", "partition": 0, "committed": 1, "start": 0, "end": 9}]}]}',
    "server.properties": "min.insync.replicas=2\ndefault.replication.factor=3\n"
    "unclean.leader.election.enable=false\n",
    "requests.ndjson": "",
    "vectors.json": '{"oracle": "reset", "version": 1, "vectors": []}',
    "t-0/00000000000000000000.log": "",
    "dir/__consumer_offsets-0/00000000000000000000.log": "",
}

RUNS = [
    "models",
    "check counter",
    "simulate counter",
    "mutate counter",
    "refine replication --set brokers=2 --set max_records=1",
    "explore counter --terminal",
    "traces counter",
    "graph counter",
    "check die-hard --out-itf trace.itf.json",
    "show trace.itf.json",
    "validate coordinator coordinator.ndjson",
    "validate coordinator --schema",
    "validate replica replica.ndjson",
    "validate consumer consumer.ndjson",
    "validate two-phase-commit model.ndjson",
    "validate --from kafka-log server.log",
    "timeline server.log",
    "advise server.properties",
    "assign range group.json",
    "bundle archive.zip",
    "coordinator g",
    "partition key --partitions 3",
    "lag lag.json",
    "reset lag.json --to-earliest",
    "start lag.json --stopped-for 1d",
    "oracle reset",
    "oracle group",
    "vectors reset",
    "vectors group --count 5",
    "vectors reset --check vectors.json",
]
"""What needs no extra."""

VERDICTS = (0, 12, 13)
"""The exit codes of commands that run."""

NEEDS = {
    "assign range group.yaml": "[yaml]",
    "check counter --checkpoint folder": "[checkpoint]",
    "check counter --engine spark": "[spark]",
    "conform kafka-python": "[conform]",
    "conform broker localhost:1": "[broker]",
    "lag --bootstrap-server localhost:1": "[clients]",
    "log t-0": "[storage]",
    "offsets dir": "[storage]",
    "prove": "[prove]",
    "serve": "[broker]",
    "traces counter --out folder": "[checkpoint]",
    "validate replica trace.parquet": "[checkpoint]",
}
"""What needs an extra, and which."""


def in_base(commands: list[str], folder: Path) -> Any:
    """The exit code, the output and the errors of each command, without extras."""
    lines = json.dumps([command.split() for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", IN_THIS_PROCESS, json.dumps(EXTRAS), lines],
        capture_output=True,
        text=True,
        cwd=folder,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The outcome of each command."""
    folder = tmp_path_factory.mktemp("base")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    commands = [*RUNS, *NEEDS]
    return dict(zip(commands, in_base(commands, folder), strict=True))


def test_every_command_is_among_them() -> None:
    lines = [*RUNS, *NEEDS]
    assert [c for c in summaries() if not any(line.startswith(c) for line in lines)] == []


def test_a_trace_of_a_coordinator_is_checked_without_extras(tmp_path: Path) -> None:
    trace = tmp_path / "coordinator.ndjson"
    trace.write_text(FILES["coordinator.ndjson"])
    code, out, err = in_base([f"validate coordinator {trace}"], tmp_path)[0]
    assert (code, out, err) == (0, f"{trace}: accepted (2 events; java)\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("line", RUNS)
def test_a_command_runs_without_extras(line: str, ran: dict[str, Any]) -> None:
    code, out, err = ran[line]
    assert (code in VERDICTS, err) == (True, "")
    assert out or line.startswith("oracle")


@pytest.mark.slow
@pytest.mark.parametrize("line", NEEDS)
def test_a_command_says_which_extra_it_needs(line: str, ran: dict[str, Any]) -> None:
    code, out, err = ran[line]
    assert (code, out, err.count("\n")) == (151, "", 1)
    assert NEEDS[line] in err
