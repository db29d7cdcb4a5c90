"""A story as one HTML file to step through, which needs nothing from anywhere else.

`page.html` is the frame; `scene.js` and `scene.css` draw one scene, `page.js` and `page.css`
what is around it. The story stands in the page as JSON and is only ever shown as text; what
may run is the one script.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from string import Template

import attrs

from traces.story import Story

NOT_IN_MARKUP = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


def page(story: Story) -> str:
    """The HTML file that shows this story."""
    style = asset("scene.css") + asset("page.css")
    script = asset("scene.js") + asset("page.js")
    return Template(asset("page.html")).substitute(
        policy=policy(style, script),
        title=in_markup(story.title),
        style=style,
        story=in_script(attrs.asdict(story)),
        script=script,
    )


def asset(name: str) -> str:
    """A file that lies beside this module."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def policy(style: str, script: str) -> str:
    """What the browser may load and run: this style sheet and this script, and nothing else."""
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
    """What a policy calls the one text that it allows."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def in_markup(text: str) -> str:
    """Any text as a text of the page, in ASCII; half a surrogate pair cannot be written else."""
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode()


def in_script(value: object) -> str:
    """Any value as JSON that no HTML parser takes for markup, in ASCII."""
    return json.dumps(value, separators=(",", ":")).translate(NOT_IN_MARKUP)
