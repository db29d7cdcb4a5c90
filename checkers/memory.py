"""How much memory this process holds."""

from __future__ import annotations

import resource
import sys


def peak_resident_bytes() -> int:
    """The most memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
