"""Whether Kafka's sources have the words of each wording, release by release.

    python -m tests.field.logs.recording.words GIT [VERSION=FOLDER]…

GIT is a clone of Kafka with its release branches; a FOLDER holds the unpacked sources of a version
that the clone lacks. It prints each wording whose words are missing in a version that the table
says to have them.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kspec.field.logs.adapter import BROKER_LINES, CLIENT_LINES
from kspec.field.logs.wordings import Wording

BRANCHES = [
    *(f"2.{minor}" for minor in range(9)),
    *(f"3.{minor}" for minor in range(10)),
    *("4.0", "4.2"),
]
ROOMS = (
    "core",
    "clients",
    "group-coordinator",
    "coordinator-common",
    "metadata",
    "server",
    "storage",
    "raft",
)
PRINTED = re.compile(r"=|\((?!reason)|Transition|State")
"""Words that are printed by the `toString` of an object, or by a method for all states."""
SHORTEST = 10
"""Shorter words are found everywhere."""


def order(version: str) -> tuple[int, ...]:
    """Versions in their order."""
    return tuple(map(int, version.split(".")))


def sources(git: str, version: str, folders: dict[str, str]) -> Iterator[str]:
    """The sources of a version."""
    if version in folders:
        for file in Path(folders[version]).rglob("*"):
            if file.suffix in (".java", ".scala"):
                yield file.read_text(errors="replace")
        return
    listed = ["git", "-C", git, "ls-tree", "--name-only", version]
    rooms = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()
    archive = ["git", "-C", git, "archive", version, *(room for room in ROOMS if room in rooms)]
    packed = subprocess.run(archive, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        for member in tar:
            if member.name.endswith((".java", ".scala")) and "/main/" in member.name:
                content = tar.extractfile(member)
                assert content
                yield content.read().decode("utf-8", "replace")


def words_of(source: str) -> str:
    """A source with its strings joined, and a mark where a value stands."""
    joined = re.sub(r'"\s*\+\s*(?://[^\n]*\n\s*)?[sf]?"', "", source)
    joined = re.sub(r'"\s*\+\s*[\w.()]+\s*\+\s*"', "\0", joined)
    joined = re.sub(r"\$\{(?:[^{}]|\{[^{}]*\})*\}|\$\w+|%[sd]", "\0", joined)
    return joined.replace("{}", "\0").replace('\\"', '"')


@cache
def pieces(wording: Wording) -> tuple[str, ...]:
    """The fixed words of a wording."""
    found = re.split(r"\{\w+\}|\[|\]|\d+|__consumer_offsets-|\(under-min-isr\)|  ", wording.text)
    long = (piece for piece in found if len(piece.strip()) >= SHORTEST)
    return tuple(piece for piece in long if not PRINTED.search(piece))


def main(git: str, *unpacked: str) -> None:
    """Print what differs."""
    folders = dict(one.split("=", 1) for one in unpacked)
    texts = {}
    for version in BRANCHES:
        try:
            texts[version] = "\n".join(map(words_of, sources(git, version, folders)))
        except subprocess.CalledProcessError:
            print(f"the clone has no {version}", file=sys.stderr)
    for wording in (*BROKER_LINES.wordings, *CLIENT_LINES.wordings):
        missing = []
        for version, text in texts.items():
            is_there = all(piece in text for piece in pieces(wording))
            last = order(wording.until or "99.0")
            if order(wording.since) <= order(version) <= last and not is_there:
                missing.append(version)
        if missing:
            print(f"{', '.join(missing)}: {wording.text[:120]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
