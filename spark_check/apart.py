"""Work that may end its process: a task that Spark repeats does it in child processes.

A memory-mapped file on a failing disk, or one that is truncated meanwhile, ends the process that
reads it (SIGBUS), and so does a lack of memory. Spark repeats the task, and would then give up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TypeVar

ATTEMPTS = 4
"""As many as Spark makes by default."""

T = TypeVar("T")
R = TypeVar("R")


def cautiously(
    work: Callable[[T], R], pieces: Iterable[T], otherwise: Callable[[T, str], R]
) -> Iterator[R]:
    """The result of each piece, in a task of Spark.

    If an earlier attempt at the task failed, `otherwise` makes the result of a piece whose process
    was killed.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    if context and context.attemptNumber():
        return apart(work, pieces, otherwise)
    return map(work, pieces)


def repeating(master: str | None) -> str | None:
    """A local master that repeats tasks that failed, as others do by themselves."""
    local = re.fullmatch(r"local(?:\[(\*|\d+)\])?", master or "local[*]")
    return f"local[{local[1] or 1},{ATTEMPTS}]" if local else master


def apart(
    work: Callable[[T], R], pieces: Iterable[T], otherwise: Callable[[T, str], R]
) -> Iterator[R]:
    """The result of each piece, by child processes."""
    rest = iter(pieces)
    is_over = False
    while not is_over:
        with ProcessPoolExecutor(1, get_context("fork")) as pool:
            for piece in rest:
                try:
                    result = pool.submit(work, piece).result()
                except BrokenProcessPool:
                    yield otherwise(piece, "the process that read it was killed")
                    break
                yield result
            else:
                is_over = True
