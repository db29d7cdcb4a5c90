"""A project with packages of the names of kspec's folders, and tests of its own.

`python tests/other_project.py FOLDER` makes it; .ci/run runs its tests beside the wheel, and
`test_namespace.py` beside the kspec of this environment.
"""

from __future__ import annotations

import sys
from pathlib import Path

NAMES = ("checkers", "examples", "field", "impl", "spark_check", "spec", "tests", "traces")

TEST = """
import sys

import checkers.core, examples.core, field.core, impl.core, spark_check.core, spec.core
import tests.helpers, traces.core


def test_each_package_is_the_projects_own():
    for module in (checkers, examples, field, impl, spark_check, spec, traces):
        assert module.core.HERE == module.__name__
    assert tests.helpers.HERE == "tests"


def test_kspec_is_beside_them():
    import kspec.spec.log
    from kspec.spec.core import Rule

    assert not hasattr(spec, "log")
    assert kspec.spec.log.Log().end == 0
    assert Rule.__module__ == "kspec.spec.core.rules"
"""


def make(folder: Path) -> None:
    """Write the project; `impl` is a package without `__init__.py`, as some are."""
    for name in NAMES:
        (folder / name).mkdir(parents=True)
        module = "helpers" if name == "tests" else "core"
        (folder / name / f"{module}.py").write_text(f'HERE = "{name}"\n')
        if name != "impl":
            (folder / name / "__init__.py").write_text("")
    (folder / "tests" / "test_own.py").write_text(TEST)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
