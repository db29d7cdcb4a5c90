"""The maker of kspec's pages: each is one self-contained HTML file that loads nothing.

A text becomes markup here only: whatever is not `Markup` is escaped. The page's policy lets the
browser use the page's own style and script, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import zip_longest

import attrs

NOT_IN_MARKUP = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}

ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Crect x='1' y='3' width='14' height='4' rx='1' fill='%232f6fb0'/%3E"
    "%3Crect x='1' y='9' width='9' height='4' rx='1' fill='%23c8102e'/%3E%3C/svg%3E"
)


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def in_markup(value: object) -> Markup:
    """A value as HTML, in ASCII."""
    if isinstance(value, Markup):
        return value
    return Markup(html.escape(str(value)).encode("ascii", "xmlcharrefreplace").decode())


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Several values as HTML."""
    return Markup(between.join(map(in_markup, parts)))


def element(tag: str, *content: object, **attributes: object) -> Markup:
    """An element: `element("td", 3, class_="number")`. Empty attributes are left out."""
    named = [tag]
    for name, value in attributes.items():
        if value != "":
            named.append(f'{name.rstrip("_").replace("_", "-")}="{in_markup(value)}"')
    return Markup(f"<{' '.join(named)}>{joined(content)}</{tag}>")


def row(cells: Iterable[object], kinds: Sequence[str] = (), **attributes: object) -> Markup:
    """A row of a table; `kinds` has the classes of its cells."""
    pairs = zip_longest(cells, kinds, fillvalue="")
    return element("tr", *(element("td", cell, class_=kind) for cell, kind in pairs), **attributes)


def table(columns: Sequence[object], rows: Iterable[object], **attributes: object) -> Markup:
    """A table of rows; without columns, it has no heading."""
    head = element("tr", *(element("th", column) for column in columns))
    body = element("tbody", "\n", joined(rows, "\n"), "\n")
    return element("table", element("thead", head) if columns else "", body, **attributes)


def bullets(items: Iterable[object], **attributes: object) -> Markup:
    """A list."""
    return element("ul", *(element("li", item) for item in items), **attributes)


@attrs.frozen
class Page:
    """A page."""

    title: str
    body: str
    """As HTML."""
    style: str
    script: str = ""
    data: Mapping[str, object] = attrs.Factory(dict)
    """What the script reads, by the id of its element: JSON, which is never run."""
    kind: str = ""
    """The class of the body."""
    connects: bool = False
    """Whether it talks to the server that it comes from."""
    framed: Page | None = None
    """A page that it shows in a frame. The frame has this page's policy, so that it allows both."""

    def html(self) -> str:
        """The file."""
        data = [
            Markup(f'<script type="application/json" id="{name}">{in_script(value)}</script>\n')
            for name, value in self.data.items()
        ]
        script = Markup(f"<script>{self.script}</script>\n" if self.script else "")
        return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{self.policy()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{in_markup(self.title)}</title>
<link rel="icon" href="{ICON}">
<style>{self.style}</style>
</head>
{element("body", Markup(self.body), *data, script, class_=self.kind)}
</html>
"""

    def policy(self) -> str:
        """The content security policy."""
        allowed = [self, self.framed] if self.framed else [self]
        styles = " ".join(f"'{digest(page.style)}'" for page in allowed)
        scripts = " ".join(f"'{digest(page.script)}'" for page in allowed if page.script)
        parts = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "img-src data:"]
        parts += [f"style-src {styles}"]
        parts += [f"script-src {scripts}"] if scripts else []
        parts += ["connect-src 'self'"] if self.connects else []
        parts += ["frame-src blob:"] if self.framed else []
        return "; ".join(parts)


def report(title: str, body: Iterable[object], style: str, *, subtitle: str = "") -> Page:
    """A page of text, tables and figures, without a script."""
    main = element("main", "\n", element("h1", title), "\n", joined(body, "\n"), "\n")
    whole = f"{title}: {subtitle}" if subtitle else title
    return Page(whole, f"\n{main}\n", asset(__package__, "report.css") + style)


def asset(package: str | None, name: str) -> str:
    """The text of a file of a package."""
    assert package is not None
    return files(package).joinpath(name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """The hash by which a policy allows one text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def in_script(value: object) -> str:
    """A value as JSON in ASCII, in which no HTML parser sees markup."""
    return json.dumps(value, separators=(",", ":")).translate(NOT_IN_MARKUP)
