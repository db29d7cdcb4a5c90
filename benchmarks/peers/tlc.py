"""TLC: the model checker of TLA+; the modules and their configurations are in the folder `tla`."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from benchmarks.processes import Ran, measured

MODULES = Path(__file__).with_name("tla")
JAR = "TLA2TOOLS_JAR"
"""The environment variable with the path of tla2tools.jar."""
HOW_TO_GET = f"a command `tlc`, or Java and {JAR}=…/tla2tools.jar"


def command() -> list[str] | None:
    """The command that runs TLC, if it is installed."""
    jar = os.environ.get(JAR, "")
    java = shutil.which("java")
    if java and jar and Path(jar).is_file():
        return [java, "-XX:+UseParallelGC", "-cp", jar, "tlc2.TLC"]
    found = shutil.which("tlc")
    return [found] if found else None


def is_here() -> bool:
    """Whether TLC is installed."""
    return command() is not None


def configuration(model: str, bounds: Mapping[str, int]) -> str:
    """The configuration of a model with these bounds."""
    text = (MODULES / f"{model}.cfg").read_text("utf-8")
    for name, value in bounds.items():
        text, found = re.subn(rf"\b{name} = \d+", f"{name} = {value}", text, count=1)
        assert found, f"the model has no bound {name}"
    return text


def run(model: str, bounds: Mapping[str, int], threads: int, folder: Path) -> tuple[int, Ran]:
    """The distinct states of a model, and the cost of the whole run."""
    tlc = command()
    assert tlc is not None
    folder.mkdir(parents=True, exist_ok=True)
    module = folder / f"{model}.tla"
    shutil.copy(MODULES / module.name, module)
    module.with_suffix(".cfg").write_text(configuration(model, bounds), "utf-8")
    options = ["-deadlock", "-workers", str(threads), "-metadir", str(folder / "states")]
    ran = measured([*tlc, *options, module])
    return states(ran.said), ran


def states(said: str) -> int:
    """The number of distinct states that TLC reports."""
    found = re.findall(r"(\d+) distinct states found, 0 states left on queue", said)
    if not found or "No error has been found" not in said:
        raise SystemExit(f"TLC did not explore the model:\n{said[-2000:]}")
    return int(found[-1])
