"""The explorer in a terminal: commands in, lines out."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import attrs
from rich.text import Text

from kspec.checkers.engine.verdict import fails
from kspec.checkers.explore.moves import Move, all_moves, enabled_moves, moves_of, why_nothing
from kspec.checkers.explore.protocol import FILES
from kspec.checkers.explore.seek import Found, Seeker
from kspec.checkers.explore.session import Node, Session
from kspec.checkers.explore.what_if import replay_under, variants_beside
from kspec.spec.core import SpecError, look_up
from kspec.traces.itf import read
from kspec.traces.page.html import asset
from kspec.traces.terminal import draw_scene, draw_state, heading
from kspec.traces.text import all_printable

Lines: TypeAlias = Iterator[Text | str]

HELP = asset(__package__, "help.txt")


@attrs.define(eq=False)
class Terminal:
    """One session, at one of its states."""

    session: Session
    search: Callable[[Seeker], Found] = Seeker.run
    """Runs a search."""
    write: Callable[[Path, str], object] = lambda path, text: path.write_text(text, "utf-8")
    """Writes a file."""
    has_ended: bool = False
    at: Node = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start at the initial state."""
        self.at = self.session.first

    def begin(self) -> Lines:
        """What is printed first."""
        system = self.at.system
        yield f"{self.session.model.name}, {system.variant.name}. Type help for the commands."
        yield ""
        yield from self.show()

    def do(self, line: str) -> Lines:
        """Carry out a command; SpecError if it cannot be."""
        name, _, rest = line.strip().partition(" ")
        if not name:
            return
        if name.isascii() and name.isdigit():
            yield from self.take_number(number_of(name))
        elif name in COMMANDS:
            yield from COMMANDS[name](self, rest.strip())
        else:
            yield from self.take_named(line.split())

    # -- steps ----------------------------------------------------------------------------------

    def go(self, node: Node) -> Lines:
        """Go to a state, and show it."""
        self.at = node
        yield from self.show()

    def go_along(self, after: Node) -> Lines:
        """Go to a later state; list the steps on the way, and show it."""
        for node in self.session.path(after)[self.at.number : -1]:
            yield heading(all_printable(node.scene))
        yield from self.go(after)

    def show(self) -> Lines:
        """The step that led here, what it changed, and what is enabled."""
        scene = all_printable(self.at.scene)
        yield from draw_scene(scene, max((len(lane.name) for lane in scene.lanes), default=0))
        for name, place in self.at.failing.items():
            yield f"    ✗ {fails(name, place)}"
        yield from self.rules("")

    def take_number(self, number: int) -> Lines:
        """Take an enabled rule by its number."""
        moves = enabled_moves(self.at.system, self.at.state)
        if not 1 <= number <= len(moves):
            raise SpecError(f"no rule has the number {number} here")
        yield from self.go(self.session.take(self.at, moves[number - 1]))

    def take_named(self, words: list[str]) -> Lines:
        """Take a rule by its name and choices, as a story writes them."""
        known = {rule.name: rule for rule in self.at.system.rules}
        name = words[0]
        look_up("command or rule", name, {**COMMANDS, **known})
        for move in moves_of(known[name], self.at.state):
            if as_words(move) == words:
                yield from self.go(self.session.take(self.at, move))
                return
        raise SpecError(f"{name} has no choice {' '.join(words[1:]) or 'without values'} here")

    def back(self, rest: str) -> Lines:
        """Go back."""
        way = self.session.path(self.at)
        steps = number_of(rest) if rest else 1
        yield from self.go(way[max(0, len(way) - 1 - steps)])

    def walk(self, rest: str) -> Lines:
        """Walk at random, and list the steps."""
        numbers = [number_of(word) for word in rest.split()]
        steps, seed = [*numbers, *(20, 0)[len(numbers) :]][:2]
        yield from self.go_along(self.session.walk(self.at, steps, seed))

    def find(self, rest: str) -> Lines:
        """Search for the nearest state that satisfies a condition."""
        seeker = Seeker(self.at, rest)
        found = self.search(seeker)
        yield found.says(seeker.goal)
        if found.trace is not None and len(found.trace.states) > 1:
            yield from self.go_along(self.session.follow(self.at, found.trace))

    def what_if(self, rest: str) -> Lines:
        """Take the same steps under another variant."""
        if not rest:
            raise SpecError(f"name a variant: {', '.join(variants_beside(self.session, self.at))}")
        before = self.at
        found = replay_under(self.session, before, rest)
        yield found.says
        if found.parts_at:
            parted = self.session.path(found.node)[found.parts_at - 1]
            yield from self.differences(self.session.path(before)[found.parts_at - 1], parted)
        yield from self.go(found.node)

    # -- lists ----------------------------------------------------------------------------------

    def rules(self, rest: str) -> Lines:
        """The enabled rules, numbered."""
        moves = enabled_moves(self.at.system, self.at.state)
        for number, move in enumerate(moves, 1):
            yield Text(f"{number:7}  ", style="bold").append(" ".join(as_words(move)), style="")
        if not moves:
            yield f"      {why_nothing(self.at.system, self.at.state)}"

    def blocked(self, rest: str) -> Lines:
        """The guards that block each rule, with the choices that they block."""
        for rule, moves in all_moves(self.at.system, self.at.state):
            if not moves:
                yield f"      {rule.name}: there is nothing to choose from"
            guards: dict[str, list[str]] = {}
            for move in moves:
                if not move.is_enabled:
                    limit = " (a limit of the bounds)" if move.is_limit else ""
                    choices = " ".join(as_words(move)[1:])
                    guards.setdefault(f"{move.blocked_by}{limit}", []).append(choices)
            for guard, blocked in guards.items():
                which = f": {'; '.join(blocked)}" if any(blocked) else ""
                yield f"      {rule.name}: {guard}{which}"

    def state(self, rest: str) -> Lines:
        """The whole state."""
        yield from draw_state(self.at.scene)

    def steps(self, rest: str) -> Lines:
        """The steps that led here."""
        for node in self.session.path(self.at):
            yield heading(all_printable(node.scene)).append(f"  #{node.id}", style="dim")

    def branches(self, rest: str) -> Lines:
        """The ends of all branches, with the numbers that `go` takes."""
        for node in self.session.leaves():
            failing = f"  ✗ {', '.join(node.failing)}" if node.failing else ""
            here = "  (here)" if node is self.at else ""
            rule = all_printable(node.scene).rule
            variant = node.system.variant.name
            yield f"  #{node.id:<4} {variant}, {node.number} states, {rule}{failing}{here}"

    def go_to(self, rest: str) -> Lines:
        """Go to the state of a number."""
        yield from self.go(self.session.node(number_of(rest.removeprefix("#"))))

    def compare(self, rest: str) -> Lines:
        """How another state differs from this one."""
        other = self.session.node(number_of(rest.removeprefix("#")))
        yield f"State #{self.at.id} | state #{other.id}:"
        yield from self.differences(self.at, other)

    def differences(self, one: Node, other: Node) -> Lines:
        """Where two states differ."""
        found = all_printable(self.session.difference(one, other))
        for piece in found:
            yield f"      {piece.at}  {piece.before or '–'} | {piece.text or '–'}"
        if not found:
            yield "      The states are equal."

    # -- files ----------------------------------------------------------------------------------

    def save(self, rest: str) -> Lines:
        """Write the steps as ITF."""
        yield from self.write_as("itf", rest)

    def page(self, rest: str) -> Lines:
        """Write the steps as a page."""
        yield from self.write_as("page", rest)

    def write_as(self, kind: str, rest: str) -> Lines:
        """Write the steps to a file."""
        path = path_of(rest)
        _, content = FILES[kind]
        self.write(path, content(self.session, self.at))
        yield f"Written: {path}"

    def load(self, rest: str) -> Lines:
        """Read an ITF file, and go to its last state."""
        yield from self.go(self.session.load(read(path_of(rest))))

    def help(self, rest: str) -> Lines:
        """The commands."""
        yield from HELP.splitlines()

    def quit(self, rest: str) -> Lines:
        """End."""
        self.has_ended = True
        yield from ()


COMMANDS: Mapping[str, Callable[[Terminal, str], Lines]] = {
    "rules": Terminal.rules,
    "blocked": Terminal.blocked,
    "state": Terminal.state,
    "steps": Terminal.steps,
    "back": Terminal.back,
    "branches": Terminal.branches,
    "go": Terminal.go_to,
    "compare": Terminal.compare,
    "find": Terminal.find,
    "walk": Terminal.walk,
    "what-if": Terminal.what_if,
    "save": Terminal.save,
    "page": Terminal.page,
    "load": Terminal.load,
    "help": Terminal.help,
    "quit": Terminal.quit,
}
"""The commands by name."""


def as_words(move: Move) -> list[str]:
    """A move as it is typed, word by word."""
    return [move.rule.name, *" ".join(f"{k}={v}" for k, v in move.choices.items()).split()]


def number_of(word: str) -> int:
    """A number that was typed."""
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise SpecError(f"a number is needed, not {word!r:.40}")
    return int(word)


def path_of(rest: str) -> Path:
    """The file that was typed; its name may be quoted."""
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise SpecError(f"{rest!r:.60}: {error}") from None
    if len(words) != 1:
        raise SpecError("name one file")
    return Path(words[0])
