"""kspec's lemmas by name, and a user's own by file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import ModuleType

from kspec.checkers.models.find import from_file, load_code
from kspec.checkers.registered import LEMMAS, load, registered
from kspec.spec.core import SpecError, look_up
from kspec.spec.lemmas import Lemma


def stated_in(modules: Iterable[ModuleType]) -> list[Lemma]:
    """The lemmas and false neighbours of these modules, each once, in the order they stand in."""
    names = [value for module in modules for value in vars(module).values()]
    return list(dict.fromkeys(value for value in names if isinstance(value, Lemma)))


def find_lemmas(reference: str | None = None) -> Mapping[Lemma, list[Lemma]]:
    """One lemma by its name, all of a user's Python file, or all of kspec's.

    Each with its false neighbours. A file is code, and is executed.
    """
    own = reference is not None and (reference.endswith(".py") or "/" in reference)
    if own:
        stated = stated_in([load_code(str(reference), from_file)])
    else:
        stated = stated_in(load(LEMMAS, name) for name in registered(LEMMAS))
    lemmas = {
        lemma: [near for near in stated if near.neighbour_of is lemma]
        for lemma in stated
        if lemma.neighbour_of is None
    }
    if own and not lemmas:
        raise SpecError(f"{reference} states no lemma")
    if own or reference is None:
        return lemmas
    found: Lemma = look_up("lemma", reference, {lemma.name: lemma for lemma in lemmas})
    return {found: lemmas[found]}
