"""The target of a conformance test: a known client by name, or an object of your own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from kspec.checkers.models.find import from_file, from_name, load_code
from kspec.field.groups.clients import CLIENTS, Target
from kspec.spec.assignors import ASSIGNORS, Member
from kspec.spec.core import SpecError, look_up


def find_target(reference: str) -> Target:
    """A client by name, or an object given as `module:attribute` or `file.py:attribute`.

    A module or file is code, and is executed.
    """
    if ":" not in reference:
        look_up("client", reference, CLIENTS)
        return _installed(reference)
    place, _, attribute = reference.rpartition(":")
    module = load_code(place, from_file if place.endswith(".py") or "/" in place else from_name)
    return check_target(look_up(f"name in {place}", attribute, vars(module)), reference)


def _installed(client: str) -> Target:
    """A client's assignors, if it is installed in a supported version."""
    try:
        return CLIENTS[client]()
    except (ImportError, AttributeError) as error:
        installed = installed_version(client)
        if installed is None:
            raise SpecError(f"{client} is not installed: pip install {client}") from error
        raise SpecError(f"{client} {installed} is not understood: {error}") from error


def installed_version(package: str) -> str | None:
    """The installed version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def check_target(given: Any, name: str = "the target") -> Target:
    """The object as a target; a `SpecError` says why it is none."""
    if callable(given) and not isinstance(given, Mapping):
        try:
            given = given()
        except Exception as error:
            raise SpecError(f"{name}() raises {type(error).__name__}: {error}") from error
    if not isinstance(given, Mapping) or not given:
        raise SpecError(
            f"{name} is not a mapping from names of strategies to functions, "
            f"nor a function that returns one, but {_kind_of(given)}"
        )
    for strategy, assign in given.items():
        look_up("strategy", str(strategy), ASSIGNORS)
        _check_answer(f"{name}[{strategy!r}]", assign)
    return dict(given)


def _check_answer(name: str, assign: Callable[..., Any]) -> None:
    """Check the signature, and the type of the assignment of the simplest group.

    An exception that it raises is left to the search.
    """
    partitions, members = {"t": 1}, {"m": Member(["t"])}
    try:
        inspect.signature(assign).bind(partitions, members)
    except TypeError:
        raise SpecError(f"{name} is not a function of partitions and members") from None
    except ValueError:
        pass  # a built-in function without a signature
    try:
        answer = assign(partitions, members)
    except Exception:
        return
    try:
        for assigned in answer.values():
            for topic, index in assigned:
                if not (isinstance(topic, str) and isinstance(index, int)):
                    raise TypeError
    except (AttributeError, TypeError, ValueError):
        raise SpecError(
            f"{name} answers {answer!r} for one member and one partition; "
            "an answer maps each member to pairs of topic and index"
        ) from None


def _kind_of(given: object) -> str:
    """The kind of an object, in a few words."""
    return "an empty mapping" if isinstance(given, Mapping) else f"of type {type(given).__name__}"
