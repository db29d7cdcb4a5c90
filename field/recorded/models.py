"""The mapping of a model: events are steps of its rules, with any part of the state observed.

    {"kspec_trace": 1, "mapping": "group", "variant": "cooperative", "bounds": {"consumers": 3}}
    {"rule": "member_joins", "choices": {"consumer": 1}, "state": {"group": {"generation": 3}}}

Each key of an event is optional. Without `rule`, any rule may have been taken; without a choice,
the rule may have chosen any value; the state is the one after the step.

Guards that only keep a run within its bounds do not count: Kafka has no such guards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import attrs

from kspec.field.recorded.mapping import BadEvent, Content, Difference, Reason, TraceMapping
from kspec.field.recorded.observation import differences, matches, matches_since, plain
from kspec.spec.core import Blocked, Choice, Limit, Rule, SpecError, System, look_up
from kspec.spec.core.schema import names_of

COMMON = frozenset({"time_ms", "node", "sends", "receives", "source"})
"""The keys of an event that are not about the step."""
NO_CHOICES: Mapping[str, Any] = {}


@attrs.frozen(eq=False)
class Observed:
    """An event: what is known of a step."""

    rules: tuple[Rule[Any], ...]
    """The rules that it may be; none if another variant has its rule."""
    choices: Mapping[str, Any]
    state: Mapping[str, Any] | None


class ModelMapping(TraceMapping):
    """A system of `spec.core`, whose steps the events are."""

    def __init__(
        self,
        system: System[Any],
        *,
        name: str = "",
        start: Mapping[str, Any] | None = None,
        hidden: Sequence[str] = (),
        most_hidden: int = 0,
    ) -> None:
        """`start` is what was observed of the initial state; `hidden` names rules, or `all`."""
        self.system = system
        self.name = name or system.model.name
        self.rules = {rule.name: rule for rule in system.rules}
        self.others = {rule.name for other in system.model.variants for rule in other.rules}
        """The rules of all variants: one that this variant lacks is never enabled."""
        self.start = start
        every = "all" in hidden
        kind = f"rule of {system.variant.name}"
        self.hidden_rules: tuple[Rule[Any], ...] = (
            system.rules if every else tuple(look_up(kind, n, self.rules) for n in hidden)
        )
        self.hidden_names = tuple(rule.name for rule in self.hidden_rules)
        self.most_hidden = (most_hidden or 1) if hidden else 0
        self.latest: tuple[Any, Mapping[str, Any]] = None, {}
        """A state and an observation that agree: it only saves time."""

    def initial(self) -> Iterable[Any]:
        """The initial states that agree with the observed one."""
        return [s for s in self.system.initial() if self.start is None or observes(s, self.start)]

    def not_initial(self) -> tuple[Content, Reason]:
        """The variables in which the nearest initial state differs."""
        if self.start is None:
            raise SpecError(f"{self.name} has no initial state")
        every = self.system.initial()
        refuse_unknown(every[0], self.start)
        nearest = min((differing(s, self.start) for s in every), key=len)
        return {"state": self.start}, Reason("the first state is an initial state", nearest)

    def describe(self) -> Mapping[str, Any]:
        """Model, variant and bounds."""
        return {
            "model": self.name,
            "variant": self.system.variant.name,
            "bounds": attrs.asdict(self.system.bounds, recurse=False),
        }

    # -- events ---------------------------------------------------------------------------------

    def read(self, content: Content) -> Observed:
        """The rules that an event may be, and what it observes."""
        rule, choices, state = (content.get(key) for key in ("rule", "choices", "state"))
        if rule is None and choices is None and state is None and not content.keys() <= COMMON:
            kind = content.get("event")
            what = f"event {kind!r:.40}" if kind is not None else "event without its keys"
            raise BadEvent(f"unknown {what}: an event has a rule, choices or a state")
        choices = NO_CHOICES if choices is None else choices
        if not isinstance(choices, dict) and choices is not NO_CHOICES:
            raise BadEvent('"choices" is not an object')
        if state is not None and not isinstance(state, dict):
            raise BadEvent('"state" is not an object')
        return Observed(self.rules_of(rule, choices), choices, state)

    def rules_of(self, name: Any, choices: Mapping[str, Any]) -> tuple[Rule[Any], ...]:
        """The rules of that name, or all that make these choices."""
        if name is None:
            named = tuple(r for r in self.system.rules if choices.keys() <= r.choices.keys())
            if not named:
                raise BadEvent(f"no rule chooses {', '.join(map(str, choices))}")
            return named
        if not isinstance(name, str):
            raise BadEvent('"rule" is not a name')
        rule = self.rules.get(name)
        if rule is None and name in self.others:
            return ()
        if rule is None:
            rule = known(f"rule of {self.system.variant.name}", name, self.rules)
        if not choices.keys() <= rule.choices.keys():
            for chosen in choices:
                known(f"choice of {rule.name}", chosen, rule.choices)
        return (rule,)

    def successors(self, state: Any, event: Observed) -> Iterator[Any]:
        """The states after each step that the event may be."""
        for rule in event.rules:
            for _, after in attempts(rule, state, event.choices):
                if type(after) is not Blocked and (
                    event.state is None or self.observes(after, event.state)
                ):
                    yield after

    def observes(self, state: Any, observed: Mapping[str, Any]) -> bool:
        """Whether a state agrees with an observation; compared with the last that did."""
        old, old_observed = self.latest
        if type(state) is not type(old) or names_of(type(state)) is None:
            same = observes(state, observed)
        else:
            same = matches_since(state, observed, old, old_observed)
        if same:
            self.latest = state, observed
        return same

    def hidden(self, state: Any, event: Observed | None) -> Iterator[Any]:
        """The states after each hidden rule, within the bounds."""
        for rule in self.hidden_rules:
            for choice in rule.instances(state):
                after = rule.attempt(state, choice)
                if not isinstance(after, Blocked):
                    yield after

    def missing(self, state: Any) -> str:
        """A whole trace ends where the model's behaviours may end."""
        final = self.system.model.final
        if final is None or final(state):
            return ""
        return "the trace is complete, but the model does not end in this state"

    # -- diagnosis ------------------------------------------------------------------------------

    def show(self, state: Any) -> Any:
        """The variables of a state."""
        return plain(state) if names_of(type(state)) is not None else {"state": plain(state)}

    def allowed(self, state: Any) -> Sequence[str]:
        """The steps that are enabled."""
        return [step_text(rule, choice) for rule, choice, _ in self.system.steps(state)]

    def reason(self, state: Any, event: Observed) -> Reason:
        """The guard that blocks the step, or the variables in which its effect differs."""
        if not event.rules:
            return Reason(f"{self.system.variant.name} has this rule", distance=10_000)
        if event.state is not None:
            refuse_unknown(self.system.initial()[0], event.state)
        reasons = [
            why
            for rule in event.rules
            for choice in instances(rule, state, event.choices)
            if (why := self.why_not(rule, choice, state, event)) is not None
        ]
        nearest = min(reasons, key=lambda why: why.distance, default=None)
        if nearest is None:
            nearest = Reason(guard=cannot_choose(state, event), distance=10_000)
        return nearest

    def why_not(
        self, rule: Rule[Any], choice: Choice, state: Any, event: Observed
    ) -> Reason | None:
        """Why one step does not explain the event.

        A blocked step whose effect is what was observed is the nearest; then an enabled step, by
        the number of differences; then any blocked step.
        """
        step, several = step_text(rule, choice), len(event.rules) > 1
        after = attempt(rule, state, choice)
        if isinstance(after, Blocked):
            would = beyond(rule, state, choice, after.guard)
            differs = () if would is None else differing(would, event.state)
            passed = len(rule.guards(state, choice))
            guard = f"{step}: {after.guard}" if several else after.guard
            explains = would is not None and not differs
            distance = 0.5 if explains else 100 + len(differs) - passed / 100
            return Reason(guard, () if several and not explains else differs, (), distance)
        differs = differing(after, event.state)
        return Reason(None, differs, (), len(differs) + (1 if several else 0)) if differs else None


# -- the parts of an event -----------------------------------------------------------------------


def instances(rule: Rule[Any], state: Any, chosen: Mapping[str, Any]) -> Iterable[Choice]:
    """The combinations of choices that agree with those of the event."""
    if not chosen:
        return rule.instances(state)
    return product(
        *[
            [v for v in domain(state) if matches(v, chosen[name])]
            if name in chosen
            else domain(state)
            for name, domain in rule.choices.items()
        ]
    )


def attempts(
    rule: Rule[Any], state: Any, chosen: Mapping[str, Any]
) -> Iterator[tuple[Choice, Any]]:
    """The choices that agree with an event, each with the state after it, or its guard."""
    try:
        for choice in instances(rule, state, chosen):
            yield choice, attempt(rule, state, choice)
    except SpecError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        hint = "are the bounds too small for the trace?"
        raise SpecError(f"rule {rule.name} raised {what}; {hint}") from error


def attempt(rule: Rule[Any], state: Any, choice: Choice) -> Any:
    """The state after a step, or the guard that blocks it; limits of the bounds do not block."""
    after = rule.attempt(state, choice)
    if type(after) is Blocked and isinstance(after.guard, Limit):
        try:
            return rule.attempt(state, choice, beyond_limits=True)
        except SpecError:
            raise
        except Exception:
            return after
    return after


def beyond(rule: Rule[Any], state: Any, choice: Choice, guard: str) -> Any:
    """The state after a step, if one guard did not block it; None if others do."""
    try:
        after = attempt(attrs.evolve(rule, ignored=rule.ignored | {guard}), state, choice)
    except Exception:
        return None
    return None if isinstance(after, Blocked) else after


def observes(state: Any, observed: Mapping[str, Any]) -> bool:
    """Whether a state agrees with an observation."""
    if names_of(type(state)) is None:
        return matches(state, observed["state"]) if "state" in observed else not observed
    return matches(state, observed)


def differing(state: Any, observed: Mapping[str, Any] | None) -> tuple[Difference, ...]:
    """The variables in which a state differs from an observation."""
    if observed is None:
        return ()
    if names_of(type(state)) is None:
        return tuple(differences(state, observed.get("state"), "state"))
    return tuple(differences(state, dict(observed)))


def refuse_unknown(state: Any, observed: Mapping[str, Any]) -> None:
    """BadEvent if the observation has a variable that no state has."""
    names = dict.fromkeys(names_of(type(state)) or ("state",))
    for name in observed:
        known("variable", name, names)


def known(kind: str, name: str, names: Mapping[str, Any]) -> Any:
    """What an event names; BadEvent if there is nothing of that name."""
    try:
        return look_up(kind, name, names)
    except SpecError as error:
        raise BadEvent(str(error)) from None


def cannot_choose(state: Any, event: Observed) -> str:
    """Which choice of the event its rule does not have in a state."""
    rule = event.rules[0]
    for name, value in event.choices.items():
        domain = list(rule.choices[name](state))
        if not any(matches(v, value) for v in domain):
            values = ", ".join(str(plain(v)) for v in domain) or "nothing"
            return f"{rule.name} cannot choose {name}={value!r}, only {values}"
    return f"{rule.name} has nothing to choose"


def step_text(rule: Rule[Any], choice: Choice) -> str:
    """A step as a person would write it."""
    chosen = ", ".join(f"{n}={plain(v)}" for n, v in zip(rule.choices, choice, strict=True))
    return f"{rule.name}({chosen})"
