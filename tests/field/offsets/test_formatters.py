"""What Kafka's formatters print is read in each of its forms, or refused with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kspec.field.offsets.entries import Entry
from kspec.field.offsets.formatters import read_formatted
from kspec.field.offsets.groups import groups_of
from kspec.spec.core import SpecError

T0 = 1_700_000_000_000
OFFSET = (
    "[g,t,0]::OffsetAndMetadata(offset=5, leaderEpoch=Optional[2], metadata=, "
    f"commitTimestamp={T0}, expireTimestamp=None)"
)
OLDEST = f"[g,t,0]::[OffsetMetadata[5,NO_METADATA],CommitTime {T0},ExpirationTime {T0 + 9}]"
MEMBER = (
    "m-1 -> MemberMetadata(memberId=m-1, groupInstanceId=Some(i), clientId=c, clientHost=/h, "
    "sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, supportedProtocols=List(range, sticky))"
)
OLD_MEMBER = MEMBER.replace("groupInstanceId=Some(i), ", "")[:-1] + ", )"
STABLE = (
    "g::GroupMetadata(groupId=g, generation=3, protocolType=Some(consumer), currentState=Stable, "
    f"members=Map({MEMBER}))"
)
EMPTY = (
    "g::GroupMetadata(groupId=g, generation=3, protocolType=Some(consumer), currentState=Empty, "
    "members=Map())"
)


def json_offset(offset: int = 5, type_field: str = "type") -> str:
    return json.dumps(
        {
            "key": {type_field: 1, "data": {"group": "g", "topic": "t", "partition": 0}},
            "value": {
                "version": 3,
                "data": {
                    "offset": offset,
                    "leaderEpoch": 2,
                    "metadata": "",
                    "commitTimestamp": T0,
                },
            },
        },
        separators=(",", ":"),
    )


JSON_TOMBSTONE = '{"key":{"type":1,"data":{"group":"g","topic":"t","partition":0}},"value":null}'


def read(folder: Path, text: str) -> tuple[list[Entry], list[str]]:
    """The entries in a text, and the problems."""
    file = folder / "text"
    file.write_bytes(text.encode())
    entries, problems = read_formatted([file])
    return entries, [problem.problem for problem in problems]


def offsets_in(entries: list[Entry]) -> list[int]:
    return [entry.record.value["offset"] for entry in entries if entry.record.value]


@pytest.mark.parametrize("text", [OFFSET, OLDEST, json_offset(), json_offset(type_field="version")])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_an_offset_is_read_in_every_form(tmp_path: Path, text: str, end: str) -> None:
    (entry,), problems = read(tmp_path, text + end)
    key = {"group": "g", "topic": "t", "partition": 0}
    assert (entry.record.type, entry.record.key, problems) == (1, key, [])
    value = entry.record.value
    assert value is not None
    assert (value["offset"], value["commitTimestamp"], value["metadata"]) == (5, T0, "")
    assert value["leaderEpoch"] == (-1 if text == OLDEST else 2)
    assert value["expireTimestamp"] == (T0 + 9 if text == OLDEST else -1)


def test_the_last_record_of_a_key_counts(tmp_path: Path) -> None:
    later = OFFSET.replace("offset=5", "offset=6")
    assert offsets_in(read(tmp_path, f"{OFFSET}\n{later}\n")[0]) == [6]
    assert read(tmp_path, f"{OFFSET}\r\n[g,t,0]::NULL\r\n")[0] == []
    assert offsets_in(read(tmp_path, json_offset(5) + json_offset(6))[0]) == [6]
    assert read(tmp_path, json_offset() + JSON_TOMBSTONE)[0] == []


@pytest.mark.parametrize("member", [MEMBER, OLD_MEMBER])
def test_a_group_is_read_with_its_members(tmp_path: Path, member: str) -> None:
    two = f"{member}, {member.replace('m-1', 'm-2')}"
    (entry,), _ = read(tmp_path, STABLE.replace(MEMBER, two))
    (group,) = groups_of([entry], [], 1000)
    assert (group.kind, group.state, group.generation) == ("classic", "Stable", 3)
    assert [(m.id, m.client, m.session_timeout) for m in group.members] == [
        ("m-1", "c", 45000),
        ("m-2", "c", 45000),
    ]
    assert {m.instance for m in group.members} == {"i" if member is MEMBER else None}


def test_text_that_does_not_tell_when_an_offset_expires_is_not_guessed(tmp_path: Path) -> None:
    offsets, _ = read(tmp_path, OFFSET)
    for text, reason in ((EMPTY, "since when"), (STABLE, "which topics")):
        (group,) = groups_of([*offsets, *read(tmp_path, text)[0]], [], 1000)
        expiry = group.offsets[0].expiry
        assert (expiry.time, reason in expiry.reason) == (None, True)
    (alone,) = groups_of(offsets, [], 1000, has_groups=False)
    assert (alone.kind, alone.state) == (None, None)
    assert alone.offsets[0].expiry.reason.startswith("unknown")


def test_names_and_notes_may_have_any_characters(tmp_path: Path) -> None:
    line = OFFSET.replace("[g,", "[a,b]::c,").replace("metadata=,", "metadata=x, y=(z), ]::NULL,")
    (entry,), _ = read(tmp_path, line)
    assert entry.record.key["group"] == "a,b]::c"
    assert (entry.record.value or {})["metadata"] == "x, y=(z), ]::NULL"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("hello\n", "line 1: no committed offset"),
        (f"{OFFSET}\nhello\n{OFFSET}\n", "line 2: no committed offset"),
        (f"{OFFSET}\n[2024-01-01] ERROR Error processing message\n", "line 2"),
        (OFFSET.replace("metadata=", "metadata=a\nb"), "line 1"),
        (OFFSET.replace("metadata=", "metadata=[g,t,1]::OffsetAndMetadata(x"), "in two ways"),
        (OFFSET.replace("Optional[2]", "Optional[x]"), "line 1"),
        (f"{OFFSET}\n{STABLE}\n", "name a file for each formatter"),
        (STABLE.replace("Stable", "Empty"), "do not fit the state"),
        (STABLE.replace("Stable", "PreparingRebalance"), "PreparingRebalance"),
        (STABLE.replace("groupId=g", "groupId=h"), "no group"),
        (STABLE.replace("memberId=m-1", "memberId=m-2"), "not as Kafka prints it"),
        (STABLE.replace("clientId=c", "clientId=c, clientHost=/x"), "in two ways"),
        (json_offset()[:-5], "cut short"),
        ("{}", "not a JSON object"),
        (json_offset() + "x" + json_offset(), "record 2: not JSON"),
        (json_offset().replace("5", '"5"', 1), "offset is not of type int64"),
        (json_offset().replace('"offset":5', f'"offset":{2**63}'), "offset is not of type int64"),
        (json_offset().replace('"version":3', '"version":99'), "no version 99"),
        (json_offset().replace('"metadata":"",', ""), "no metadata"),
        ('{"key":' * 100_000, "nested deeper"),
    ],
)
def test_other_text_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SpecError) as error:
        read(tmp_path, text)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [(f"{OFFSET}\n", OFFSET), (f"{EMPTY}\r\n", STABLE), (json_offset(), JSON_TOMBSTONE)],
)
def test_text_that_is_cut_short_is_read_as_far_as_it_goes(
    tmp_path: Path, first: str, second: str
) -> None:
    """A first record that is cut is refused, as is other text; a later one is a problem."""
    whole, _ = read(tmp_path, first)
    for end in range(1, len(first.rstrip())):
        with pytest.raises(SpecError):
            read(tmp_path, first[:end])
    for end in range(1, len(second)):
        assert read(tmp_path, first + second[:end]) == (whole, ["the last record is cut short"])


NAMES = st.text(st.sampled_from('ab,:[]()=> N"{}'), max_size=12)


@pytest.mark.slow
@given(group=NAMES, metadata=NAMES, offset=st.integers(0, 2**63 - 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_printed_is_read_back_or_refused(
    tmp_path: Path, group: str, metadata: str, offset: int
) -> None:
    line = f"[{group},t,0]::OffsetAndMetadata(offset={offset}, leaderEpoch=Optional.empty, "
    line += f"metadata={metadata}, commitTimestamp={T0}, expireTimestamp=Some({T0}))"
    try:
        (entry,), problems = read(tmp_path, line)
    except SpecError:
        return
    assert entry.record.key["group"] == group
    assert entry.record.value is not None
    assert entry.record.value["metadata"] == metadata
    assert (entry.record.value["offset"], problems) == (offset, [])


def test_a_file_continues_those_before_it(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(OFFSET)
    second.write_text("[g,t,0]::NULL")
    assert read_formatted([first, second]) == ([], [])
    assert offsets_in(read_formatted([second, first])[0]) == [5]


def test_the_counter_of_the_console_consumer_is_passed_over(tmp_path: Path) -> None:
    entries, problems = read(tmp_path, f"{OFFSET}\nProcessed a total of 1 messages\n")
    assert (offsets_in(entries), problems) == ([5], [])


def test_records_that_a_formatter_did_not_know_are_passed_over(tmp_path: Path) -> None:
    unknown = '{"key":{"version":8,"data":"unknown"},"value":{"version":0,"data":"unknown"}}'
    assert offsets_in(read(tmp_path, unknown + json_offset())[0]) == [5]
