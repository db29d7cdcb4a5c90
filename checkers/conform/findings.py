"""Search for disagreements, and simplify each to the smallest group that shows it.

One fault is seen in many groups, and another may hide behind it. So the search goes on after a
disagreement, for those that are *new*: of another sort than all before, or in a group that has
not all that was odd about theirs.
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

from checkers.clients import Target
from checkers.conform.judgement import CRASH, DIFFERENT, WRONG, Disagreement, judge, oddities
from checkers.conform.simplify import simplest
from checkers.strategies import Group, History, groups, histories
from spec.assignors import ASSIGNORS
from spec.assignors.properties import Round

PATIENCE = 5.0
"""Seconds after which an assignor is taken never to answer a group of a few members."""


@attrs.frozen
class Finding:
    """A disagreement, and the smallest group found that shows it."""

    strategy: str
    group: Group
    disagreement: Disagreement
    oddities: frozenset[str]
    every_time: bool = True
    """Whether the target gave the same answer when it was asked again."""

    def explains(self, disagreement: Disagreement, odd: frozenset[str]) -> bool:
        """Whether another disagreement may have the same cause."""
        return self.disagreement.same_as == disagreement.same_as and self.oddities <= odd


@attrs.define
class Searched:
    """What a search through one strategy came to."""

    strategy: str
    groups: int = 0
    """How many groups were tried, apart from those tried to simplify others."""
    findings: list[Finding] = attrs.field(factory=list)


def search(
    target: Target, strategy: str, *, max_examples: int, seed: int, any_order: bool = False
) -> Searched:
    """Try so many groups and histories of groups, which the seed decides.

    With `any_order`, the order in which a member's partitions are listed does not count.
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
    def look(asked: Group | History) -> None:
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


def groups_in(asked: Group | History, strategy: str) -> list[Group]:
    """The groups to ask about: of a history, those that Kafka's own answers lead to."""
    if isinstance(asked, Group):
        found = [asked]
    else:
        rounds = [step for step in asked.play(ASSIGNORS[strategy]) if isinstance(step, Round)]
        found = [Group(r.partitions, r.members) for r in rounds]  # type: ignore[arg-type]
    return [admitted(group) for group in found]


def admitted(group: Group) -> Group:
    """The group as Kafka would let it in: no two members are one static member."""
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
    target: Target, strategy: str, group: Group, known: Sequence[Finding], *, any_order: bool
) -> Finding | None:
    """What is new about how the target answers a group, made as simple as it can be."""

    def ask(group: Group) -> Disagreement | None:
        with at_most(PATIENCE, group):
            return judge(target, strategy, group, any_order=any_order)

    first, odd = ask(group), oddities(group)
    if first is None or any(finding.explains(first, odd) for finding in known):
        return None

    def still(smaller: Group) -> bool:
        seen = ask(smaller)
        return seen is not None and seen.same_as == first.same_as and oddities(smaller) <= odd

    smallest = simplest(group, still)
    disagreement = ask(smallest)
    if disagreement is None or disagreement.same_as != first.same_as:
        return Finding(strategy, group, first, odd, every_time=False)
    return Finding(strategy, smallest, disagreement, oddities(smallest))


# -- asking somebody else's code -----------------------------------------------------------------


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what a target prints, logs and warns of out of the report."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


class Hangs(BaseException):
    """An assignor takes too long. No `Exception`, so that nothing in between catches it."""

    def __init__(self, group: Group) -> None:
        super().__init__()
        self.group = group


@contextlib.contextmanager
def at_most(seconds: float, group: Group) -> Iterator[None]:
    """Interrupt an assignor that takes longer, where the system can."""
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
