"""What a search found, as text, as JSON, as JUnit's XML, and as a file to replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import attrs

from kspec.field.conform.history import Step, describe, from_json, to_json
from kspec.field.conform.search import Found, Searched
from kspec.spec.core import SpecError
from kspec.spec.core.checks import ALL_HOLD
from kspec.spec.core.errors import located
from kspec.traces.source import parse_json, read_text

FORMAT = "kspec-conform-broker/1"
"""The format of files of differences."""


@attrs.frozen
class Known:
    """A difference in a file: to replay, or to expect."""

    signature: str
    """What identifies it."""
    steps: tuple[Step, ...]
    """Its history; none in a file that was written by hand."""


def read_known(path: Path) -> list[Known]:
    """The differences of a file."""
    record = parse_json(read_text(path))
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise SpecError(f"{path}: not a file of differences ({FORMAT})")
    differences = record.get("differences")
    if not isinstance(differences, list):
        raise SpecError(f"{path}: no list of differences")
    known = []
    for number, item in enumerate(differences, 1):
        if not isinstance(item, dict) or not isinstance(item.get("signature"), str):
            raise SpecError(f"{path}: difference {number} has no signature")
        history = item.get("history", [])
        if not isinstance(history, list):
            raise SpecError(f"{path}: the history of difference {number} is not a list")
        with located(f"{path}: difference {number}"):
            known.append(Known(item["signature"], tuple(map(from_json, history))))
    return known


# -- JSON -------------------------------------------------------------------------------------


def to_record(found: Found, expected: bool) -> dict[str, Any]:
    """A difference as JSON."""
    difference, decision = found.difference, found.difference.decision
    return {
        "signature": difference.signature,
        "known": expected,
        "profile": found.profile,
        "histories": found.times,
        "after_steps": found.after,
        "as_coordinator": found.as_other or None,
        "problem": difference.problem,
        "specification": list(difference.expected),
        "broker": difference.observed,
        "guard": decision.guard if decision else None,
        "source": (decision.source or None) if decision else None,
        "history": [to_json(step) for step in found.steps],
    }


def to_file(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The content of a file of differences."""
    return {"format": FORMAT, "differences": list(records)}


def guards_of(searched: Searched) -> list[dict[str, Any]]:
    """How often each guard was seen enabled and blocked."""
    return [
        {"request": kind, "guard": guard, "enabled": passed, "blocked": failed}
        for kind, guard, passed, failed in searched.coverage.rows()
    ]


# -- text -------------------------------------------------------------------------------------


def as_text(found: Found) -> str:
    """A difference with its shortest history."""
    difference = found.difference
    count = len(found.steps)
    after = f"{count} step{'' if count == 1 else 's'}"
    lines = [f"DIFFERENT after {after} (profile {found.profile}):"]
    lines += [f"  {number:2} {describe(step)}" for number, step in enumerate(found.steps, 1)]
    allowed = difference.expected
    lines.append(f"  specification: {allowed[0]}")
    lines += [f"             or: {other}" for other in allowed[1:4]]
    if len(allowed) > 4:
        lines.append(f"             or {len(allowed) - 4} other ways")
    lines.append(f"         broker: {difference.observed}")
    if difference.decision is not None:
        decision = difference.decision
        fails = decision.guard != ALL_HOLD
        because = f"guard '{decision.guard}', which fails" if fails else decision.guard
        follows = f"; Kafka: {decision.source}" if decision.source else ""
        lines.append(f"  decided by: {because}{follows}")
    if found.as_other:
        lines.append(f"  This is what Kafka's {found.as_other} coordinator does.")
    return "\n".join(lines)


# -- JUnit ------------------------------------------------------------------------------------


def as_junit(searched: Searched, expected: Sequence[str], address: str) -> str:
    """A test case for each guard that was evaluated, and one for each difference."""
    suite = ElementTree.Element("testsuite", name=f"kspec conform broker {address}")
    for kind, guard, passed, failed in searched.coverage.rows():
        case = ElementTree.SubElement(suite, "testcase", classname=kind, name=guard)
        ElementTree.SubElement(case, "system-out").text = f"enabled {passed}, blocked {failed}"
    failures = 0
    for found in searched.found:
        signature = found.difference.signature
        case = ElementTree.SubElement(suite, "testcase", classname="difference", name=signature)
        if signature in expected:
            ElementTree.SubElement(case, "skipped", message="expected")
        else:
            failures += 1
            failure = ElementTree.SubElement(case, "failure", message=signature)
            failure.text = as_text(found)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(failures))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)
