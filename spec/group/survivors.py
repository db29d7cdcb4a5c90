"""Mutants of the group's rules that no property can catch, by the reason why they do no harm."""

from __future__ import annotations

from collections.abc import Iterable

JOINS = (
    "coordinator_gives_id",
    "coordinator_adds_member",
    "coordinator_takes_rejoin",
    "coordinator_replaces_member",
)
SYNCS = ("coordinator_takes_sync", "coordinator_cannot_store")
COMMITS = ("coordinator_takes_commit",)


def without(guard: str, rules: Iterable[str]) -> list[str]:
    """These rules, each without this guard."""
    return [f"{rule} without the guard {guard!r}" for rule in rules]


def forgetting(part: str, rules: Iterable[str]) -> list[str]:
    """These rules, each of which forgets this part of its effect."""
    return [f"{rule} forgets {part}" for rule in rules]


POLLS_AGAIN = "That the consumer polls again, and then stalls again, are steps of their own."
EARLIER_SELF = "What its earlier self is told makes a consumer join again at worst, needlessly."

REASONS = {
    "Every consumer of the model asks for a session timeout that is allowed.": without(
        "session timeout is allowed", JOINS
    ),
    "Groups of the model have no largest size.": without("group has room", JOINS),
    "All consumers of a variant can assign in the same way.": without(
        "protocols go with the group's", JOINS
    ),
    "No consumer of the model says in its SyncGroup how it is assigned.": without(
        "protocol is the group's", SYNCS
    ),
    "The coordinator that was asked is one only while the group is not dead, and what is late "
    "does not outlast it.": without("group is not dead", (*JOINS, *SYNCS, *COMMITS)),
    "A dead group is not empty, either, which is asked next.": without(
        "group is not dead", ("coordinator_takes_commit_of_outsider",)
    ),
    "Who is not the member of its instance is no member at all, which is asked next.": [
        *without("instance is known", ("coordinator_takes_sync", *COMMITS)),
        *without("instance has this id", ("coordinator_takes_sync", *COMMITS)),
    ],
    "Who was put out syncs for a generation that is over, or while members are waited for; both "
    "are asked next.": without("member is known", SYNCS),
    "Who has an assignment is behind the generation that is being assigned, which was asked "
    "before.": without("assignments are not waited for", COMMITS),
    "The coordinator that has the group answers for the one that had it; its other checks are the "
    "same, and the consumer finds it with the next request.": without(
        "coordinator is the one that was asked",
        ("coordinator_takes_rejoin", "coordinator_replaces_member", *SYNCS, *COMMITS),
    ),
    "A request that is taken twice is, the second time, one that was repeated; the checks are "
    "made for those.": forgetting(
        "consumers.late", (*JOINS, "coordinator_takes_sync", "coordinator_refuses")
    ),
    POLLS_AGAIN: without(
        "consumer polls",
        (
            "consumer_joins",
            "consumer_takes_join_answer",
            "consumer_takes_sync_answer",
            "consumer_takes_assignment",
            "leader_sees_partitions",
            "consumer_gives_up",
        ),
    ),
    "It finds one that has just resigned, and is told so at its first request.": without(
        "somebody coordinates", ("consumer_finds_coordinator",)
    ),
    "If it does not look for the coordinator at once, it is told to at its next request.": (
        forgetting("consumers.coordinator", ("consumer_gives_up",))
    ),
    "It is told what it knows.": without("consumer does not know yet", ("leader_sees_partitions",)),
    "The newer answer takes the place of the older one.": without(
        "no answer is on its way", ("consumer_heartbeats", "commit_is_refused")
    ),
    "A commit that goes nowhere is refused like one that goes to the wrong broker.": without(
        "consumer knows a coordinator", ("commit_is_refused",)
    ),
    "A commit that is taken has no error to tell of.": without(
        "the answer is an error", ("commit_is_refused",)
    ),
    "A heartbeat tells it the same.": forgetting("consumers.beat", ("commit_is_refused",)),
    "What the coordinator does is as if it had taken the request, and the answer were lost.": (
        without("leader brings the assignments", ("coordinator_cannot_store",))
    ),
    "The others only join again, as they do after any member's time is up.": without(
        "generation is current", ("coordinator_cannot_store",)
    ),
    "Who waits and is put out is told so, or gives up, and joins again, as when any timer is "
    "early.": [
        *without("timer is armed", ("session_times_out",)),
        *forgetting("group.members.is_new", ("coordinator_replaces_member",)),
    ],
    "Who stalls may poll again and be closed then; who is gone is closed to the same effect.": (
        without("consumer polls", ("consumer_closes",))
    ),
    "Who polls goes on polling.": without("consumer has stalled", ("consumer_polls_again",)),
    "An id that is left out is nobody's.": [
        f"{rule} makes consumers.ids one more"
        for rule in ("coordinator_adds_member", "coordinator_replaces_member")
    ],
    "The id is forgotten when its time is up.": forgetting("group.pending", ("consumer_closes",)),
    "Who is gone and crashes is still gone, and may come back as it might have before.": without(
        "consumer runs", ("consumer_crashes",)
    ),
    "Who does not poll goes on not to, and who is gone has nobody to poll.": without(
        "consumer polls", ("consumer_stalls",)
    ),
    "Who has no assignment, or no coordinator, and leaves, joins again when it polls, as it would "
    "have.": without("consumer sends heartbeats", ("poll_interval_passes",)),
    "An answer that is not sent is like one that is lost: who waits for it gives up.": forgetting(
        "consumers.call", ("session_times_out", "pending_id_times_out")
    ),
    EARLIER_SELF: forgetting(
        "consumers.beat_is_old",
        ("consumer_takes_join_answer", "consumer_takes_sync_answer", "poll_interval_passes"),
    ),
    "A request that was given up may as well be lost.": forgetting(
        "consumers.late", ("consumer_hears_error", "consumer_gives_up", "poll_interval_passes")
    ),
    "It joins with the id that it left with, hears that nobody has it, and takes another.": (
        forgetting("consumers.member", ("poll_interval_passes",))
    ),
    "The request is still under way, and is refused: it joins again either way.": forgetting(
        "consumers.call", ("coordinator_cannot_store",)
    ),
    "Nothing is lost.": without("something is on its way", ("network_loses",)),
    "A number is skipped: who was told the other one is refused, and asks again.": [
        "coordinator_replaces_member makes group.generation one more"
    ],
    "Who is closed has left: what it asked before is refused whatever it says, or gives an id "
    "that nobody comes back with, and that is forgotten when its time is up.": [
        *forgetting("consumers.late.member", ("consumer_closes",)),
        *forgetting("consumers.late.generation", ("consumer_closes",)),
        *forgetting("consumers.late.assignments", ("consumer_closes",)),
        "consumer_closes makes consumers.late.generation one more",
        "consumer_closes makes consumers.late.generation one less",
        "consumer_closes loses the end of consumers.late.assignments",
    ],
}
"""What a mutant comes to, and the mutants that come to it."""

SURVIVORS = {mutant: reason for reason, mutants in REASONS.items() for mutant in mutants}

COOPERATIVE_REASONS = {
    POLLS_AGAIN: without(
        "consumer polls",
        ("consumer_joins_and_keeps", "consumer_takes_join_answer", "consumer_takes_assignment"),
    ),
    EARLIER_SELF: forgetting("consumers.beat_is_old", ("consumer_takes_join_answer",)),
}
COOPERATIVE_SURVIVORS = {
    mutant: reason for reason, mutants in COOPERATIVE_REASONS.items() for mutant in mutants
}
"""The same for the rules in which the cooperative variant differs."""

SEEN_ONLY_IN = {
    "coordinator_cannot_store without the guard 'members are not waited for'": {
        "consumers": 2,
        "losses": 1,
        "crashes": 0,
        "failovers": 0,
        "ids": 1,
        "generations": 2,
    },
    "coordinator_takes_commit without the guard 'member is known'": {
        "consumers": 1,
        "crashes": 1,
        "early": 1,
        "failovers": 0,
        "ids": 2,
        "generations": 4,
    },
    "coordinator_takes_commit without the guard 'generation is current'": {
        "consumers": 2,
        "static": 1,
        "early": 1,
        "crashes": 0,
        "failovers": 0,
        "ids": 1,
        "generations": 2,
    },
    "coordinator_adds_member without the guard 'coordinator is the one that was asked'": {
        "consumers": 1,
        "static": 1,
        "crashes": 0,
        "failovers": 1,
    },
    "coordinator_takes_sync without the guard 'generation is current'": {
        "consumers": 1,
        "partitions": 1,
        "growths": 1,
        "early": 1,
        "crashes": 0,
        "failovers": 0,
        "generations": 5,
    },
}
"""Mutants that take more than one thing to go wrong, and bounds that have both."""
