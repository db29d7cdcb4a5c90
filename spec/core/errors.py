"""What is wrong with a model or a name, in one clear line."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any


class SpecError(Exception):
    """A model that is not well-formed, or a name or value it does not have; one clear line."""


def look_up(kind: str, name: str, table: Mapping[str, Any]) -> Any:
    """Find `name`, or say which names come near it."""
    if name in table:
        return table[name]
    folded = {known.casefold(): known for known in table}
    near = difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.5)
    if near:
        hint = f"did you mean {' or '.join(folded[n] for n in near)}?"
    elif table:
        hint = f"there is {', '.join(table)}"
    else:
        hint = "there is none"
    raise SpecError(f"no {kind} named {name!r}: {hint}")
