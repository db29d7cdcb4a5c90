"""Whether a target's assignment is Kafka's, and if not, how it differs."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from kspec.field.groups.clients import Target
from kspec.field.groups.strategies import AssignorInput
from kspec.spec.assignors import (
    ASSIGNORS,
    GUARANTEES,
    Assignment,
    KafkaRaises,
    Member,
    TopicPartition,
)
from kspec.spec.assignors.cooperative import rounds
from kspec.spec.assignors.properties import Round, failure

WRONG, DIFFERENT, CRASH = "wrong", "different", "crash"

ENOUGH_ROUNDS = 12
"""The number of cooperative rounds within which an assignor must settle."""


@attrs.frozen
class Disagreement:
    """How an assignment differs from Kafka's."""

    kind: str
    """`wrong`: it violates a property; `different`: valid, but not Kafka's; or `crash`."""
    what: str
    """The property's name; `placement` or `list order`; or the type of the exception."""
    says: str
    """The disagreement in a sentence."""
    place: str = ""
    """The file and line of a crash."""
    answer: Assignment | None = None
    """The target's assignment; None if it crashed."""

    @property
    def same_as(self) -> tuple[str, str, str]:
        """Equal for two disagreements that probably have one cause."""
        return self.kind, self.what, self.place


def judge(
    target: Target, strategy: str, group: AssignorInput | Round, *, any_order: bool = False
) -> Disagreement | None:
    """Compare the two assignments; None where they agree, or where Kafka raises an exception.

    A violated property counts only where Kafka's assignment satisfies it, since some inputs are
    too inconsistent. With `any_order`, the order of a member's partitions does not count.
    """
    try:
        expected = ASSIGNORS[strategy](group.partitions, group.members)
    except KafkaRaises:
        return None
    try:
        answer = answer_of(target, strategy, group.partitions, group.members)
    except (Exception, SystemExit) as error:
        return _crash(error)
    if answer == expected:
        return None
    got, kafkas = (Round(group.partitions, group.members, a) for a in (answer, expected))
    for holds in GUARANTEES[strategy]:
        broken_at = failure(holds, got)
        if broken_at and not failure(holds, kafkas):
            meaning = (holds.__doc__ or "").split("\n\n")[0]
            says = f"{' '.join(meaning.split())} Not so: {broken_at}."
            return Disagreement(WRONG, holds.__name__, says, answer=answer)
    if _as_sets(answer) != _as_sets(expected):
        if strategy == "cooperative-sticky" and not _settles(target, strategy, got):
            says = f"Members rejoin until nothing moves. Not within {ENOUGH_ROUNDS} rounds."
            return Disagreement(WRONG, "rounds_settle", says, answer=answer)
        return Disagreement(DIFFERENT, "placement", _difference(answer, expected), answer=answer)
    if any_order:
        return None
    return Disagreement(DIFFERENT, "list order", _difference(answer, expected), answer=answer)


def answer_of(
    target: Target, strategy: str, partitions: Mapping[str, Any], members: Mapping[str, Member]
) -> Assignment:
    """The target's assignment in our types. It receives copies, which it may change."""
    answer = target[strategy](dict(partitions), dict(members))
    return {m: tuple(TopicPartition(t, index) for t, index in got) for m, got in answer.items()}


def _as_sets(assignment: Assignment) -> dict[str, Counter[TopicPartition]]:
    return {member: Counter(assigned) for member, assigned in assignment.items()}


def _settles(target: Target, strategy: str, begin: Round) -> bool:
    """Whether cooperative rounds end; a crash in one of them is another finding."""

    def assign(partitions: Mapping[str, Any], members: Mapping[str, Member]) -> Assignment:
        return answer_of(target, strategy, partitions, members)

    try:
        history = rounds(assign, begin.partitions, begin.members, ENOUGH_ROUNDS)
    except Exception:
        return True
    return len(history) < ENOUGH_ROUNDS


def _crash(error: BaseException) -> Disagreement:
    """The disagreement for an exception."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}"
    message = " ".join(f"{type(error).__name__}: {error}".split())
    return Disagreement(CRASH, type(error).__name__, f"{message}, raised in {place}.", place)


def _difference(answer: Assignment, expected: Assignment) -> str:
    """The first member whose partitions differ from Kafka's."""
    for member, partitions in expected.items():
        if answer[member] != partitions:
            got, kafkas = (" ".join(map(str, p)) or "nothing" for p in (answer[member], partitions))
            return f"Member {member!r} gets {got}; by Kafka it gets {kafkas}."
    return ""


# -- oddities -------------------------------------------------------------------


def _claimed(group: AssignorInput) -> list[TopicPartition]:
    return [tp for member in group.members.values() for tp in member.owned]


def _claims_what_is_not_its_own(group: AssignorInput) -> bool:
    return any(
        tp.topic not in member.topics or tp.partition >= (group.partitions.get(tp.topic) or 0)
        for member in group.members.values()
        for tp in member.owned
    )


ODDITIES: Mapping[str, Callable[[AssignorInput], bool]] = {
    "members that subscribe to different topics": lambda group: (
        len({frozenset(member.topics) for member in group.members.values()}) > 1
    ),
    "a member without topics": lambda group: not all(m.topics for m in group.members.values()),
    "a topic without partitions": lambda group: (
        not all(group.partitions.get(topic) for m in group.members.values() for topic in m.topics)
    ),
    "a topic named twice by one member": lambda group: any(
        len(set(m.topics)) < len(m.topics) for m in group.members.values()
    ),
    "static members": lambda group: any(m.instance_id for m in group.members.values()),
    "names with characters beyond U+FFFF": lambda group: any(
        max(name, default="") > "\uffff"
        for m, member in group.members.items()
        for name in (m, *member.topics, member.instance_id or "")
    ),
    "partitions that are owned already": lambda group: bool(_claimed(group)),
    "partitions that two members claim": lambda group: (
        len(set(_claimed(group))) < len(_claimed(group))
    ),
    "claims to what is gone or not subscribed to": _claims_what_is_not_its_own,
    "claims of different generations": lambda group: (
        len({member.generation for member in group.members.values() if member.owned}) > 1
    ),
}
"""Unusual features of a group. A finding with few of them points to the cause."""


def oddities(group: AssignorInput) -> frozenset[str]:
    """The unusual features of a group."""
    return frozenset(name for name, applies in ODDITIES.items() if applies(group))
