"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs
import click
from click.shell_completion import CompletionItem

from kspec.checkers.models.find import find_model, registered_models
from kspec.spec.core import Model, SpecError, System, look_up
from kspec.traces.source import name_of, read_text

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(path_type=Path, readable=False)
"""A file or folder. Reading it reports what is wrong with it, as bad input, not as wrong usage."""


class NewFile(click.Path):
    """A file or folder to write; `-` is refused, since standard output carries the report."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        if str(value) == "-":
            raise SpecError("standard output carries the report: name a file")
        return super().convert(value, param, ctx)


NEW_FILE = NewFile(path_type=Path, readable=False)
"""A file or folder to write."""


def names_from(arguments: Sequence[str], file: Path | None, what: str) -> list[str]:
    """The names in arguments and in a file, one on each line; `-` is standard input."""
    if "-" in arguments and not file:
        arguments, file = [name for name in arguments if name != "-"], Path("-")
    for name in arguments:
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise SpecError(f"the {what} {name} is not UTF-8")
    if file is None:
        return list(arguments)
    lines = (line.removesuffix("\r") for line in read_text(file).split("\n"))
    names = [line for line in lines if line]
    if not names:
        raise SpecError(f"{name_of(file)} lists no {what}")
    return [*arguments, *names]


class Parsed(click.ParamType):  # type: ignore[type-arg]
    """An option's value, read by a function; what it refuses is wrong usage."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        """Name the type in usage lines."""
        self.name = name
        self.parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value."""
        try:
            return self.parse(value) if isinstance(value, str) else value
        except (SpecError, ValueError) as error:
            self.fail(str(error), param, ctx)


# -- shell completion: a model's own names; a user's model is code, and is not executed for them --


def names_or_files(known: Callable[[], Iterable[str]]) -> Callable[..., list[CompletionItem]]:
    """A completion by the known names that begin so, or else by files."""

    def complete(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        names = [CompletionItem(name) for name in known() if name.startswith(incomplete)]
        return names or [CompletionItem(incomplete, type="file")]

    return complete


complete_model = names_or_files(registered_models)


def completing(names: Callable[[Model[Any]], Sequence[str]]) -> Callable[..., list[str]]:
    """A completion by names of the model on the command line."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        words = [context.params.get("model"), *context.args]  # click leaves what it cannot parse
        model = next((word for word in words if word in registered_models()), None)
        if model is None:
            return []
        return [name for name in names(find_model(model)) if name.startswith(incomplete)]

    return complete


# -- options and arguments ------------------------------------------------------------------------


def option(*names_and_help: str, **settings: Any) -> Callable[[F], F]:
    """An option with its names and, last, its help, which shows its default."""
    *names, says = names_and_help
    settings.setdefault("show_default", "default" in settings)
    return click.option(*names, help=says, **settings)


def flag(*names_and_help: str) -> Callable[[F], F]:
    """An option without a value."""
    return option(*names_and_help, is_flag=True)


def number_option(
    *names_and_help: str,
    low: int | None = None,
    high: int | None = None,
    metavar: str | None = "N",
    **settings: Any,
) -> Callable[[F], F]:
    """A whole number in a range."""
    return option(*names_and_help, type=click.IntRange(low, high), metavar=metavar, **settings)


def reads(*names_and_help: str, **settings: Any) -> Callable[[F], F]:
    """A file to read."""
    return option(*names_and_help, type=FILE, metavar="FILE", **settings)


def writes(*names_and_help: str, **settings: Any) -> Callable[[F], F]:
    """A file to write."""
    return option(*names_and_help, type=NEW_FILE, metavar="FILE", **settings)


def repeated(*names_and_help: str, **settings: Any) -> Callable[[F], F]:
    """An option that may be given several times."""
    return option(*names_and_help, multiple=True, **settings)


model_argument = click.argument("model", metavar="MODEL", shell_complete=complete_model)

optional_model_argument = click.argument(
    "model", metavar="[MODEL]", required=False, shell_complete=complete_model
)
"""`[MODEL]`, where another option may name it."""

variant_option = option(
    "--variant",
    "A variant of the model; `kspec models MODEL` lists them.",
    metavar="V",
    shell_complete=completing(lambda model: [v.name for v in model.variants]),
)

set_option = repeated(
    "--set",
    "settings",
    "Set a bound, such as brokers=2. Repeatable.",
    metavar="NAME=VALUE",
    shell_complete=completing(lambda model: [f"{b.name}=" for b in model.bound_ranges()]),
)

property_option = repeated(
    "--property",
    "properties",
    "Check this property only. `all` includes consistency invariants; `none` checks for deadlock "
    "only. Repeatable.",
    metavar="P",
    shell_complete=completing(lambda model: [p.name for p in model.all_properties]),
)

json_option = flag("--json", "as_json", "Print one JSON object and nothing else.")


@attrs.frozen
class Asked:
    """The system that a command is about, as options name it."""

    model: str
    """Empty where another option names it."""
    variant: str | None
    settings: Sequence[str]
    properties: tuple[str, ...] = ()

    def system(self, about: Mapping[str, Any] | None = None) -> System[Any]:
        """The system. What no option gives, a trace may say that is `about` it."""
        found = find_model(self.model)
        said = about or {}
        variant, bounds = said.get("variant"), said.get("bounds")
        system = found.system(
            self.variant or (variant if isinstance(variant, str) else None),
            {
                **(bounds if isinstance(bounds, dict) else {}),
                **parse_settings(self.settings, found),
            },
        )
        return checking(system, self.properties)


Command = Callable[..., int]


def names_system(
    *others: Callable[[Command], Command], model: Callable[[Command], Command] = model_argument
) -> Callable[[Command], Command]:
    """The options that name a system. The command receives them together, as `Asked`."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def run(
            model: str | None,
            variant: str | None,
            settings: tuple[str, ...],
            properties: tuple[str, ...] = (),
            **rest: Any,
        ) -> int:
            return command(asked=Asked(model or "", variant, settings, properties), **rest)

        return all_of(model, variant_option, set_option, *others)(run)

    return decorate


def all_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options, in the order of the help."""
    return lambda command: functools.reduce(lambda c, option: option(c), reversed(options), command)


def pairs(
    option: str, given: Iterable[str], form: str = "name=value", *, at_last: bool = False
) -> list[tuple[str, str]]:
    """The two parts of each value of an option, which `=` separates: the first one, or the last."""
    found = []
    for text in given:
        name, equals, value = text.rpartition("=") if at_last else text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"{option} takes {form}, not {text!r}")
        found.append((name.strip(), value))
    return found


def parse_settings(settings: Sequence[str], model: Model[Any]) -> dict[str, int]:
    """Bounds of the model, from `name=value` pairs."""
    known = {bound.name: bound for bound in model.bound_ranges()}
    bounds: dict[str, int] = {}
    for name, value in pairs("--set", settings, "name=value, such as brokers=2,"):
        look_up(f"bound of {model.name}", name, known)
        if name in bounds:
            raise click.UsageError(f"{name} is set twice")
        try:
            bounds[name] = int(value)
        except ValueError:
            raise SpecError(f"{name} is a whole number, not {value!r:.40}") from None
    return bounds


def checking(system: System[Any], properties: Sequence[str]) -> System[Any]:
    """The system with the properties that the options name; with its own if they name none."""
    if "none" in properties:
        if len(properties) > 1:
            raise click.UsageError("--property none excludes other properties")
        return system.with_properties([])
    if "all" in properties:
        everything = [p.name for p in system.with_all_properties().properties]
        named = [name for name in properties if name != "all"]
        return system.with_properties(dict.fromkeys([*everything, *named]))
    return system.with_properties(properties) if properties else system
