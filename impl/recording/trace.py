"""A recorded trace: a header and events, one JSON object a line.

Events are numbered by `sequence`, so that a reader notices whether some are missing.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Self

from kspec.spec.core import SpecError

VERSION = 1
"""The version of the format, which the header names."""


class WallClock:
    """Milliseconds since 1970 that never go back."""

    def __init__(self) -> None:
        self._offset = time.time_ns() - time.monotonic_ns()

    def __call__(self) -> int:
        """The time now."""
        return (time.monotonic_ns() + self._offset) // 1_000_000


class Recording:
    """A trace that grows. Events may be added from any thread.

    With a file, each event is written at once, so that a process that crashes leaves its trace;
    without one, the trace is kept in `lines`.
    """

    def __init__(
        self,
        mapping: str,
        file: Path | str | None = None,
        *,
        clock: Callable[[], int] | None = None,
        **header: Any,
    ) -> None:
        self.mapping = mapping
        self.lines: list[str] = []
        self.clock = clock or WallClock()
        """The time of events, in milliseconds."""
        self._sequence = 0
        self._lock = threading.Lock()
        self._file: IO[str] | None = None
        if file is not None:
            try:
                self._file = Path(file).open(  # noqa: SIM115 - closed by `close`
                    "w", encoding="utf-8", newline="\n"
                )
            except OSError as problem:
                raise SpecError(f"cannot write {file}: {problem.strerror}") from None
        self._write({"kspec_trace": VERSION, "mapping": mapping, **header})

    def add(self, event: str, **fields: Any) -> None:
        """Add an event; fields that are None are left out."""
        with self._lock:
            self._sequence += 1
            common = {"event": event, "sequence": self._sequence, "time_ms": self.clock()}
            given = {name: value for name, value in fields.items() if value is not None}
            self._write(common | given)

    def _write(self, entry: dict[str, Any]) -> None:
        line = json.dumps(entry, ensure_ascii=False)
        if self._file is None:
            self.lines.append(line)
        elif not self._file.closed:
            self._file.write(line + "\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file; what is added later is dropped."""
        with self._lock:
            if self._file is not None:
                self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()
