"""Find the command, run it, and turn every error into one line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version

import click
from click.shell_completion import CompletionItem

from kspec.checkers.cli.output import complain, discard_output, finish_output, prepare_streams
from kspec.checkers.cli.sections import Section
from kspec.checkers.engine.verdict import EXIT_BAD_INPUT, EXIT_USAGE
from kspec.checkers.registered import COMMANDS, load, registered
from kspec.spec.core import SpecError, look_up
from kspec.start import EXIT_INTERRUPTED


@cache
def sections() -> list[Section]:
    """The sections of commands that installed packages register, kspec's own first."""
    names = sorted(registered(COMMANDS), key=lambda name: (name not in OWN, name))
    return [load(COMMANDS, name) for name in names]


OWN = ("checkers", "field", "spark_check")


def summaries() -> dict[str, str]:
    """All commands, each with its summary."""
    return {name: what for section in sections() for name, what in section.commands.items()}


class Commands(click.Group):
    """The commands, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, section by section."""
        return list(summaries())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, from the section that has it."""
        for section in sections():
            if cmd_name in section.commands:
                return section.load(cmd_name)
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """`help COMMAND` means `COMMAND --help`; an unknown name is answered with similar ones."""
        if args[0] == "help":
            if len(args) == 1:
                click.echo(ctx.get_help())
                ctx.exit()
            args = [*args[1:], "--help"]
        if " ".join(args[:2]) in summaries():
            args = [" ".join(args[:2]), *args[2:]]
        if not args[0].startswith("-") and not ctx.resilient_parsing:
            try:
                look_up("command", args[0], summaries())
            except SpecError as error:
                ctx.fail(str(error))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands whose names begin so, without importing them, or the options."""
        return [
            *(
                CompletionItem(name, help=summary)
                for name, summary in summaries().items()
                if name.startswith(incomplete) and " " not in name
            ),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        for section in sections():
            with formatter.section(section.title):
                formatter.write_dl(list(section.commands.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("kspec"), "-V", "--version", prog_name="kspec")
def kspec() -> None:
    """Executable specification of Kafka: replication, groups, producers, transactions, logs.

    kspec explores every reachable state of a model within bounds, one of Kafka's protocols or
    your own, and shows a shortest counterexample to each property that fails.

    \b
    kspec models                                 list what can be checked
    kspec check replication                      explore the replication protocol
    kspec check replication --variant kip-101 \\
        --html lost.html                         see how KIP-101 loses a committed record
    kspec help check                             describe a command

    Exit codes: 0 success, 2 wrong usage, 3 trace rejected, 4 inconclusive, 11 deadlock,
    12 invariant violated, 13 liveness property violated, 151 bad input.
    """


def main(
    argv: Sequence[str] | None = None, command: click.Command = kspec, name: str = "kspec"
) -> None:
    """Run a command and leave with its exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    prepare_streams()
    sys.exit(finish_output(run(argv, command, name)))


def run(
    argv: Sequence[str] | None = None, command: click.Command = kspec, name: str = "kspec"
) -> int:
    """Run a command and return its exit code."""
    try:
        code = command.main(args=argv, prog_name=name, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "")
        return EXIT_USAGE
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else name
        complain(f"{error.format_message()} (see {where} --help)")
        return EXIT_USAGE
    except click.Abort:
        return interrupted()
    except KeyboardInterrupt:
        return interrupted()
    except SpecError as error:
        complain(str(error))
        return EXIT_BAD_INPUT
    except SystemExit as error:
        if os.environ.get("_KSPEC_COMPLETE"):  # click's way to end shell completion
            return error.code if isinstance(error.code, int) else 0
        complain(f"the model's code called sys.exit({error.code!r:.40})")
        return EXIT_BAD_INPUT
    except OSError as error:
        complain(f"{error.filename or 'cannot write the answer'}: {error.strerror or error}")
        if error.filename is None:
            discard_output()
        return EXIT_BAD_INPUT
    return code if isinstance(code, int) else 0


def interrupted() -> int:
    """Report an interruption that came before there was anything else to report."""
    complain("interrupted")
    return EXIT_INTERRUPTED
