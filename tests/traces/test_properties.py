"""Properties files are read as Java reads them."""

from __future__ import annotations

import random

import pytest

from kspec.spec.core import SpecError
from kspec.traces.properties import Entry, parse_properties
from tests.field.advice.kafka.java import run_java

CASES: list[tuple[bytes, list[tuple[str, str]]]] = [
    (b"acks=all", [("acks", "all")]),
    (b"acks = all \r\nretries: 3\rlinger 5", [("acks", "all "), ("retries", "3"), ("linger", "5")]),
    (b"# acks=0\n  ! acks=1\n\n\tacks=all", [("acks", "all")]),
    (b"bootstrap.servers=a:1,\\\n    b:2,\\\r\n\tc:3\n", [("bootstrap.servers", "a:1,b:2,c:3")]),
    (b"# a comment goes on? \\\nacks=all", [("acks", "all")]),
    (b"acks=1\nacks=all", [("acks", "1"), ("acks", "all")]),
    (b"acks", [("acks", "")]),
    (b"a\\=b=c\\:d", [("a=b", "c:d")]),
    (b"tab=\\t, e-acute=\\u00E9, q=\\q", [("tab", "\t, e-acute=é, q=q")]),
    (b"name=\\ud83d\\ude00", [("name", "😀")]),
    (b"latin=\xe9", [("latin", "é")]),
    (b"utf-8=\xc3\xa9", [("utf-8", "Ã©")]),
    (b"two\\\\\nacks=all", [("two\\", ""), ("acks", "all")]),
    (b"\\", [("", "")]),
    (b"\\\r\n", []),
    (b"= x", [("", "x")]),
    (b"a = = b", [("a", "= b")]),
    (b"vertical\x0btab=1", [("vertical\x0btab", "1")]),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "expected"), CASES)
def test_entries_are_those_of_java(raw: bytes, expected: list[tuple[str, str]]) -> None:
    assert [(e.key, e.value) for e in parse_properties(raw)] == expected


def test_an_entry_has_the_number_of_its_first_line() -> None:
    entries = parse_properties(b"# title\r\na=1\\\r\n2\r\n\r\nb=2")
    assert entries == [Entry("a", "12", 2), Entry("b", "2", 5)]


def test_an_incomplete_escape_is_refused() -> None:
    with pytest.raises(SpecError, match=r"line 2: a \\u escape needs four hexadecimal digits"):
        parse_properties(b"a=1\nb=\\u12")


PARTS = [
    b"a", b"b", b" ", b"\t", b"\f", b"=", b":", b"#", b"!", b"\\", b"\\", b"\r", b"\n", b"\r\n",
    b"\\\n", b"\\\r\n", b"\\u0041", b"\\ud83d\\ude00", b"\\ud83d", b"\\u12", b"\xe9", b"\\t",
    b"\\q", b"\x0b", b"\x85", b"\x1c", b"\x00",
]  # fmt: skip


@pytest.mark.slow
def test_random_files_are_read_as_java_reads_them() -> None:
    rng = random.Random(1)
    files = [b"".join(rng.choices(PARTS, k=rng.randint(0, 12))) for _ in range(20_000)]
    files += [raw for raw, _ in CASES]
    answers = run_java("JavaProperties.java", "".join(raw.hex() + "\n" for raw in files))
    for raw, answer in zip(files, answers, strict=True):
        assert as_java_prints(raw) == answer, raw


def as_java_prints(raw: bytes) -> str:
    try:
        entries = parse_properties(raw)
    except SpecError:
        return "refused"
    return ",".join(f"{units(e.key)}={units(e.value)}" for e in entries)


def units(text: str) -> str:
    return text.encode("utf-16-be", "surrogatepass").hex()
