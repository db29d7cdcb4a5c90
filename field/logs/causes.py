"""Why a rebalance began, and what to change: from the reasons that are logged (`causes.toml`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs

from kspec.field.logs.wordings import read_toml
from kspec.spec.observed.group_log import client_of


@attrs.frozen
class Cause:
    """A reason why groups rebalance."""

    name: str
    says: str
    """What happened, after a member's name."""
    setting: str = ""
    """The setting to look at; empty if the cause is not a fault."""
    advice: str = ""
    is_timeout: bool = False
    """Whether a timeout expired."""
    timeout: str = ""
    """What a sentence calls that timeout; empty if by the name of the cause."""
    reasons: Sequence[str] = attrs.field(default=(), converter=tuple)
    """The reasons that a coordinator logs, as regular expressions."""
    client_reasons: Sequence[str] = attrs.field(default=(), converter=tuple)
    """The reasons that a client sends."""

    def found_in(self, reason: str) -> re.Match[str] | None:
        """Where a coordinator's reason names this cause."""
        return next((found for one in self.reasons if (found := re.search(one, reason))), None)


CAUSES = {name: Cause(name, **entry) for name, entry in read_toml("causes.toml").items()}
"""By name, in the order in which their reasons are looked for."""

JOINED = CAUSES["member joined"]
CAME_BACK = CAUSES["member came back"]
LEFT = CAUSES["member left"]
POLL_TIMEOUT = CAUSES["max.poll.interval.ms"]
SESSION_TIMEOUT = CAUSES["session.timeout.ms"]
CONSUMER_SESSION_TIMEOUT = CAUSES["group.consumer.session.timeout.ms"]
REBALANCE_TIMEOUT = CAUSES["rebalance timeout"]
SYNC_TIMEOUT = CAUSES["pending sync"]
RECONCILIATION = CAUSES["partitions not revoked"]
UNKNOWN = CAUSES["not logged"]


@attrs.frozen
class Trigger:
    """What began a rebalance."""

    cause: Cause
    members: tuple[str, ...] = ()
    client_reason: str = ""


def trigger_of(reason: str) -> Trigger:
    """The trigger that a logged reason names."""
    for cause in CAUSES.values():
        found = cause.found_in(reason)
        if found:
            named = found.groupdict()
            members = tuple(m.strip() for m in (named.get("member") or "").split(",") if m.strip())
            said = named.get("client") or ""
            return Trigger(by_client_reason(said) or cause, members, said)
    return Trigger(UNKNOWN)


def by_client_reason(reason: str) -> Cause | None:
    """The cause that a client's reason names."""
    every = CAUSES.values()
    return next((c for c in every if any(re.search(w, reason) for w in c.client_reasons)), None)


def fenced_for(reason: str) -> Cause:
    """Why a member of the consumer protocol is fenced; the line of an unfinished one has no reason.

    Kafka: the reasons that `consumerGroupFenceMemberOperation` is called with.
    """
    if not reason:
        return RECONCILIATION
    return SYNC_TIMEOUT if "failed to sync" in reason else CONSUMER_SESSION_TIMEOUT


def short(member: str) -> str:
    """A member id, shortened as far as it stays recognizable: `c1-4a5c39bd`."""
    client = client_of(member)
    return member if client == member else f"{client}-{member[len(client) + 1 :][:8]}"
