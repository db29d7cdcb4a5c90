"""Mutants of every rule that a variant of `delivery` adds: `python -m benchmarks.delivery_mutants`.

`tests/spec/test_delivery.py` has those of some variants. The exit code is 1 if a mutant survives,
or if one is killed that the baseline calls equivalent.
"""

from __future__ import annotations

import sys

from kspec.checkers.models.find import find_model
from kspec.checkers.mutation.mutate import mutate

DELIVERY = find_model("delivery")

ADDED = {
    # variant: rules that it adds
    "commit-async-close": ["member_closes"],
    "async-then-sync": ["member_commits_and_closes"],
    "commit-in-finally": ["member_fails_and_commits_position"],
    "commit-processed-in-finally": ["member_fails_and_commits_processed"],
    "commit-within-batch": ["member_commits_processed"],
    "commit-position-within-batch": ["member_commits_position_within_batch"],
    "commit-offset-of-last-record": ["member_commits_offset_of_last_record"],
    "stored-offsets": ["client_commits_stored_offsets"],
    "auto-commit-steps": [
        "client_rejoins",
        "member_polls_unless_rejoining",
        "client_commits_before_rejoining",
    ],
    "auto-commit-3.2.1": ["client_repeats_commit", "member_polls_while_rejoining"],
    "auto-commit-3.2.0": [
        "coordinator_assigns_partition_after_commits",
        "client_rejoins_without_waiting",
    ],
    "workers-prefix": ["member_polls_without_waiting", "worker_processes"],
    "workers-latest": ["member_commits_latest"],
    "workers-cancelled": ["member_cancels_workers"],
    "store-apart": ["member_stores_offset"],
    "store-together": ["member_stores_result_with_offset"],
    "store-conditional": ["member_stores_result_if_next", "store_rejects_result"],
    "filter-position": ["member_processes_unfiltered_record", "member_filters_record"],
    "filter-last-seen": ["member_commits_after_last_seen_record"],
    "poison-dead-letter": ["member_processes_healthy_record", "member_writes_dead_letter"],
}
"""The rules that each variant adds, by the variant in which their mutants are explored."""


def main() -> int:
    """Explore the mutants of each variant, and print a line for each."""
    totals = {"killed": 0, "equivalent": 0, "survived": 0}
    is_stale = False
    for name, rules in ADDED.items():
        report = mutate(
            DELIVERY,
            DELIVERY.variant(name),
            DELIVERY.baseline.bounds,
            rules=rules,
            workers=2,
        )
        counts = {fate: len(report.having(fate)) for fate in totals}
        totals = {fate: totals[fate] + counts[fate] for fate in totals}
        is_stale = is_stale or bool(report.stale)
        names = [*(o.mutant for o in report.having("survived")), *report.stale]
        print(f"{name:30}", *(f"{n:4} {fate}" for fate, n in counts.items()), *names)
    print(f"{'all':30}", *(f"{n:4} {fate}" for fate, n in totals.items()))
    return 1 if totals["survived"] or is_stale else 0


if __name__ == "__main__":
    sys.exit(main())
