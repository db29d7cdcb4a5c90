"""`python -m checkers`: the same as `kspec`, where the script is not installed."""

from __future__ import annotations

from checkers.start import kspec

kspec()
