"""Cooperative rebalances (KIP-429): a member keeps what it owns until it is told to give it up.

The leader sees in the subscriptions who owns what. A partition that is to move is given to
nobody at first: its owner hears of it, revokes it and joins again, and only then it moves on.
"""

from __future__ import annotations

from collections.abc import Hashable

from spec.core import Step, Violated, rule
from spec.group import consuming
from spec.group.consuming import (
    Plan,
    Subscribed,
    after_join_answer,
    is_to_join,
    join_answer,
)
from spec.group.eager import EAGER
from spec.group.survivors import COOPERATIVE_SURVIVORS, SEEN_ONLY_IN
from spec.group.world import (
    NAMES,
    REBALANCE_TIMEOUT,
    SESSION_TIMEOUT,
    Owns,
    Phase,
    World,
    consumers,
)
from spec.messages import NO_GENERATION, JoinGroup, Protocol

COOPERATIVE_STICKY = "cooperative-sticky"


def cooperative_request(s: World, consumer: int, member: str) -> JoinGroup:
    """How a cooperative consumer joins: it says what it owns, and since when."""
    c = s.consumers[consumer]
    owns = Owns(c.owned, c.generation if c.owned else NO_GENERATION)
    return JoinGroup(
        member=member,
        instance=s.instance(consumer),
        protocols=(Protocol(COOPERATIVE_STICKY, owns),),
        session_timeout=SESSION_TIMEOUT,
        rebalance_timeout=REBALANCE_TIMEOUT,
        client=NAMES[consumer],
    )


def cooperative_plan(members: Subscribed, partitions: int) -> Plan:
    """Keep what is owned, as evenly as may be; what has to move first goes to nobody.

    Of claims to one partition only those of the latest generation count, and if they still
    differ, none does: who made the others has missed a round (KAFKA-12984, KAFKA-13419).
    """
    latest = max(owned(m).generation for m in members)
    believed = {m[0]: owned(m).partitions for m in members if owned(m).generation == latest}
    claims = [p for claimed in believed.values() for p in claimed]
    once = {who: [p for p in ps if claims.count(p) == 1] for who, ps in believed.items()}
    return share_out([m[0] for m in members], once, partitions)


def share_out(ids: list[str], claimed: dict[str, list[int]], partitions: int) -> Plan:
    """Give each member its share: first of what it owns, then of what nobody owns."""
    each, extra = divmod(partitions, len(ids))
    by_need = sorted(ids, key=lambda who: (-len(claimed.get(who, ())), who))
    shares = {who: each + (rank < extra) for rank, who in enumerate(by_need)}
    given = {who: sorted(claimed.get(who, ()))[: shares[who]] for who in ids}
    owned_by_somebody = {p for ps in claimed.values() for p in ps}
    free = [p for p in range(partitions) if p not in owned_by_somebody]
    for who in sorted(ids):
        while free and len(given[who]) < shares[who]:
            given[who].append(free.pop(0))
    return tuple((who, tuple(sorted(given[who]))) for who in sorted(ids))


def owned(member: tuple[str, str | None, Hashable]) -> Owns:
    """What a member says it owns."""
    owns = member[2]
    assert isinstance(owns, Owns), "every member of the group is cooperative"
    return owns


@rule(by="consumer", consumer=consumers)
def consumer_joins_and_keeps(s: World, consumer: int) -> Step[World]:
    """A consumer asks to be in the next generation, and goes on reading meanwhile.

    Kafka: `onJoinPrepare` of a cooperative consumer. Only if its generation is void does its
    listener hear `onPartitionsLost`: its partitions may be another's by now.
    """
    yield from is_to_join(s, consumer)
    c = s.consumers[consumer]
    owned = () if c.generation == NO_GENERATION else c.owned
    joins = s.with_consumer(
        consumer, phase=Phase.JOINING, owned=owned, wants_to_rejoin=False, planned=0
    )
    return joins.with_consumer(consumer, call=cooperative_request(joins, consumer, c.member))


@rule(by="consumer", consumer=consumers)
def consumer_takes_join_answer(s: World, consumer: int) -> Step[World]:
    """A consumer reads that it is in a generation, and asks for its assignment.

    Kafka: `JoinGroupResponseHandler`; the leader assigns with CooperativeStickyAssignor.
    """
    answer = yield from join_answer(s, consumer)
    return after_join_answer(s, consumer, answer, cooperative_request, cooperative_plan)


@rule(by="consumer", consumer=consumers)
def consumer_takes_assignment(s: World, consumer: int) -> Step[World]:
    """The listener hears what was taken away and what was added; if anything went, it rejoins.

    Kafka: `onJoinComplete` of a cooperative consumer: `onPartitionsRevoked` with what it owned
    and is not given, another JoinGroup if there is any, `onPartitionsAssigned` with the rest.
    """
    c = s.consumers[consumer]
    yield "consumer polls", c.runs and c.polls
    yield "an assignment has come", c.told is not None
    told = c.told or ()
    revoked = set(c.owned) - set(told)
    return s.with_consumer(
        consumer, owned=told, told=None, wants_to_rejoin=bool(revoked) or c.wants_to_rejoin
    )


COOPERATIVE = EAGER.derive(
    "cooperative",
    replace={
        consuming.consumer_joins: consumer_joins_and_keeps,
        consuming.consumer_takes_join_answer: consumer_takes_join_answer,
        consuming.consumer_takes_assignment: consumer_takes_assignment,
    },
    why=(
        "An eager rebalance stops everybody for as long as the slowest takes. Here only the "
        "partitions that move are not read for a while."
    ),
    survivors=COOPERATIVE_SURVIVORS,
    seen_only_in=SEEN_ONLY_IN,
)

# -- KAFKA-12984 ----------------------------------------------------------------------------------


def plan_by_all_claims(members: Subscribed, partitions: int) -> Plan:
    """Believe every claim, old ones too."""
    claimed = {m[0]: list(owned(m).partitions) for m in members}
    return share_out([m[0] for m in members], claimed, partitions)


@rule(by="consumer", consumer=consumers)
def consumer_joins_with_old_claims(s: World, consumer: int) -> Step[World]:
    """A consumer that was put out while it was joining joins again, claiming what it once owned."""
    yield from is_to_join(s, consumer)
    call = cooperative_request(s, consumer, s.consumers[consumer].member)
    return s.with_consumer(
        consumer, phase=Phase.JOINING, wants_to_rejoin=False, planned=0, call=call
    )


@rule(by="consumer", consumer=consumers)
def leader_believes_old_claims(s: World, consumer: int) -> Step[World]:
    """The leader assigns by what members say they own, whatever the generation."""
    answer = yield from join_answer(s, consumer)
    return after_join_answer(s, consumer, answer, cooperative_request, plan_by_all_claims)


ONE_EARLY_TIMER = {"crashes": 0, "failovers": 0, "early": 1}

BEFORE_KAFKA_12984 = COOPERATIVE.derive(
    "before-kafka-12984",
    replace={
        consumer_joins_and_keeps: consumer_joins_with_old_claims,
        consumer_takes_join_answer: leader_believes_old_claims,
    },
    why=(
        "A member that missed a round claimed what it had owned before it, and the leader "
        "believed both: one partition, two owners."
    ),
    violates={
        "OneOwnerByTheCoordinatorsWord": Violated(33, ONE_EARLY_TIMER),
        "OneOwnerInAGeneration": Violated(33, ONE_EARLY_TIMER),
        "EveryPartitionHasAnOwner": Violated(33, ONE_EARLY_TIMER),
    },
)
