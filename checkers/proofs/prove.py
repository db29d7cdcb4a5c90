"""Prove a lemma for all numbers at once, with z3, by running the function that states it.

The function runs on `Number`s: each stands for every integer that it may be, and arithmetic on
them gives terms for the solver. Where it compares two of them (every `if`, `min` and `abs` does),
the solver determines which outcomes are possible; if both are, the function is run again to take
the other branch. Each path through the function is a case. A lemma is proved when no case remains
in which a claim is false.

The proof is about the function itself, not a translation of it. It relies on z3, and on `Number`
computing as `int` does. A counterexample needs no trust: the function is run on it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import attrs
import z3

from kspec.checkers.engine.verdict import HOLDS, INCONCLUSIVE, VIOLATED
from kspec.spec.core import SpecError
from kspec.spec.lemmas import Lemma


class GaveUp(BaseException):
    """The solver has no answer. Not an `Exception`, so that no code in between catches it."""


class CannotFollow(BaseException):
    """The function needs a plain `int` in place of a `Number`."""


class Number:
    """Every integer that a term may stand for. It computes as `int`; comparisons ask the solver."""

    __slots__ = ("cases", "term")
    __hash__ = None  # type: ignore[assignment]  # equal numbers have no common hash

    def __init__(self, cases: Cases, term: Any) -> None:
        self.cases = cases
        self.term = term

    def _is(self, truth: Any) -> bool:
        return self.cases.decide(truth)

    def _make(self, term: Any) -> Number:
        return Number(self.cases, term)

    # What stays within terms.

    def __neg__(self) -> Number:
        return self._make(-self.term)

    def __pos__(self) -> Number:
        return self

    def __add__(self, other: object) -> Number:
        return self._make(self.term + term_of(other))

    def __radd__(self, other: object) -> Number:
        return self._make(term_of(other) + self.term)

    def __sub__(self, other: object) -> Number:
        return self._make(self.term - term_of(other))

    def __rsub__(self, other: object) -> Number:
        return self._make(term_of(other) - self.term)

    def __mul__(self, other: object) -> Number:
        return self._make(self.term * term_of(other))

    def __rmul__(self, other: object) -> Number:
        return self._make(term_of(other) * self.term)

    # What depends on the case.

    def __bool__(self) -> bool:
        return self._is(self.term != 0)

    def __lt__(self, other: object) -> bool:
        return self._is(self.term < term_of(other))

    def __le__(self, other: object) -> bool:
        return self._is(self.term <= term_of(other))

    def __gt__(self, other: object) -> bool:
        return self._is(self.term > term_of(other))

    def __ge__(self, other: object) -> bool:
        return self._is(self.term >= term_of(other))

    def __eq__(self, other: object) -> bool:
        return self._is(self.term == term_of(other))

    def __ne__(self, other: object) -> bool:
        return self._is(self.term != term_of(other))

    def __abs__(self) -> Number:
        return -self if self < 0 else self

    def __divmod__(self, other: object) -> tuple[Number, Number]:
        """Python rounds down; the solver makes the remainder non-negative instead."""
        divisor = self._make(term_of(other))
        if divisor == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        if divisor < 0:
            quotient, remainder = divmod(-self, -divisor)
            return quotient, -remainder
        return self._make(self.term / divisor.term), self._make(self.term % divisor.term)

    def __rdivmod__(self, other: object) -> tuple[Number, Number]:
        return divmod(self._make(term_of(other)), self)

    def __floordiv__(self, other: object) -> Number:
        return divmod(self, other)[0]

    def __rfloordiv__(self, other: object) -> Number:
        return divmod(other, self)[0]

    def __mod__(self, other: object) -> Number:
        return divmod(self, other)[1]

    def __rmod__(self, other: object) -> Number:
        return divmod(other, self)[1]

    # What only one number has.

    def _cannot(self, *others: object) -> NoReturn:
        raise CannotFollow("it counts, divides or shifts by what may be any number")

    __index__ = __int__ = __float__ = __round__ = __trunc__ = __floor__ = __ceil__ = _cannot
    __pow__ = __rpow__ = __truediv__ = __rtruediv__ = _cannot
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _cannot
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _cannot


def term_of(value: object) -> Any:
    """A number of either kind, for the solver."""
    if isinstance(value, Number):
        return value.term
    if isinstance(value, int):
        return z3.IntVal(int(value))
    raise CannotFollow(f"it puts a number together with {value!r}")


SMALL_EFFORT = 1_000_000
"""How hard z3 looks for small numbers: in steps, so that a busy machine finds the same ones."""


class Cases:
    """The cases that numbers fall into, found one after the other while a function runs."""

    def __init__(self, lemma: Lemma, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
        self.variables = {name: z3.Int(name) for name in lemma.domain}
        self.domain = [
            bound
            for name, numbers in lemma.domain.items()
            for bound in within(self.variables[name], numbers.low, numbers.high)
        ]
        self.number = 0
        """The number of cases so far."""
        self._ahead: list[list[bool]] = [[]]
        """The cases that remain, each as the answers that lead to it."""
        self._answers: list[bool] = []
        self._given: list[bool] = []
        self._facts: list[Any] = []
        """The constraints on the numbers in this case."""

    def __iter__(self) -> Iterator[dict[str, Number]]:
        """The variables, as they are in each case."""
        while self._ahead:
            self._given = self._ahead.pop()
            self._answers = []
            self._facts = list(self.domain)
            self.number += 1
            yield {name: Number(self, variable) for name, variable in self.variables.items()}

    def decide(self, truth: Any) -> bool:
        """Whether this is true in this case; where both are possible, add another case."""
        if len(self._answers) < len(self._given):
            answer = self._given[len(self._answers)]
        elif not self._is_possible(z3.Not(truth)):
            answer = True
        elif not self._is_possible(truth):
            answer = False
        else:
            self._ahead.append([*self._answers, False])
            answer = True
        self._answers.append(answer)
        self._facts.append(truth if answer else z3.Not(truth))
        return answer

    def example(self) -> dict[str, int]:
        """Numbers of this case; small ones, if the solver finds them easily."""
        answer, found = self._solve(self._facts)
        if answer != z3.sat:
            raise GaveUp(reason(found))
        facts = self._facts
        for variable in self.variables.values():
            for bound in (0, 1, 3, 10, 100):
                near = within(variable, -bound, bound)
                answer, solver = self._solve([*facts, *near], effort=SMALL_EFFORT)
                if answer == z3.sat:
                    facts, found = [*facts, *near], solver
                    break
        model = found.model()
        return {
            name: model.eval(variable, model_completion=True).as_long()
            for name, variable in self.variables.items()
        }

    def _is_possible(self, truth: Any) -> bool:
        answer, solver = self._solve([*self._facts, truth])
        if answer == z3.unknown:
            raise GaveUp(reason(solver))
        return bool(answer == z3.sat)

    def _solve(self, facts: list[Any], effort: int | None = None) -> tuple[Any, Any]:
        """Ask the solver, for the remaining time or with limited effort."""
        solver = z3.Solver()
        if effort is None:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise GaveUp("time")
            solver.set(timeout=max(1, int(1000 * left)))
        else:
            solver.set(rlimit=effort)
        solver.add(*facts)
        answer = solver.check()
        if answer == z3.unknown and "keyboard" in solver.reason_unknown():
            raise KeyboardInterrupt  # z3 takes Ctrl-C for itself
        return answer, solver


def reason(solver: Any) -> str:
    """Why the solver has no answer."""
    text = str(solver.reason_unknown())
    return "time" if text in ("timeout", "canceled") else f"z3: {text}"


def within(term: Any, low: int | None, high: int | None) -> list[Any]:
    """The bounds of a number, as facts."""
    return [
        *([term >= low] if low is not None else []),
        *([term <= high] if high is not None else []),
    ]


# -- lemmas -----------------------------------------------------------------------------------


@attrs.frozen
class Finding:
    """The result for one statement."""

    verdict: str
    """`holds` for every number of its domain, `violated` by some, or `inconclusive`."""
    seconds: float
    """Seconds that it took."""
    cases: int
    """How many cases the numbers fell into."""
    counterexample: Mapping[str, int] | None = None
    """Numbers for which it is false."""
    fails: str = ""
    """The failure that the function itself reports for them."""
    stopped_by: str = ""
    """Why there is no answer."""


@attrs.frozen
class Proof:
    """The results for a lemma and its false neighbours."""

    lemma: Lemma
    finding: Finding
    neighbours: Mapping[Lemma, Finding]

    @property
    def verdict(self) -> str:
        """The lemma's verdict, if all of its neighbours are refuted."""
        near = {finding.verdict for finding in self.neighbours.values()}
        if self.finding.verdict == VIOLATED or HOLDS in near:
            return VIOLATED
        if INCONCLUSIVE in {self.finding.verdict, *near}:
            return INCONCLUSIVE
        return HOLDS


def prove(lemma: Lemma, neighbours: list[Lemma], seconds: float) -> Proof:
    """Prove a lemma, and refute its neighbours."""
    return Proof(lemma, judge(lemma, seconds), {near: judge(near, seconds) for near in neighbours})


def judge(lemma: Lemma, seconds: float) -> Finding:
    """Find numbers for which a statement is false, or that there are none."""
    started = time.monotonic()
    cases = Cases(lemma, seconds)
    claimed = False

    def finding(verdict: str, **more: Any) -> Finding:
        return Finding(verdict, time.monotonic() - started, cases.number, **more)

    try:
        for numbers in cases:
            trouble: BaseException | None = None
            try:
                claims = [true for _, true in lemma.claims(**numbers)]
            except (Exception, CannotFollow) as error:
                claims, trouble = [], error
            claimed = claimed or bool(claims)
            if trouble or not all(claims):
                example = cases.example()
                fails = failure(lemma, example)
                if fails is None:
                    why = f"{lemma.name} cannot be run for all numbers at once: {trouble}"
                    raise SpecError(why) from trouble
                return finding(VIOLATED, counterexample=example, fails=fails)
    except GaveUp as stop:
        return finding(INCONCLUSIVE, stopped_by=str(stop))
    if not claimed:
        raise SpecError(f"{lemma.name} claims nothing: no numbers meet its conditions")
    return finding(HOLDS)


def failure(lemma: Lemma, numbers: Mapping[str, int]) -> str | None:
    """The failure for these numbers, found by running the function on them."""
    try:
        says = lemma.failure(**numbers)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None if says is None else f"it is false that {says}"
