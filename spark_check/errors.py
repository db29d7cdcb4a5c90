"""What Spark raises, in a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from spec.core import SpecError

DISK_FULL = ("No space left on device", "Disk quota exceeded")


@contextmanager
def said_in_a_line() -> Iterator[None]:
    """Turn what Spark raises into SpecError, which is one line."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("py4j", "pyspark"):
            raise
        raise SpecError(in_a_line(str(error))) from error


def in_a_line(told: str) -> str:
    """What a page of Java and Python says in the end."""
    ours = re.search(r"SpecError: (.+)", told)
    if ours:
        return ours[1].strip()
    mismatch = re.search(r"different version: (\S+) than that in driver: ([\d.]+)", told)
    if mismatch:
        return (
            f"the workers have Python {mismatch[1]}, and the driver {mismatch[2]}: set "
            "PYSPARK_PYTHON to the same version for all"
        )
    missing = re.search(r'Cannot run program "(.+?)"', told)
    if missing:
        return f"the workers have no {missing[1]}: set PYSPARK_PYTHON to a Python that all have"
    module = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", told)
    if module:
        return (
            f"the workers' Python has no module {module[1]}: install kspec[spark] there, or ship "
            "it (kspec bundle --with-dependencies)"
        )
    if any(said in told for said in DISK_FULL):
        return "no space left on the disk"
    causes = re.findall(r"^(?:Caused by: )?[\w.$]+(?:Exception|Error): (.+)$", told, re.MULTILINE)
    lines = [line for line in told.splitlines() if line.strip()]
    return f"Spark failed: {(causes or lines or ['it is gone'])[-1].strip()}"
