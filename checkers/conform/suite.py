"""The search as tests, for a client's own suite."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from checkers.clients import Target
from checkers.conform.findings import Searched, search
from checkers.conform.judgement import CRASH, DIFFERENT, WRONG
from checkers.conform.report import told
from checkers.conform.target import check_target, find_target


def conformance_tests(
    target: Target | Callable[[], Target] | str,
    *,
    max_examples: int = 300,
    seed: int = 0,
    any_order: bool = False,
) -> type:
    """A class of tests for pytest to collect: give it a name that begins with `Test`.

    Each strategy is searched once; what is found fails the test of its kind, so that a client
    that means to place otherwise than Kafka can still be held to valid answers:

        TestMine = conformance_tests(MY_ASSIGNORS)
        del TestMine.test_answers_as_kafka_does
    """
    import pytest

    reference = target if isinstance(target, str) else None
    assignors = find_target(target) if isinstance(target, str) else check_target(target)

    @cache
    def searched(strategy: str) -> Searched:
        return search(
            assignors, strategy, max_examples=max_examples, seed=seed, any_order=any_order
        )

    def expect_none(kind: str, strategy: str) -> None:
        found = [f for f in searched(strategy).findings if f.disagreement.kind == kind]
        if found:
            pytest.fail("\n\n".join(told(f, reference) for f in found), pytrace=False)

    @pytest.mark.parametrize("strategy", list(assignors))
    class Conformance:
        """A client's assignors, held against Kafka's."""

        def test_never_crashes(self, strategy: str) -> None:
            expect_none(CRASH, strategy)

        def test_keeps_what_the_strategy_promises(self, strategy: str) -> None:
            expect_none(WRONG, strategy)

        def test_answers_as_kafka_does(self, strategy: str) -> None:
            expect_none(DIFFERENT, strategy)

    return Conformance
