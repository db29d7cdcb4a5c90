"""A handler yields checks: `decide` runs it, and a rule takes them as its guards."""

from __future__ import annotations

import attrs

from kspec.spec.core import Blocked, Check, Checked, Step, decide, rule
from kspec.spec.core.text import errors_in_text

CLOSED, TOO_MANY = "CLOSED", "TOO_MANY"


@attrs.frozen
class Shop:
    """A shop, and how many are in it."""

    is_open: bool = True
    visitors: int = 0


def may_enter(s: Shop) -> Checked[None]:
    """The shop is open. Kafka: `Door.check`."""
    yield Check("shop is open", s.is_open, CLOSED)


def entered(s: Shop, limit: int) -> Checked[int]:
    """Enter the shop.

    Kafka: `Shop.enter`.
    """
    yield from may_enter(s)
    yield Check("there is room", s.visitors < limit, TOO_MANY)
    return s.visitors + 1


@rule(by="visitor")
def visitor_enters(s: Shop) -> Step[Shop]:
    """A visitor enters."""
    visitors = yield from entered(s, 2)
    return attrs.evolve(s, visitors=visitors)


def test_a_decision_has_the_effect_and_all_checks() -> None:
    decision = decide(entered(Shop(visitors=1), 2))
    assert (decision.effect, decision.failed, decision.error) == (2, None, None)
    assert [check.guard for check in decision.checks] == ["shop is open", "there is room"]
    assert (decision.guard, decision.source) == ("all guards hold", "Shop.enter")


def test_a_decision_ends_at_the_check_that_fails() -> None:
    decision = decide(entered(Shop(visitors=2), 2))
    assert decision.effect is None
    assert decision.failed == Check("there is room", False, TOO_MANY)
    assert (decision.guard, decision.error, decision.source) == (
        "there is room",
        TOO_MANY,
        "Shop.enter",
    )


def test_the_source_is_that_of_the_innermost_function() -> None:
    decision = decide(entered(Shop(is_open=False), 2))
    assert (decision.error, decision.source) == (CLOSED, "Door.check")
    assert len(decision.checks) == 1


def test_checks_are_the_guards_of_a_rule() -> None:
    assert visitor_enters.attempt(Shop(), ()) == Shop(visitors=1)
    assert visitor_enters.attempt(Shop(is_open=False), ()) == Blocked("shop is open")
    assert visitor_enters.guards(Shop(visitors=2), ()) == [
        ("shop is open", True),
        ("there is room", False),
    ]
    assert visitor_enters.guard_names() == [("shop is open", False), ("there is room", False)]


def test_errors_are_read_from_the_text() -> None:
    assert errors_in_text(entered) == {"shop is open": CLOSED, "there is room": TOO_MANY}
