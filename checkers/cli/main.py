"""Find the command, run it, and turn every error into one line and an exit code."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import version

import click
from click.shell_completion import CompletionItem

from checkers.cli.output import complain, discard_output, finish_output, prepare_streams
from checkers.engine.verdict import EXIT_BAD_INPUT, EXIT_USAGE
from checkers.start import EXIT_INTERRUPTED
from spec.core import SpecError, look_up

COMMANDS = {
    "models": "list models with their variants, bounds and properties",
    "check": "explore every reachable state within the bounds",
    "explore": "step through a model by hand, in a browser or a terminal",
    "simulate": "walk at random, for bounds too large to explore",
    "mutate": "break each rule in turn, and check whether a property fails",
    "refine": "compare every step with a kernel or an implementation",
    "traces": "generate traces as test vectors",
    "graph": "draw the state graph, whole or folded, and find what counterexamples share",
    "prove": "prove lemmas for all integers, and refute their false neighbours",
    "show": "print a recorded trace or a story",
    "validate": "check whether the specification allows recorded traces",
    "advise": "find settings that lose data or stop writes",
    "assign": "compute a consumer group's assignment, and what moves",
    "coordinator": "find a consumer group's partition and coordinator",
    "partition": "find the partition of a key, and keys that change theirs",
    "conform": "compare a client's assignors, or a broker, with Kafka's",
    "log": "check the segments of partitions on disk, byte by byte",
    "offsets": "read groups, offsets and their expiry from __consumer_offsets",
    "timeline": "find in Kafka's logs why groups rebalance, and how leaders and ISRs changed",
    "lag": "find the lag of groups, and when retention overtakes them",
    "reset": "plan a reset of a group's offsets, and what it skips and repeats",
    "start": "find where a stopped group begins again, after some days",
    "serve": "run a broker in memory, for tests of real clients",
    "oracle": "answer requests by the specification, for tests in any language",
    "vectors": "generate random requests to an oracle, with the answers",
    "bundle": "write the archive that Spark's workers need",
}
"""The commands, each with a summary. Its module in this folder has the same name."""


class Commands(click.Group):
    """The commands, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order in which a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, from the module of its name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"checkers.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """`help COMMAND` means `COMMAND --help`; an unknown name is answered with similar ones."""
        if args[0] == "help":
            if len(args) == 1:
                click.echo(ctx.get_help())
                ctx.exit()
            args = [*args[1:], "--help"]
        if args[:2] == ["conform", "broker"]:
            module = importlib.import_module("checkers.cli.conform_broker")
            return "conform broker", module.conform_broker, args[2:]
        if not args[0].startswith("-") and not ctx.resilient_parsing:
            try:
                look_up("command", args[0], COMMANDS)
            except SpecError as error:
                ctx.fail(str(error))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands whose names begin so, without importing them, or the options."""
        return [
            *(
                CompletionItem(name, help=summary)
                for name, summary in COMMANDS.items()
                if name.startswith(incomplete)
            ),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


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
