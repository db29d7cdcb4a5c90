"""What a group is for: every partition has one reader, and only a reader commits for it."""

from __future__ import annotations

from spec.core import Claims, always
from spec.group.world import NAMES, Owns, Phase, World, consumers
from spec.messages import NO_GENERATION, GroupState

LEGAL = frozenset(
    (GroupState(before), GroupState(after))
    for before, afters in {
        "Empty": ("PreparingRebalance", "Dead"),
        "PreparingRebalance": ("CompletingRebalance", "Empty", "Dead"),
        "CompletingRebalance": ("Stable", "PreparingRebalance", "Dead"),
        "Stable": ("PreparingRebalance", "Dead"),
        # Not a transition of one coordinator: the next one begins with what it loads.
        "Dead": ("Empty", "Stable"),
    }.items()
    for after in afters
)
"""The transitions that Kafka allows. Kafka: `ClassicGroupState`, each state's predecessors."""


def owners(s: World, partition: int) -> list[str]:
    """The members that the coordinator says own a partition."""
    return [m.id for m in s.group.members if partition in tuple(m.assignment)]  # type: ignore[arg-type]


def is_moving(s: World, partition: int) -> bool:
    """Whether a member said that it owns this partition when it joined."""
    subscriptions = [m.metadata(s.group.protocol) for m in s.group.members]
    return any(isinstance(o, Owns) and partition in o.partitions for o in subscriptions)


@always
def LegalTransitions(s: World) -> Claims:
    """A group only ever goes from one state to another as Kafka allows it."""
    step = (s.group.previous, s.group.state)
    yield f"coordinator, from {step[0]} to {step[1]}", step in LEGAL


@always
def LeaderIsAMember(s: World) -> Claims:
    """A group has a leader exactly while it has members, and it is one of them."""
    ids = [m.id for m in s.group.members]
    yield "coordinator", s.group.leader in ids if ids else s.group.leader is None


@always
def OneOwnerByTheCoordinatorsWord(s: World) -> Claims:
    """The coordinator never gives a partition to two members of one generation."""
    for partition in range(s.partitions):
        yield f"partition {partition}", len(owners(s, partition)) <= 1


@always
def OneOwnerInAGeneration(s: World) -> Claims:
    """Two consumers that believe to be in one generation never both hold a partition.

    In different generations they may: one that was put out, and has not heard of it.
    """
    holding = [(n, c) for n, c in enumerate(s.consumers) if c.generation != NO_GENERATION]
    for index, (number, c) in enumerate(holding):
        for other, d in holding[index + 1 :]:
            for partition in c.owned:
                both = partition in d.owned and c.generation == d.generation
                place = f"reading of partition {partition}"
                yield f"{place}, by consumers {number} and {other}", not both


@always
def EveryPartitionHasAnOwner(s: World) -> Claims:
    """In a stable group each partition that was there to share out has exactly one owner.

    Or none for one more round, while a cooperative member that claims it is about to revoke it.
    """
    if s.group.state is GroupState.STABLE:
        for partition in range(s.bounds.partitions):
            count = len(owners(s, partition))
            yield f"partition {partition}", count == 1 or (not count and is_moving(s, partition))


@always
def NoOldCommit(s: World) -> Claims:
    """No commit of an older generation is accepted."""
    yield "coordinator", s.ghosts.commit_behind == 0


@always
def OutsidersCommitToAnEmptyGroup(s: World) -> Claims:
    """A consumer that shares the group's id, and is no member, commits only while it is empty."""
    yield "coordinator", not s.ghosts.commit_beside


@always
def GenerationsOnlyGrow(s: World) -> Claims:
    """A group never falls behind a generation in which its members were assigned partitions.

    A generation that nobody was assigned in is not written down, and its number may be used
    again after a failover.
    """
    written = 0 if s.stored is None else s.stored.generation
    dead = s.group.state is GroupState.DEAD
    yield "coordinator", dead or s.group.generation >= written


@always
def HoldersHaveAGeneration(s: World) -> Claims:
    """A consumer that reads knows its generation, also while it means to join again."""
    for number, c in enumerate(s.consumers):
        reads = c.phase is Phase.STABLE and bool(c.owned)
        yield f"consumer {number}", not reads or c.generation != NO_GENERATION


@always
def OneMemberPerConsumer(s: World) -> Claims:
    """Retrying does not fill the group: a consumer is one member, and its dead selves besides.

    A self is dead after a crash, or when the consumer left unheard because nobody polled. And a
    failover brings back a member that was put out, as long as that was not written down.
    """
    dead = s.faults.crashes + s.faults.stalls + s.coordinator
    for number in consumers(s):
        selves = sum(m.id.startswith(NAMES[number]) for m in s.group.members)
        yield f"consumer {number}", selves <= 1 + dead


PROPERTIES = (
    LegalTransitions,
    LeaderIsAMember,
    OneOwnerByTheCoordinatorsWord,
    OneOwnerInAGeneration,
    EveryPartitionHasAnOwner,
    NoOldCommit,
    OutsidersCommitToAnEmptyGroup,
    GenerationsOnlyGrow,
    HoldersHaveAGeneration,
    OneMemberPerConsumer,
)


def states_passed(before: World, after: World) -> tuple[GroupState, ...]:
    """What the group goes through in one step: a rebalance may begin and end in it."""
    old, new = before.group, after.group
    if (old.state, old.previous, old.generation) == (new.state, new.previous, new.generation):
        return (old.state,)
    return (old.state, new.previous, new.state)
