"""How delivery is drawn: the group with what is committed, and a lane for each consumer."""

from __future__ import annotations

from spec.core import Taken
from spec.delivery.properties import committed_of, record_at
from spec.delivery.state import NOBODY, Delivery, partitions, standalone
from spec.picture import Arrow, Cell, Lane, Mark, Picture

GROUP = "group"
TIMES = ("", "✓", "✓✓")

WORDS = {
    "group": "what the coordinator knows: who is in the group, and who owns what",
    "committed": "where the next owner of the partition begins",
    "r0 ✓": "record 0 was processed; ✓✓: more than once",
    "position": "the next record that a poll returns to this consumer",
    "r0 in hand": "a poll returned record 0 to this consumer, and it is not processed yet",
}


def picture(s: Delivery, taken: Taken | None) -> Picture:
    """The group, the partitions, and everybody who reads them."""
    shown = [c for c in range(len(s.hands)) if c != standalone(s) or any(s.hands[c])]
    return Picture(
        lanes=[
            Lane(GROUP, facts=group_facts(s), place=GROUP),
            *(partition_lane(s, p) for p in partitions(s)),
            *(consumer_lane(s, c) for c in shown),
        ],
        arrows=arrows(taken) if taken else [],
        words=WORDS,
    )


def group_facts(s: Delivery) -> dict[str, str]:
    """Who is in the group, and what is on its way to it."""
    facts = {"members": "{" + " ".join(map(str, sorted(s.group))) + "}"}
    for partition in partitions(s):
        if s.in_flight[partition]:
            facts["commits on their way"] = " ".join(map(str, s.in_flight[partition]))
        if s.failed[partition]:
            facts["commits that failed"] = " ".join(map(str, s.failed[partition]))
    return facts


def partition_lane(s: Delivery, partition: int) -> Lane:
    """A partition's records, how often each was processed, and what is committed."""
    owner = s.owners[partition]
    cells = [
        Cell(f"r{offset} {TIMES[times]}".strip(), partition, record_at(offset, partition))
        for offset, times in enumerate(s.processed[partition])
    ]
    return Lane(
        f"partition {partition}",
        facts={"owner": "–" if owner == NOBODY else str(owner)},
        cells=cells,
        marks=[Mark("committed", s.committed[partition])],
        place=committed_of(partition),
    )


def consumer_lane(s: Delivery, consumer: int) -> Lane:
    """What one consumer reads, and what it has in hand."""
    name = name_of(s, consumer)
    if consumer in s.crashed:
        return Lane(name, role="crashed", place=f"consumer {consumer}")
    facts = {}
    cells = []
    for partition, hand in enumerate(s.hands[consumer]):
        which = f" of partition {partition}" if len(s.owners) > 1 else ""
        if hand is not None:
            facts[f"position{which}"] = str(hand.position)
            cells += [
                Cell(f"r{offset} in hand{which}", partition)
                for offset in range(hand.done, hand.position)
            ]
    outside = consumer != standalone(s) and consumer not in s.group
    return Lane(name, "out" if outside else "", facts, cells, place=f"consumer {consumer}")


def name_of(s: Delivery, consumer: int) -> str:
    """What a consumer's lane is called."""
    return "standalone" if consumer == standalone(s) else f"member {consumer}"


def arrows(taken: Taken) -> list[Arrow]:
    """Who told whom something in this step."""
    member = f"member {taken.choices['member']}" if "member" in taken.choices else "standalone"
    partition = f"partition {taken.choices.get('partition', 0)}"
    if taken.rule in ("coordinator_assigns", "coordinator_revokes", "member_is_told_and_commits"):
        verb = "assigned" if "assigns" in taken.rule else "revoked"
        return [Arrow(GROUP, member, f"{partition} {verb}")]
    if "polls" in taken.rule:
        return [Arrow(partition, member, f"{taken.choices['records']} record(s)")]
    if "commits" in taken.rule and taken.rule != "callback_commits_again":
        return [Arrow(member, GROUP, "commit")]
    return []
