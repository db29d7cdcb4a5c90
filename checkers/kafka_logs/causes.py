"""Why a round of rebalancing began, and what to change: from the reason that the coordinator logs.

Reasons: GroupMetadataManager (Java) and GroupCoordinator.scala, the arguments of
`prepareRebalance` and of what calls it. Client reasons are sent since 3.2 (KIP-800).
"""

from __future__ import annotations

import re

import attrs

UUID = re.compile(r"-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$")
MEMBERS = re.compile(r"\(([^()]+)\) members")


@attrs.frozen
class Cause:
    """Why groups rebalance."""

    name: str
    says: str
    """What happened, after a member's name."""
    setting: str = ""
    """The setting to look at; empty if the cause is not a fault."""
    advice: str = ""
    is_timeout: bool = False
    """Whether a member met a timeout."""


JOINED = Cause(
    "member joined",
    "joined",
    "group.instance.id",
    "Each start of a consumer is a round, and each stop another. If consumers restart, give each "
    "a group.instance.id (static membership) and a session.timeout.ms that is longer than a "
    "restart. If many start at once, raise the broker's group.initial.rebalance.delay.ms, which "
    "counts while the group is empty.",
)
CAME_BACK = Cause(
    "member came back",
    "joined again",
    "",
    "It had been removed or had left before; see why.",
)
CLOSED = Cause(
    "member closed",
    "left: it was closed",
    "group.instance.id",
    "A static member (group.instance.id) does not leave when it is closed: a restart within "
    "session.timeout.ms then needs no round.",
)
LEFT = Cause(
    "member left",
    "left and gave no reason",
    "max.poll.interval.ms",
    "Java's clients send a reason since 3.2, most others none; brokers log it since 3.2. A "
    "consumer leaves if it is closed, unsubscribes, or does not poll within "
    "max.poll.interval.ms; its own log tells which.",
)
UNSUBSCRIBED = Cause("member unsubscribed", "left: it unsubscribed")
POLL_TIMEOUT = Cause(
    "max.poll.interval.ms",
    "did not poll within max.poll.interval.ms and left",
    "max.poll.interval.ms",
    "Processing the records of one poll() takes longer than max.poll.interval.ms. Raise it, lower "
    "max.poll.records, or process in another thread.",
    is_timeout=True,
)
SESSION_TIMEOUT = Cause(
    "session.timeout.ms",
    "sent no heartbeat within session.timeout.ms and was removed",
    "session.timeout.ms",
    "The process crashed, was paused (garbage collection, a stopped container) or lost its "
    "connection. If it lives, raise session.timeout.ms (45 s by default since 3.0; 10 s before) "
    "and keep heartbeat.interval.ms at a third of it or less.",
    is_timeout=True,
)
REBALANCE_TIMEOUT = Cause(
    "rebalance timeout",
    "did not re-join within the rebalance timeout and was removed",
    "max.poll.interval.ms",
    "The rebalance timeout is max.poll.interval.ms of Java's consumer (rebalance.timeout.ms in "
    "Kafka Connect). The member did not call poll() in that time, or its process was paused.",
    is_timeout=True,
)
CONSUMER_SESSION_TIMEOUT = Cause(
    "group.consumer.session.timeout.ms",
    "sent no heartbeat within group.consumer.session.timeout.ms and was removed",
    "group.consumer.session.timeout.ms",
    "The process crashed, was paused (garbage collection, a stopped container) or lost its "
    "connection. With the consumer protocol (KIP-848) the broker sets this timeout, for each group "
    "consumer.session.timeout.ms; the client's session.timeout.ms does not count.",
    is_timeout=True,
)
RECONCILIATION = Cause(
    "partitions not revoked",
    "did not revoke its partitions within the rebalance timeout and was removed",
    "max.poll.interval.ms",
    "With the consumer protocol (KIP-848) a member has max.poll.interval.ms to give up partitions "
    "that are assigned to another. It did not call poll() in that time, or its rebalance listener "
    "takes longer.",
    is_timeout=True,
)
SYNC_TIMEOUT = Cause(
    "pending sync",
    "re-joined but did not ask for its assignment and was removed",
    "max.poll.interval.ms",
    "The member was lost between JoinGroup and SyncGroup. If it lives, look for an assignor or a "
    "rebalance listener that takes long.",
    is_timeout=True,
)
METADATA = Cause(
    "metadata changed",
    "re-joined as leader: topics or partitions changed",
    "metadata.max.age.ms",
    "Topics that match the subscription were created or deleted, or partitions were added. A "
    "pattern that matches too much causes rounds for topics that nobody reads.",
)
COOPERATIVE = Cause(
    "cooperative follow-up",
    "re-joined to give up partitions",
    "",
    "A cooperative assignor moves partitions in two rounds: that is how it works (KIP-429).",
)
LEADER = Cause("leader re-joined", "re-joined as leader")
CHANGED = Cause(
    "subscription changed",
    "re-joined with other metadata: its subscription, its assignors or what it owns",
    "partition.assignment.strategy",
    "With a cooperative assignor, a member that gives up partitions re-joins: that is how it works "
    "(KIP-429); Java's clients say so since 3.2. Otherwise members should have equal subscriptions "
    "and lists of assignors.",
)
STATIC = Cause("static member came back", "came back with another subscription or assignor")
ENFORCED = Cause(
    "enforced",
    "asked for a rebalance",
    "",
    "The application called enforceRebalance(). Kafka Streams does so to move tasks whose state "
    "has been restored (probing.rebalance.interval.ms), if a task is corrupted, and to shut down.",
)
CAPACITY = Cause(
    "group.max.size",
    "made the group larger than group.max.size",
    "group.max.size",
    "The group has more members than the broker allows.",
)
STORE = Cause(
    "assignment not stored",
    "sent an assignment that the coordinator could not store",
    "min.insync.replicas",
    "Writing to __consumer_offsets failed. Look at its ISR, and at offsets.commit.timeout.ms.",
)
UNKNOWN = Cause("not logged", "triggered it")

SAID = r"(?:; client reason: (?P<client>.*))?"

REASONS = (
    (r"(?i)adding new member (?P<member>\S+)", JOINED),
    (r"(?i)removing member (?P<member>\S+) on heartbeat expiration", SESSION_TIMEOUT),
    (r"(?i)removing member (?P<member>\S+?),? on LeaveGroup" + SAID, LEFT),
    (r"explicit `LeaveGroup` request for \((?P<member>.*)\) members", LEFT),
    (r"(?i)removing .* on pending sync request expiration", SYNC_TIMEOUT),
    (
        r"(?i)leader (?P<member>\S+) re-joining group during \w+" + SAID,
        LEADER,
    ),
    (r"(?i)updating metadata for static member (?P<member>\S+)", STATIC),
    (r"Group's selectedProtocol will change because static member (?P<member>\S+)", STATIC),
    (
        r"(?i)updating metadata for member (?P<member>\S+?)(?: during .*?)?" + SAID + "$",
        CHANGED,
    ),
    (r"Member (?P<member>\S+) joining group during", CHANGED),
    (r"Freshly-loaded group", CAPACITY),
    (r"Error .* when storing group assignment.*\(member: (?P<member>[^)]*)\)", STORE),
)

CLIENT_REASONS = (
    (r"poll timeout has expired", POLL_TIMEOUT),
    (r"being closed|is closing", CLOSED),
    (r"unsubscribed", UNSUBSCRIBED),
    (r"need to revoke partitions", COOPERATIVE),
    (r"metadata (?:has changed|change)", METADATA),
    (r"subscription has changed", CHANGED),
    (r"enforced by user|followup rebalance|tasks corrupted|Shutdown requested", ENFORCED),
)


@attrs.frozen
class Trigger:
    """What began a round."""

    cause: Cause
    members: tuple[str, ...] = ()
    client_reason: str = ""


def trigger_of(reason: str) -> Trigger:
    """What a logged reason says."""
    for pattern, cause in REASONS:
        found = re.search(pattern, reason)
        if found:
            named = found.groupdict()
            members = tuple(m.strip() for m in (named.get("member") or "").split(",") if m.strip())
            said = named.get("client") or ""
            return Trigger(by_client_reason(said) or cause, members, said)
    return Trigger(UNKNOWN)


def by_client_reason(reason: str) -> Cause | None:
    """The cause that a client's reason names."""
    return next((cause for words, cause in CLIENT_REASONS if re.search(words, reason)), None)


def fenced_for(reason: str) -> Cause:
    """Why a member of the consumer protocol is fenced; the line of an unfinished one has no reason.

    Kafka: the reasons that `consumerGroupFenceMemberOperation` is called with.
    """
    if not reason:
        return RECONCILIATION
    return SYNC_TIMEOUT if "failed to sync" in reason else CONSUMER_SESSION_TIMEOUT


def client_of(member: str) -> str:
    """The client id, or group.instance.id, that a member id begins with."""
    return UUID.sub("", member)


def short(member: str) -> str:
    """A member id that people can tell apart: `c1-4a5c39bd…`."""
    client = client_of(member)
    return member if client == member else f"{client}-{member[len(client) + 1 :][:8]}"
