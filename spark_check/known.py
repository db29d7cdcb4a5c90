"""The states that one owner knows, shared from level to level by the processes of a machine.

Spark gives a task to any of its Python processes. So the states are in shared memory: an anonymous
file, found through a link in the folder for temporary files. It lives as long as a process that
has used it, and leaves nothing behind.

The memory never affects a task's result, only its speed. It holds the states of the levels up to
`level`, which are a function of the model alone; `last` of them are of that level. A task that is
retried, or runs twice at the same time, may find memory that

- another process is using: it then reads the levels from their files instead;
- another process left in the middle of an insertion: it is discarded;
- has only some states of its level, since another process ended early: inserting all states
  again completes it. A reader compares their number with that of the committed level: if they
  are equal, the level is complete.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from kspec.checkers.engine.memory import machine_bytes
from kspec.checkers.engine.packed.codes import Coding
from kspec.checkers.engine.packed.table import Table, insert
from kspec.impl.packed.compiled import Words, is_ours_alone
from kspec.spec.core import SpecError

HEADER_BYTES = 1 << 21  # a huge page, so that every region begins with one
MAGIC = 0x6B73706563
IS_OURS, LEVEL, LAST, BUSY, BUCKETS, COUNT = range(6)
"""The words of the header."""
NONE = -1
"""The level of an owner that knows no states yet."""


def mapped(handle: int | None) -> mmap.mmap:
    """Addresses for four regions, as large as allowed; memory is used when touched."""
    size = os.fstat(handle).st_size if handle is not None else 0
    if size and handle is not None:
        return mmap.mmap(handle, size)
    region = machine_bytes() // 2 // mmap.PAGESIZE * mmap.PAGESIZE
    while True:
        size = HEADER_BYTES + 4 * region
        try:
            if handle is None:
                return mmap.mmap(-1, size)
            os.ftruncate(handle, size)
            return mmap.mmap(handle, size)
        except OSError:
            region = region // 2 // mmap.PAGESIZE * mmap.PAGESIZE
            if region < HEADER_BYTES:
                raise


class OwnedStates:
    """The states that an owner knows, and those of its last level in order."""

    def __init__(self, handle: int | None, coding: Coding) -> None:
        memory = mapped(handle)
        region = (len(memory) - HEADER_BYTES) // 4
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        self.handle = handle
        self.coding = coding
        self.header: Words = np.frombuffer(memory, np.int64, HEADER_BYTES // 8)
        regions = iter(range(HEADER_BYTES, len(memory), region))

        def reserve(_: int) -> Words:
            return np.frombuffer(memory, np.int64, region // 8, next(regions))

        self.table = Table(coding.high_bits, region, reserve)
        self.codes = reserve(0)
        pieces = reserve(0).view(np.uint16)
        rows = len(pieces) // max(1, coding.pieces)
        self.pieces: Any = pieces[: rows * coding.pieces].reshape(rows, coding.pieces)
        if not coding.pieces:
            self.pieces = np.empty((len(self.codes), 0), np.uint16)
        self.codes = self.codes[: len(self.pieces)]
        if self.header[IS_OURS] != MAGIC:
            self.header[[LEVEL, BUCKETS]] = NONE, self.table.buckets
            self.header[IS_OURS] = MAGIC

    @property
    def level(self) -> int:
        """The level up to which the states are known."""
        return int(self.header[LEVEL])

    @property
    def last(self) -> int:
        """The number of states of that level."""
        return int(self.header[LAST])

    @property
    def bytes(self) -> int:
        """The bytes of memory that the states use."""
        return self.table.bytes + self.last * (8 + 2 * self.coding.pieces)

    def begin_level(self, level: int) -> None:
        """Start a level: states inserted from now on belong to it."""
        self.header[LAST] = 0
        self.header[LEVEL] = level

    def take_in(self, codes: Words, highs: Words) -> None:
        """Insert states, and append the new ones to the level."""
        header, table = self.header, self.table
        table.buckets, table.count = int(header[BUCKETS]), int(header[COUNT])
        begin = 0
        header[BUSY] = 1
        while begin < len(codes):
            last = int(header[LAST])
            begin, new = insert(
                table.slots, table.rest, table.buckets, table.inside, table.room,
                codes, highs, begin, len(codes), self.codes, self.pieces, last,
            )  # fmt: skip
            table.count += new - last
            header[LAST], header[COUNT] = new, table.count
            if begin < len(codes):
                if new == len(self.codes) or not table.can_grow:
                    raise SpecError(
                        f"a Spark task owns {table.count:,} states, and its share of the worker's "
                        "memory is full: use more partitions, or workers with more memory"
                    )
                table.grow()
                header[BUCKETS] = table.buckets
        header[BUSY] = 0


KEPT: dict[str, OwnedStates] = {}
"""The memory that this process has used, by run and owner."""


@contextmanager
def known(run: str, owner: int, coding: Coding) -> Iterator[OwnedStates]:
    """An owner's known states, locked for this process."""
    name = f"{run}-{owner}"
    for other in [other for other in KEPT if not other.startswith(f"{run}-")]:
        forget(other)
    found = KEPT.get(name) or there_already(name, coding) or begun(name, coding)
    try:
        if not locked(found):
            found = OwnedStates(anonymous(name), coding)
        elif found.header[BUSY]:
            if found.handle is not None:
                os.close(found.handle)
            found = begun(name, coding)
            locked(found)
        else:
            KEPT[name] = found
        yield found
    finally:
        if found.handle is not None:
            fcntl.flock(found.handle, fcntl.LOCK_UN)
            if KEPT.get(name) is not found:
                os.close(found.handle)  # other processes cannot find it any more


def anonymous(name: str) -> int | None:
    """A file without a name, if the system supports that."""
    return os.memfd_create(name, os.MFD_CLOEXEC) if hasattr(os, "memfd_create") else None


def locked(found: OwnedStates) -> bool:
    """Lock the memory; returns whether that succeeded."""
    if found.handle is None:
        return True
    try:
        fcntl.flock(found.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def forget(name: str) -> None:
    """Release the memory, unless another process uses it too."""
    found = KEPT.pop(name)
    if found.handle is not None:
        os.close(found.handle)
        found.handle = None


def link(name: str) -> Path:
    """The path of the link to an owner's memory."""
    folder = Path(tempfile.gettempdir()) / f"kspec-known-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if not is_ours_alone(folder):
        raise PermissionError(f"others can write in {folder}")
    return folder / name


def there_already(name: str, coding: Coding) -> OwnedStates | None:
    """The memory of another process, if that process is alive."""
    try:
        handle = os.open(link(name), os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    if not str(Path(f"/proc/self/fd/{handle}").readlink()).startswith(f"/memfd:{name}"):
        os.close(handle)  # the process has ended, and its number was reused
        return None
    return OwnedStates(handle, coding)


def begun(name: str, coding: Coding) -> OwnedStates:
    """Memory for a new owner, with a link for other processes if possible."""
    handle = anonymous(name)
    found = KEPT[name] = OwnedStates(handle, coding)
    if handle is None:
        return found
    with suppress(OSError):  # without a link, only this process uses it
        place = link(name)
        beside = place.with_name(f"{name}.{os.getpid()}")
        beside.symlink_to(f"/proc/{os.getpid()}/fd/{handle}")
        beside.replace(place)
        for other in place.parent.iterdir():
            if not other.exists():
                other.unlink(missing_ok=True)
    return found
