"""Why a rebalance began, and what to change: from the reason that the coordinator logs.

Reasons: GroupMetadataManager (Java) and GroupCoordinator.scala, the arguments of
`prepareRebalance` and of its callers. Client reasons are sent since 3.2 (KIP-800).
"""

from __future__ import annotations

import re

import attrs

UUID = re.compile(r"-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$")
MEMBERS = re.compile(r"\(([^()]+)\) members")


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


JOINED = Cause(
    "member joined",
    "joined",
    "group.instance.id",
    "Each start and each stop of a consumer causes a rebalance. If consumers restart, give each a "
    "group.instance.id (static membership) and a session.timeout.ms that is longer than a "
    "restart. If many start at once, raise the broker's group.initial.rebalance.delay.ms, which "
    "counts while the group is empty.",
)
CAME_BACK = Cause(
    "member came back",
    "joined again",
    "",
    "It had left or been removed before; see that cause.",
)
CLOSED = Cause(
    "member closed",
    "left: it was closed",
    "group.instance.id",
    "A static member (group.instance.id) does not leave when it is closed: a restart within "
    "session.timeout.ms then needs no rebalance.",
)
LEFT = Cause(
    "member left",
    "left and gave no reason",
    "max.poll.interval.ms",
    "Java clients have sent a reason since 3.2, and brokers log it since 3.2; most other clients "
    "send none. A consumer leaves if it is closed, unsubscribes, or does not poll within "
    "max.poll.interval.ms; its own log shows which.",
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
    "connection. If it is alive, raise session.timeout.ms (45 s by default since 3.0; 10 s before) "
    "and keep heartbeat.interval.ms at a third of it or less.",
    is_timeout=True,
)
REBALANCE_TIMEOUT = Cause(
    "rebalance timeout",
    "did not re-join within the rebalance timeout and was removed",
    "max.poll.interval.ms",
    "The rebalance timeout is the Java consumer's max.poll.interval.ms (Kafka Connect: "
    "rebalance.timeout.ms). The member did not call poll() in that time, or its process was "
    "paused.",
    is_timeout=True,
)
CONSUMER_SESSION_TIMEOUT = Cause(
    "group.consumer.session.timeout.ms",
    "sent no heartbeat within group.consumer.session.timeout.ms and was removed",
    "group.consumer.session.timeout.ms",
    "The process crashed, was paused (garbage collection, a stopped container) or lost its "
    "connection. With the consumer protocol (KIP-848), brokers set this timeout "
    "(for one group: consumer.session.timeout.ms), and the client's session.timeout.ms has no "
    "effect.",
    is_timeout=True,
)
RECONCILIATION = Cause(
    "partitions not revoked",
    "did not revoke its partitions within the rebalance timeout and was removed",
    "max.poll.interval.ms",
    "With the consumer protocol (KIP-848), a member has max.poll.interval.ms to revoke partitions "
    "that are assigned to another. It did not call poll() in that time, or its rebalance listener "
    "took longer.",
    is_timeout=True,
)
SYNC_TIMEOUT = Cause(
    "pending sync",
    "re-joined but sent no SyncGroup in time and was removed",
    "max.poll.interval.ms",
    "The member was lost between JoinGroup and SyncGroup. If it is alive, look for a slow "
    "assignor or rebalance listener.",
    is_timeout=True,
)
METADATA = Cause(
    "metadata changed",
    "re-joined as leader: topics or partitions changed",
    "metadata.max.age.ms",
    "Topics that match the subscription were created or deleted, or partitions were added. A "
    "pattern that matches too much causes rebalances for topics that nobody reads.",
)
COOPERATIVE = Cause(
    "cooperative follow-up",
    "re-joined after it revoked partitions",
    "",
    "A cooperative assignor moves partitions in two rebalances, by design (KIP-429).",
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
DOWNGRADED = Cause(
    "protocol downgraded",
    "made the group go back to the classic protocol",
    "group.consumer.migration.policy",
    "The last member with group.protocol=consumer (KIP-848) is gone and members of the classic "
    "protocol are left, so the group is converted, and rebalances.",
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
    (r"Downgrade group \S+ from consumer to classic", DOWNGRADED),
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
    """What began a rebalance."""

    cause: Cause
    members: tuple[str, ...] = ()
    client_reason: str = ""


def trigger_of(reason: str) -> Trigger:
    """The trigger that a logged reason names."""
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
    """The client id, or group.instance.id, with which a member id begins."""
    return UUID.sub("", member)


def short(member: str) -> str:
    """A member id, shortened as far as it stays recognizable: `c1-4a5c39bd`."""
    client = client_of(member)
    return member if client == member else f"{client}-{member[len(client) + 1 :][:8]}"
