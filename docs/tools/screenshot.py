"""Make the pictures in the documentation again, after the page has changed.

    kspec check partition --variant kafka-0.10 --property AcknowledgedRecordsKept \
        --set leader_moves=1 --html story.html
    python docs/tools/screenshot.py story.html docs/images/lost.png 1220
    kspec check replication --variant kip-101 --html story.html
    python docs/tools/screenshot.py story.html docs/images/story.png

It takes the last step, in a window of a fixed width and the given height, with the Chromium of
this machine, and keeps 64 colours, so that the file stays small.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright


def screenshot(page: Path, picture: Path, height: int = 1010) -> None:
    """Open the page at its last step, and take its picture."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        tab = browser.new_page(
            viewport={"width": 1180, "height": height},
            color_scheme="light",
            reduced_motion="reduce",
        )
        tab.goto(page.resolve().as_uri())
        tab.keyboard.press("End")
        tab.wait_for_timeout(500)
        image = Image.open(io.BytesIO(tab.screenshot()))
        browser.close()
    image.convert("RGB").quantize(64).save(picture, optimize=True)


if __name__ == "__main__":
    screenshot(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
