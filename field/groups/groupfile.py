"""A consumer group in a file, JSON or YAML.

    topics:
      orders: 6                        # partitions; null where there is no metadata
    members:                           # in the order in which they joined
      c1: [orders]                     # what it subscribes to
      c2:
        topics: [orders]
        owned: {orders: [0, 1]}        # or [orders-0, orders-1]
        generation: 3                  # of that assignment
        instance_id: host-2            # of a static member
        rack: east

The file is validated: an error is reported in one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from kspec.checkers.needs import needs
from kspec.spec.assignors import Member, TopicPartition
from kspec.spec.core import SpecError, look_up
from kspec.traces.source import assert_within_limits, no_name_twice, parse_json, read_with

MOST_PARTITIONS = 10_000_000
"""More than any cluster has; a larger number is considered a typing error."""


@attrs.frozen
class GroupFile:
    """The content of a file, with the members in its order."""

    topics: Mapping[str, int | None] | None
    """The number of partitions by topic; None if the file has no topics."""
    members: Mapping[str, Member]
    """The members by id."""


def read_group(path: Path) -> GroupFile:
    """Read a group from a file, or from standard input for `-`."""
    return read_with(path, lambda text: parse_group(_load(text, path.suffix)))


def _load(text: str, suffix: str) -> Any:
    """The document; without a known suffix, it is JSON if it begins like JSON."""
    if suffix in (".yaml", ".yml") or (suffix != ".json" and not text.lstrip().startswith("{")):
        return _load_yaml(text)
    return parse_json(text)


def _load_yaml(text: str) -> Any:
    needs("reading YAML, unlike JSON,", "yaml", "yaml")
    import yaml

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
            return no_name_twice(pairs)

    Loader.add_constructor("tag:yaml.org,2002:map", Loader.construct_mapping)
    try:
        document = yaml.load(text, Loader)  # noqa: S506 (it is derived from SafeLoader)
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise SpecError(f"{where}not YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise SpecError(f"not YAML: {error}") from None
    except ValueError as error:
        raise SpecError(f"a value that YAML cannot read: {error}") from None
    except RecursionError:
        raise SpecError("nested too deeply") from None
    assert_within_limits(document)
    return document


# -- validation -------------------------------------------------------------------------------


def parse_group(document: Any) -> GroupFile:
    """A group, as the module's docstring describes it."""
    parts = _mapping(document, "a group", ("topics", "members"))
    if "members" not in parts:
        raise SpecError("there are no members")
    value = parts.get("topics")
    topics = None if value is None else parse_topics(value)
    members = {
        name: _member(f"member {name!r}", value)
        for name, value in _mapping(parts["members"], "members").items()
    }
    check_instances(members)
    return GroupFile(topics, members)


def parse_topics(value: Any) -> dict[str, int | None]:
    """The number of partitions of each topic."""
    topics = _mapping(value, "topics")
    for topic, count in topics.items():
        if count is not None and not _is_whole(count):
            raise SpecError(f"topic {topic!r} has a whole number of partitions, not {count!r}")
        if count is not None and count < 0:
            raise SpecError(f"topic {topic!r} has {count} partitions")
    if sum(count or 0 for count in topics.values()) > MOST_PARTITIONS:
        raise SpecError(f"these are more than {MOST_PARTITIONS:,} partitions")
    return topics


def check_instances(members: Mapping[str, Member]) -> None:
    """Check that no two members share an instance id."""
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


def _member(who: str, value: Any) -> Member:
    """A member: a list of topics, or an object."""
    if isinstance(value, list):
        value = {"topics": value}
    fields = _mapping(value, who, FIELDS)
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


def _owned(who: str, value: Any) -> list[TopicPartition]:
    """Partitions, by topic or by name."""
    if isinstance(value, dict):
        pairs = [
            (t, index)
            for t, some in value.items()
            for index in (some if isinstance(some, list) else [some])
        ]
    elif isinstance(value, list):
        pairs = [_named(who, name) for name in value]
    else:
        raise SpecError(f"{who}: owned lists partitions by topic, not {value!r}")
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


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _mapping(value: Any, what: str, known: tuple[str, ...] = ()) -> dict[str, Any]:
    """An object of the file; if `known` is given, it may have no other names."""
    if not isinstance(value, dict):
        raise SpecError(f"{what} is given by name: {{…}}, not {value!r:.60}")
    for name in value if known else ():
        look_up(f"field of {what}", name, dict.fromkeys(known))
    return value


def to_record(partitions: Mapping[str, int | None], members: Mapping[str, Member]) -> Any:
    """A group in the format that is read above."""
    return {
        "topics": dict(partitions),
        "members": {name: _member_record(member) for name, member in members.items()},
    }


def _member_record(member: Member) -> dict[str, Any]:
    record: dict[str, Any] = {"topics": list(member.topics)}
    if member.owned:
        record["owned"] = [str(tp) for tp in member.owned]
    fields = {name: getattr(member, name) for name in FIELDS[2:]}
    return record | {name: value for name, value in fields.items() if value is not None}
