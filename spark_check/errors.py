"""One-line messages for Spark's exceptions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from kspec.spec.core import SpecError

DISK_FULL = ("No space left on device", "Disk quota exceeded")


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn Spark's exceptions into SpecError with one line."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("py4j", "pyspark"):
            raise
        raise SpecError(one_line(str(error))) from error


def one_line(text: str) -> str:
    """The cause in a page of Java and Python output."""
    ours = re.search(r"SpecError: (.+)", text)
    if ours:
        return ours[1].strip()
    mismatch = re.search(r"different version: (\S+) than that in driver: ([\d.]+)", text)
    if mismatch:
        return (
            f"the workers have Python {mismatch[1]}, and the driver {mismatch[2]}: set "
            "PYSPARK_PYTHON to the same version on all machines"
        )
    missing = re.search(r'Cannot run program "(.+?)"', text)
    if missing:
        return f"the workers have no {missing[1]}: set PYSPARK_PYTHON to one that all have"
    module = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", text)
    if module:
        return (
            f"the workers' Python has no module {module[1]}: install the extra spark there, or "
            "ship it (kspec bundle --with-dependencies)"
        )
    if any(said in text for said in DISK_FULL):
        return "no space left on the disk"
    causes = re.findall(r"^(?:Caused by: )?[\w.$]+(?:Exception|Error): (.+)$", text, re.MULTILINE)
    lines = [line for line in text.splitlines() if line.strip()]
    return f"Spark failed: {(causes or lines or ['the connection was lost'])[-1].strip()}"
