"""A trace as one self-contained HTML file to step through, and the page of `kspec explore`.

`html.py` makes every page of kspec. `scene.js`, `legend.js` and `scene.css` draw one scene.
`page.html`, `page.js` and `page.css` are the page of a trace around it: the trace is in the page as
JSON and is only ever shown as text. `explore.html`, `explore.js` and `explore.css` are the page
that steps through a model, which talks to the server that it came from. `report.css` is the style
of pages of text and tables.
"""

from __future__ import annotations

import attrs

from kspec.traces.page.html import Page, asset
from kspec.traces.story import Story
from kspec.traces.text import all_printable


def page(story: Story) -> str:
    """The HTML file that shows this trace."""
    return story_page(story).html()


def story_page(story: Story) -> Page:
    """The page that shows this trace."""
    story = all_printable(story)
    return Page(
        story.title,
        assets("page.html"),
        style=assets("scene.css", "page.css"),
        script=assets("scene.js", "legend.js", "page.js"),
        data={"story": attrs.asdict(story)},
    )


def explorer_page(title: str) -> str:
    """The page that explores a model through the server that it comes from."""
    return Page(
        title,
        assets("explore.html"),
        style=assets("scene.css", "page.css", "explore.css"),
        script=assets("scene.js", "legend.js", "compare.js", "explore.js"),
        kind="explorer",
        connects=True,
    ).html()


def assets(*names: str) -> str:
    """The texts of files beside this module."""
    return "".join(asset(__package__, name) for name in names)
