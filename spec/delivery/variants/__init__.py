"""The commit strategies, as variants: each with the properties that it violates."""

from __future__ import annotations

from kspec.spec.delivery.variants import auto_commit, committing, processing

VARIANTS = (*committing.VARIANTS, *auto_commit.VARIANTS, *processing.VARIANTS)
