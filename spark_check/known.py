"""What one owner knows, kept in memory from level to level, for any process of this machine.

Spark gives a task to any of its Python processes. So what is kept lies in memory that they
share: an anonymous file, which a link in the folder for temporary files leads to. It lives as
long as a process that has used it, and leaves nothing behind.

What is kept never decides what a task answers, only how fast. It holds the states of the levels
up to `level`, which are a function of the model alone, and `last` of them are of that level. A
task that is tried again, or twice at the same time, finds memory that

- another one uses at the moment: it goes without, and reads the levels from their files;
- another one left in the middle of an insertion: it is not used any more;
- has only some of the states of its level, since another one ended early: inserting all of them
  again completes it. Whoever relies on a level compares their number with that of the committed
  level: some of its states, as many as it has, are all of them.
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

from checkers.memory import machine_bytes
from checkers.native.codes import Coding
from checkers.native.table import Table, insert
from impl.packed.compiled import Words, is_ours_alone

HEADER_BYTES = 1 << 21  # a huge page, so that all regions begin with one
MAGIC = 0x6B73706563
IS_OURS, LEVEL, LAST, BUSY, BUCKETS, COUNT = range(6)
"""What the words of the header are."""
NONE = -1
"""The level of an owner that knows nothing yet."""


def mapped(handle: int | None) -> mmap.mmap:
    """Addresses for four regions, as large as is allowed; memory follows with their use."""
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


class Known:
    """The states that an owner knows, and those of its last level in their order."""

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
        if self.header[IS_OURS] != MAGIC:
            self.header[[LEVEL, BUCKETS]] = NONE, self.table.buckets
            self.header[IS_OURS] = MAGIC

    @property
    def level(self) -> int:
        """The level up to which it knows the states."""
        return int(self.header[LEVEL])

    @property
    def last(self) -> int:
        """How many states of that level it has."""
        return int(self.header[LAST])

    @property
    def bytes(self) -> int:
        """What the states take of memory."""
        return self.table.bytes + self.last * (8 + 2 * self.coding.pieces)

    def begin_level(self, level: int) -> None:
        """What is taken in from now on is of this level."""
        self.header[LAST] = 0
        self.header[LEVEL] = level

    def take_in(self, codes: Words, highs: Words) -> None:
        """Insert states, and note those that are new."""
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
                table.grow()
                header[BUCKETS] = table.buckets
        header[BUSY] = 0


KEPT: dict[str, Known] = {}
"""What this process has used, by run and owner."""


@contextmanager
def known(run: str, owner: int, coding: Coding) -> Iterator[Known]:
    """What an owner knows; to be used by nobody else meanwhile."""
    name = f"{run}-{owner}"
    for other in [other for other in KEPT if not other.startswith(f"{run}-")]:
        forget(other)
    found = KEPT.get(name) or there_already(name, coding) or begun(name, coding)
    try:
        if not locked(found):
            found = Known(anonymous(name), coding)
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
                os.close(found.handle)  # nobody finds it again


def anonymous(name: str) -> int | None:
    """A file without a place, if there is such a thing here."""
    return os.memfd_create(name, os.MFD_CLOEXEC) if hasattr(os, "memfd_create") else None


def locked(found: Known) -> bool:
    """Whether nobody else uses it from now on."""
    if found.handle is None:
        return True
    try:
        fcntl.flock(found.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def forget(name: str) -> None:
    """Give memory back, unless another process uses it too."""
    found = KEPT.pop(name)
    if found.handle is not None:
        os.close(found.handle)
        found.handle = None


def link(name: str) -> Path:
    """What leads to an owner's memory."""
    folder = Path(tempfile.gettempdir()) / f"kspec-known-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if not is_ours_alone(folder):
        raise PermissionError(f"others can write in {folder}")
    return folder / name


def there_already(name: str, coding: Coding) -> Known | None:
    """What another process keeps, if that one lives."""
    try:
        handle = os.open(link(name), os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    if not str(Path(f"/proc/self/fd/{handle}").readlink()).startswith(f"/memfd:{name}"):
        os.close(handle)  # the process is gone, and another one has its number
        return None
    return Known(handle, coding)


def begun(name: str, coding: Coding) -> Known:
    """Memory of a new owner, where others find it if that is possible."""
    handle = anonymous(name)
    found = KEPT[name] = Known(handle, coding)
    if handle is None:
        return found
    with suppress(OSError):  # without a link, this process alone has use of it
        place = link(name)
        beside = place.with_name(f"{name}.{os.getpid()}")
        beside.symlink_to(f"/proc/{os.getpid()}/fd/{handle}")
        beside.replace(place)
        for other in place.parent.iterdir():
            if not other.exists():
                other.unlink(missing_ok=True)
    return found
