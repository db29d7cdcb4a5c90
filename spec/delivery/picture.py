"""The picture of `delivery`: the group, the partitions, and a lane for each consumer."""

from __future__ import annotations

from kspec.spec.core import Taken
from kspec.spec.core.picture import Arrow, Cell, Lane, Mark, Picture
from kspec.spec.delivery.properties import committed_offset_of, record_at
from kspec.spec.delivery.state import NO_OWNER, Delivery, partitions, standalone

GROUP = "group"
TIMES = ("", "✓", "✓✓")

WORDS = {
    "group": "the members of the group, as the coordinator knows them",
    "committed": "the committed offset, at which the next owner of the partition begins",
    "r0 ✓": "record 0 was processed once; ✓✓: more than once",
    "position": "the next record that a poll returns to this consumer",
    "r0 fetched": "a poll returned record 0 to this consumer, and it is not processed yet",
    "rejoining": "the client has sent its automatic commit, and then joins the next generation",
}


def picture(s: Delivery, taken: Taken | None) -> Picture:
    """The group, its partitions, and every consumer that reads them."""
    shown = [c for c in range(len(s.progress)) if c != standalone(s) or any(s.progress[c])]
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
    """The members of the group, and the commits in flight."""
    facts = {"members": "{" + " ".join(map(str, sorted(s.group))) + "}"}
    for partition in partitions(s):
        if s.in_flight[partition]:
            facts["commits in flight"] = " ".join(map(str, s.in_flight[partition]))
        if s.failed[partition]:
            facts["failed commits"] = " ".join(map(str, s.failed[partition]))
    return facts


def partition_lane(s: Delivery, partition: int) -> Lane:
    """A partition's owner, records and committed offset, and how often each was processed."""
    owner = s.owners[partition]
    cells = [
        Cell(f"r{offset} {TIMES[times]}".strip(), partition, record_at(offset, partition))
        for offset, times in enumerate(s.processed[partition])
    ]
    return Lane(
        f"partition {partition}",
        facts={"owner": "–" if owner == NO_OWNER else str(owner)},
        cells=cells,
        marks=[Mark("committed", s.committed[partition])],
        place=committed_offset_of(partition),
    )


def consumer_lane(s: Delivery, consumer: int) -> Lane:
    """A consumer's positions, and its fetched records."""
    name = name_of(s, consumer)
    if consumer in s.crashed:
        return Lane(name, role="crashed", place=f"consumer {consumer}")
    facts = {}
    cells = []
    for partition, read in enumerate(s.progress[consumer]):
        which = f" of partition {partition}" if len(s.owners) > 1 else ""
        if read is not None:
            facts[f"position{which}"] = str(read.position)
            cells += [
                Cell(f"r{offset} fetched{which}", partition)
                for offset in range(read.processed, read.position)
                if offset not in read.ahead
            ]
    return Lane(name, role_of(s, consumer), facts, cells, place=f"consumer {consumer}")


def role_of(s: Delivery, consumer: int) -> str:
    """What is special about a consumer that runs."""
    if consumer in s.rejoining:
        return "rejoining"
    return "not in group" if consumer != standalone(s) and consumer not in s.group else ""


def name_of(s: Delivery, consumer: int) -> str:
    """The name of a consumer's lane."""
    return "standalone" if consumer == standalone(s) else f"member {consumer}"


REVOCATIONS = (
    "coordinator_revokes_partition",
    "member_commits_on_revocation",
    "member_cancels_workers",
)


def arrows(taken: Taken) -> list[Arrow]:
    """The messages of this step."""
    member = f"member {taken.choices['member']}" if "member" in taken.choices else "standalone"
    partition = f"partition {taken.choices.get('partition', 0)}"
    if "assigns" in taken.rule and member != "standalone":
        return [Arrow(GROUP, member, f"{partition} assigned")]
    if taken.rule in REVOCATIONS:
        return [Arrow(GROUP, member, f"{partition} revoked")]
    if "polls" in taken.rule:
        return [Arrow(partition, member, f"{taken.choices['records']} record(s)")]
    if "commit" in taken.rule and not taken.rule.startswith(("coordinator", "network")):
        return [Arrow(member, GROUP, "commit")]
    return []
