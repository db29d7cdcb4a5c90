"""Make the pages of the stories: `python docs/tools/stories.py`.

Each is written to docs/stories/NAME.html, which the site includes. The build makes them; they are
not kept.
"""

from __future__ import annotations

from pathlib import Path

from kspec.checkers.cli.show import told
from kspec.checkers.models.stories import STORIES
from kspec.traces.page import page

FOLDER = Path(__file__).parents[1] / "stories"


def pages() -> dict[Path, str]:
    """The page of each story, by its file."""
    return {
        FOLDER / f"{name}.html": page(told(script.played(), script))
        for name, script in STORIES.items()
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, content in pages().items():
        path.write_text(content, encoding="utf-8")
