"""Find the command, run it, and turn whatever goes wrong into one line and an exit code."""

from __future__ import annotations

import errno
import importlib
import io
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import version

import click

from checkers.cli.output import complain, finish_output, stop_talking
from checkers.start import EXIT_INTERRUPTED
from checkers.verdict import EXIT_BAD_INPUT, EXIT_USAGE
from spec.core import SpecError, look_up

COMMANDS = {
    "models": "what can be checked: models, variants, bounds, properties",
    "check": "explore every state within the bounds",
    "simulate": "walk at random, where there are too many states",
    "mutate": "break each rule in turn, and see which property notices",
    "prove": "prove lemmas for all numbers, and refute what one could take for them",
    "show": "draw a recorded trace",
    "assign": "who in a consumer group gets which partitions, and what moves",
    "coordinator": "which partition and broker a consumer group belongs to",
    "conform": "hold a client's assignors against Kafka's",
    "bundle": "what Spark's workers need, as one archive",
}
"""Each command, and what it does. Its module in this folder has the same name."""


class Commands(click.Group):
    """The commands, imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which one gets to know them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command's own module has it under its own name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"checkers.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A wrong name is answered with those near it."""
        try:
            look_up("command", args[0], COMMANDS)
        except SpecError as error:
            if not args[0].startswith("-"):
                ctx.fail(str(error))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("kspec"), "-V", "--version", prog_name="kspec")
def kspec() -> None:
    """Check what Kafka does, or a protocol of your own, in every state within bounds.

    \b
    kspec models                                    what there is to check
    kspec check replication                         Kafka as it is: every state within bounds
    kspec check replication --variant kip-101 \\
        --html story.html                           how Kafka of 2017 lost data, as a page

    Exit codes: 0 all is well, 2 wrong usage, 3 a trace was rejected, 4 a limit ended the run,
    11 deadlock, 12 a property is violated, 13 a leads-to property is violated, 151 bad input.
    """


def main(
    argv: Sequence[str] | None = None, command: click.Command = kspec, name: str = "kspec"
) -> None:
    """Run a command and leave with its exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no arrows gets "?"
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
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        complain(f"cannot write the answer: {error.strerror}")
        stop_talking()
        return EXIT_BAD_INPUT
    return code if isinstance(code, int) else 0


def interrupted() -> int:
    """Someone pressed Ctrl-C where there was nothing to report yet."""
    complain("interrupted")
    return EXIT_INTERRUPTED
