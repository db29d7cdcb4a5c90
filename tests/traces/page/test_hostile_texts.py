"""The page in a browser: texts are shown as text, and only the page's own script runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from kspec.spec.core.picture import Arrow, Band
from kspec.traces.page import page
from kspec.traces.story import Scene, SceneCell, SceneFact, SceneLane, SceneMark, Story
from kspec.traces.text import printable

Open = Callable[..., Page]

HOSTILE = [
    "</script><script>document.title = 'broken'</script>",
    "<img src=x onerror=\"document.title = 'broken'\">",
    "<!--<script>",
    "\"'`\\ $title ${story} {{x}} &lt;&amp;",
    "line\u2028para\u2029\x00end\u202e",
    "\ud800 half a pair",
    "__proto__",
]


def hostile(words: str) -> Story:
    """A story in which every text is this one."""
    fact, cell, mark = (
        SceneFact(words, words, words),
        SceneCell(words, 0, words),
        SceneMark(words, 1),
    )
    lane = SceneLane(
        name=words,
        role=words,
        role_before=words,
        band=Band(words, 0),
        band_before=words,
        facts=[fact],
        cells=[cell],
        marks=[mark],
        changed=True,
        failing=True,
    )
    scene = Scene(1, words, words, {words: words}, words, [lane], [Arrow(words, words, words)])
    return Story(
        title=words,
        subtitle=words,
        verdict=words,
        scenes=[scene],
        violated=True,
        loop=1,
        loop_rule=words,
        property=words,
        promise=words,
        why=words,
        words={words: words},
        colour=words,
    )


@pytest.mark.slow
@pytest.mark.other_software
@pytest.mark.parametrize("words", HOSTILE)
def test_hostile_texts_are_shown_as_text(opened: Open, words: str) -> None:
    shown = opened(hostile(words))
    assert shown.evaluate("document.querySelectorAll('script').length") == 2
    assert shown.evaluate("document.querySelectorAll('img').length") == 0
    assert shown.title() != "broken"
    selectors = ["h1", "#drawing h3", "#drawing .cell .text", "#drawing .fact .value"]
    for selector in [*selectors, "#drawing span.band", "#timeline .band"]:
        assert shown.locator(selector).evaluate("part => part.textContent") == printable(words)


def test_foreign_scripts_and_resources_are_blocked(tab: Page, lost: Story, tmp_path: Path) -> None:
    file = tmp_path / "story.html"
    file.write_text(page(lost), encoding="utf-8")
    tab.goto(file.as_uri())
    refused = tab.evaluate(
        """async () => {
            const refused = [];
            addEventListener('securitypolicyviolation', e => refused.push(e.violatedDirective));
            const add = (tag, attributes) =>
                document.body.append(Object.assign(document.createElement(tag), attributes));
            add('script', { textContent: "document.title = 'broken'" });
            add('style', { textContent: 'body { display: none }' });
            add('img', { src: 'http://127.0.0.1:9/x.png' });
            add('iframe', { src: 'http://127.0.0.1:9/' });
            await fetch('http://127.0.0.1:9/').catch(() => {});
            for (let waited = 0; refused.length < 5 && waited < 100; waited++)
                await new Promise(done => setTimeout(done, 50));
            return refused;
        }"""
    )
    assert set(refused) == {
        "script-src-elem",
        "style-src-elem",
        "img-src",
        "frame-src",
        "connect-src",
    }
    assert tab.title() == lost.title
