"""Make the pictures of the explorer and of the stories again: `python docs/tools/explorer.py`.

It drives the pages with the Chromium of this machine, and keeps 64 colours, so that the files stay
small.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from kspec.checkers.cli.show import told
from kspec.checkers.explore.protocol import Explorer
from kspec.checkers.explore.server import ExplorerServer
from kspec.checkers.explore.session import Session
from kspec.checkers.models.find import find_model
from kspec.checkers.models.stories import STORIES
from kspec.traces.page import page

IMAGES = Path(__file__).parents[1] / "images"
LOSS = "not StrongIsr"
PHONE = 390


def keep(tab: Page, name: str, *, whole: bool = False) -> None:
    """Take a picture of what the tab shows."""
    image = Image.open(io.BytesIO(tab.screenshot(full_page=whole)))
    image.convert("RGB").quantize(64).save(IMAGES / f"{name}.png", optimize=True)


def opened(browser: Browser, address: str, width: int, height: int) -> Page:
    """A tab of that size."""
    tab = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="light",
        reduced_motion="reduce",
    )
    tab.goto(address)
    return tab


def open_tool(tab: Page, name: str) -> None:
    """Open a panel of the tools."""
    tab.locator("#tools summary", has_text=name).click()


def explorer(browser: Browser) -> None:
    """The views of the explorer: stepping, searching, two branches, and a phone."""
    server = ExplorerServer(Explorer(Session(find_model("replication").system("kip-101"))))
    tab = opened(browser, server.address, 1400, 960)
    tab.locator("[data-rule=controller_elects_leader] button").nth(1).click()
    expect(tab.locator("#counter")).to_have_text("2 / 2")
    tab.locator("[data-rule=broker_becomes_leader] button").click()
    expect(tab.locator("#counter")).to_have_text("3 / 3")
    tab.evaluate("scrollTo(0, 0)")
    keep(tab, "explore-step")
    open_tool(tab, "Search")
    tab.fill("#goal", LOSS)
    tab.locator("#search button:not([type])").click()
    expect(tab.locator("#message")).to_contain_text(LOSS, timeout=60_000)
    tab.evaluate("scrollTo(0, 0)")
    keep(tab, "explore-found")
    open_tool(tab, "What if")
    tab.select_option("#other", "kip-320")
    tab.locator("#what-if button").click()
    expect(tab.locator("#differences table")).to_be_visible()
    tab.set_viewport_size({"width": 1400, "height": 1240})
    keep(tab, "explore-compare")
    address = tab.url
    tab.close()
    phone = opened(browser, address, PHONE, 844)
    expect(phone.locator("#drawing .lane").first).to_be_visible()
    keep(phone, "explore-phone")
    phone.close()
    server.close()


def healthy(browser: Browser) -> None:
    """The last scene of each healthy story."""
    with tempfile.TemporaryDirectory() as folder:
        for name, script in STORIES.items():
            if not script.is_healthy:
                continue
            file = Path(folder) / f"{name}.html"
            file.write_text(page(told(script.played(), script)), encoding="utf-8")
            tab = opened(browser, file.as_uri(), 1180, 940)
            tab.keyboard.press("End")
            keep(tab, name)
            tab.close()


if __name__ == "__main__":
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        explorer(chromium)
        healthy(chromium)
        chromium.close()
