"""One-line messages for Spark's exceptions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from kspec.spec.core import SpecError

CAUSES = {
    r"SpecError: (.+)": "{}",
    r"different version: (\S+) than that in driver: ([\d.]+)": (
        "the workers have Python {}, and the driver {}: set PYSPARK_PYTHON to the same version on "
        "all machines"
    ),
    r'Cannot run program "(.+?)"': (
        "the workers have no {}: set PYSPARK_PYTHON to one that all have"
    ),
    r"ModuleNotFoundError: No module named '([\w.]+)'": (
        "the workers' Python has no module {}: install the extra spark there, or ship it (kspec "
        "bundle --with-dependencies)"
    ),
}
"""What to say where a page of Spark's contains this; the first one counts."""
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
    for pattern, cause in CAUSES.items():
        if found := re.search(pattern, text):
            return cause.format(*(part.strip() for part in found.groups()))
    if any(said in text for said in DISK_FULL):
        return "no space left on the disk"
    causes = re.findall(r"^(?:Caused by: )?[\w.$]+(?:Exception|Error): (.+)$", text, re.MULTILINE)
    lines = [line for line in text.splitlines() if line.strip()]
    return f"Spark failed: {(causes or lines or ['the connection was lost'])[-1].strip()}"
