"""What the scripts of this package begin with."""

from __future__ import annotations

from checkers.start import begin


def refine() -> None:
    """`kspec-refine`."""
    begin("spark_check.refine")


def traces() -> None:
    """`kspec-traces`."""
    begin("spark_check.traces")
