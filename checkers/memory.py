"""How much memory there is, and how much of it this process holds."""

from __future__ import annotations

import os
import re
import resource
import sys
from pathlib import Path

MOST = 0.8
"""A run that takes more of the machine's memory than this is ended, unless told otherwise."""

UNITS = "BKMGT"
CONTROL_GROUPS = ("memory.max", "memory/memory.limit_in_bytes")
"""Where a container's limit stands, of the second and of the first generation."""


def peak_resident_bytes() -> int:
    """The most memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resident_bytes() -> int:
    """The memory that this process holds, where the system tells; else the most it ever held."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return peak_resident_bytes()
    return int(pages) * resource.getpagesize()


def machine_bytes(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """The memory of the machine, or of the container that this process is in."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for name in CONTROL_GROUPS:
        try:
            found.append(int((groups / name).read_text()))
        except (OSError, ValueError):  # there is no such file, or it says "max"
            continue
    return min(found)


def parse_size(text: str) -> int:
    """A size such as 500M or 1.5G as bytes; units are powers of 1024."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([BKMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    size = int(float(match[1]) * 1024 ** UNITS.index(match[2].upper() or "B")) if match else 0
    if size == 0:
        raise ValueError(f"{text!r} is no size such as 500M or 8G")
    return size


def size_text(size: int) -> str:
    """Bytes in the largest unit of which there is one."""
    power = min((size.bit_length() - 1) // 10, len(UNITS) - 1) if size else 0
    return f"{round(size / 1024**power, 1):g}{UNITS[power]}"
