"""A finding as text, as JSON, and as Python that reproduces it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kspec.field.conform.assignors.findings import Finding
from kspec.field.groups.groupfile import to_record
from kspec.spec.assignors import ASSIGNORS, Assignment, Member


def as_text(finding: Finding, reference: str | None = None) -> str:
    """The disagreement, and Python that reproduces it."""
    d = finding.disagreement
    heading = f"{finding.strategy}, {d.kind.upper()}, {d.what}"
    lines = [f"# {heading}: {d.says}"]
    if finding.oddities:
        lines.append(f"# The group has {', '.join(sorted(finding.oddities))}.")
    if not finding.every_time:
        lines.append("# Asked again, the target answered otherwise.")
    return "\n".join([*lines, reproduction(finding, reference)])


def reproduction(finding: Finding, reference: str | None = None) -> str:
    """Python that calls both assignors; without a reference to the target, Kafka's only."""
    group, strategy = finding.group, finding.strategy
    target = f"find_target({reference!r})[{strategy!r}](partitions, members)"
    imports = ["from spec.assignors import ASSIGNORS, Member"]
    if reference:
        imports.insert(0, "from kspec.field.conform.assignors import find_target")
    expected = ASSIGNORS[strategy](group.partitions, group.members)
    answer = finding.disagreement.answer
    return "\n".join(
        [
            *imports,
            "",
            f"partitions = {dict(group.partitions)!r}",
            "members = {",
            *(f"    {name!r}: {_constructor(member)}," for name, member in group.members.items()),
            "}",
            f"print(ASSIGNORS[{strategy!r}](partitions, members))",
            f"# by Kafka: {short(expected)}",
            *([f"print({target})"] if reference else []),
            f"# the target: {finding.disagreement.says if answer is None else short(answer)}",
        ]
    )


def _constructor(member: Member) -> str:
    """The Python expression of a member."""
    arguments = [repr(list(member.topics))]
    if member.owned:
        arguments.append(f"owned={[tuple(tp) for tp in member.owned]!r}")
    named = ("generation", "instance_id", "rack")
    arguments += [f"{n}={value!r}" for n in named if (value := getattr(member, n)) is not None]
    return f"Member({', '.join(arguments)})"


def short(assignment: Assignment) -> dict[str, list[str]]:
    """An assignment with its partitions as text."""
    return {member: [str(tp) for tp in assigned] for member, assigned in assignment.items()}


def to_json(finding: Finding, reference: str | None = None) -> Mapping[str, Any]:
    """A finding as JSON; the group is in the format that `kspec assign` reads."""
    d = finding.disagreement
    expected = ASSIGNORS[finding.strategy](finding.group.partitions, finding.group.members)
    return {
        "kind": d.kind,
        "what": d.what,
        "says": d.says,
        "oddities": sorted(finding.oddities),
        "every_time": finding.every_time,
        "group": to_record(finding.group.partitions, finding.group.members),
        "kafka": short(expected),
        "target": None if d.answer is None else short(d.answer),
        "reproduction": reproduction(finding, reference),
    }
