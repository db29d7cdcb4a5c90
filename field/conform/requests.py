"""Random requests to a group: whose they are, and what they ask.

Mostly of a member in the current generation, and otherwise of anybody.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random
from typing import Any, ClassVar

from kspec.spec.coordinator import Group, GroupMember
from kspec.spec.core import evolve
from kspec.spec.messages import (
    NO_MEMBER_ID,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    MemberIdentity,
    SyncGroup,
)

INSTANCES = ("i", "j")


class RandomRequests(ABC):
    """Draws requests, given the group."""

    POOLS: ClassVar = (58, 12, 10, 6, 14)
    """How often a member id is current, pending, of earlier times, unknown, or empty."""
    NAMED: ClassVar = 0.93
    """How often a generation is named."""

    random: Random
    issued: list[str]
    """Every member id that was ever issued."""

    @property
    @abstractmethod
    def group(self) -> Group:
        """The group."""

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability

    # -- whose request ----------------------------------------------------------------------------

    def instance(self, probability: float) -> str | None:
        """An instance id, with this probability."""
        return self.random.choice(INSTANCES) if self.chance(probability) else None

    def member(self) -> str:
        """A member id: current, pending, of earlier times, unknown, or empty."""
        pools = [m.id for m in self.group.members], sorted(self.group.pending), self.issued
        pool = self.random.choices((*pools, ["nobody"], [NO_MEMBER_ID]), self.POOLS)[0]
        return self.random.choice(pool or [NO_MEMBER_ID])

    def identity(self) -> tuple[str, str | None]:
        """A member id and an instance id, which mostly belong together."""
        member_id = self.member()
        member = self.group.member(member_id)
        if self.chance(0.15):
            return member_id, self.random.choice((None, *INSTANCES))
        return member_id, None if member is None else member.instance

    def generation(self) -> int:
        """A generation: mostly the current one."""
        off = self.random.choices((0, -1, 1), (80, 10, 5))[0]
        return max(self.group.generation + off, 0) if self.chance(self.NAMED) else -1

    # -- requests ---------------------------------------------------------------------------------

    @abstractmethod
    def join(self, **details: Any) -> JoinGroup:
        """A JoinGroup whose other fields are random."""

    @abstractmethod
    def sync(self, member_id: str, instance: str | None, generation: int) -> SyncGroup:
        """A SyncGroup with assignments, of which a leader may omit some."""

    def any_join(self) -> JoinGroup:
        """A JoinGroup: of a member, a new client, or a restarted static member."""
        member_id, instance = self.identity()
        member = self.group.member(member_id)
        if member is not None and instance == member.instance and self.chance(0.6):
            return self.rejoin(member)
        if member_id == NO_MEMBER_ID and self.chance(0.5):
            instance = self.random.choice(INSTANCES)
        return self.join(member=member_id, instance=instance)

    def rejoin(self, member: GroupMember) -> JoinGroup:
        """A member's JoinGroup, mostly with the protocols that it had."""
        changed = {} if self.chance(0.3) else {"protocols": member.protocols}
        return self.join(member=member.id, instance=member.instance, **changed)

    def any_sync(self) -> SyncGroup:
        """A SyncGroup of any member."""
        member_id, instance = self.identity()
        return self.sync(member_id, instance, self.generation())

    def heartbeat(self) -> Heartbeat:
        """A Heartbeat of any member."""
        member_id, instance = self.identity()
        return Heartbeat(member_id, self.generation(), instance)

    def leaving(self) -> int:
        """How many members leave."""
        return self.random.choices((1, 2, 3), (80, 15, 5))[0]

    def leave(self) -> LeaveGroup:
        """A LeaveGroup of some members, static ones with or without their ids."""
        members = tuple(MemberIdentity(*self.identity()) for _ in range(self.leaving()))
        return LeaveGroup(
            tuple(evolve(m, member=NO_MEMBER_ID) if self.chance(0.2) else m for m in members)
        )
