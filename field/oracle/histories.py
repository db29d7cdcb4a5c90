"""Histories of a group as test vectors: requests at random, aimed at what the group does next.

Half of the requests advance a rebalance, since groups would otherwise hardly form. The others are
anything: known, pending, replaced and unknown members, in the current generation and others.
"""

from __future__ import annotations

from typing import Any

from kspec.field.oracle.draws import Draw
from kspec.field.oracle.group import GroupOracle
from kspec.spec.coordinator import Group
from kspec.spec.messages import GroupState

GROUP = "readers"
STEPS = 40
"""How many requests a history has, after the first, which resets the coordinator."""

SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"group.initial.rebalance.delay.ms": 0},
    {"group.initial.rebalance.delay.ms": 1000, "group.max.size": 2},
    {"offset.metadata.max.bytes": 8, "pendingSyncTimer": False},
    {"variant": "scala"},
    {"variant": "scala", "group.initial.rebalance.delay.ms": 0, "group.max.size": 2},
)
RANGE, STICKY = {"name": "range", "metadata": "r"}, {"name": "sticky", "metadata": "s"}
BOTH = [RANGE, STICKY]
PROTOCOLS: tuple[list[dict[str, str]], ...] = (
    *(BOTH,) * 4,
    *([STICKY, RANGE],) * 2,
    [RANGE],
    [STICKY],
    [],
)
INSTANCES = ("s", "t")

Step = tuple[str, dict[str, Any]]


class Historian:
    """Draws the next request, given the state of the coordinator."""

    def __init__(self, draw: Draw, oracle: GroupOracle) -> None:
        self.draw = draw
        self.oracle = oracle
        self.former: list[str] = []
        """Member ids that the group had."""

    @property
    def group(self) -> Group:
        """The group as it is."""
        held = self.oracle.groups.get(GROUP)
        return held.group if held else Group(state=GroupState.DEAD)

    def step(self) -> Step:
        """The next request."""
        known = [*(m.id for m in self.group.members), *sorted(self.group.pending)]
        self.former += [each for each in known if each not in self.former]
        if self.draw.chance(0.55):
            helpful = self.helpful()
            if helpful is not None:
                return helpful
        kinds = (
            *(self.join,) * 6,
            *(self.sync,) * 4,
            *(self.heartbeat,) * 4,
            *(self.leave,) * 2,
            *(self.commit,) * 3,
            *(self.advance,) * 5,
            self.fetch,
            self.disconnect,
            self.failover,
        )
        return self.draw.choose(kinds)()

    def helpful(self) -> Step | None:
        """The next request of a healthy rebalance, if there is one."""
        group = self.group
        if group.in_initial_delay and self.draw.chance(0.5):
            return "advance", {"ms": 3000}
        if group.state is GroupState.PREPARING_REBALANCE:
            missing = [m for m in group.members if m.awaiting_join is None]
            if group.pending and self.draw.chance(0.5):
                return self.joining(min(group.pending), None, BOTH)
            if missing:
                member = self.draw.choose(missing)
                same = [{"name": p.name, "metadata": p.metadata} for p in member.protocols]
                return self.joining(member.id, member.instance, same)
        if group.state is GroupState.COMPLETING_REBALANCE:
            member = self.draw.choose(group.members)
            return self.syncing(member.id, member.instance, group.generation)
        return None

    # -- who asks -------------------------------------------------------------------------------

    def identity(self) -> tuple[str, str | None]:
        """A member id and an instance id, which mostly belong together."""
        members = [m.id for m in self.group.members]
        pools = (*(members,) * 5, sorted(self.group.pending), self.former, ["nobody"])
        pool = self.draw.choose(pools)
        member_id = self.draw.choose(pool) if pool else ""
        member = self.group.member(member_id)
        instance = None if member is None else member.instance
        if self.draw.chance(0.1):
            instance = self.draw.choose((None, *INSTANCES))
        return member_id, instance

    def generation(self) -> int:
        """A generation, mostly the current one."""
        return self.group.generation + self.draw.choose((0, 0, 0, 0, 0, 0, -1, 1))

    # -- requests -------------------------------------------------------------------------------

    def join(self) -> Step:
        """A JoinGroup: of a new client, a restarted static member, or a member."""
        if self.draw.chance(0.5):
            instance = self.draw.choose((None, None, *INSTANCES))
            return self.joining("", instance, self.draw.choose(PROTOCOLS))
        return self.joining(*self.identity(), self.draw.choose(PROTOCOLS))

    def joining(self, member_id: str, instance: str | None, protocols: Any) -> Step:
        """A JoinGroup with other fields at random."""
        return "JoinGroup", {
            "groupId": GROUP,
            "memberId": member_id,
            "groupInstanceId": instance,
            "protocols": protocols,
            "protocolType": "connect" if self.draw.chance(0.04) else "consumer",
            "sessionTimeoutMs": self.draw.choose((*(10_000,) * 12, *(9_000,) * 7, 1)),
            "rebalanceTimeoutMs": self.draw.choose((1_000, 4_000, 7_000, 60_000)),
            "version": self.draw.choose((3, 3, 4, 9) if instance is None else (5, 8, 9, 9)),
        }

    def sync(self) -> Step:
        """A SyncGroup."""
        return self.syncing(*self.identity(), self.generation())

    def syncing(self, member_id: str, instance: str | None, generation: int) -> Step:
        """A SyncGroup with assignments, of which some members may be left out."""
        given = [
            {"memberId": m.id, "assignment": f"{self.draw.below(99)} for {m.id}"}
            for m in self.group.members
            if self.draw.chance(0.85)
        ]
        protocol = self.draw.choose((None, None, *((self.group.protocol,) * 5), "other"))
        return "SyncGroup", {
            "groupId": GROUP,
            "memberId": member_id,
            "groupInstanceId": instance,
            "generationId": generation,
            "assignments": given,
            "protocolType": self.draw.choose((None, "consumer", "consumer", "consumer", "connect")),
            "protocolName": protocol,
            "version": self.draw.choose((4, 4, 4, 5)),
        }

    def heartbeat(self) -> Step:
        """A Heartbeat."""
        member_id, instance = self.identity()
        return "Heartbeat", {
            "groupId": GROUP,
            "memberId": member_id,
            "groupInstanceId": instance,
            "generationId": self.generation(),
        }

    def leave(self) -> Step:
        """A LeaveGroup of one member or more; static ones with or without their ids."""
        members = []
        for _ in range(self.draw.choose((1, 1, 1, 2, 3))):
            member_id, instance = self.identity()
            if self.draw.chance(0.2):
                member_id = ""
            members.append({"memberId": member_id, "groupInstanceId": instance})
        version = 2 if len(members) == 1 and self.draw.chance(0.2) else 5
        return "LeaveGroup", {"groupId": GROUP, "members": members, "version": version}

    def commit(self) -> Step:
        """An OffsetCommit, of a member or of a consumer that assigns itself."""
        offsets = [
            {
                "topic": "t",
                "partition": partition,
                "committedOffset": self.draw.below(9),
                "committedMetadata": self.draw.choose(("", "", "short", "too long!")),
            }
            for partition in range(self.draw.between(1, 2))
        ]
        body = {"groupId": GROUP, "partitions": offsets}
        if self.draw.chance(0.25):
            return "OffsetCommit", body
        member_id, instance = self.identity()
        who = {"memberId": member_id, "groupInstanceId": instance}
        version = self.draw.choose((8, 9))
        asked = {**body, **who, "generationId": self.generation(), "version": version}
        return "OffsetCommit", asked

    def fetch(self) -> Step:
        """An OffsetFetch."""
        return "OffsetFetch", {"groupId": GROUP}

    # -- what happens by itself -----------------------------------------------------------------

    def advance(self) -> Step:
        """Time passes."""
        return "advance", {
            "ms": self.draw.choose((1, 500, 500, 1_000, 1_000, 3_000, 3_000, 5_000, 9_500, 70_000))
        }

    def disconnect(self) -> Step:
        """The sender of a parked request disconnects."""
        parked = [
            caller[0]
            for m in self.group.members
            for caller in (m.awaiting_join, m.awaiting_sync)
            if isinstance(caller, tuple)
        ]
        return ("disconnect", {"request": self.draw.choose(parked)}) if parked else self.advance()

    def failover(self) -> Step:
        """Another broker becomes the coordinator."""
        return ("failover", {}) if self.draw.chance(0.2) else self.fetch()


def history(draw: Draw) -> list[dict[str, Any]]:
    """The steps of a history: requests with their ids and results, and the group at the end."""
    oracle = GroupOracle()
    historian = Historian(draw, oracle)
    steps: list[dict[str, Any]] = []

    def take(method: str, params: dict[str, Any]) -> None:
        number = len(steps)
        result = oracle.ask(number, method, params)
        steps.append({"id": number, "method": method, "params": params, "result": result})

    take("reset", draw.choose(SETTINGS))
    for _ in range(STEPS):
        take(*historian.step())
    take("describe", {"groupId": GROUP})
    return steps
