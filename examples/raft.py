"""Raft: nodes elect a leader for each term, and the leader replicates its log.

Messages are in flight until they are received or lost. Terms, votes and logs are on disk; roles and
commit indexes are not, so a restart forgets them.

Simplifications: an entry is the term in which it was appended. A leader keeps no next index: it may
send the entry after any prefix of its log, or none, so it needs no answer from a follower whose log
differs; it sends one request at a time to each follower. A node that refuses a vote sends no
response. Membership does not change.

`benchmarks/peers` has the same rules for Stateright and TLC.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from kspec.spec.core import (
    Claims,
    Model,
    Step,
    Variant,
    Violated,
    always,
    bound,
    constant,
    count,
    each,
    evolve,
    limit,
    reachable_within,
    replaced,
    rule,
    tally,
)


@attrs.frozen
class Bounds:
    """The size of the system, and how often something goes wrong."""

    nodes: int = bound(3, 1, 5, "nodes")
    elections: int = bound(1, 0, 9, "elections that are started")
    entries: int = bound(1, 0, 4, "entries of a log")
    losses: int = bound(0, 0, 9, "messages that are lost")
    restarts: int = bound(0, 0, 9, "restarts of nodes")


@attrs.frozen
class RequestVote:
    """A candidate asks for a vote; it says how long its log is, and the term of its last entry."""

    term: int
    source: int
    to: int
    last_term: int
    length: int


@attrs.frozen
class Vote:
    """A node votes for a candidate."""

    term: int
    source: int
    to: int


@attrs.frozen
class Append:
    """A leader sends the entry after a prefix of its log, or none, and its commit index."""

    term: int
    source: int
    to: int
    length: int
    """The length of the prefix."""
    last_term: int
    """The term of the last entry of the prefix."""
    entries: tuple[int, ...]
    """The following entry, if there is one."""
    commit: int


@attrs.frozen
class Appended:
    """A follower's log agrees with the leader's up to a length."""

    term: int
    source: int
    to: int
    length: int


Message: TypeAlias = RequestVote | Vote | Append | Appended
Log: TypeAlias = tuple[int, ...]
"""For each entry, the term in which it was appended."""

NOBODY = -1
FOLLOWER, CANDIDATE, LEADER = "follower", "candidate", "leader"


@attrs.frozen
class State:
    """The nodes, and the messages in flight. Tuples are indexed by node."""

    term: tuple[int, ...]
    """The highest term that each node knows."""
    voted: tuple[int, ...]
    """The candidate that has each node's vote in its term, or NOBODY."""
    role: tuple[str, ...]
    """Follower, candidate or leader."""
    log: tuple[Log, ...]
    """The log of each node."""
    commit: tuple[int, ...]
    """The number of entries that each node knows to be committed."""
    votes: tuple[frozenset[int], ...]
    """The nodes that have voted for each candidate."""
    matched: tuple[tuple[int, ...], ...]
    """For each leader, the length up to which each node's log agrees with its own."""
    sent: frozenset[Message] = frozenset()
    """The messages in flight."""
    elections: int = tally()
    """The number of elections that were started."""
    lost: int = tally()
    """The number of messages that were lost."""
    restarted: int = tally()
    """The number of restarts."""
    bounds: Bounds = constant()
    """The size of the system."""

    @property
    def no_votes(self) -> frozenset[int]:
        """The votes of a node that is no candidate."""
        return frozenset()

    @property
    def no_matches(self) -> tuple[int, ...]:
        """What a node that does not lead knows of the others' logs."""
        return (0,) * self.bounds.nodes

    def as_follower(self, node: int, term: int) -> State:
        """The state in which a node follows in a term that is not below its own."""
        return evolve(
            self,
            term=replaced(self.term, node, term),
            voted=replaced(self.voted, node, self.voted_in(node, term)),
            role=replaced(self.role, node, FOLLOWER),
            votes=replaced(self.votes, node, self.no_votes),
            matched=replaced(self.matched, node, self.no_matches),
        )

    def voted_in(self, node: int, term: int) -> int:
        """The candidate that has a node's vote in a term that is not below the node's."""
        return self.voted[node] if self.term[node] == term else NOBODY

    def grants(self, m: RequestVote) -> bool:
        """Whether a node votes for a candidate, whose log must be as up to date as its own."""
        return self.may_vote(m) and (m.last_term, m.length) >= end_of(self.log[m.to])

    def may_vote(self, m: RequestVote) -> bool:
        """Whether a node's vote in the candidate's term is free, or already the candidate's."""
        current = m.term >= self.term[m.to]
        return current and self.voted_in(m.to, m.term) in (NOBODY, m.source)

    def agrees(self, m: Append) -> bool:
        """Whether a node's log begins with the prefix that the message names."""
        return m.length == 0 or self.log[m.to][m.length - 1 : m.length] == (m.last_term,)


def end_of(log: Log) -> tuple[int, int]:
    """The term of the last entry, and the length: a log with a higher end is more up to date."""
    return (log[-1] if log else 0), len(log)


def nodes(s: State) -> range:
    """Every node."""
    return range(s.bounds.nodes)


def lengths(s: State) -> range:
    """Every length of a log."""
    return range(s.bounds.entries + 1)


def majority(s: State, members: int) -> bool:
    """Whether so many nodes are a majority."""
    return 2 * members > s.bounds.nodes


# -- elections ------------------------------------------------------------------------------------


@rule(by="node", node=nodes)
def node_starts_election(s: State, node: int) -> Step[State]:
    """A node that is not the leader starts an election in the next term."""
    yield "node does not lead", s.role[node] != LEADER
    yield limit("an election remains"), s.elections < s.bounds.elections
    term, end = s.term[node] + 1, end_of(s.log[node])
    requests = {RequestVote(term, node, to, *end) for to in nodes(s) if to != node}
    return evolve(
        s,
        term=replaced(s.term, node, term),
        voted=replaced(s.voted, node, node),
        role=replaced(s.role, node, CANDIDATE),
        votes=replaced(s.votes, node, frozenset({node})),
        sent=s.sent | requests,
        elections=s.elections + 1,
    )


@rule(by="node", m=each("sent", RequestVote))
def node_grants_vote(s: State, m: RequestVote) -> Step[State]:
    """A node votes once in each term, for a candidate whose log is up to date."""
    yield "vote is granted", s.grants(m)
    after = s.as_follower(m.to, m.term)
    voted = replaced(after.voted, m.to, m.source)
    return evolve(after, voted=voted, sent=s.sent - {m} | {Vote(m.term, m.to, m.source)})


@rule(by="node", m=each("sent", RequestVote))
def node_refuses_vote(s: State, m: RequestVote) -> Step[State]:
    """A node that does not vote for a candidate learns the candidate's term."""
    yield "vote is not granted", not s.grants(m)
    after = s.as_follower(m.to, m.term) if m.term > s.term[m.to] else s
    return evolve(after, sent=s.sent - {m})


@rule(by="node", m=each("sent", RequestVote))
def node_grants_vote_to_any_log(s: State, m: RequestVote) -> Step[State]:
    """A node votes once in each term, whatever the candidate's log."""
    yield "node has not voted for another candidate", s.may_vote(m)
    after = s.as_follower(m.to, m.term)
    voted = replaced(after.voted, m.to, m.source)
    return evolve(after, voted=voted, sent=s.sent - {m} | {Vote(m.term, m.to, m.source)})


@rule(by="candidate", m=each("sent", Vote))
def candidate_receives_vote(s: State, m: Vote) -> Step[State]:
    """A candidate counts a vote of its term."""
    yield "vote is for this election", m.term == s.term[m.to] and s.role[m.to] == CANDIDATE
    votes = replaced(s.votes, m.to, s.votes[m.to] | {m.source})
    return evolve(s, votes=votes, sent=s.sent - {m})


@rule(by="candidate", node=nodes)
def candidate_wins(s: State, node: int) -> Step[State]:
    """A candidate with the votes of a majority leads."""
    yield "node is a candidate", s.role[node] == CANDIDATE
    yield "a majority has voted for it", majority(s, len(s.votes[node]))
    return evolve(
        s,
        role=replaced(s.role, node, LEADER),
        votes=replaced(s.votes, node, s.no_votes),
        matched=replaced(s.matched, node, s.no_matches),
    )


# -- replication ----------------------------------------------------------------------------------


@rule(by="leader", node=nodes)
def leader_appends(s: State, node: int) -> Step[State]:
    """A client's command becomes an entry of the leader's log."""
    yield "node leads", s.role[node] == LEADER
    yield limit("log has room"), len(s.log[node]) < s.bounds.entries
    return evolve(s, log=replaced(s.log, node, (*s.log[node], s.term[node])))


@rule(by="leader", node=nodes, to=nodes, length=lengths)
def leader_sends(s: State, node: int, to: int, length: int) -> Step[State]:
    """A leader sends the entry after a prefix of its log, or a heartbeat."""
    yield "node leads", s.role[node] == LEADER and to != node
    log = s.log[node]
    yield "leader's log is that long", length <= len(log)
    yield "follower is not known to have the prefix and more", s.matched[node][to] <= length
    last_term, _ = end_of(log[:length])
    following = log[length : length + 1]
    yield "no request to the follower is in flight", count(s.sent, Append, source=node, to=to) == 0
    yield "no response is in flight", count(s.sent, Appended, source=to, to=node) == 0
    m = Append(s.term[node], node, to, length, last_term, following, s.commit[node])
    return evolve(s, sent=s.sent | {m})


@rule(by="follower", m=each("sent", Append))
def follower_appends(s: State, m: Append) -> Step[State]:
    """A follower whose log begins with the prefix takes over the entry after it."""
    yield "term is current", m.term >= s.term[m.to]
    yield "log begins with the prefix", s.agrees(m)
    after, log = s.as_follower(m.to, m.term), s.log[m.to]
    length = m.length + len(m.entries)
    if log[m.length : length] != m.entries:
        log = log[: m.length] + m.entries
    commit = max(s.commit[m.to], min(m.commit, length))
    return evolve(
        after,
        log=replaced(s.log, m.to, log),
        commit=replaced(s.commit, m.to, commit),
        sent=s.sent - {m} | {Appended(m.term, m.to, m.source, length)},
    )


@rule(by="follower", m=each("sent", Append))
def follower_refuses_entry(s: State, m: Append) -> Step[State]:
    """A follower whose log differs from the prefix learns the leader's term."""
    yield "term is current", m.term >= s.term[m.to]
    yield "log differs from the prefix", not s.agrees(m)
    return evolve(s.as_follower(m.to, m.term), sent=s.sent - {m})


@rule(by="leader", m=each("sent", Appended))
def leader_receives_response(s: State, m: Appended) -> Step[State]:
    """A leader learns how far a follower's log agrees with its own."""
    yield "response is for this leader", m.term == s.term[m.to] and s.role[m.to] == LEADER
    known = s.matched[m.to]
    length = max(known[m.source], m.length)
    matched = replaced(s.matched, m.to, replaced(known, m.source, length))
    return evolve(s, matched=matched, sent=s.sent - {m})


@rule(by="leader", node=nodes, length=lengths)
def leader_commits(s: State, node: int, length: int) -> Step[State]:
    """A leader commits an entry of its own term that a majority has, and all entries before it."""
    yield "node leads", s.role[node] == LEADER
    yield "entry is not committed", s.commit[node] < length <= len(s.log[node])
    yield "a majority has the entry", majority(s, 1 + holders(s, node, length))
    yield "entry is of the leader's term", s.log[node][length - 1] == s.term[node]
    return evolve(s, commit=replaced(s.commit, node, length))


def holders(s: State, node: int, length: int) -> int:
    """How many other nodes a leader knows to agree with its log up to a length."""
    return sum(matched >= length for matched in s.matched[node])


# -- what goes wrong ------------------------------------------------------------------------------


@rule(by="node", m=each("sent"))
def node_discards_message(s: State, m: Message) -> Step[State]:
    """A node discards a vote, a response or an Append that no longer applies to it."""
    term, role = s.term[m.to], s.role[m.to]
    is_stale = m.term < term and not isinstance(m, RequestVote)
    is_late = (isinstance(m, Vote) and role != CANDIDATE) or (
        isinstance(m, Appended) and role != LEADER
    )
    yield "message is out of date", is_stale or is_late
    return evolve(s, sent=s.sent - {m})


@rule(by="network", m=each("sent"))
def network_loses_message(s: State, m: Message) -> Step[State]:
    """A message is lost."""
    yield limit("a loss remains"), s.lost < s.bounds.losses
    return evolve(s, sent=s.sent - {m}, lost=s.lost + 1)


@rule(by="node", node=nodes)
def node_restarts(s: State, node: int) -> Step[State]:
    """A node restarts with its term, its vote and its log."""
    yield limit("a restart remains"), s.restarted < s.bounds.restarts
    return restarted(s, node)


@rule(by="node", node=nodes)
def node_restarts_without_its_vote(s: State, node: int) -> Step[State]:
    """A node restarts with its term and its log, and has forgotten its vote."""
    yield limit("a restart remains"), s.restarted < s.bounds.restarts
    return evolve(restarted(s, node), voted=replaced(s.voted, node, NOBODY))


def restarted(s: State, node: int) -> State:
    """The state after a restart: the node follows, and knows of no committed entry."""
    after = s.as_follower(node, s.term[node])
    return evolve(after, commit=replaced(s.commit, node, 0), restarted=s.restarted + 1)


# -- properties -----------------------------------------------------------------------------------


@always(node=nodes, other=nodes)
def ElectionSafety(s: State, node: int, other: int) -> bool:
    """At most one node leads in a term."""
    both_lead = s.role[node] == s.role[other] == LEADER
    return not (both_lead and node != other and s.term[node] == s.term[other])


@always(node=nodes, other=nodes)
def LogMatching(s: State, node: int, other: int) -> Claims:
    """Logs with an entry of the same term at the same place agree up to it."""
    one, two = s.log[node], s.log[other]
    for place in range(min(len(one), len(two))):
        same = one[place] != two[place] or one[:place] == two[:place]
        yield f"entry {place} of nodes {node} and {other}", same


@always(node=nodes, leader=nodes)
def LeaderCompleteness(s: State, node: int, leader: int) -> bool:
    """A leader has every entry that a node of its term, or of an earlier one, has committed."""
    leads = s.role[leader] == LEADER and s.term[leader] >= s.term[node]
    commit = s.commit[node]
    return not leads or s.log[leader][:commit] == s.log[node][:commit]


@always(node=nodes, other=nodes)
def StateMachineSafety(s: State, node: int, other: int) -> bool:
    """Two nodes that have committed an entry at one place have committed the same."""
    commit = min(s.commit[node], s.commit[other])
    return s.log[node][:commit] == s.log[other][:commit]


@reachable_within(lambda bounds: bounds.elections > 0 and bounds.entries > 0)
def EveryNodeCommits(s: State) -> bool:
    """Every node can learn of a committed entry."""
    return min(s.commit) > 0


def initial(bounds: Bounds) -> list[State]:
    """Every node follows, no node has voted, and all logs are empty."""
    n = bounds.nodes
    return [
        State(
            term=(0,) * n,
            voted=(NOBODY,) * n,
            role=(FOLLOWER,) * n,
            log=((),) * n,
            commit=(0,) * n,
            votes=(frozenset(),) * n,
            matched=((0,) * n,) * n,
            bounds=bounds,
        )
    ]


RAFT_RULES = Variant(
    "raft",
    rules=(
        node_starts_election,
        node_grants_vote,
        node_refuses_vote,
        candidate_receives_vote,
        candidate_wins,
        leader_appends,
        leader_sends,
        follower_appends,
        follower_refuses_entry,
        leader_receives_response,
        leader_commits,
        node_discards_message,
        network_loses_message,
        node_restarts,
    ),
    why="Votes are on disk, and go to candidates whose logs are up to date.",
)

FORGOTTEN_VOTES = RAFT_RULES.derive(
    "forgotten-votes",
    replace={node_restarts: node_restarts_without_its_vote},
    why="A node that forgets its vote may vote twice in one term.",
    violates={
        "ElectionSafety": Violated(states=10, bounds={"elections": 2, "restarts": 1, "entries": 0})
    },
)

ANY_LOG = RAFT_RULES.derive(
    "any-log",
    replace={node_grants_vote: node_grants_vote_to_any_log},
    why="A leader that lacks a committed entry overwrites it on the followers.",
    violates={"LeaderCompleteness": Violated(states=14, bounds={"elections": 2})},
)

RAFT = Model(
    name="raft",
    doc="Raft: elections, replicated logs, lost messages and restarts.",
    bounds=Bounds,
    initial=initial,
    properties=(
        ElectionSafety,
        LogMatching,
        LeaderCompleteness,
        StateMachineSafety,
        EveryNodeCommits,
    ),
    variants=(RAFT_RULES, FORGOTTEN_VOTES, ANY_LOG),
    final=lambda s: True,
)
