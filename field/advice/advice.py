"""The advice on one set of settings: verdicts, what to change, findings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import attrs

from kspec.field.advice.catalogue import ELR, Catalogue
from kspec.field.advice.findings import findings, misspelt_and_required, producer_of
from kspec.field.advice.questions import (
    KRAFT,
    MOST_BROKERS,
    UNFENCED,
    Answer,
    Budget,
    Durability,
    beyond_release,
    durability_of,
    system_of,
)
from kspec.field.advice.remarks import Remark
from kspec.field.advice.settings import Settings, Value
from kspec.field.advice.sources import Given, Level, Source

ASSUMED_FACTOR = 3
"""The replication factor where no source gives one."""

ASSUMED = "assumed, since no source gives it"
"""Where the assumed replication factor comes from."""

Ask = Callable[[Durability, Budget], Answer]
"""Answers a question."""


@attrs.frozen
class Change:
    """Settings that would be better, with the verdicts on them."""

    settings: Sequence[str]
    """What to set, such as `acks=all`."""
    answers: Sequence[Answer]
    """A verdict for each budget."""

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "settings": list(self.settings),
            "verdicts": [answer.to_json() for answer in self.answers],
        }


@attrs.frozen
class Advice:
    """The answer to an operator."""

    settings: Settings
    durability: Durability
    sources: Sequence[Source]
    answers: Sequence[Answer]
    """A verdict for each budget."""
    change: Change | None
    """The least change with the best result in this release; None if nothing is better."""
    upgrade: Change | None
    """What an upgrade to Kafka 4.1 improves after this change; None if nothing."""
    findings: Sequence[Remark]
    not_modelled: Sequence[str]

    def not_starting(self) -> dict[str, list[str]]:
        """The processes that do not start, with the settings that prevent it."""
        found: dict[str, list[str]] = {}
        for finding in self.findings:
            if finding.refused_by:
                found.setdefault(finding.refused_by, []).append(finding.setting)
        return found

    def beyond_release(self) -> list[str]:
        """What the explored protocol has and the release lacks."""
        return beyond_release(self.durability.variant, self.settings.known.release)

    def assumed(self) -> Value | None:
        """The replication factor, if no source gives it."""
        factor = self.settings.value("topic", "replication.factor")
        return factor if factor.origin == ASSUMED else None

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "kafka": self.settings.known.release,
            "protocol": self.durability.variant,
            "beyond_release": self.beyond_release(),
            "sources": [
                {"file": s.name, "taken_as": s.taken_as, "not_kafkas": list(s.not_kafkas)}
                for s in self.sources
            ],
            "settings": [
                {"name": v.name, "of": v.kind, "value": v.value, "from": v.origin}
                for v in self.settings.read.values()
            ],
            "given_but_not_asked": self.settings.not_asked(),
            "verdicts": [answer.to_json() for answer in self.answers],
            "change": self.change and self.change.to_json(),
            "upgrade": self.upgrade and self.upgrade.to_json(),
            "findings": [finding.to_json() for finding in self.findings],
            "not_starting": self.not_starting(),
            "not_modelled": list(self.not_modelled),
        }


def settings_from(
    known: Catalogue, sources: Sequence[Source], options: Sequence[Given]
) -> Settings:
    """The settings in effect; a replication factor is assumed where nothing decides it.

    A broker's properties file decides it: if it gives none, Kafka's default applies.
    """
    given = [one for source in sources for one in source.given] + list(options)
    decides = {one.name for one in given} & {"replication.factor", "default.replication.factor"}
    if not decides and not any(source.kind == "broker" for source in sources):
        text = str(ASSUMED_FACTOR)
        given.append(Given("topic", "replication.factor", text, Level.DEFAULT_CONFIG, ASSUMED))
    return Settings(known, given)


def advise(
    settings: Settings,
    sources: Sequence[Source],
    budgets: Sequence[Budget],
    ask: Ask,
    *,
    ms_per_record: float | None = None,
    asked: Collection[str] = (),
) -> Advice:
    """Ask the model, and judge the rest by arithmetic."""
    kinds = {one.kind for one in settings.given if one.where != ASSUMED} | set(asked)
    judged = findings(settings, kinds, ms_per_record)
    durability = durability_of(settings, producer_of(settings).acks)
    found = [r for source in sources for r in source.remarks]
    found += [r for key, r in settings.remarks.items() if key in settings.read]
    found += misspelt_and_required(settings, sources)
    found += judged
    left_out: list[str] = []
    answers: list[Answer] = []
    if durability.factor <= MOST_BROKERS:
        answers = [ask(durability, budget) for budget in budgets]
        left_out += system_of(durability, budgets[0]).model.not_modelled
    else:
        left_out.append(f"more than {MOST_BROKERS} replicas, so there is no verdict on failures")
        answers = [Answer(budget.name, None, None, None, 0) for budget in budgets]
    left_out += [
        "failures beyond the budget",
        "for writes: followers that are out of sync when a broker fails",
    ]
    if durability.variant not in UNFENCED:
        left_out.append("leadership that moves without a failure")
    if durability.min_insync > durability.factor and durability.variant in KRAFT:
        left_out.append(
            "a min.insync.replicas above replication.factor, with which Kafka before 3.7 refuses "
            "all writes with acks=all"
        )
    if ms_per_record is None and "consumer" in kinds:
        left_out.append("the time that the application needs for a record (--ms-per-record)")
    change, upgrade = better(settings, durability, answers, budgets, ask)
    return Advice(settings, durability, sources, answers, change, upgrade, found, left_out)


def badness(answers: Sequence[Answer]) -> tuple[int, int]:
    """How many budgets lose a record, and how many stop writes."""
    return (
        sum(answer.kept is False for answer in answers),
        sum(answer.available is False for answer in answers),
    )


def better(
    s: Settings,
    now: Durability,
    answers: Sequence[Answer],
    budgets: Sequence[Budget],
    ask: Ask,
) -> tuple[Change | None, Change | None]:
    """The changes to usual settings that are necessary for the best result, first in this release.

    The second change is what remains if an upgrade is necessary as well. Results are judged by the
    budgets of a single failure, if any was asked for: with min.insync.replicas=2, writes stop after
    two. Unclean election is always turned off.
    """
    if badness(answers) == (0, 0) or now.factor > MOST_BROKERS:
        return None, None
    single = [budget for budget in budgets if budget.name.startswith("one-")] or list(budgets)
    present = badness([one for one in answers if one.budget in {each.name for each in single}])

    def judge(options: Sequence[Option]) -> tuple[int, int]:
        return badness([ask(changed(now, options), budget) for budget in single])

    def change(options: Sequence[Option], named: Sequence[Option]) -> Change:
        chosen = changed(now, options)
        return Change([name for name, _ in named], [ask(chosen, budget) for budget in budgets])

    options = possible_changes(s, now)
    best = judge(options)
    if best >= present:
        return None, None
    for option in reversed(options):  # the hardest to change first
        others = [one for one in options if one is not option]
        if option[1] == CLEAN:
            continue  # it costs nothing after a single failure, and more may fail
        if is_as_good(best, changed(now, others), single, ask):
            options = others
    within = [one for one in options if one[0] != UPGRADE]
    if judge(within) >= present:
        within = []
    rest = [one for one in options if one not in within]
    return change(within, within) if within else None, change(options, rest) if rest else None


def is_as_good(
    best: tuple[int, int], settings: Durability, budgets: Sequence[Budget], ask: Ask
) -> bool:
    """Whether settings are as good as the best; it stops at the first budget that is not."""
    answers: list[Answer] = []
    for budget in budgets:
        answers.append(ask(settings, budget))
        if badness(answers) > best:
            return False
    return True


CLEAN = {"unclean": False}

NEWEST = "kafka-4.1"
"""The variant with eligible leader replicas."""

UPGRADE = f"Kafka 4.1 and {ELR}=1"
"""What gives a cluster this protocol if its release does not have it."""

Option = tuple[str, dict[str, Any]]
"""A setting as an operator writes it, and the fields of `Durability` that it changes."""


def possible_changes(s: Settings, now: Durability) -> list[Option]:
    """Settings that usually make a partition safer, the easiest to change first."""
    options: list[Option] = []
    if now.acks != -1:
        options.append(("acks=all", {"acks": -1}))
    if now.unclean:
        options.append(("unclean.leader.election.enable=false", CLEAN))
    if now.min_insync != 2:
        options.append(("min.insync.replicas=2", {"min_insync": 2}))
    if now.factor < ASSUMED_FACTOR:
        options.append((f"replication.factor={ASSUMED_FACTOR}", {"factor": ASSUMED_FACTOR}))
    if now.variant != NEWEST:
        text = f"{ELR}=1" if s.has("broker", ELR) else UPGRADE
        options.append((text, {"variant": NEWEST}))
    return options


def changed(now: Durability, options: Sequence[Option]) -> Durability:
    """The settings with some changes."""
    for _, fields in options:
        now = attrs.evolve(now, **fields)
    return now
