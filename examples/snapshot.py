"""The snapshot of Chandy and Lamport: nodes record a consistent state of a system that never stops.

The nodes pass coins to each other. A channel, of which there is one for each ordered pair of nodes,
delivers in order. A node that records its coins sends a marker into each of its channels; a node
that receives a marker records its own coins, unless it already has. A coin that arrives on a
channel after that, but before the channel's marker, is recorded as under way. If channels
deliver in order, no coin is counted twice, and none is missing.

It shows queues in a state, as tuples. `benchmarks/peers` has the same rules for Stateright and TLC.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from kspec.spec.core import (
    Model,
    Step,
    Variant,
    Violated,
    always,
    appended,
    bound,
    constant,
    evolve,
    limit,
    reachable_within,
    replaced,
    rule,
)


@attrs.frozen
class Bounds:
    """The size of the system."""

    nodes: int = bound(2, 1, 4, "nodes")
    coins: int = bound(1, 0, 9, "coins of each node at first")
    capacity: int = bound(2, 1, 9, "coins and markers that a channel holds")


Queue: TypeAlias = tuple[str, ...]
"""What is under way in a channel, the oldest first."""

COIN, MARKER = "coin", "marker"
NOT_RECORDED = -1


@attrs.frozen
class State:
    """Nodes and channels. Tuples are indexed by node; channels by sender, then by receiver."""

    coins: tuple[int, ...]
    """The coins of each node."""
    channels: tuple[tuple[Queue, ...], ...]
    """What is under way."""
    recorded: tuple[int, ...]
    """The coins that each node has recorded as its own, or NOT_RECORDED."""
    under_way: tuple[int, ...]
    """The coins that each node has recorded as under way to it."""
    closed: tuple[tuple[bool, ...], ...]
    """The channels whose marker was received."""
    bounds: Bounds = constant()
    """The size of the system."""

    def with_channel(self, sender: int, receiver: int, queue: Queue) -> State:
        """The state with another content of one channel."""
        row = replaced(self.channels[sender], receiver, queue)
        return evolve(self, channels=replaced(self.channels, sender, row))

    def has_recorded(self, node: int) -> bool:
        """Whether a node has recorded its coins."""
        return self.recorded[node] != NOT_RECORDED

    def recording(self, node: int) -> State:
        """The state after a node has recorded its coins, and sent its markers."""
        after = evolve(self, recorded=replaced(self.recorded, node, self.coins[node]))
        for receiver in nodes(self):
            if receiver != node:
                queue = after.channels[node][receiver]
                after = after.with_channel(node, receiver, appended(queue, MARKER))
        return after


def nodes(s: State) -> range:
    """Every node."""
    return range(s.bounds.nodes)


def places(s: State) -> range:
    """Every place in a channel: a marker may exceed its capacity by one."""
    return range(s.bounds.capacity + 1)


@rule(by="node", node=nodes, to=nodes)
def node_sends_coin(s: State, node: int, to: int) -> Step[State]:
    """A node passes a coin to another."""
    yield "node has a coin", node != to and s.coins[node] > 0
    queue = s.channels[node][to]
    yield limit("channel has room"), len(queue) < s.bounds.capacity
    after = evolve(s, coins=replaced(s.coins, node, s.coins[node] - 1))
    return after.with_channel(node, to, appended(queue, COIN))


@rule(by="node", node=nodes)
def node_starts_snapshot(s: State, node: int) -> Step[State]:
    """Any node may start the snapshot, and several may."""
    yield "node has not recorded its coins", not s.has_recorded(node)
    return s.recording(node)


def holds(s: State, sender: int, node: int, place: int, what: str) -> bool:
    """Whether a coin or a marker is at a place in a channel."""
    return s.channels[sender][node][place : place + 1] == (what,)


def without(s: State, sender: int, node: int, place: int) -> State:
    """The state without what is at a place in a channel."""
    queue = s.channels[sender][node]
    return s.with_channel(sender, node, queue[:place] + queue[place + 1 :])


def with_coin(s: State, sender: int, node: int) -> State:
    """The state after a node has received a coin."""
    after = evolve(s, coins=replaced(s.coins, node, s.coins[node] + 1))
    if s.has_recorded(node) and not s.closed[sender][node]:
        after = evolve(after, under_way=replaced(s.under_way, node, s.under_way[node] + 1))
    return after


@rule(by="node", sender=nodes, node=nodes)
def node_receives_coin(s: State, sender: int, node: int) -> Step[State]:
    """A node receives a coin, and records it if the channel's marker is still to come."""
    yield "next in the channel is a coin", holds(s, sender, node, 0, COIN)
    return with_coin(without(s, sender, node, 0), sender, node)


@rule(by="node", sender=nodes, node=nodes, place=places)
def node_receives_any_coin(s: State, sender: int, node: int, place: int) -> Step[State]:
    """A node receives any coin in a channel: coins may overtake what was sent before them."""
    yield "a coin is at this place in the channel", holds(s, sender, node, place, COIN)
    return with_coin(without(s, sender, node, place), sender, node)


@rule(by="node", sender=nodes, node=nodes)
def node_receives_marker(s: State, sender: int, node: int) -> Step[State]:
    """A marker ends the recording of its channel, and starts that of a node that had not begun."""
    yield "next in the channel is a marker", holds(s, sender, node, 0, MARKER)
    after = without(s, sender, node, 0)
    if not s.has_recorded(node):
        after = after.recording(node)
    row = replaced(s.closed[sender], node, True)
    return evolve(after, closed=replaced(s.closed, sender, row))


def is_complete(s: State) -> bool:
    """Whether every channel's marker was received."""
    return all(s.closed[a][b] for a in nodes(s) for b in nodes(s) if a != b)


@always
def SnapshotIsConsistent(s: State) -> bool:
    """A complete snapshot has as many coins as the system."""
    in_all = s.bounds.nodes * s.bounds.coins
    return not is_complete(s) or sum(s.recorded) + sum(s.under_way) == in_all


@reachable_within(lambda bounds: bounds.nodes > 1 and bounds.coins > 0)
def SnapshotHasCoinUnderWay(s: State) -> bool:
    """A snapshot can be complete with a coin that was under way."""
    return is_complete(s) and sum(s.under_way) > 0


def initial(bounds: Bounds) -> list[State]:
    """Every node has its coins, every channel is empty, and nothing is recorded."""
    n = bounds.nodes
    return [
        State(
            coins=(bounds.coins,) * n,
            channels=(((),) * n,) * n,
            recorded=(NOT_RECORDED,) * n,
            under_way=(0,) * n,
            closed=((False,) * n,) * n,
            bounds=bounds,
        )
    ]


IN_ORDER = Variant(
    "in-order",
    rules=(node_sends_coin, node_starts_snapshot, node_receives_coin, node_receives_marker),
    why="Channels deliver in order, so a marker divides the coins before it from those after it.",
)

OVERTAKING = IN_ORDER.derive(
    "overtaking",
    replace={node_receives_coin: node_receives_any_coin},
    why="A coin that overtakes a marker is recorded by both nodes, or by none.",
    violates={"SnapshotIsConsistent": Violated(states=6)},
)

SNAPSHOT = Model(
    name="snapshot",
    doc="Chandy and Lamport's snapshot: one FIFO channel for each ordered pair of nodes.",
    bounds=Bounds,
    initial=initial,
    properties=(SnapshotIsConsistent, SnapshotHasCoinUnderWay),
    variants=(IN_ORDER, OVERTAKING),
    final=lambda s: True,
)
