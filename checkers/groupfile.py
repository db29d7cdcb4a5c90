"""A consumer group in a file, JSON or YAML.

    topics:
      orders: 6                        # partitions; null where there is no metadata
    members:                           # in the order in which they joined
      c1: [orders]                     # what it subscribes to
      c2:
        topics: [orders]
        owned: {orders: [0, 1]}        # or [orders-0, orders-1]
        generation: 3                  # in which it got those
        instance_id: host-2            # of a static member
        rack: east

What is in such a file is checked: whatever it cannot mean is told in one line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from checkers.textfile import name_of, read_text
from spec.assignors import Member, TopicPartition
from spec.core import SpecError, look_up

MOST_PARTITIONS = 10_000_000
"""More than any cluster has; beyond it a number is taken for a slip."""


@attrs.frozen
class GroupFile:
    """What a file says of a group. Members stand as in the file."""

    topics: Mapping[str, int | None] | None
    """Partitions by topic; None if the file has nothing to say about topics."""
    members: Mapping[str, Member]


def read_group(path: Path) -> GroupFile:
    """Read a group from a file, or from standard input for `-`."""
    text = read_text(path)
    try:
        return parse_group(_load(text, path.suffix))
    except SpecError as error:
        raise SpecError(f"{name_of(path)}: {error}") from None


def _load(text: str, suffix: str) -> Any:
    """The document; what has no telling name is JSON if it begins like it."""
    if suffix in (".yaml", ".yml") or (suffix != ".json" and not text.lstrip().startswith("{")):
        return _load_yaml(text)
    try:
        return json.loads(text, object_pairs_hook=_without_repetition)
    except json.JSONDecodeError as error:
        raise SpecError(f"line {error.lineno}: no JSON: {error.msg}") from None
    except RecursionError:
        raise SpecError("this is nested too deeply") from None


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a file; a name given twice would silently replace the first."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise SpecError(f"{name!r} is given twice")
        found[name] = value
    return found


def _load_yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise SpecError(
            "reading YAML takes PyYAML: pip install 'kspec[yaml]' (JSON is read without)"
        ) from None

    class Loader(yaml.SafeLoader):
        """Plain data only, and no name twice."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            self.flatten_mapping(node)
            pairs = [
                (self.construct_object(k, deep=True), self.construct_object(v, deep=True))
                for k, v in node.value
            ]
            for key, _ in pairs:
                if not isinstance(key, str):
                    raise SpecError(f"a name is a string, not {key!r}: put it in quotes")
            return _without_repetition(pairs)

    Loader.add_constructor("tag:yaml.org,2002:map", Loader.construct_mapping)
    try:
        return yaml.load(text, Loader)
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise SpecError(f"{where}no YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise SpecError(f"no YAML: {error}") from None
    except RecursionError:
        raise SpecError("this is nested too deeply") from None


# -- what it means -------------------------------------------------------------------------------


def parse_group(document: Any) -> GroupFile:
    """A group, as the module's docstring describes it."""
    parts = _mapping(document, "a group", ("topics", "members"))
    if "members" not in parts:
        raise SpecError("there are no members")
    told = parts.get("topics")
    topics = None if told is None else parse_topics(told)
    members = {
        name: _member(f"member {name!r}", value)
        for name, value in _mapping(parts["members"], "members").items()
    }
    check_instances(members)
    return GroupFile(topics, members)


def parse_topics(told: Any) -> dict[str, int | None]:
    """How many partitions each topic has."""
    topics = _mapping(told, "topics")
    for topic, count in topics.items():
        if count is not None and not _is_whole(count):
            raise SpecError(f"topic {topic!r} has a whole number of partitions, not {count!r}")
        if count is not None and count < 0:
            raise SpecError(f"topic {topic!r} has {count} partitions")
    if sum(count or 0 for count in topics.values()) > MOST_PARTITIONS:
        raise SpecError(f"these are more than {MOST_PARTITIONS:,} partitions")
    return topics


def check_instances(members: Mapping[str, Member]) -> None:
    """Make sure that no two members are one static member."""
    known: dict[str, str] = {}
    for name, member in members.items():
        if member.instance_id is not None:
            other = known.setdefault(member.instance_id, name)
            if other != name:
                raise SpecError(
                    f"members {other!r} and {name!r} have one instance_id, "
                    f"{member.instance_id!r}: Kafka lets only one of them in"
                )


FIELDS = ("topics", "owned", "generation", "instance_id", "rack")


def _member(who: str, told: Any) -> Member:
    """A member: a list of topics, or an object."""
    if isinstance(told, list):
        told = {"topics": told}
    fields = _mapping(told, who, FIELDS)
    topics = fields.get("topics")
    if not isinstance(topics, list) or not all(isinstance(t, str) for t in topics):
        raise SpecError(f"{who}: topics is a list of names, not {topics!r}")
    generation = fields.get("generation")
    if generation is not None and not (_is_whole(generation) and generation >= 0):
        raise SpecError(f"{who}: generation is a whole number from 0 on, not {generation!r}")
    for name in ("instance_id", "rack"):
        if not isinstance(fields.get(name), str | None):
            raise SpecError(f"{who}: {name} is a string, not {fields[name]!r}")
    owned = _owned(who, fields.get("owned") or [])
    return Member(topics, owned, generation, fields.get("instance_id"), rack=fields.get("rack"))


def _owned(who: str, told: Any) -> list[TopicPartition]:
    """Partitions, by topic or each by its name."""
    if isinstance(told, dict):
        pairs = [
            (t, index)
            for t, some in told.items()
            for index in (some if isinstance(some, list) else [some])
        ]
    elif isinstance(told, list):
        pairs = [_named(who, name) for name in told]
    else:
        raise SpecError(f"{who}: owned lists partitions by topic, not {told!r}")
    for topic, index in pairs:
        if not _is_whole(index) or index < 0:
            raise SpecError(
                f"{who}: a partition of {topic!r} is a whole number from 0 on, not {index!r}"
            )
    return [TopicPartition(topic, index) for topic, index in pairs]


def _named(who: str, name: Any) -> tuple[str, int]:
    topic, dash, index = name.rpartition("-") if isinstance(name, str) else ("", "", "")
    if not dash or not (index.isascii() and index.isdigit()):
        raise SpecError(f"{who}: a partition is named like orders-0, not {name!r}")
    return topic, int(index)


def _is_whole(told: Any) -> bool:
    return isinstance(told, int) and not isinstance(told, bool)


def _mapping(told: Any, what: str, known: tuple[str, ...] = ()) -> dict[str, Any]:
    """An object of the file, with names that are known if those are given."""
    if not isinstance(told, dict):
        raise SpecError(f"{what} is given by name: {{…}}, not {told!r:.60}")
    for name in told if known else ():
        look_up(f"field of {what}", name, dict.fromkeys(known))
    return told


def to_record(partitions: Mapping[str, int | None], members: Mapping[str, Member]) -> Any:
    """A group in the shape that is read above."""
    return {
        "topics": dict(partitions),
        "members": {name: _member_record(member) for name, member in members.items()},
    }


def _member_record(member: Member) -> dict[str, Any]:
    record: dict[str, Any] = {"topics": list(member.topics)}
    if member.owned:
        record["owned"] = [str(tp) for tp in member.owned]
    told = {name: getattr(member, name) for name in FIELDS[2:]}
    return record | {name: value for name, value in told.items() if value is not None}
