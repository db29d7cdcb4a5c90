"""Which line of a model an exception is told with."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any


def line_to_blame(error: Exception, folders: Collection[Path]) -> traceback.FrameSummary:
    """The deepest line in these folders; where there is none, the deepest of all.

    What is deeper belongs to a library, which the line in the folders has called wrongly.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent in folders]
    return (own or frames)[-1]


def folders_of(functions: Iterable[Callable[..., Any]]) -> set[Path]:
    """Where these functions stand."""
    codes = (getattr(function, "__code__", None) for function in functions)
    return {Path(code.co_filename).parent for code in codes if code}


def folder_imported(error: Exception) -> set[Path]:
    """Where the module stands whose import failed; nothing if that has not begun."""
    for importer, imported in pairwise(traceback.extract_tb(error.__traceback__)):
        if is_importer(importer) and not is_importer(imported):
            return {Path(imported.filename).parent}
    return set()


def is_importer(frame: traceback.FrameSummary) -> bool:
    """Whether this is Python's own import at work."""
    return frame.filename.startswith("<frozen importlib")
