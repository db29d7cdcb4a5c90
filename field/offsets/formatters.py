r"""The records that Kafka's console consumer printed of `__consumer_offsets`.

Up to 3.8, `GroupMetadataManager$OffsetsMessageFormatter` prints a line for each committed offset,
and `GroupMetadataMessageFormatter` one for each group; since 3.9, both print JSON objects, without
anything between them. What these formatters do not print cannot be misread: other text is refused
with its line.

Kafka: `GroupMetadataManager`, `OffsetAndMetadata.toString`, `GroupMetadata.toString` [2.0, 2.8,
3.3]; `ApiMessageFormatter` [3.9.1, 4.0.0], `CoordinatorRecordMessageFormatter` [4.1.0].
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from kspec.field.disk.problems import Problem
from kspec.field.offsets.entries import Entry
from kspec.spec.core import SpecError
from kspec.spec.storage.coordinator_records import GROUP_RECORDS, CoordinatorRecord
from kspec.spec.storage.json_messages import record_of_json
from kspec.spec.storage.schema import Message
from kspec.spec.storage.varint import Malformed
from kspec.traces.source import (
    MOST_LEVELS,
    assert_within_limits,
    decoded,
    name_of,
    no_name_twice,
    not_json,
    read_bytes,
)

OFFSET_COMMIT, GROUP_METADATA = 1, 2
"""The types of the records that old formatters print."""

ONCE = re.compile(r",[\w.-]+,\d+\]::(?:NULL$|OffsetAndMetadata\(|\[OffsetMetadata\[)", re.ASCII)
"""Where the key of an offset ends. More than one such place in a line would be ambiguous."""
OFFSET = re.compile(r"\[(.*),([\w.-]{1,249}),(\d{1,10})\]::(.*)", re.ASCII | re.DOTALL)
OFFSET_VALUE = re.compile(
    r"OffsetAndMetadata\(offset=(?P<offset>-?\d{1,19}), "
    r"leaderEpoch=Optional(?:\.empty|\[(?P<epoch>-?\d{1,10})\]), metadata=(?P<metadata>.*), "
    r"commitTimestamp=(?P<commit>-?\d{1,19}), "
    r"expireTimestamp=(?:None|Some\((?P<expire>-?\d{1,19})\))\)",
    re.ASCII | re.DOTALL,
)
"""Kafka 2.1 to 3.8."""
OLD_OFFSET_VALUE = re.compile(
    r"\[OffsetMetadata\[(?P<offset>-?\d{1,19}),(?P<metadata>.*)\],"
    r"CommitTime (?P<commit>-?\d{1,19}),ExpirationTime (?P<expire>-?\d{1,19})\]",
    re.ASCII | re.DOTALL,
)
"""Kafka up to 2.0."""
NO_METADATA = "NO_METADATA"
GROUP_VALUE = re.compile(
    r"(?P<generation>-?\d{1,10}), protocolType=(?:None|Some\((?P<type>.*?)\)), "
    r"currentState=(?P<state>[A-Za-z]+), members=(?:Hash)?Map\((?P<members>.*)\)\)",
    re.ASCII | re.DOTALL,
)
MEMBER_BEGINS = " -> MemberMetadata(memberId="
MEMBER_FIELDS = ("groupInstanceId", "clientId", "clientHost", "sessionTimeoutMs")
MEMBER_ENDS = re.compile(
    r"(?P<session>\d{1,10}), rebalanceTimeoutMs=(?P<rebalance>\d{1,10}), "
    r"supportedProtocols=(?P<protocols>[^()]*\([^()]*\))(?:, )?\)",
    re.ASCII,
)
BLANKS = re.compile(r"\s*")
COUNT = re.compile(r"Processed a total of \d+ messages")
"""What the console consumer writes to standard error at its end."""

SAVE = "save the standard output of kafka-console-consumer with OffsetsMessageFormatter alone"


class Unread(Exception):
    """Text that none of the formatters prints."""


def read_formatted(paths: Sequence[Path]) -> tuple[list[Entry], list[Problem]]:
    """The latest record of each key in printed text, and where the text was cut short.

    A file continues those before it.
    """
    problems: list[Problem] = []
    latest: dict[tuple[object, ...], Entry] = {}
    for path in paths:
        name = name_of(path)
        text = decoded(read_bytes(path), f"{name}, ")  # the note of a commit may have a NUL
        records = read_json if text.lstrip()[:1] == "{" else read_lines
        for record in records(text, name, problems):
            key = (record.type, *record.key.values())
            latest.pop(key, None)
            if record.value is not None:
                latest[key] = Entry(record)
    return list(latest.values()), problems


# -- JSON, since 3.9 ------------------------------------------------------------------------------


def read_json(text: str, name: str, problems: list[Problem]) -> Iterator[CoordinatorRecord]:
    """The records in JSON objects that follow each other."""
    decoder = json.JSONDecoder(object_pairs_hook=no_name_twice, parse_constant=not_json)
    position, count = past_blanks(text, 0), 0
    while position < len(text):
        try:
            value, end = decoder.raw_decode(text, position)
            assert_within_limits(value)
            record = record_of_json(GROUP_RECORDS, value)
        except json.JSONDecodeError as error:
            if count and is_cut(text, position, error):
                problems.append(cut_short(text, name, position))
                return
            reason = f"not JSON, or cut short: {error.msg}; {SAVE}"
        except RecursionError:
            reason = f"nested deeper than {MOST_LEVELS} levels"
        except (Malformed, SpecError, ValueError) as error:
            reason = str(error)
        else:
            if record is not None:
                yield record
            position, count = past_blanks(text, end), count + 1
            continue
        line = text.count("\n", 0, position) + 1
        raise SpecError(f"{name}, line {line}, record {count + 1}: {reason}")


def past_blanks(text: str, position: int) -> int:
    """The position of the next character that is not blank."""
    match = BLANKS.match(text, position)
    assert match, "no blank is enough"
    return match.end()


def is_cut(text: str, position: int, error: json.JSONDecodeError) -> bool:
    """Whether an object only lacks its end."""
    rest = text[error.pos :].strip()
    is_end = any(word.startswith(rest) for word in ("null", "true", "false", "-"))
    return text[position] == "{" and (is_end or error.msg.startswith("Unterminated string"))


# -- lines, up to 3.8 -----------------------------------------------------------------------------


def read_lines(text: str, name: str, problems: list[Problem]) -> Iterator[CoordinatorRecord]:
    """The records in lines of text."""
    lines = text.split("\n")
    has_offsets = any(OFFSET.match(line) and "::NULL" not in line[-7:] for line in lines)
    has_groups = any("::GroupMetadata(groupId=" in line for line in lines)
    if not text.strip():
        raise SpecError(f"{name} is empty; {SAVE}")
    if has_offsets and has_groups:
        raise SpecError(f"{name} has offsets and groups: name a file for each formatter")
    tombstones = [line.rstrip("\r").endswith("::NULL") for line in lines if line.strip()]
    only_groups = all(tombstones) and not all(OFFSET.match(line) for line in lines if line.strip())
    read = read_group if has_groups or only_groups else read_offset
    position, count = 0, 0
    for number, line in enumerate(lines, 1):
        stripped = line.removesuffix("\r")
        if stripped.strip() and not COUNT.fullmatch(stripped):
            try:
                yield read(stripped)
                count += 1
            except Unread as error:
                if count and number == len(lines):
                    problems.append(cut_short(text, name, position))
                    return
                raise SpecError(f"{name}, line {number}: {error}; {SAVE}") from None
        position += len(line) + 1


def read_offset(line: str) -> CoordinatorRecord:
    """A committed offset, or its tombstone."""
    found = OFFSET.fullmatch(line)
    if not found:
        raise Unread(f"no committed offset: {line[:60]!r}")
    if len(ONCE.findall(line)) != 1:
        raise Unread("the line can be read in two ways")
    group, topic, partition, value = found.groups()
    key = {"group": group, "topic": topic, "partition": int(partition)}
    if value == "NULL":
        return CoordinatorRecord(OFFSET_COMMIT, key)
    given = OFFSET_VALUE.fullmatch(value)
    old = None if given else OLD_OFFSET_VALUE.fullmatch(value)
    if not (match := given or old):
        raise Unread(f"no committed offset: {value[:60]!r}")
    fields = match.groupdict()
    metadata = fields["metadata"]
    message = {
        "offset": int(fields["offset"]),
        "leaderEpoch": int(fields.get("epoch") or -1),
        "metadata": "" if old and metadata == NO_METADATA else metadata,
        "commitTimestamp": int(fields["commit"]),
        "expireTimestamp": int(fields["expire"] or -1),
    }
    return CoordinatorRecord(OFFSET_COMMIT, key, 1, message)


def read_group(line: str) -> CoordinatorRecord:
    """A group, or its tombstone. The formatter prints neither times nor subscriptions: None."""
    if line.endswith("::NULL"):
        return CoordinatorRecord(GROUP_METADATA, {"group": line.removesuffix("::NULL")})
    group, _, value = line.partition("::GroupMetadata(groupId=")
    rest = value.removeprefix(f"{group}, generation=")
    match = GROUP_VALUE.fullmatch(rest)
    if rest == value or not match:
        raise Unread(f"no group: {line[:60]!r}")
    if match["state"] not in ("Empty", "Stable"):
        raise Unread(f"a group that was read from its record is not {match['state']}")
    message = {
        "protocolType": match["type"] or "",
        "generation": int(match["generation"]),
        "protocol": None,
        "leader": None,
        "currentStateTimestamp": None,
        "members": list(members(match["members"])),
    }
    if bool(message["members"]) != (match["state"] == "Stable"):
        raise Unread("the members do not fit the state of the group")
    return CoordinatorRecord(GROUP_METADATA, {"group": group}, 2, message)


def members(text: str) -> Iterator[Message]:
    """The members in `ID -> MemberMetadata(…), ID -> …`."""
    while text:
        id_, begins, text = text.partition(MEMBER_BEGINS)
        if not begins or not text.startswith(f"{id_}, "):
            raise Unread("a member is not as Kafka prints it")
        text = text[len(id_) :]
        fields: dict[str, str] = {}
        names = [name for name in MEMBER_FIELDS if name != "groupInstanceId"]
        if text.startswith(", groupInstanceId="):  # since 2.3
            names = list(MEMBER_FIELDS)
        own = text[: text.find(MEMBER_BEGINS)] if MEMBER_BEGINS in text else text
        for name, following in zip(names, [*names[1:], None], strict=True):
            if not text.startswith(f", {name}="):
                raise Unread("a member is not as Kafka prints it")
            text = text.removeprefix(f", {name}=")
            if following:
                if own.count(f", {following}=") != 1:
                    raise Unread("a member can be read in two ways")
                end = text.find(f", {following}=")
                fields[name], text = text[:end], text[end:]
        match = MEMBER_ENDS.match(text)
        if not match:
            raise Unread("a member is not as Kafka prints it")
        text = text[match.end() :]
        if text and not text.startswith(", "):
            raise Unread("a member is not as Kafka prints it")
        text = text.removeprefix(", ")
        instance = fields.get("groupInstanceId", "None")
        yield {
            "memberId": id_,
            "groupInstanceId": None if instance == "None" else instance[len("Some(") : -1],
            "clientId": fields["clientId"],
            "clientHost": fields["clientHost"],
            "rebalanceTimeout": int(match["rebalance"]),
            "sessionTimeout": int(match["session"]),
            "subscription": None,
            "assignment": None,
        }


def cut_short(text: str, name: str, position: int) -> Problem:
    """That the last record is cut short."""
    return Problem(name, len(text[:position].encode()), "the last record is cut short")
