"""The page of `kspec log`: a bar for each log, and the problems."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import attrs

from kspec.field.disk.page import log_page
from kspec.field.disk.problems import Problem
from kspec.traces.page.html import digest
from tests.field.disk.test_audit import FIRST, SECOND, compared, in_batch, sound, without_batch

VOID = {"meta", "link", "line"}
"""Elements without an end."""


class Elements(HTMLParser):
    """The elements of a page, each of which has to be closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def of_class(self, name: str) -> int:
        """How many elements have a class."""
        return sum(name in (found.get("class") or "").split() for _, found in self.found)


def test_the_page_shows_segments_epochs_holes_and_marks(tmp_path: Path) -> None:
    folder = sound(tmp_path / "1")
    without_batch(FIRST, 7)(folder)
    (report,) = compared(tmp_path / "1")
    elements = Elements(log_page([report]))
    assert elements.of_class("segment") == 2
    assert elements.of_class("bad") == 1  # the segment with missing offsets
    assert elements.of_class("hole") == 1
    assert elements.of_class("hw") == elements.of_class("lso") == 1
    assert elements.of_class("epoch") == 3
    assert sum(elements.of_class(f"epoch-{colour}") == 1 for colour in range(6)) == 3


def test_replicas_have_bars_of_one_scale(tmp_path: Path) -> None:
    sound(tmp_path / "1")
    in_batch(SECOND, 0, 100, b"w")(sound(tmp_path / "2"))
    reports = compared(tmp_path / "1", tmp_path / "2")
    page = log_page(reports)
    assert page.count("<h2>orders-0</h2>") == 1
    elements = Elements(page)
    assert elements.of_class("segment") == 4
    assert elements.of_class("bad") == 1
    places = re.findall(r'<rect x="([0-9.]+)"[^>]* class="segment', page)
    assert places[:2] == places[2:]
    assert "a different record" in page


def test_a_page_runs_nothing_and_shows_names_as_text(tmp_path: Path) -> None:
    sound(tmp_path / "1")
    (report,) = compared(tmp_path / "1")
    hostile = '<script>alert("x")</script>'
    problem = Problem(hostile, 0, hostile)
    page = log_page([attrs.evolve(report, problems=(problem,), more_problems=3)], [problem])
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 4
    assert "And 3 more problems." in page
    assert "1 log, 5 problems" in page
    style = page.split("<style>")[1].split("</style>")[0]
    assert digest(style) in page
    assert "default-src 'none'" in page


def test_an_empty_log_is_drawn(tmp_path: Path) -> None:
    folder = tmp_path / "1" / "orders-0"
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").write_bytes(b"")
    assert "No problem was found." in log_page(compared(tmp_path / "1"))
