"""Check what Spark needs before it starts.

Spark itself takes minutes to give up, and reports failures in pages.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from typing import Any
from urllib.parse import urlsplit

from kspec.checkers.needs import needs
from kspec.spec.core import SpecError

OLDEST_JAVA = 17
ANSWER_SECONDS = 5
"""Seconds to wait for a master to accept a connection."""


def assert_can_begin(master: str | None) -> None:
    """Raise SpecError if a session on this master cannot start, as far as a quick check shows."""
    pyspark = assert_pyspark()
    if pyspark.SparkContext._active_spark_context or "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    assert_java()
    assert_answers(master or "local[*]")


def assert_pyspark() -> Any:
    """The pyspark module; SpecError if it is missing or too old."""
    needs("Spark", "spark", "pyspark", "py4j", "pyarrow")
    import pyspark

    if tuple(int(n) for n in pyspark.__version__.split(".")[:2]) < (4, 1):
        raise SpecError(f"Spark needs pyspark 4.1 or newer, and {pyspark.__version__} is installed")
    return pyspark


def assert_java() -> None:
    """Raise SpecError if Java is missing or too old."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        where = f"in JAVA_HOME, {home}" if home else "on the PATH"
        raise SpecError(f"Spark needs Java {OLDEST_JAVA} or newer, and there is no java {where}")
    try:
        ran = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        raise SpecError(f"{java} does not run; Spark needs Java {OLDEST_JAVA} or newer") from None
    found = re.search(r'version "(?:1\.)?(\d+)', ran.stderr + ran.stdout)
    if ran.returncode or not found:
        raise SpecError(f"{java} reports no version; Spark needs Java {OLDEST_JAVA} or newer")
    if int(found[1]) < OLDEST_JAVA:
        raise SpecError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and {java} is Java {found[1]}: "
            "set JAVA_HOME to a newer one"
        )


def assert_answers(master: str) -> None:
    """Raise SpecError if none of a master's addresses accepts a connection."""
    kind, _, rest = master.partition("://")
    if kind == "spark":
        places = [urlsplit(f"spark://{place}") for place in rest.split(",")]
    elif master.startswith("k8s://"):
        places = [urlsplit(rest if "://" in rest else f"https://{rest}")]
    elif master == "yarn":
        if not (os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")):
            raise SpecError(
                "for master yarn, HADOOP_CONF_DIR must name the cluster's configuration"
            )
        return
    elif re.fullmatch(r"local(\[(\*|\d+)(,\d+)?\])?|local-cluster\[[\d,]+\]", master):
        return
    else:
        raise SpecError(
            f"{master} is not a master: use local[2], spark://HOST:PORT, yarn, or k8s://HOST:PORT"
        )
    why = ""
    for place in places:
        try:
            port = place.port or (443 if kind == "k8s" else 7077)
            socket.create_connection((place.hostname or "", port), ANSWER_SECONDS).close()
        except (OSError, ValueError) as error:
            why = str(getattr(error, "strerror", None) or error)
        else:
            return
    raise SpecError(f"no master answers at {master}: {why}")
