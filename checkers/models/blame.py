"""The folder of a module whose import raised an exception."""

from __future__ import annotations

import traceback
from itertools import pairwise
from pathlib import Path


def folder_imported(error: BaseException) -> set[Path]:
    """The folder of the module whose import failed; empty if its code did not begin to run."""
    for importer, imported in pairwise(traceback.extract_tb(error.__traceback__)):
        if is_importer(importer) and not is_importer(imported):
            return {Path(imported.filename).parent}
    return set()


def is_importer(frame: traceback.FrameSummary) -> bool:
    """Whether a frame belongs to Python's import machinery."""
    return frame.filename.startswith("<frozen importlib")
