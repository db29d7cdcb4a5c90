"""The messages that Kafka logs, from the files beside this one, and how to look one up.

`coordinators.toml`, `replicas.toml` and `consumers.toml` have a wording for each message and the
releases that have it; the head of each says how to add one. `fields.toml` has the names of values,
`causes.toml` the reasons that coordinators and clients log for a rebalance, and `told.toml` what
a timeline tells of other events.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from typing import Any

import attrs
from attrs.validators import in_, instance_of, matches_re

TAIL = r"\.?(?: \([\w.$]+(?::\d+)?\))?(?: \[[^\]]*\])?\s*"
"""What may follow a message: a dot, the logger, the thread."""
NUMBER = r"-?\d{1,19}"
SHAPES = {
    "numbers": NUMBER,
    "brokers": r"(?:\d{1,9}(?:, ?|(?=\D|$)))*?",
    "lists": ".*?",
    "words": r"\S+?",
    "texts": ".*?",
}
"""The regular expression of a field, by the kind of its values."""
VERSION = r"\d+\.\d+"
KNOWN = "known"
"""The event of lines that are known and tell nothing that is used."""


def read_toml(name: str) -> dict[str, Any]:
    """A file beside this one."""
    return tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))


TOLD = read_toml("told.toml")
"""What is told of events: of a `group` and of a `partition` in a sentence, of the `cluster` not."""

KINDS = {name: kind for kind, names in read_toml("fields.toml").items() for name in names}
"""The kind of each field's values: a key of SHAPES."""


def has_known_fields(_: Wording, __: Any, text: str) -> None:
    """A wording whose fields are known, and that has words to find it by."""
    unknown = set(re.findall(r"\{(\w+)\}", text)) - KINDS.keys() - {"_"}
    if unknown:
        raise ValueError(f"fields.toml does not have {', '.join(sorted(unknown))}")
    if not re.sub(r"\{\w+\}", "", text).strip():
        raise ValueError("text has no words")


@attrs.frozen(slots=False, eq=False)
class Wording:
    """A message of Kafka, in the words of some versions, with `{field}` where a value stands."""

    event: str
    """The event that it tells, or KNOWN."""
    text: str = attrs.field(validator=[instance_of(str), has_known_fields])
    since: str = attrs.field(validator=matches_re(VERSION))
    """The versions that have it, as far as they were looked at: the first …"""
    source: str = attrs.field(validator=matches_re(".+"))
    """The class and method of Kafka that logs it."""
    until: str = attrs.field(default="", validator=matches_re(f"({VERSION})?"))
    """… and the last; empty if 4.2 has it."""
    level: str = attrs.field(default="INFO", validator=in_({"DEBUG", "INFO", "WARN", "ERROR"}))
    values: Mapping[str, Any] = attrs.field(factory=dict, validator=instance_of(dict))
    """Fields that the words imply."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The wording as a regular expression, from its first words to the end of the line."""
        parts = []
        seen = set()
        for part in re.split(r"(\{\w+\})", self.text):
            name = part[1:-1] if re.fullmatch(r"\{\w+\}", part) else None
            if name is None:
                parts.append(re.escape(part))
            elif name == "_":
                parts.append(".*?")
            elif name in seen:
                parts.append(f"(?P={name})")
            else:
                seen.add(name)
                parts.append(f"(?P<{name}>{SHAPES[KINDS[name]]})")
        return re.compile("".join(parts) + TAIL)

    @cached_property
    def first(self) -> str:
        """The words before its first field."""
        return re.split(r"\{\w+\}", self.text)[0]

    @cached_property
    def anchor(self) -> str:
        """The longest of its fixed words, by which a line is found."""
        return max(re.split(r"\{\w+\}", self.text), key=len).strip()

    def read(self, message: str) -> dict[str, Any] | None:
        """The fields of a message; None if it has other words."""
        first = self.first
        begin = message.find(first) if first else 0
        while begin >= 0:
            found = self.pattern.fullmatch(message, begin)
            if found:
                named = found.groupdict().items()
                return {**{n: typed(n, v) for n, v in named}, **self.values}
            begin = message.find(first, begin + 1) if first else -1
        return None


def typed(name: str, value: str) -> Any:
    """The value of a field, by its name."""
    kind = KINDS[name]
    if kind == "numbers":
        return int(value)
    return items(value) if kind in ("brokers", "lists") else value


def items(value: str) -> list[Any]:
    """The elements of a list as Java or Scala prints it: `[a, b]`, `Set(a, b)`, `1,2`."""
    inner = re.sub(r"^(?:\w+\(|\[|\{)|[)\]}]$", "", value.strip())
    found = [item.strip() for item in inner.split(",")]
    return [int(item) if re.fullmatch(NUMBER, item) else item for item in found if item]


def read_wordings(name: str, entries: Mapping[str, Any]) -> list[Wording]:
    """The wordings of a file, by event. ValueError, with file and event, for a malformed one."""
    found = []
    for event, wordings in entries.items():
        try:
            found += [Wording(event, **wording) for wording in wordings]
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name}: {event}: {error}") from error
    return found


class Table:
    """Wordings in the order in which they are tried."""

    def __init__(self, *names: str) -> None:
        """The wordings of these files, those that tell an event first."""
        wordings = [one for name in names for one in read_wordings(name, read_toml(name))]
        self.wordings: Sequence[Wording] = sorted(wordings, key=lambda one: one.event == KNOWN)
        anchors = dict.fromkeys(one.anchor for one in wordings)
        self.anchors = [a for a in anchors if not any(b in a for b in anchors if b != a)]

    def may_match(self, text: str) -> bool:
        """Whether a line has the words of any wording. Most lines do not, so this is quick."""
        for anchor in self.anchors:  # noqa: SIM110 - twice as fast as any()
            if anchor in text:
                return True
        return False

    def read(self, message: str) -> tuple[Wording, dict[str, Any]] | None:
        """The wording of a message, and its fields."""
        for wording in self.wordings:
            if wording.anchor in message:
                fields = wording.read(message)
                if fields is not None:
                    return wording, fields
        return None
