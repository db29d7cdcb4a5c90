"""`kspec show` tells kspec's own stories by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kspec.checkers.models.stories import STORIES
from tests.cli.conftest import Kspec

FAILS = {
    "written-twice": "RecordsWrittenOnce fails at record 1.",
    "late-produce": "EachResultReadOnce fails at input 0, as the reader sees it.",
}
"""The last lines of stories in which a property fails."""


@pytest.mark.parametrize("name", STORIES)
def test_a_story_is_shown_and_ends_as_it_says(kspec: Kspec, name: str) -> None:
    ran = kspec("show", name, "--html", "story.html")
    assert (ran.code, ran.err) == (0, "")
    last = ran.out.rstrip().splitlines()[-1]
    if name.startswith("lost-"):
        assert last == "AcknowledgedRecordsKept fails at record 1, by leader 1."
    elif name in FAILS:
        assert last == FAILS[name]
    else:
        assert last == f"{STORIES[name].property} holds in every state."
    page = Path("story.html").read_text(encoding="utf-8")
    assert STORIES[name].about in page
    assert ("lost r1" in ran.out) == name.startswith("lost-")


def test_a_story_is_json(kspec: Kspec) -> None:
    record = json.loads(kspec("show", "lost-after-restart", "--json").out)
    assert (record["model"], record["variant"]) == ("partition", "kafka-0.10")
    assert (record["states"], record["replayed"], record["rejected"]) == (18, True, None)


def test_a_story_of_another_variant_is_rejected_with_the_step(kspec: Kspec) -> None:
    ran = kspec("show", "lost-after-restart", "--variant", "kafka-2.1")
    assert ran.code == 3
    assert "kafka-2.1 has no rule follower_fetches_in_any_epoch" in ran.err


def test_a_file_of_that_name_comes_first(kspec: Kspec) -> None:
    Path("four-moments").write_text("{}", encoding="utf-8")
    assert kspec("show", "four-moments").code == 151


def test_a_name_that_is_neither_is_a_missing_file(kspec: Kspec) -> None:
    ran = kspec("show", "no-such-story")
    assert ran.code == 151
    assert ran.err.count("\n") == 1
