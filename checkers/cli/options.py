"""The options that commands share, and what they mean."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from checkers.memory import parse_size
from checkers.models import find_model
from spec.core import SpecError, System

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(path_type=Path, readable=False)
"""A file or folder. Whether it can be used is found out where it is: that is no wrong usage."""


def as_size(context: click.Context, option: click.Parameter, value: str | None) -> int | None:
    """An amount of memory, as bytes."""
    try:
        return None if value is None else parse_size(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def model_argument(command: F) -> F:
    """Which model: `MODEL`."""
    return click.argument("model", metavar="MODEL")(command)


def optional_model_argument(command: F) -> F:
    """Which model, where something else may say it: `[MODEL]`."""
    return click.argument("model", metavar="[MODEL]", required=False)(command)


def variant_option(command: F) -> F:
    """Which variant of it."""
    return click.option(
        "--variant", metavar="V", help="The variant; `kspec models MODEL` lists them."
    )(command)


def set_option(command: F) -> F:
    """Which bounds."""
    return click.option(
        "--set",
        "settings",
        metavar="NAME=VALUE",
        multiple=True,
        help="A bound, such as brokers=2. Repeatable.",
    )(command)


def property_option(command: F) -> F:
    """Which properties."""
    return click.option(
        "--property",
        "properties",
        metavar="P",
        multiple=True,
        help="Ask about this one only; `all` is each there is, the sanity properties with them, "
        "and `none` is none. Repeatable.",
    )(command)


def story_options(command: F) -> F:
    """Where a counterexample goes."""
    command = click.option(
        "--html",
        type=FILE,
        metavar="FILE",
        help="Write the counterexample as a page to step through.",
    )(command)
    return click.option(
        "--out-itf",
        type=FILE,
        metavar="FILE",
        help="Write the counterexample as an ITF trace; `kspec show` reads it.",
    )(command)


def json_option(command: F) -> F:
    """Machine-readable output."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object and nothing else."
    )(command)


def all_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options, in the order in which the help lists them."""
    return lambda command: functools.reduce(lambda c, option: option(c), reversed(options), command)


def parse_settings(settings: Sequence[str]) -> dict[str, int]:
    """`name=value` pairs as bounds."""
    bounds: dict[str, int] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise click.UsageError(f"--set takes name=value, such as brokers=2, not {setting!r}")
        if name.strip() in bounds:
            raise click.UsageError(f"{name} is set twice")
        try:
            bounds[name.strip()] = int(value)
        except ValueError:
            raise SpecError(f"{name} is a whole number, not {value!r}") from None
    return bounds


def find_system(
    model: str, variant: str | None, settings: Sequence[str], properties: Sequence[str] = ()
) -> System[Any]:
    """The system that the options speak of."""
    return asking(find_model(model).system(variant, parse_settings(settings)), properties)


def asking(system: System[Any], properties: Sequence[str]) -> System[Any]:
    """A system with the properties that are asked about; with its own if none is named."""
    if "none" in properties:
        if len(properties) > 1:
            raise click.UsageError("--property none stands alone")
        return system.with_properties([])
    if "all" in properties:
        everything = [p.name for p in system.with_sanity().properties]
        named = [name for name in properties if name != "all"]
        return system.with_properties(dict.fromkeys([*everything, *named]))
    return system.with_properties(properties) if properties else system
