"""Take the pictures of the documentation, with the Chromium of this machine.

`python docs/tools/build.py` takes them all. The tree keeps one, for the README; it holds a digest
of the page that it shows, and a test compares that with the page as it is now. To take it again:
`python docs/tools/pictures.py`.
"""

from __future__ import annotations

import hashlib
import io
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Browser, Page, expect, sync_playwright

from kspec.checkers.explore.protocol import Explorer
from kspec.checkers.explore.server import ExplorerServer
from kspec.checkers.explore.session import Session
from kspec.checkers.models.find import find_model

DOCS = Path(__file__).parents[1]
WIDTH = 1180
SMALL = "--set consumers=1 --set crashes=0 --set failovers=0"


@attrs.frozen
class Picture:
    """A picture of a page that a command writes."""

    name: str
    command: str
    """Without `kspec`, and without the option that writes the page."""
    height: int = 1010


IN_README = Picture(
    "lost",
    "check partition --variant kafka-0.10 --property AcknowledgedRecordsKept --set leader_moves=1",
    1220,
)

PICTURES = (
    IN_README,
    Picture("story", "check replication --variant kip-101"),
    Picture(
        "group-story",
        "check group --variant before-kafka-8104 --property OwnerHasGeneration --engine reference "
        f"--set early=1 {SMALL}",
    ),
    Picture(
        "rebalance",
        "check healthy.py --witness BothConsumersRead --engine reference --set crashes=0 "
        "--set failovers=0",
    ),
    *(
        Picture(name, f"show {name}", 940)
        for name in (
            "first-join",
            "cooperative-handover",
            "rolling-restart-static",
            "rolling-restart-dynamic",
            "leader-change",
        )
    ),
    Picture("timeline", f"timeline {DOCS.parent}/tests/cases/kafka_logs/4.0.0", 1280),
)
"""Each shows the last step of its page, where that has steps."""


def take_pictures(folder: Path) -> None:
    """All pictures."""
    folder.mkdir(exist_ok=True)
    with chromium() as browser:
        for picture in PICTURES:
            take(browser, picture, folder)
        explorer(browser, folder)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


def page_of(picture: Picture, folder: Path) -> Path:
    """The page that a picture shows."""
    text = (DOCS / "rebalance.md").read_text(encoding="utf-8")
    block = r'^```python title="healthy.py"\n(.*?)^```$'
    listing = re.search(block, text, re.MULTILINE | re.DOTALL)
    assert listing
    (folder / "healthy.py").write_text(listing[1], encoding="utf-8")
    file = folder / f"{picture.name}.html"
    line = [sys.executable, "-m", "kspec", *shlex.split(picture.command), "--html", str(file)]
    subprocess.run(line, cwd=folder, stdout=subprocess.DEVNULL, check=False)  # 12 is a violation
    return file


def digest_of(page: Path) -> str:
    """What tells a page from one that was changed since."""
    return hashlib.sha256(page.read_bytes()).hexdigest()


def take(browser: Browser, picture: Picture, folder: Path) -> None:
    """Take one picture."""
    with tempfile.TemporaryDirectory() as beside:
        page = page_of(picture, Path(beside))
        tab = opened(browser, page.as_uri(), WIDTH, picture.height)
        tab.keyboard.press("End")
        tab.wait_for_timeout(500)
        keep(tab, folder / f"{picture.name}.png", digest_of(page))
        tab.close()


def keep(tab: Page, file: Path, digest: str = "") -> None:
    """Write what the tab shows, in 64 colours, so that the file stays small."""
    about = PngInfo()
    if digest:
        about.add_text("page", digest)
    image = Image.open(io.BytesIO(tab.screenshot()))
    image.convert("RGB").quantize(64).save(file, optimize=True, pnginfo=about)


def opened(browser: Browser, address: str, width: int, height: int) -> Page:
    """A tab of that size."""
    tab = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="light",
        reduced_motion="reduce",
    )
    tab.goto(address)
    return tab


# -- the explorer ---------------------------------------------------------------------------------

LOSS = "not StrongIsr"
PHONE = 390


def explorer(browser: Browser, folder: Path) -> None:
    """The views of the explorer: stepping, searching, two branches, and a phone."""
    server = ExplorerServer(Explorer(Session(find_model("replication").system("kip-101"))))
    tab = opened(browser, server.address, 1400, 960)
    tab.locator("[data-rule=controller_elects_leader] button").nth(1).click()
    expect(tab.locator("#counter")).to_have_text("2 / 2")
    tab.locator("[data-rule=broker_becomes_leader] button").click()
    expect(tab.locator("#counter")).to_have_text("3 / 3")
    tab.evaluate("scrollTo(0, 0)")
    keep(tab, folder / "explore-step.png")
    open_tool(tab, "Search")
    tab.fill("#goal", LOSS)
    tab.locator("#search button:not([type])").click()
    expect(tab.locator("#message")).to_contain_text(LOSS, timeout=60_000)
    tab.evaluate("scrollTo(0, 0)")
    keep(tab, folder / "explore-found.png")
    open_tool(tab, "What if")
    tab.select_option("#other", "kip-320")
    tab.locator("#what-if button").click()
    expect(tab.locator("#differences table")).to_be_visible()
    tab.set_viewport_size({"width": 1400, "height": 1240})
    keep(tab, folder / "explore-compare.png")
    address = tab.url
    tab.close()
    phone = opened(browser, address, PHONE, 844)
    expect(phone.locator("#drawing .lane").first).to_be_visible()
    keep(phone, folder / "explore-phone.png")
    phone.close()
    server.close()


def open_tool(tab: Page, name: str) -> None:
    """Open a panel of the tools."""
    tab.locator("#tools summary", has_text=name).click()


if __name__ == "__main__":
    with chromium() as browser:
        take(browser, IN_README, DOCS / "images")
