"""Equivalent mutants of the group's rules, by the reason why no property detects them."""

from __future__ import annotations

from collections.abc import Iterable

JOINS = (
    "coordinator_issues_member_id",
    "coordinator_adds_member",
    "coordinator_accepts_rejoin",
    "coordinator_replaces_static_member",
)
SYNCS = ("coordinator_accepts_sync", "coordinator_fails_to_store_assignments")
COMMITS = ("coordinator_accepts_commit",)
RECEIVES = (
    "consumer_receives_member_id",
    "consumer_receives_generation",
    "consumer_receives_join_error",
    "consumer_receives_assignment",
    "consumer_receives_sync_error",
)
COOPERATIVE_RECEIVES = (
    "consumer_receives_member_id_keeping_partitions",
    "consumer_receives_generation_keeping_partitions",
)


def without(guard: str, rules: Iterable[str]) -> list[str]:
    """These rules, each without this guard."""
    return [f"{rule} without the guard {guard!r}" for rule in rules]


def forgetting(part: str, rules: Iterable[str]) -> list[str]:
    """These rules, each of which forgets this part of its effect."""
    return [f"{rule} forgets {part}" for rule in rules]


RESUMES = "To poll again and to stall again are steps of their own."
STALE_ERROR = "A stale error makes a consumer join again needlessly, at worst."

REASONS = {
    "Every consumer of the model requests a valid session timeout.": without(
        "session timeout is within limits", JOINS
    ),
    "Groups of the model have no maximum size.": without("group has room", JOINS),
    "All consumers of a variant support the same protocol.": without(
        "protocols are compatible", JOINS
    ),
    "No consumer of the model names a protocol in its SyncGroup.": without(
        "protocol is the selected one", SYNCS
    ),
    "A request reaches the coordinator only while the group is not dead, and an abandoned one "
    "does not outlast the coordinator.": without("group is not dead", (*JOINS, *SYNCS, *COMMITS)),
    "A dead group is not empty either, which the next guard checks.": without(
        "group is not dead", ("coordinator_accepts_standalone_commit",)
    ),
    "A fenced member is not a member, which the next guard checks.": [
        *without("instance id is known", ("coordinator_accepts_sync", *COMMITS)),
        *without("member is not fenced", ("coordinator_accepts_sync", *COMMITS)),
    ],
    "A removed member syncs for an old generation or while a rebalance is prepared; later "
    "guards check both.": without("member is known", SYNCS),
    "A consumer with an assignment is behind the generation that is being assigned, which an "
    "earlier guard checks.": without("group is not completing a rebalance", COMMITS),
    "The current coordinator answers in place of the previous one with the same checks, and the"
    " consumer finds it with its next request.": without(
        "request reaches the coordinator",
        ("coordinator_accepts_rejoin", "coordinator_replaces_static_member", *SYNCS, *COMMITS),
    ),
    "A request accepted twice is a repeated request, which the checks handle.": forgetting(
        "consumers.abandoned", (*JOINS, "coordinator_accepts_sync", "coordinator_rejects_request")
    ),
    RESUMES: without(
        "consumer polls",
        (
            "consumer_joins",
            *RECEIVES,
            "consumer_applies_assignment",
            "leader_detects_new_partitions",
            "consumer_abandons_request",
        ),
    ),
    "An error taken for an empty assignment arrives again with the next heartbeat.": without(
        "response has an assignment", ("consumer_receives_assignment",)
    ),
    "It finds a coordinator that has unloaded the group, and receives NOT_COORDINATOR to its "
    "first request.": without("group has a coordinator", ("consumer_finds_coordinator",)),
    "If it does not look for the coordinator at once, it receives NOT_COORDINATOR to its next "
    "request.": (forgetting("consumers.coordinator", ("consumer_abandons_request",))),
    "It learns what it knows already.": without(
        "consumer does not need to rejoin yet", ("leader_detects_new_partitions",)
    ),
    "The newer error replaces the older one.": without(
        "no heartbeat error is in flight", ("consumer_heartbeats", "coordinator_rejects_commit")
    ),
    "A commit without a coordinator is rejected like one sent to the wrong broker.": without(
        "consumer knows a coordinator", ("coordinator_rejects_commit",)
    ),
    "An accepted commit has no error.": without(
        "request fails a check", ("coordinator_rejects_commit",)
    ),
    "A heartbeat returns the same error.": [
        *forgetting("consumers.heartbeat_error", ("coordinator_rejects_commit",)),
        *without(
            "error concerns the request's member id or generation",
            ("consumer_discards_stale_error",),
        ),
    ],
    "A consumer that joins again without need receives an assignment again.": forgetting(
        "consumers.heartbeat_error", ("consumer_learns_of_rebalance",)
    ),
    "The consumer finds the same coordinator again.": forgetting(
        "consumers.heartbeat_error", ("consumer_loses_coordinator",)
    ),
    "The result is that of an accepted request whose response is lost.": (
        without("request comes from the leader", ("coordinator_fails_to_store_assignments",))
    ),
    "What remains of a delay that is over has no effect.": without(
        "timer is armed", ("coordinator_extends_initial_delay",)
    ),
    "The initial delay is an optimisation (KIP-134): after a longer one the group is the same.": [
        *without("delay can be extended", ("coordinator_extends_initial_delay",)),
        *forgetting("group.new_member_added", ("coordinator_extends_initial_delay",)),
    ],
    "Members that join after a shorter initial delay begin another rebalance.": without(
        "delay cannot be extended", ("coordinator_ends_initial_delay",)
    ),
    "The others only join again, as they do after any session expires.": without(
        "generation is current", ("coordinator_fails_to_store_assignments",)
    ),
    "A waiting member that is removed receives an error or abandons its request, and joins "
    "again, as after any early timer.": [
        *without("timer is armed", ("coordinator_expires_session",)),
        *forgetting("group.members.is_new", ("coordinator_replaces_static_member",)),
    ],
    "A stalled consumer may resume and be closed then; closing an ended one has the same effect.": (
        without("consumer polls", ("consumer_closes",))
    ),
    "A consumer that polls continues to poll.": without(
        "consumer is stalled", ("consumer_resumes_polling",)
    ),
    "No consumer uses a skipped id.": [
        f"{rule} makes consumers.ids one more"
        for rule in ("coordinator_adds_member", "coordinator_replaces_static_member")
    ],
    "The pending id expires.": forgetting("group.pending", ("consumer_closes",)),
    "An ended consumer that crashes stays ended, or restarts as it could before.": without(
        "consumer is running", ("consumer_crashes",)
    ),
    "A stalled consumer stays stalled, and an ended consumer cannot poll.": without(
        "consumer polls", ("consumer_stalls",)
    ),
    "A consumer without assignment or coordinator joins again in any case.": without(
        "consumer sends heartbeats", ("consumer_exceeds_poll_interval",)
    ),
    "An unsent response is like a lost one: the consumer abandons its request.": forgetting(
        "consumers.in_flight", ("coordinator_expires_session", "coordinator_expires_pending_member")
    ),
    STALE_ERROR: forgetting(
        "consumers.heartbeat_error_is_stale",
        (
            "consumer_receives_generation",
            "consumer_receives_join_error",
            "consumer_receives_sync_error",
            "consumer_exceeds_poll_interval",
        ),
    ),
    "An abandoned request may as well be lost.": forgetting(
        "consumers.abandoned",
        (
            "consumer_loses_coordinator",
            "consumer_receives_heartbeat_error",
            "consumer_abandons_request",
            "consumer_exceeds_poll_interval",
        ),
    ),
    "It joins with the id that it left with, receives UNKNOWN_MEMBER_ID, and gets another.": (
        forgetting("consumers.member", ("consumer_exceeds_poll_interval",))
    ),
    "The request stays in flight and is rejected: the consumer joins again either way.": forgetting(
        "consumers.in_flight", ("coordinator_fails_to_store_assignments",)
    ),
    "No message is lost.": without("a message is in flight", ("network_loses_message",)),
    "A number is skipped: members of the other generation are rejected, and join again.": [
        "coordinator_replaces_static_member makes group.generation one more"
    ],
    "A number is skipped: an id is only compared with others, and the bounds count it.": [
        "coordinator_issues_member_id makes consumers.ids one more"
    ],
    "A closed consumer has left: its abandoned request is rejected whatever it contains, or "
    "issues an id that expires.": [
        *forgetting("consumers.abandoned.member", ("consumer_closes",)),
        *forgetting("consumers.abandoned.generation", ("consumer_closes",)),
        *forgetting("consumers.abandoned.assignments", ("consumer_closes",)),
        "consumer_closes makes consumers.abandoned.generation one more",
        "consumer_closes makes consumers.abandoned.generation one less",
        "consumer_closes loses the end of consumers.abandoned.assignments",
    ],
}
"""The equivalent mutants, by the reason why they change nothing that matters."""

EAGER = {mutant: reason for reason, mutants in REASONS.items() for mutant in mutants}

COOPERATIVE_REASONS = {
    RESUMES: without(
        "consumer polls",
        (
            "consumer_joins_keeping_partitions",
            *COOPERATIVE_RECEIVES,
            "consumer_applies_assignment_incrementally",
        ),
    ),
    STALE_ERROR: forgetting(
        "consumers.heartbeat_error_is_stale",
        ("consumer_receives_generation_keeping_partitions",),
    ),
}
COOPERATIVE = {
    mutant: reason for reason, mutants in COOPERATIVE_REASONS.items() for mutant in mutants
}
"""Equivalent mutants of the rules in which the cooperative variant differs."""

LARGER_BOUNDS = {
    "coordinator_fails_to_store_assignments without the guard 'group is not preparing a "
    "rebalance'": {
        "consumers": 2,
        "losses": 1,
        "crashes": 0,
        "failovers": 0,
        "ids": 1,
        "generations": 2,
    },
    "coordinator_accepts_commit without the guard 'member is known'": {
        "consumers": 1,
        "crashes": 1,
        "early": 1,
        "failovers": 0,
        "ids": 2,
        "generations": 4,
    },
    "coordinator_accepts_commit without the guard 'generation is current'": {
        "consumers": 2,
        "static": 1,
        "early": 1,
        "crashes": 0,
        "failovers": 0,
        "ids": 1,
        "generations": 2,
    },
    "coordinator_adds_member without the guard 'request reaches the coordinator'": {
        "consumers": 1,
        "static": 1,
        "crashes": 0,
        "failovers": 1,
    },
    "consumer_learns_of_rebalance without the guard 'a rebalance is in progress'": {
        "consumers": 1,
        "growths": 1,
        "crashes": 0,
        "failovers": 1,
        "ids": 3,
        "generations": 6,
    },
    "consumer_receives_heartbeat_error without the guard 'error is not stale'": {
        "consumers": 1,
        "growths": 0,
        "early": 1,
        "crashes": 0,
        "failovers": 1,
        "ids": 3,
        "generations": 5,
    },
    "coordinator_accepts_sync without the guard 'generation is current'": {
        "consumers": 1,
        "partitions": 1,
        "growths": 1,
        "early": 1,
        "crashes": 0,
        "failovers": 0,
        "generations": 5,
    },
}
"""Mutants that only several faults together reveal, and bounds that allow them."""
