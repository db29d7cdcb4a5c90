"""A browser, and stories to open in it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from kspec.checkers.engine.reference import explore
from kspec.checkers.models.find import find_model
from kspec.examples import CORRIDOR, DIE_HARD
from kspec.spec.core.picture import Arrow
from kspec.traces.page import page
from kspec.traces.story import Scene, SceneCell, SceneFact, SceneLane, SceneMark, Story, tell

REPLICATION = find_model("replication")
GROUP = find_model("group")
WATERMARKS = find_model("watermarks")

REQUIRED = "KSPEC_REQUIRE_BROWSER"
CHROMIUM = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# -- a browser ------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, of this machine or of Playwright; without one, these tests are skipped."""
    say = pytest.fail if os.environ.get(REQUIRED) else pytest.skip
    with contextlib.ExitStack() as stack:
        try:
            playwright = stack.enter_context(sync_playwright())
        except Exception as error:
            say(f"Playwright does not start; is libatomic1 installed? {error}")
        installed = [shutil.which("chromium"), shutil.which("google-chrome")]
        candidates = [*installed, playwright.chromium.executable_path]
        found = next((path for path in candidates if path and Path(path).exists()), None)
        if found is None:
            say("no Chromium: apt-get install chromium, or playwright install chromium")
        expect.set_options(timeout=180_000)
        chromium = playwright.chromium.launch(executable_path=found, args=CHROMIUM)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def tab(browser: Browser) -> Iterator[Page]:
    """One tab for all tests: opening another takes longer than a test."""
    with browser.new_context() as context:
        context.set_default_timeout(180_000)
        yield context.new_page()


Open = Callable[..., Page]


@pytest.fixture
def opened(tab: Page, tmp_path: Path) -> Iterator[Open]:
    """Open a story; afterwards, check that there were no network requests and no errors."""
    files: list[str] = []
    requests: list[str] = []
    complaints: list[str] = []
    listeners: dict[Any, Callable[[Any], None]] = {
        "request": lambda request: requests.append(request.url.partition("#")[0]),
        "console": lambda message: complaints.append(message.text),
        "pageerror": lambda error: complaints.append(str(error)),
    }

    def open_story(
        story: Story,
        fragment: str = "",
        width: int = 1280,
        scheme: Literal["light", "dark"] = "light",
        motion: Literal["reduce", "no-preference"] = "reduce",
    ) -> Page:
        file = tmp_path / f"story{len(files)}.html"
        file.write_text(page(story), encoding="utf-8")
        files.append(file.as_uri())
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(media="screen", color_scheme=scheme, reduced_motion=motion)
        tab.goto(file.as_uri() + fragment)
        return tab

    for event, listener in listeners.items():
        tab.on(event, listener)
    yield open_story
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    assert requests == files
    assert complaints == []


# -- stories --------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def lost() -> Story:
    """A committed record is lost: two brokers, one of which truncates its copy."""
    violation = explore(REPLICATION.system("truncate-to-hw", {"brokers": 2})).violations[0]
    assert violation.trace is not None
    return tell(violation.trace, violation.says, violated=True)


@pytest.fixture(scope="session")
def going_round() -> Story:
    violation = explore(CORRIDOR.system("both-polite")).violations[0]
    assert violation.trace is not None
    return tell(violation.trace, violation.says, violated=True)


@pytest.fixture(scope="session")
def rebalance() -> Story:
    """A group whose only consumer loses its generation: lanes with bands."""
    small = {"consumers": 1, "crashes": 0, "failovers": 0, "early": 1}
    violation = explore(GROUP.system("before-kafka-8104", small)).violations[0]
    assert violation.trace is not None
    return tell(violation.trace, violation.says, violated=True)


@pytest.fixture(scope="session")
def witness() -> Story:
    trace = explore(WATERMARKS.system()).witnesses["EveryReplicaLearnsHighWatermark"]
    return tell(trace, "everyone knows", violated=False)


@pytest.fixture(scope="session")
def plain() -> Story:
    violation = explore(DIE_HARD.system()).violations[0]
    assert violation.trace is not None
    return tell(violation.trace, violation.says, violated=True)


@pytest.fixture(scope="session")
def large() -> Callable[..., Story]:
    """Eight lanes, long logs, long values, many marks, and any number of scenes."""
    return large_story


def large_story(scenes: int = 2) -> Story:
    """Everything at its largest."""
    value = "[" + ", ".join(f"{{hw {i}, epoch {i}, isr {{0, 1, 2}}}}" for i in range(9)) + "]"
    colours = [None, 0, 1, 2, 3, 4, 5]
    changes = ["", "new", "", "gone"]
    cells = [
        SceneCell(
            f"r{i} e{i}", colours[i % 7], f"offset {i}", changes[i % 4], i == 11, "✓" * (i < 3)
        )
        for i, sign in enumerate(["✓"] * 3 + [""] * 9)
    ]
    lanes = [
        SceneLane(
            name=f"broker {b}",
            role="leader",
            role_before="follower" if b == 1 else None,
            facts=[SceneFact("views", value, value.replace("hw 3", "hw 7"))],
            cells=cells if b else [SceneCell("", failing=True)],
            marks=[SceneMark("HW", 11), SceneMark("LEO", 11, True), SceneMark("log start", 11)],
            changed=True,
            failing=b == 2,
        )
        for b in range(8)
    ]
    arrows = [Arrow("broker 0", "broker 7", "fetch"), Arrow("broker 3", "broker 3", "itself")]
    rule = "follower_fetches_" * 9
    drawn = [
        Scene(n + 1, rule, "follower", {"request": value}, "A long way.", lanes, arrows)
        for n in range(scenes)
    ]
    return Story("large", "", "something fails", drawn, violated=True)
