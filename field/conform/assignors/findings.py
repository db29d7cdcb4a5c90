"""Search for disagreements, and simplify each to the smallest group that shows it.

One fault shows in many groups and may mask another. So the search continues after a
disagreement with those that are *new*: of another kind than all before, or in a group that
lacks some oddity of theirs.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence

import attrs
import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st

from kspec.field.conform.assignors.judgement import (
    CRASH,
    DIFFERENT,
    WRONG,
    Disagreement,
    judge,
    oddities,
)
from kspec.field.conform.assignors.simplify import simplest
from kspec.field.groups.clients import Target
from kspec.field.groups.strategies import AssignorInput, History, groups, histories
from kspec.spec.assignors import ASSIGNORS
from kspec.spec.assignors.properties import Round

PATIENCE = 5.0
"""The seconds after which an assignor counts as hanging on a group of a few members."""


@attrs.frozen
class Finding:
    """A disagreement, and the smallest group found that shows it."""

    strategy: str
    """The name of the strategy."""
    group: AssignorInput
    """The group."""
    disagreement: Disagreement
    """How the target's assignment differs from Kafka's."""
    oddities: frozenset[str]
    """The unusual features of the group."""
    every_time: bool = True
    """Whether the target gave the same answer when it was called again."""

    def explains(self, disagreement: Disagreement, odd: frozenset[str]) -> bool:
        """Whether another disagreement may have the same cause."""
        return self.disagreement.same_as == disagreement.same_as and self.oddities <= odd


@attrs.define
class Searched:
    """The result of a search for one strategy."""

    strategy: str
    groups: int = 0
    """How many groups were tried, without those tried while simplifying."""
    findings: list[Finding] = attrs.field(factory=list)


def search(
    target: Target, strategy: str, *, max_examples: int, seed: int, any_order: bool = False
) -> Searched:
    """Try `max_examples` groups and histories, which the seed determines.

    With `any_order`, the order of a member's partitions does not count.
    """
    searched = Searched(strategy)

    @settings(
        max_examples=max_examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @hypothesis.seed(seed)
    @given(st.one_of(groups(plain=True), groups(), histories()))
    def look(asked: AssignorInput | History) -> None:
        for group in groups_in(asked, strategy):
            searched.groups += 1
            finding = find(target, strategy, group, searched.findings, any_order=any_order)
            if finding:
                others = [
                    f for f in searched.findings if not finding.explains(f.disagreement, f.oddities)
                ]
                searched.findings = [*others, finding]

    try:
        with quiet():
            look()
    except Hangs as hangs:
        says = f"No answer within {PATIENCE:g} seconds. The search ended here."
        disagreement = Disagreement(CRASH, Hangs.__name__, says)
        searched.findings.append(
            Finding(strategy, hangs.group, disagreement, oddities(hangs.group))
        )
    searched.findings.sort(key=lambda f: (CRASH, WRONG, DIFFERENT).index(f.disagreement.kind))
    return searched


def groups_in(asked: AssignorInput | History, strategy: str) -> list[AssignorInput]:
    """The groups to try: of a history, those that Kafka's own assignments lead to."""
    if isinstance(asked, AssignorInput):
        found = [asked]
    else:
        rounds = [step for step in asked.play(ASSIGNORS[strategy]) if isinstance(step, Round)]
        found = [AssignorInput(r.partitions, r.members) for r in rounds]  # type: ignore[arg-type]
    return [admitted(group) for group in found]


def admitted(group: AssignorInput) -> AssignorInput:
    """The group as the coordinator admits it: no two members share an instance id."""
    known: set[str] = set()
    members = {}
    for name, member in group.members.items():
        if member.instance_id in known:
            member = attrs.evolve(member, instance_id=None)
        elif member.instance_id is not None:
            known.add(member.instance_id)
        members[name] = member
    return attrs.evolve(group, members=members)


def find(
    target: Target,
    strategy: str,
    group: AssignorInput,
    known: Sequence[Finding],
    *,
    any_order: bool,
) -> Finding | None:
    """A new disagreement on a group, simplified as far as possible; None if there is none."""

    def ask(group: AssignorInput) -> Disagreement | None:
        with at_most(PATIENCE, group):
            return judge(target, strategy, group, any_order=any_order)

    first, odd = ask(group), oddities(group)
    if first is None or any(finding.explains(first, odd) for finding in known):
        return None

    def still(smaller: AssignorInput) -> bool:
        seen = ask(smaller)
        return seen is not None and seen.same_as == first.same_as and oddities(smaller) <= odd

    smallest = simplest(group, still)
    disagreement = ask(smallest)
    if disagreement is None or disagreement.same_as != first.same_as:
        return Finding(strategy, group, first, odd, every_time=False)
    return Finding(strategy, smallest, disagreement, oddities(smallest))


# -- calling the target -----------------------------------------------------------------


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep the target's output, logs and warnings out of the report."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


class Hangs(BaseException):
    """An assignor takes too long. Not an `Exception`, so that no code in between catches it."""

    def __init__(self, group: AssignorInput) -> None:
        super().__init__()
        self.group = group


@contextlib.contextmanager
def at_most(seconds: float, group: AssignorInput) -> Iterator[None]:
    """Interrupt an assignor that takes longer, where the system supports it."""
    if not hasattr(signal, "setitimer") or threading.current_thread() != threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise Hangs(group)

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
