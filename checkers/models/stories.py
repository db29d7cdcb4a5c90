"""Stories: behaviours that explain something, longer than a counterexample.

They are data beside the models that they are about: a file `stories.toml` in the folder of any
registered model.
"""

from __future__ import annotations

import tomllib
from importlib.util import find_spec
from pathlib import Path

from kspec.checkers.models.find import registered_models
from kspec.checkers.models.script import Script


def files() -> list[Path]:
    """The files of stories. No model is imported to find them."""
    modules = dict.fromkeys(point.module for point in registered_models().values())
    found = [find_spec(module) for module in modules]
    folders = dict.fromkeys(Path(spec.origin).parent for spec in found if spec and spec.origin)
    return [folder / "stories.toml" for folder in folders if (folder / "stories.toml").exists()]


STORIES = {
    name: Script(**story)
    for file in files()
    for name, story in tomllib.loads(file.read_text(encoding="utf-8")).items()
}
"""All stories, by name."""
