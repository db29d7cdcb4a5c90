"""Recordings that belong to a test, and are checked when it ends: the fixture `kspec_recording`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kspec.impl.recording import consumers
from kspec.impl.recording.trace import Recording

if TYPE_CHECKING:
    from kspec.impl.recording.proxy import RecordingProxy


class RecordingRejected(AssertionError):
    """A recorded trace that the specification does not allow; the message is the diagnosis."""


class Recordings:
    """The recordings of a test.

    Its consumers share one trace, so that a partition with two owners is detected.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._recordings: list[Recording] = []
        self._consumers: Recording | None = None

    def record(self, mapping: str, **header: Any) -> Recording:
        """A new trace of a model or a mapping, to which the test adds events."""
        self._recordings.append(Recording(mapping, **header))
        return self._recordings[-1]

    def proxy(self, broker: str, **header: Any) -> RecordingProxy:
        """A proxy in front of a broker, for a `with` statement; clients take its `bootstrap`."""
        from kspec.impl.recording.proxy import RecordingProxy

        return RecordingProxy(broker, self.record("coordinator", **header))

    @property
    def consumers(self) -> Recording:
        """The trace of all consumers of the test."""
        if self._consumers is None:
            self._consumers = self.record("consumer")
        return self._consumers

    def kafka_python(self, consumer: Any, name: str | None = None) -> Any:
        """A consumer of kafka-python that records."""
        return consumers.record_kafka_python(consumer, self.consumers, name)

    def aiokafka(self, consumer: Any, name: str | None = None) -> Any:
        """A consumer of aiokafka that records."""
        return consumers.record_aiokafka(consumer, self.consumers, name)

    def confluent_kafka(
        self, consumer: Any, name: str, group: str, instance: str | None = None
    ) -> Any:
        """A consumer of confluent-kafka that records."""
        return consumers.record_confluent_kafka(consumer, self.consumers, name, group, instance)

    def diagnosis(self) -> str:
        """What is wrong with the traces so far, as text; empty if nothing is.

        Each trace is written to a file, which the text names if the trace is rejected.
        """
        from kspec.field.recorded.files import validate_recordings
        from kspec.field.recorded.reading import from_objects
        from kspec.field.recorded.report import lines as report_lines

        found: list[str] = []
        for number, recording in enumerate(self._recordings, 1):
            lines = list(recording.lines)
            if len(lines) == 1:
                continue  # nothing has happened
            file = self._folder / f"kspec-trace-{number}.ndjson"
            trace = from_objects(str(file), map(json.loads, lines))
            verdict = validate_recordings([trace], {})
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            if verdict.verdict == "rejected":
                found += report_lines(verdict)
        return "\n".join(found)

    def check(self) -> None:
        """Raise RecordingRejected if a trace is rejected; at the end of the test, this is done."""
        text = self.diagnosis()
        if text:
            raise RecordingRejected(f"kspec rejects a recorded trace:\n{text}")
