"""`python -m kspec`: the same as `kspec`, where the script is not installed."""

from __future__ import annotations

from kspec.start import kspec

kspec()
