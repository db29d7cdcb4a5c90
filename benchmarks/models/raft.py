"""Raft as `examples/raft.py`, in plain Python: rules choose among all messages, and filter them."""

from __future__ import annotations

from attrs import frozen

from kspec.spec.core import (
    Model,
    Variant,
    always,
    bound,
    constant,
    evolve,
    limit,
    reachable,
    replaced,
    rule,
)


@frozen
class Bounds:
    nodes: int = bound(3, 1, 5, "nodes")
    elections: int = bound(1, 0, 9, "elections that are started")
    entries: int = bound(1, 0, 4, "entries of a log")
    losses: int = bound(0, 0, 9, "messages that are lost")
    restarts: int = bound(0, 0, 9, "restarts of nodes")


@frozen
class State:
    term: tuple[int, ...]
    voted: tuple[int, ...]
    role: tuple[str, ...]
    log: tuple[tuple[int, ...], ...]
    commit: tuple[int, ...]
    votes: tuple[frozenset, ...]
    matched: tuple[tuple[int, ...], ...]
    msgs: frozenset = frozenset()
    """(kind, term, source, to, ...)."""
    elections: int = 0
    lost: int = 0
    restarted: int = 0
    bounds: Bounds = constant()


def initial(bounds):
    n = bounds.nodes
    none = (frozenset(),) * n
    start = State(
        (0,) * n,
        (-1,) * n,
        ("follower",) * n,
        ((),) * n,
        (0,) * n,
        none,
        ((0,) * n,) * n,
        bounds=bounds,
    )
    return [start]


def nodes(s):
    return range(s.bounds.nodes)


def lengths(s):
    return range(s.bounds.entries + 1)


def messages(s):
    return sorted(s.msgs)


def last(log):
    return log[-1] if log else 0


def follow(s, node, term):
    return evolve(
        s,
        term=replaced(s.term, node, term),
        voted=replaced(s.voted, node, s.voted[node] if s.term[node] == term else -1),
        role=replaced(s.role, node, "follower"),
        votes=replaced(s.votes, node, frozenset()),
        matched=replaced(s.matched, node, (0,) * s.bounds.nodes),
    )


@rule(by="node", node=nodes)
def start_election(s, node):
    yield "not a leader", s.role[node] != "leader"
    yield limit("elections"), s.elections < s.bounds.elections
    term, log = s.term[node] + 1, s.log[node]
    return evolve(
        s,
        term=replaced(s.term, node, term),
        voted=replaced(s.voted, node, node),
        role=replaced(s.role, node, "candidate"),
        votes=replaced(s.votes, node, frozenset([node])),
        msgs=s.msgs
        | {("RequestVote", term, node, to, last(log), len(log)) for to in nodes(s) if to != node},
        elections=s.elections + 1,
    )


@rule(by="node", m=messages)
def receive_request(s, m):
    yield "it is a request", m[0] == "RequestVote"
    _, term, source, to, last_term, length = m
    after = follow(s, to, term) if term > s.term[to] else s
    msgs = s.msgs - {m}
    free = term >= s.term[to] and after.voted[to] in (-1, source)
    if free and (last_term, length) >= (last(s.log[to]), len(s.log[to])):
        after = follow(s, to, term)
        after = evolve(after, voted=replaced(after.voted, to, source))
        msgs = msgs | {("Vote", term, to, source)}
    return evolve(after, msgs=msgs)


@rule(by="node", m=messages)
def receive_vote(s, m):
    yield "it is a vote", m[0] == "Vote"
    _, term, source, to = m
    votes = s.votes
    if s.role[to] == "candidate" and s.term[to] == term:
        votes = replaced(votes, to, votes[to] | {source})
    return evolve(s, votes=votes, msgs=s.msgs - {m})


@rule(by="node", node=nodes)
def win(s, node):
    yield "it is a candidate", s.role[node] == "candidate"
    yield "it has a majority", 2 * len(s.votes[node]) > s.bounds.nodes
    return evolve(
        s,
        role=replaced(s.role, node, "leader"),
        votes=replaced(s.votes, node, frozenset()),
        matched=replaced(s.matched, node, (0,) * s.bounds.nodes),
    )


@rule(by="leader", node=nodes)
def append(s, node):
    yield "it leads", s.role[node] == "leader"
    yield limit("room"), len(s.log[node]) < s.bounds.entries
    return evolve(s, log=replaced(s.log, node, (*s.log[node], s.term[node])))


@rule(by="leader", node=nodes, to=nodes, length=lengths)
def send(s, node, to, length):
    yield "it leads", s.role[node] == "leader" and node != to
    log = s.log[node]
    yield "there is such a prefix", s.matched[node][to] <= length <= len(log)
    busy = [
        m
        for m in s.msgs
        if (m[0] == "Append" and m[2:4] == (node, to))
        or (m[0] == "Appended" and m[2:4] == (to, node))
    ]
    yield "the follower is not busy", not busy
    m = (
        "Append",
        s.term[node],
        node,
        to,
        length,
        last(log[:length]),
        log[length : length + 1],
        s.commit[node],
    )
    return evolve(s, msgs=s.msgs | {m})


@rule(by="node", m=messages)
def receive_append(s, m):
    yield "it is an append", m[0] == "Append"
    _, term, source, to, length, last_term, entries, commit = m
    msgs = s.msgs - {m}
    if term < s.term[to]:
        return evolve(s, msgs=msgs)
    after, log = follow(s, to, term), s.log[to]
    if length > len(log) or last(log[:length]) != last_term:
        return evolve(after, msgs=msgs)
    end = length + len(entries)
    if log[length:end] != entries:
        log = log[:length] + entries
    return evolve(
        after,
        log=replaced(s.log, to, log),
        commit=replaced(s.commit, to, max(s.commit[to], min(commit, end))),
        msgs=msgs | {("Appended", term, to, source, end)},
    )


@rule(by="leader", m=messages)
def receive_response(s, m):
    yield "it is a response", m[0] == "Appended"
    _, term, source, to, length = m
    matched = s.matched
    if s.role[to] == "leader" and s.term[to] == term:
        row = replaced(matched[to], source, max(matched[to][source], length))
        matched = replaced(matched, to, row)
    return evolve(s, matched=matched, msgs=s.msgs - {m})


@rule(by="leader", node=nodes, length=lengths)
def commit(s, node, length):
    yield "it leads", s.role[node] == "leader"
    yield "it has the entry", s.commit[node] < length <= len(s.log[node])
    holders = [other for other in nodes(s) if s.matched[node][other] >= length]
    yield "a majority has it", 2 * (len(holders) + 1) > s.bounds.nodes
    yield "it is of this term", s.log[node][length - 1] == s.term[node]
    return evolve(s, commit=replaced(s.commit, node, length))


@rule(by="network", m=messages)
def lose(s, m):
    yield limit("losses"), s.lost < s.bounds.losses
    return evolve(s, msgs=s.msgs - {m}, lost=s.lost + 1)


@rule(by="node", node=nodes)
def restart(s, node):
    yield limit("restarts"), s.restarted < s.bounds.restarts
    after = follow(s, node, s.term[node])
    return evolve(after, commit=replaced(s.commit, node, 0), restarted=s.restarted + 1)


@always
def ElectionSafety(s):
    """At most one node leads in a term."""
    leaders = [s.term[node] for node in nodes(s) if s.role[node] == "leader"]
    return len(leaders) == len(set(leaders))


@always
def LogMatching(s):
    """Logs with an entry of the same term at the same place agree up to it."""
    for one in s.log:
        for other in s.log:
            for place in range(min(len(one), len(other))):
                yield f"place {place}", one[place] != other[place] or one[:place] == other[:place]


@always
def LeaderCompleteness(s):
    """A leader has every entry that was committed in its term, or in an earlier one."""
    for leader in nodes(s):
        for node in nodes(s):
            if s.role[leader] == "leader" and s.term[leader] >= s.term[node]:
                end = s.commit[node]
                yield f"leader {leader}, node {node}", s.log[leader][:end] == s.log[node][:end]


@always
def StateMachineSafety(s):
    """Nodes commit the same entries."""
    for one in nodes(s):
        for other in nodes(s):
            end = min(s.commit[one], s.commit[other])
            yield f"nodes {one} and {other}", s.log[one][:end] == s.log[other][:end]


@reachable
def EveryNodeCommits(s):
    """Every node can learn of a committed entry."""
    return s.bounds.entries == 0 or min(s.commit) > 0


RAFT = Model(
    name="raft-plain",
    doc="Raft.",
    bounds=Bounds,
    initial=initial,
    properties=(
        ElectionSafety,
        LogMatching,
        LeaderCompleteness,
        StateMachineSafety,
        EveryNodeCommits,
    ),
    variants=(
        Variant(
            "plain",
            rules=(
                start_election,
                receive_request,
                receive_vote,
                win,
                append,
                send,
                receive_append,
                receive_response,
                commit,
                lose,
                restart,
            ),
            why="As a user writes it.",
        ),
    ),
    final=lambda s: True,
)
