"""Kafka's settings: their names, types, defaults and ranges in each release.

`kafka_settings.json` has them as Kafka's own `ConfigDef`s define them, from 0.10.2 on. A test
compares it with these classes where they are present.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias

import attrs

from kspec.spec.core import SpecError
from kspec.traces.page.html import asset

KINDS = ("topic", "broker", "producer", "consumer")
"""The kinds of settings. A topic's come first, since they override a broker's."""

Scalar: TypeAlias = bool | int | str
"""A value in effect. Values of Kafka's other types stay text; no question uses them."""

OF_TOPICS = {
    "min.insync.replicas": "min.insync.replicas",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
    "flush.messages": "log.flush.interval.messages",
    "replication.factor": "default.replication.factor",
}
"""Topic settings, and the broker settings that they override (`ServerTopicConfigSynonyms`)."""

ELR = "eligible.leader.replicas.version"
"""The feature level of KIP-966."""
TRANSACTIONS = "transaction.version"
"""The feature level of KIP-890: from 2, each transaction has an epoch of its own."""

INTEGERS = {"SHORT": 2**15, "INT": 2**31, "LONG": 2**63}


@attrs.frozen
class Setting:
    """A setting as one release of Kafka defines it."""

    kind: str
    """`topic`, `broker`, `producer` or `consumer`."""
    name: str
    type: str
    """The name of a `ConfigDef.Type`."""
    default: str
    """As text; empty where there is none."""
    range: str
    """As `ConfigDef`'s validator prints it; empty where there is none, or one of another class."""

    def parse(self, text: str) -> Scalar:
        """The value that Kafka reads (`ConfigDef.parseType`); SpecError where it refuses to."""
        text = text.strip("".join(map(chr, range(33))))  # as `String.trim`
        if self.type == "BOOLEAN":
            if text.lower() not in ("true", "false"):
                raise SpecError(f"{self.name} must be true or false, not {text!r:.40}")
            return text.lower() == "true"
        if self.type in INTEGERS:
            if not re.fullmatch(r"[+-]?\d{1,40}", text):
                raise SpecError(f"{self.name} must be a whole number, not {text!r:.40}")
            number = int(text)
            if not -INTEGERS[self.type] <= number < INTEGERS[self.type]:
                bits = INTEGERS[self.type].bit_length()
                raise SpecError(f"{self.name} must be a number of {bits} bits, not {text:.40}")
            self.check_limits(number)
            return number
        words = re.split(r"\s*,\s*", text) if self.type == "LIST" and text else [text]
        for word in words:
            self.check_choice(word)
        return ",".join(words)

    def check_limits(self, number: int) -> None:
        """Refuse a number outside the range (`ConfigDef.Range`)."""
        limits = re.fullmatch(r"\[(-?\d+)?,?\.\.\.,?(-?\d+)?\]", self.range)
        if limits is None:
            return
        least, most = limits.groups()
        if least is not None and number < int(least):
            raise SpecError(f"{self.name} must be at least {least}, not {number}")
        if most is not None and number > int(most):
            raise SpecError(f"{self.name} must be at most {most}, not {number}")

    def check_choice(self, word: str) -> None:
        """Refuse a word that is not one of those listed (`ConfigDef.ValidString`, `ValidList`)."""
        listed = re.fullmatch(r"(\(case insensitive\) )?\[([^\[\]]*)\]", self.range)
        if listed is None or "..." in self.range or (self.type == "LIST" and not word):
            return
        choices = listed[2].split(", ")
        given = word.upper() if listed[1] else word
        if given in choices or any(  # such as by_duration:PnDTnHnMn.nS
            ":" in choice and given.startswith(choice.partition(":")[0] + ":") for choice in choices
        ):
            return
        raise SpecError(f"{self.name} must be one of {', '.join(choices)}, not {word!r:.40}")


@attrs.frozen
class Catalogue:
    """The settings of one release."""

    release: str
    """Such as 3.9; patch releases do not change settings."""
    settings: Mapping[str, Mapping[str, Setting]]
    """By kind and name."""
    past_and_future: Mapping[str, Mapping[str, str]]
    """By kind and name: when a setting that this release lacks was added or removed."""

    def kinds_of(self, name: str) -> list[str]:
        """The kinds of settings with this name."""
        return [kind for kind in KINDS if name in self.settings[kind]]

    def nearest(self, kind: str, name: str) -> list[str]:
        """The names that are most like a wrong one."""
        return difflib.get_close_matches(name, self.settings[kind], n=2, cutoff=0.75)

    def misspelt(self, kind: str, name: str) -> list[str]:
        """The names that a wrong one is probably a misspelling of: few letters differ."""

        def differing(near: str) -> float:
            length = len(near) + len(name)
            return (1 - difflib.SequenceMatcher(None, name, near).ratio()) * length

        most = max(2.0, len(name) / 5)
        return [near for near in self.nearest(kind, name) if differing(near) <= most]


def order(release: str) -> tuple[int, ...]:
    """What releases are compared by."""
    return tuple(map(int, release.split(".")))


@cache
def recorded(file: str = "kafka_settings.json") -> dict[str, Any]:
    """The settings in a file.

    `other_settings.json` has those that are in no `ConfigDef`: an argument of `kafka-topics
    --create`, and feature levels with their values in a new cluster
    (`EligibleLeaderReplicasVersion`, KIP-966; `TransactionVersion`, KIP-890).
    """
    record: dict[str, Any] = json.loads(asset(__package__, file))
    return record


def releases() -> list[str]:
    """The releases that are known, oldest first."""
    return list(recorded()["releases"])


def find_release(version: str) -> str:
    """The release that a version such as 2.8, 2.8.1 or 0.10 belongs to."""
    known = releases()
    if not re.fullmatch(r"\d{1,3}(\.\d{1,3}){1,3}", version):
        raise SpecError(f"a version of Kafka is a number such as 2.8, not {version!r:.40}")
    numbers = order(version)
    found = [r for r in known if numbers[: len(order(r))] == order(r)[: len(numbers)]]
    if not found:
        raise SpecError(f"the settings of Kafka {version} are not known; known: {', '.join(known)}")
    return found[-1]


@cache
def catalogue(release: str) -> Catalogue:
    """The settings of a release."""
    record, others = recorded(), recorded("other_settings.json")
    settings: dict[str, dict[str, Setting]] = {}
    elsewhere: dict[str, dict[str, str]] = {}
    for kind in KINDS:
        settings[kind], elsewhere[kind] = {}, {}
        for name, history in {**record[kind], **others.get(kind, {})}.items():
            past = [change for change in history if order(change[0]) <= order(release)]
            if past and len(past[-1]) > 1:
                settings[kind][name] = Setting(kind, name, *past[-1][1:])
            elif past:
                elsewhere[kind][name] = f"it was removed in {past[-1][0]}"
            else:
                elsewhere[kind][name] = f"it was added in {history[0][0]}"
    return Catalogue(release, settings, elsewhere)
