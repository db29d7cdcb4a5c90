"""`python -m checkers.cli`, for where the script is not installed."""

from __future__ import annotations

from checkers.cli import main

main()
