"""The search as tests, for a client's own test suite."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from kspec.field.conform.assignors.findings import Searched, search
from kspec.field.conform.assignors.judgement import CRASH, DIFFERENT, WRONG
from kspec.field.conform.assignors.report import as_text
from kspec.field.conform.assignors.target import check_target, find_target
from kspec.field.groups.clients import Target


def conformance_tests(
    target: Target | Callable[[], Target] | str,
    *,
    max_examples: int = 300,
    seed: int = 0,
    any_order: bool = False,
) -> type:
    """A class of tests for pytest: give it a name that begins with `Test`.

    Each strategy is searched once, and a finding fails the test of its kind. A client that
    intends to assign otherwise than Kafka can still be tested for valid assignments:

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
            pytest.fail("\n\n".join(as_text(f, reference) for f in found), pytrace=False)

    @pytest.mark.parametrize("strategy", list(assignors))
    class Conformance:
        """A client's assignors, compared with Kafka's."""

        def test_never_crashes(self, strategy: str) -> None:
            expect_none(CRASH, strategy)

        def test_keeps_what_the_strategy_promises(self, strategy: str) -> None:
            expect_none(WRONG, strategy)

        def test_answers_as_kafka_does(self, strategy: str) -> None:
            expect_none(DIFFERENT, strategy)

    return Conformance
