"""The values in effect, by Kafka's precedence, and where each comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from kspec.field.advice.catalogue import OF_TOPICS, Catalogue, Scalar
from kspec.field.advice.remarks import Remark, remark
from kspec.field.advice.sources import Given, Level
from kspec.spec.core import SpecError


@attrs.frozen
class Value:
    """The value in effect of a setting."""

    kind: str
    """Whose setting it is: a topic's value may come from its broker."""
    name: str
    value: Scalar
    origin: str
    """Where it comes from, such as `server.properties, line 3`."""
    level: Level


class Refused(SpecError):
    """Values with which Kafka would not start."""

    def __init__(self, problems: Sequence[str]) -> None:
        """A sentence on each."""
        super().__init__("; ".join(problems))
        self.problems = problems


class Settings:
    """The settings in effect, for one release."""

    def __init__(self, known: Catalogue, given: Iterable[Given]) -> None:
        """Parse what is given; `Refused` lists all that Kafka would refuse."""
        self.known = known
        self.given = [one for one in given if one.name in known.settings[one.kind]]
        self.read: dict[tuple[str, str], Value] = {}
        """The values that were read, which decide the answer."""
        self.remarks: dict[tuple[str, str], Remark] = {}
        """Contradictions between sources, by kind and name."""
        self._values: dict[tuple[str, str], Value] = {}
        problems = []
        by_setting: dict[tuple[str, str], list[Given]] = {}
        for one in self.given:
            by_setting.setdefault((one.kind, one.name), []).append(one)
        for (kind, name), all_given in by_setting.items():
            setting = known.settings[kind][name]
            values: dict[Given, Scalar] = {}
            for one in all_given:
                try:
                    values[one] = setting.parse(one.text)
                except SpecError as error:
                    problems.append(f"{one.where}: {error}{provided(one.text)}")
            if values:
                chosen = self._choose(kind, name, values)
                self._values[kind, name] = Value(
                    kind, name, values[chosen], chosen.where, chosen.level
                )
        if problems:
            raise Refused(problems)

    def _choose(self, kind: str, name: str, values: Mapping[Given, Scalar]) -> Given:
        """The one that Kafka prefers; of several, the last, and a remark if they differ."""
        chosen = max(reversed(list(values)), key=lambda one: one.level)
        rivals = [one for one in values if one.level == chosen.level]
        different = [one for one in rivals if values[one] != values[chosen]]
        others = [one for one in values if one.level < chosen.level]
        if different:
            listed = ", ".join(f"{shown(values[one])} in {one.where}" for one in rivals)
            self.remarks[kind, name] = remark("different-values", name=name, listed=listed)
        elif chosen.level is Level.DYNAMIC_BROKER_CONFIG and chosen.owner:
            below = max(others, key=lambda one: one.level, default=None)
            otherwise = values[below] if below else self.default_of("broker", name)
            if otherwise != values[chosen] and len({one.owner for one in rivals}) == 1:
                self.remarks[kind, name] = remark(
                    "one-broker-only",
                    name=name,
                    value=shown(values[chosen]),
                    owner=chosen.owner,
                    otherwise=shown(otherwise),
                )
        return chosen

    # -- reading --------------------------------------------------------------------------------

    def default_of(self, kind: str, name: str) -> Scalar:
        """The default of the release; empty text where there is none."""
        setting = self.known.settings[kind][name]
        text = setting.default
        return setting.parse(text) if text not in ("", "(required)") else ""

    def has(self, kind: str, name: str) -> bool:
        """Whether the release has this setting."""
        return name in self.known.settings[kind]

    def is_set(self, kind: str, name: str) -> bool:
        """Whether a source gives it a value."""
        return (kind, name) in self._values

    def value(self, kind: str, name: str) -> Value:
        """The value in effect. A topic without a value has its broker's."""
        found = self._values.get((kind, name))
        if not found and kind == "topic" and name in OF_TOPICS:
            return self.value("broker", OF_TOPICS[name])
        if not found:
            origin = f"the default of Kafka {self.known.release}"
            found = Value(kind, name, self.default_of(kind, name), origin, Level.DEFAULT_CONFIG)
        self.read[kind, name] = found
        return found

    def not_asked(self) -> int:
        """How many settings were given that no question read."""
        return len(self._values.keys() - self.read.keys())

    def number(self, kind: str, name: str) -> int:
        """The value of a setting that is a number."""
        value = self.value(kind, name).value
        assert isinstance(value, int)
        return value

    def truth(self, kind: str, name: str) -> bool:
        """The value of a setting that is true or false."""
        value = self.value(kind, name).value
        assert isinstance(value, bool)
        return value

    def text(self, kind: str, name: str) -> str:
        """The value of any setting, as text."""
        return shown(self.value(kind, name).value)


def shown(value: Any) -> str:
    """A value as a properties file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def provided(text: str) -> str:
    """A hint if a config provider would supply the value when Kafka starts."""
    return " (config providers are not resolved: use --set)" if "${" in text else ""
