"""Memory: what the machine has, what this process uses, and sizes as text."""

from __future__ import annotations

import os
import re
import resource
import sys
from pathlib import Path

MOST = 0.8
"""The default limit of a run, as a share of the machine's memory."""

UNITS = "BKMGT"
CONTROL_GROUPS = ("memory.max", "memory/memory.limit_in_bytes")
"""The files with a container's limit, for control groups version 2 and version 1."""


def peak_resident_bytes() -> int:
    """The peak resident memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resident_bytes() -> int:
    """The resident memory of this process, or its peak where the system does not report it."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return peak_resident_bytes()
    return int(pages) * resource.getpagesize()


def private_bytes() -> int:
    """The memory of this process that no other one shares; 0 where the system does not report it.

    A forked process shares most of its memory with its parent, until one of them changes it.
    """
    try:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Private_"))


def machine_bytes(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """The memory of the machine, or of the container that runs this process."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for name in CONTROL_GROUPS:
        try:
            found.append(int((groups / name).read_text()))
        except (OSError, ValueError):  # the file is missing, or contains "max"
            continue
    return min(found)


def parse_size(text: str) -> int:
    """Parse a size such as 500M or 1.5G into bytes; units are powers of 1024."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([BKMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    size = int(float(match[1]) * 1024 ** UNITS.index(match[2].upper() or "B")) if match else 0
    if size == 0:
        raise ValueError(f"{text!r} is not a size such as 500M or 8G")
    return size


def size_text(size: int) -> str:
    """Format bytes in the largest unit that does not exceed them."""
    power = min((size.bit_length() - 1) // 10, len(UNITS) - 1) if size else 0
    return f"{round(size / 1024**power, 1):g}{UNITS[power]}"
