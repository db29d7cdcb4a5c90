"""The settings in files and options, and whose they are.

A file is a properties file, the output of `kafka-configs --describe`, or that of `kafka-topics
--describe`. The settings of a properties file show whether it is a broker's, a topic's, a
producer's or a consumer's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import Path

import attrs

from kspec.field.advice.catalogue import KINDS, Catalogue
from kspec.field.advice.remarks import Remark, remark
from kspec.spec.core import SpecError
from kspec.spec.core.errors import located
from kspec.traces.properties import parse_properties
from kspec.traces.source import decoded, name_of, read_bytes


class Level(IntEnum):
    """The level of a value; Kafka uses the highest (`DynamicBrokerConfig`)."""

    DEFAULT_CONFIG = 0
    STATIC_BROKER_CONFIG = 1
    """In a properties file, of a client as well."""
    DYNAMIC_DEFAULT_BROKER_CONFIG = 2
    """For all brokers of the cluster."""
    DYNAMIC_BROKER_CONFIG = 3
    """For one broker."""
    DYNAMIC_TOPIC_CONFIG = 4
    OPTION = 5
    """In an option of the command line, which asks what if."""


@attrs.frozen
class Given:
    """A value that a source gives to a setting."""

    kind: str
    name: str
    text: str
    level: Level
    where: str
    """Such as `server.properties, line 3`."""
    owner: str = ""
    """The broker, if the value is for a single one."""


@attrs.frozen
class Source:
    """A file that was read."""

    name: str
    taken_as: str
    """How it was read, such as `settings of a broker`."""
    given: Sequence[Given]
    remarks: Sequence[Remark] = ()
    not_kafkas: Sequence[str] = ()
    """Names that Kafka does not know, nor anything like them: a plugin may read them."""
    kind: str = ""
    """Whose properties file it is; empty for the output of a tool."""


def read_source(path: Path, kind: str | None, known: Catalogue) -> Source:
    """The settings in a file; `kind` says whose they are, if that is not left to the settings."""
    name = name_of(path)
    raw = read_bytes(path)
    if b"\0" in raw:
        raise SpecError(f"{name} is not text; is it UTF-16, or binary?")
    with located(name):
        if CONFIGS.search(raw):
            return from_kafka_configs(raw, name, known)
        if TOPIC.search(raw):
            return from_kafka_topics(raw, name, known)
        if len(raw) > MOST_PROPERTIES:
            raise SpecError(f"a properties file has at most {MOST_PROPERTIES >> 20} MiB")
        return from_properties(raw, name, kind, known)


MOST_PROPERTIES = 2**20
"""The largest properties file, in bytes: real ones have a few thousand."""

# -- properties files -----------------------------------------------------------------------------


def from_properties(raw: bytes, name: str, kind: str | None, known: Catalogue) -> Source:
    """The settings in a properties file."""
    entries = parse_properties(raw)
    keys = [entry.key for entry in entries]
    counts = {each: sum(key in known.settings[each] for key in keys) for each in KINDS}
    if kind is None:
        kind = max(("broker", "producer", "consumer", "topic"), key=lambda each: counts[each])
        if not counts[kind]:
            raise SpecError(
                f"no setting of Kafka {known.release} was found; if this is the right file, put "
                "--broker, --topic, --producer or --consumer before its name"
            )
    given: list[Given] = []
    remarks: list[Remark] = []
    not_kafkas: list[str] = []
    seen: dict[str, int] = {}
    for entry in entries:
        if entry.key in seen:
            lines = {"first": seen[entry.key], "last": entry.line}
            remarks.append(remark("given-twice", name=entry.key, source=name, **lines))
            given = [one for one in given if one.name != entry.key]
        seen[entry.key] = entry.line
        where = f"{name}, line {entry.line}"
        if is_known(kind, entry.key, known):
            level = Level.DYNAMIC_TOPIC_CONFIG if kind == "topic" else Level.STATIC_BROKER_CONFIG
            given.append(Given(kind, entry.key, entry.value, level, where))
        elif found := unknown(kind, entry.key, where, known):
            remarks.append(found)
        elif entry.key not in not_kafkas:
            not_kafkas.append(entry.key)
    return Source(name, f"settings of a {kind}", given, remarks, not_kafkas, kind)


def is_known(kind: str, name: str, known: Catalogue) -> bool:
    """Whether Kafka reads a setting of this name, possibly for one listener."""
    return name in known.settings[kind] or (kind == "broker" and name.startswith("listener.name."))


def unknown(kind: str, name: str, where: str, known: Catalogue) -> Remark | None:
    """A setting that Kafka ignores, and what was meant; None if it may be that of a plugin.

    Kafka passes all settings on: authorizers, serializers, interceptors, reporters and remote
    storage read their own.
    """
    others = [other for other in known.kinds_of(name) if other != kind]
    near = known.misspelt(kind, name)
    if name in known.past_and_future[kind]:
        when = known.past_and_future[kind][name]
        found = remark("not-in-release", name=name, release=known.release, when=when, where=where)
    elif others:
        listed = " and of a ".join(others)
        found = remark(
            "of-another-kind", name=name, kind=kind, others=listed, other=others[0], where=where
        )
    elif name.startswith("\xef\xbb\xbf"):
        found = remark("byte-order-mark", name=name, where=where)
    elif near:
        listed = " or ".join(near)
        found = remark("misspelt", name=name, release=known.release, near=listed, where=where)
    else:
        return None
    return attrs.evolve(found, meant=near)


# -- the output of Kafka's tools ------------------------------------------------------------------

CONFIGS = re.compile(
    rb"^(?:Dynamic|All) configs for (broker|topic|[a-z-]+) (.+) are:[ \t]*\r?$"
    rb"|^Default configs for (brokers|[a-z-]+) in the cluster are:[ \t]*\r?$",
    re.MULTILINE,
)
"""A header that `kafka-configs --describe` prints (`ConfigCommand.describeResourceConfig`)."""

CONFIG = re.compile(r"^  ([^=\s]+)=(.*) sensitive=(?:true|false) synonyms=\{(.*)\}$")
SYNONYM = re.compile(r"([A-Z_]+_CONFIG):([A-Za-z0-9._-]+)=(.*?)(?=, [A-Z_]+_CONFIG:|$)")

TOPIC = re.compile(
    rb"^Topic:[ \t]*(\S+)\s.*\bReplicationFactor:[ \t]*(\d{1,9})\b"
    rb"(?:[^\r\n]*?\bConfigs:([^\r\n]*))?",
    re.MULTILINE,
)
"""The line on a whole topic that `kafka-topics --describe` prints."""


def from_kafka_configs(raw: bytes, name: str, known: Catalogue) -> Source:
    """The settings that `kafka-configs --describe` prints, with the places that they come from."""
    given: list[Given] = []
    topics: set[str] = set()
    kind = owner = ""
    for number, line in enumerate(decoded(raw).splitlines(), 1):
        header = CONFIGS.match(line.encode())
        if header:
            kind = (header[1] or header[3]).decode().removesuffix("s")
            owner = (header[2] or b"").decode()
            if kind not in ("broker", "topic"):
                raise SpecError(f"line {number}: settings of a {kind}, not of a broker or a topic")
            if kind == "topic":
                topics.add(owner)
        elif line.strip():
            found = CONFIG.match(line)
            if not found or not kind:
                raise SpecError(f"line {number}: not what kafka-configs --describe prints")
            where = f"{name}, line {number}"
            given += synonyms(kind, owner, found, where)
    assert_one_topic(topics)
    return Source(name, "the output of kafka-configs", given, *unknown_among(given, known))


def synonyms(kind: str, owner: str, found: re.Match[str], where: str) -> list[Given]:
    """The values of one setting, one for each level that sets it."""
    listed = SYNONYM.findall(found[3])
    if not listed:  # a sensitive value, or a tool that does not print them
        level = Level.DYNAMIC_TOPIC_CONFIG if kind == "topic" else Level.DYNAMIC_BROKER_CONFIG
        listed = [(level.name, found[1], found[2])]
    values = []
    for place, name, text in listed:
        if place not in Level.__members__ or text == "null":
            continue
        level = Level[place]
        of = "topic" if level is Level.DYNAMIC_TOPIC_CONFIG else "broker"
        if level is Level.DEFAULT_CONFIG and kind == "topic":
            continue  # the broker's default, which the release decides
        one = owner if kind == "broker" and level is Level.DYNAMIC_BROKER_CONFIG else ""
        values.append(Given(of, name, text, level, f"{where}, {place}", one))
    return values


def from_kafka_topics(raw: bytes, name: str, known: Catalogue) -> Source:
    """A topic's replication factor and settings, as `kafka-topics --describe` prints them."""
    decoded(raw)
    given: list[Given] = []
    topics: set[str] = set()
    for found in TOPIC.finditer(raw):
        topic, factor, configs = (part.decode() for part in found.groups(default=b""))
        topics.add(topic)
        line = raw.count(b"\n", 0, found.start()) + 1
        pairs = [("replication.factor", factor)]
        listed = re.findall(r"([a-z][a-z.]*)=(.*?)(?=,[a-z][a-z.]*=|$)", configs.strip())
        pairs += listed  # a value may have commas, as in cleanup.policy=compact,delete
        where = f"{name}, line {line}"
        given += [Given("topic", n, v, Level.DYNAMIC_TOPIC_CONFIG, where) for n, v in pairs]
    assert_one_topic(topics)
    return Source(name, "the output of kafka-topics", given, *unknown_among(given, known))


def unknown_among(given: Sequence[Given], known: Catalogue) -> tuple[list[Remark], list[str]]:
    """Remarks on settings that the release does not have, once for each; and those of plugins."""
    wrong = {one.name: one for one in given if not is_known(one.kind, one.name, known)}
    found = {name: unknown(one.kind, name, one.where, known) for name, one in wrong.items()}
    remarks = [one for one in found.values() if one]
    return remarks, [name for name, one in found.items() if not one]


def assert_one_topic(topics: set[str]) -> None:
    """An answer is about one topic."""
    if len(topics) > 1:
        raise SpecError(f"it describes several topics ({', '.join(sorted(topics)[:5])}): give one")


# -- options --------------------------------------------------------------------------------------


def from_option(text: str, known: Catalogue) -> Given:
    """The setting in `--set NAME=VALUE`, or `--set KIND:NAME=VALUE` where kinds share a name."""
    name, equals, value = text.partition("=")
    if not equals:
        raise SpecError(f"--set takes NAME=VALUE, such as acks=all, not {text!r:.60}")
    kind, colon, rest = name.strip().partition(":")
    name = rest if colon else kind
    kinds = [kind] if colon else known.kinds_of(name)
    if colon and kind not in KINDS:
        raise SpecError(f"a setting is one of a {', a '.join(KINDS)}, not of a {kind!r:.40}")
    others = known.kinds_of(name)
    if colon and others and kind not in others:
        raise SpecError(
            f"a {kind} has no setting {name}: it is a setting of a {' and of a '.join(others)}"
        )
    if not kinds or name not in known.settings[kinds[0]]:
        raise SpecError(no_such(name, kinds, known))
    if len(kinds) > 1 and kinds != ["topic", "broker"]:
        choices = " or ".join(f"{each}:{name}" for each in kinds)
        raise SpecError(f"{name} is a setting of a {' and of a '.join(kinds)}: write {choices}")
    return Given(kinds[0], name, value, Level.OPTION, "--set")


def no_such(name: str, kinds: Iterable[str], known: Catalogue) -> str:
    """That a setting is not known, and which are like it."""
    kinds = list(kinds) or list(KINDS)
    for kind in kinds:
        if name in known.past_and_future[kind]:
            when = known.past_and_future[kind][name]
            return f"Kafka {known.release} has no {kind} setting {name}: {when}"
    near = dict.fromkeys(n for kind in kinds for n in known.nearest(kind, name))
    hint = f": did you mean {' or '.join(near)}?" if near else ""
    return f"Kafka {known.release} has no setting named {name!r:.60}{hint}"
