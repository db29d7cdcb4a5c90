"""A trace as one self-contained HTML file to step through, and the page of `kspec explore`.

`scene.js`, `legend.js` and `scene.css` draw one scene. `page.html`, `page.js` and `page.css` are
the page of a trace around it: the trace is in the page as JSON and is only ever shown as text; the
page runs its own script and nothing else, and loads nothing. `explore.html`, `explore.js` and
`explore.css` are the page that steps through a model, which talks to the server that it came from.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from string import Template

import attrs

from kspec.traces.story import Story
from kspec.traces.text import all_printable

NOT_IN_MARKUP = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


def page(story: Story) -> str:
    """The HTML file that shows this trace."""
    story = all_printable(story)
    style = asset("scene.css") + asset("page.css")
    script = asset("scene.js") + asset("legend.js") + asset("page.js")
    return Template(asset("page.html")).substitute(
        policy=policy(style, script),
        title=in_markup(story.title),
        style=style,
        story=in_script(attrs.asdict(story)),
        script=script,
    )


def explorer_page(title: str) -> str:
    """The page that explores a model through the server that it comes from."""
    style = asset("scene.css") + asset("page.css") + asset("explore.css")
    script = "".join(map(asset, ("scene.js", "legend.js", "compare.js", "explore.js")))
    return Template(asset("explore.html")).substitute(
        policy=f"{policy(style, script)}; connect-src 'self'",
        title=in_markup(title),
        style=style,
        script=script,
    )


def asset(name: str) -> str:
    """The text of a file beside this module."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def policy(style: str, script: str) -> str:
    """The content security policy: the browser may use this style sheet and this script only."""
    return "; ".join(
        [
            "default-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "img-src data:",
            f"style-src '{digest(style)}'",
            f"script-src '{digest(script)}'",
        ]
    )


def digest(text: str) -> str:
    """The hash by which a policy allows one text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def in_markup(text: str) -> str:
    """A text as HTML, in ASCII."""
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode()


def in_script(value: object) -> str:
    """A value as JSON in ASCII, in which no HTML parser sees markup."""
    return json.dumps(value, separators=(",", ":")).translate(NOT_IN_MARKUP)
