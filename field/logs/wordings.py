"""How the tables of log lines are written, and how a line is looked up in them.

A wording is the text that Kafka logs, with a `{field}` where a value stands. `{_}` is a value that
no event needs. Fields named in NUMBERS are integers; those in LISTS are lists of identifiers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import attrs

NUMBERS = frozenset(
    [
        "generation",
        "members",
        "static",
        "epoch",
        "previous_epoch",
        "partition_epoch",
        "offset",
        "high_watermark",
        "broker",
        "leader",
        "end_offset",
        "count",
        "start_offset",
        "to_offset",
        "new_leader",
        "controller_epoch",
        "milliseconds",
        "session_timeout",
        "rebalance_timeout",
    ]
)
"""Fields whose value is an integer."""
LISTS = frozenset({"isr", "from_isr", "removed", "groups", "assigned"})
"""Fields whose value is a list."""

BROKERS = frozenset({"isr", "from_isr"})
"""Lists of brokers."""

TAIL = r"\.?(?: \([\w.$]+(?::\d+)?\))?(?: \[[^\]]*\])?\s*"
"""What may follow a message: a dot, the logger, the thread."""
NUMBER = r"-?\d{1,19}"


@attrs.frozen(slots=False)
class Wording:
    """A message of Kafka, in the words of some versions."""

    event: str
    """The event that it tells; empty if the line is known and tells nothing that is used."""
    text: str
    since: str
    """The versions that have it, as far as they were looked at: the first …"""
    until: str
    """… and the last; empty if 4.2 has it."""
    source: str
    """The class and method of Kafka that logs it."""
    level: str = "INFO"
    values: tuple[tuple[str, Any], ...] = ()
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
                parts.append(f"(?P<{name}>{shape(name)})")
        return re.compile("".join(parts) + TAIL)

    @cached_property
    def anchor(self) -> str:
        """The longest of its fixed words, by which a line is found."""
        return max(re.split(r"\{\w+\}", self.text), key=len).strip()

    def read(self, message: str) -> dict[str, Any] | None:
        """The fields of a message; None if it has other words."""
        first = re.split(r"\{\w+\}", self.text)[0]
        begin = message.find(first) if first else 0
        while begin >= 0:
            found = self.pattern.fullmatch(message, begin)
            if found:
                named = found.groupdict().items()
                return {**{n: typed(n, v) for n, v in named}, **dict(self.values)}
            begin = message.find(first, begin + 1) if first else -1
        return None


def shape(name: str) -> str:
    """The regular expression of a field."""
    if name in NUMBERS:
        return NUMBER
    if name in BROKERS:
        return r"(?:\d{1,9}(?:, ?|(?=\D|$)))*?"
    return r"\S+?" if name == "partition" else ".*?"


def typed(name: str, value: str) -> Any:
    """The value of a field, by its name."""
    if name in NUMBERS:
        return int(value)
    return items(value) if name in LISTS else value


def items(value: str) -> list[Any]:
    """The elements of a list as Java or Scala prints it: `[a, b]`, `Set(a, b)`, `1,2`."""
    inner = re.sub(r"^(?:\w+\(|\[|\{)|[)\]}]$", "", value.strip())
    found = [item.strip() for item in inner.split(",")]
    return [int(item) if re.fullmatch(NUMBER, item) else item for item in found if item]


class Table:
    """Wordings in the order in which they are tried."""

    def __init__(self, *tables: Iterable[Wording]) -> None:
        """The wordings that tell an event come first."""
        wordings = [wording for table in tables for wording in table]
        self.wordings: Sequence[Wording] = sorted(wordings, key=lambda one: not one.event)
        self.anchors = tuple(dict.fromkeys(one.anchor for one in self.wordings))

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
