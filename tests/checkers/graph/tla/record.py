"""Ask TLC for the verdict of every specification and property here, and write `verdicts.json`.

    python -m tests.checkers.graph.tla.record CLASSPATH

CLASSPATH has TLC: tla2tools.jar. Each module defines its specifications (those that conjoin
fairness to `None`) and its temporal properties; TLC is run for each pair.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
VIOLATED = 13
"""TLC's exit code for a liveness property that is violated."""


def names(module: Path) -> tuple[list[str], list[str]]:
    """The specifications and the properties that a module defines."""
    _, _, text = module.read_text().partition("None ==")
    above, below = text.split("\n\n", 1)
    defined = re.compile(r"^(\w+) ==", re.MULTILINE)
    return ["None", *defined.findall(above)], defined.findall(below)


def ask(classpath: str, module: Path, specification: str, prop: str) -> str:
    """TLC's verdict."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "case.cfg"
        config.write_text(f"SPECIFICATION {specification}\nPROPERTY {prop}\nCHECK_DEADLOCK FALSE\n")
        tlc = ["java", "-XX:+UseSerialGC", "-cp", classpath, "tlc2.TLC", "-workers", "1"]
        ran = subprocess.run(
            [*tlc, "-noGenerateSpecTE", "-metadir", folder, "-config", config, module],
            capture_output=True,
            text=True,
            check=False,
        )
    if ran.returncode not in (0, VIOLATED):
        raise SystemExit(ran.stdout)
    return "violated" if ran.returncode else "holds"


def main() -> None:
    """Ask for every pair."""
    verdicts = {
        module.stem: {
            specification: {
                prop: ask(sys.argv[1], module, specification, prop) for prop in names(module)[1]
            }
            for specification in names(module)[0]
        }
        for module in sorted(HERE.glob("*.tla"))
    }
    (HERE / "verdicts.json").write_text(json.dumps(verdicts, indent=1) + "\n")


if __name__ == "__main__":
    main()
