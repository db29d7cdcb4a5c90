"""Play many histories, confirm what differs by repeating it, and shrink it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby, islice
from threading import local
from typing import TypeAlias

import attrs

from kspec.checkers.shrink import shrink
from kspec.field.conform.broker import Broker
from kspec.field.conform.generate import write_history
from kspec.field.conform.guards import Coverage
from kspec.field.conform.history import Ask, Pause, Send, Step
from kspec.field.conform.play import PATIENCE, REAL, Clock, Difference, Played, Player
from kspec.spec.core import evolve
from kspec.spec.messages import JAVA, SCALA, Settings

TRIES, NEEDED = 3, 2
"""How often a history that differs is repeated, and how often it has to differ again."""


@attrs.frozen
class Found:
    """A difference that was confirmed, with its shortest history."""

    profile: str
    """The profile of the history."""
    difference: Difference
    """The difference."""
    steps: tuple[Step, ...]
    """The shortest history that shows it."""
    after: int
    """How many steps were played until it was seen."""
    as_other: str = ""
    """The other one of Kafka's coordinators, if the history shows no difference from that."""
    times: int = 1
    """How many histories showed it."""


@attrs.define
class Searched:
    """The result of a search."""

    histories: int = 0
    """How many histories were played."""
    steps: int = 0
    """How many steps they had."""
    found: Sequence[Found] = ()
    """The differences."""
    unsteady: int = 0
    """How many histories differed, but not when they were repeated."""
    undecided: int = 0
    """How many histories ended early, since the broker might have been in too many states."""
    coverage: Coverage = attrs.field(factory=Coverage)
    """The guards that the broker was seen to pass and to fail."""

    def add(self, played: Played) -> None:
        """Count what was played."""
        self.steps += played.steps
        self.undecided += played.undecided
        self.coverage.update(played.coverage)


@attrs.define
class Search:
    """Plays histories against a broker."""

    broker: Broker
    settings: Settings
    seed: int
    length: int
    workers: int
    progress: Callable[[str], None]
    clock: Clock = REAL
    groups: Iterator[int] = attrs.field(init=False, factory=lambda: iter(range(10**9)))
    players: list[Player] = attrs.field(init=False, factory=list)
    mine: local = attrs.field(init=False, factory=local)

    def player(self) -> Player:
        """The player of this thread."""
        if not hasattr(self.mine, "player"):
            self.mine.player = Player(self.broker.another(), self.settings, self.clock)
            self.players.append(self.mine.player)
        player: Player = self.mine.player
        return player

    def close(self) -> None:
        """Close all connections."""
        for player in self.players:
            player.close()
            player.broker.admin.close()

    def play(
        self, steps: Sequence[Step], patience: float = PATIENCE, settings: Settings | None = None
    ) -> Played:
        """Play a history with a new group."""
        player = self.player()
        player.patience = patience
        player.settings = settings or self.settings
        return player.play(steps, f"{self.broker.prefix}-{next(self.groups)}")

    def run(self, profiles: Sequence[str], histories: int, most: int = 10) -> Searched:
        """Play histories of these profiles in turn, until so many differences are found."""
        aim, searched = Coverage(), Searched()
        found: dict[str, Found] = {}
        times: Counter[str] = Counter()
        aliases: dict[str, str] = {}  # a difference of a burst, by what single requests show of it
        with ThreadPoolExecutor(self.workers) as pool:
            for profile, written, played in self.played(pool, profiles, histories, aim):
                searched.histories += 1
                searched.add(played)
                difference = played.difference
                if difference is not None:
                    signature = difference.signature
                    times[signature] += 1
                    if signature not in aliases:
                        confirmed = self.confirm(profile, difference, written, searched.steps)
                        if confirmed is None:
                            searched.unsteady += 1
                        else:
                            aliases[signature] = confirmed.difference.signature
                            found.setdefault(confirmed.difference.signature, confirmed)
                self.progress(
                    f"{searched.histories} histories, {searched.steps:,} steps, "
                    f"{len(found)} differences"
                )
                if len(found) >= most:
                    break
            pool.shutdown(cancel_futures=True)
        searched.found = tuple(
            attrs.evolve(f, times=sum(n for s, n in times.items() if aliases.get(s) == signature))
            for signature, f in found.items()
        )
        return searched

    def replay(self, histories: Sequence[Sequence[Step]]) -> Searched:
        """Play histories again, each until it differs, at most three times."""
        searched = Searched(len(histories))
        found: dict[str, Found] = {}
        for number, history in enumerate(histories, 1):
            for _ in range(TRIES):
                played = self.play(history)
                searched.add(played)
                difference = played.difference
                if difference is not None:
                    shown = tuple(history[: difference.at + 1])
                    same = Found("replay", difference, shown, searched.steps)
                    found.setdefault(difference.signature, same)
                    break
            self.progress(f"{number} histories, {len(found)} differences")
        searched.found = tuple(found.values())
        return searched

    def played(
        self, pool: ThreadPoolExecutor, profiles: Sequence[str], histories: int, aim: Coverage
    ) -> Iterator[tuple[str, list[Step], Played]]:
        """Histories with their results, in order; some are played at the same time."""
        waiting: list[tuple[str, list[Step], Future[Played]]] = []
        todo = iter(range(histories))
        versions = self.broker.versions
        while True:
            for index in islice(todo, 2 * self.workers - len(waiting)):
                profile = profiles[index % len(profiles)]
                written = write_history(
                    self.seed, index, self.length, self.settings, versions, profile, aim
                )
                waiting.append((profile, written, pool.submit(self.play, written)))
            if not waiting:
                return
            profile, written, future = waiting.pop(0)
            yield profile, written, future.result()

    # -- differences ------------------------------------------------------------------------------

    def confirm(
        self, profile: str, difference: Difference, written: list[Step], after: int
    ) -> Found | None:
        """The difference with its shortest history; None if it does not show again.

        What requests at the same time show, single ones mostly show too: these are easier to read.
        """
        steps = written[: difference.at + 1]
        if isinstance(difference.step, Send) and len(difference.step.asks) > 1:
            single = together([(i, part) for i, (_, part) in enumerate(parts_of(steps))])
            alone = self.play(single, patience=1.0).difference
            if alone is not None:
                difference, steps = alone, single[: alone.at + 1]
        signature = difference.signature
        again = 0
        for tried in range(TRIES):
            again += self.shows(steps, signature) is not None
            if again >= NEEDED:
                break
            if again + TRIES - tried - 1 < NEEDED:
                return None
        shortest = self.shorten(steps, signature)
        shown = self.shows(shortest, signature)
        other = SCALA if self.settings.variant == JAVA else JAVA
        settings = evolve(self.settings, variant=other)
        differs = self.play(shortest, patience=1.0, settings=settings).difference
        as_other = "" if differs else other.name
        return Found(profile, shown or difference, tuple(shortest), after, as_other)

    def shows(self, steps: Sequence[Step], signature: str) -> Difference | None:
        """The difference with this signature, if the history shows it."""
        difference = self.play(steps, patience=1.0).difference
        return difference if difference and difference.signature == signature else None

    def shorten(self, steps: Sequence[Step], signature: str) -> Sequence[Step]:
        """Leave out the steps that the difference does not need.

        Where Kafka leaves a choice open, a history shows its difference in some plays only.
        """

        def retry(fewer: Sequence[Part]) -> Sequence[Part] | None:
            history = together(fewer)
            plays = (self.shows(history, signature) for _ in range(TRIES))
            difference = next(filter(None, plays), None)
            if difference is None:
                return None
            last = list(dict.fromkeys(index for index, _ in fewer))[difference.at]
            return [part for part in fewer if part[0] <= last]

        return together(shrink(parts_of(steps), retry))


Part: TypeAlias = tuple[int, Ask | Pause]
"""A request or a pause, with the number of its step."""


def parts_of(steps: Sequence[Step]) -> list[Part]:
    """The requests and pauses of a history."""
    return [
        (index, part)
        for index, step in enumerate(steps)
        for part in ((step,) if isinstance(step, Pause) else step.asks)
    ]


def together(parts: Sequence[Part]) -> list[Step]:
    """The history of these requests and pauses."""
    steps: list[Step] = []
    for _, group in groupby(parts, key=lambda part: part[0]):
        inside = [part for _, part in group]
        if isinstance(inside[0], Pause):
            steps.append(inside[0])
        else:
            steps.append(Send(tuple(part for part in inside if isinstance(part, Ask))))
    return steps
