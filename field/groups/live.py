"""The groups of a running cluster, through confluent-kafka (extra `clients`).

Nothing is written to the cluster: groups are listed and described, and offsets fetched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kspec.checkers.needs import needs
from kspec.field.groups.groups import Group, GroupPartition, checked
from kspec.spec.core import SpecError, look_up
from kspec.spec.vocabulary import TopicPartition

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

SECONDS = 30
"""How long the cluster may take for each answer."""

STATES = {
    "EMPTY": "empty",
    "DEAD": "missing",
    "STABLE": "active",
    "PREPARING_REBALANCING": "rebalancing",
    "COMPLETING_REBALANCING": "rebalancing",
}
"""What the states of confluent-kafka mean for `Group.state`."""


def read_cluster(address: str, names: Sequence[str]) -> list[Group]:
    """The groups of these names, or all groups, with the offsets of their partitions."""
    needs("--bootstrap-server", "clients", "confluent_kafka")
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient

    try:
        # librdkafka would print each attempt to connect
        admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        return groups_of(admin, names)
    except KafkaException as error:
        reason = error.args[0]
        timed_out = reason.code() == KafkaError._TIMED_OUT
        said = f"no answer within {SECONDS} s" if timed_out else reason.str()
        raise SpecError(f"{address}: {said}") from None


def groups_of(admin: AdminClient, names: Sequence[str]) -> list[Group]:
    """The groups that the cluster knows, by name."""
    from confluent_kafka import KafkaException

    listed = admin.list_consumer_groups(request_timeout=SECONDS).result()
    if listed.errors:
        raise KafkaException(listed.errors[0])
    known = {found.group_id: found for found in listed.valid}
    chosen = sorted({name for name in names if look_up("group", name, known)} or known)
    if not chosen:
        raise SpecError("the cluster has no consumer groups")
    described = admin.describe_consumer_groups(chosen, request_timeout=SECONDS)
    found: dict[str, Any] = {name: described[name].result() for name in chosen}
    commits = {name: commits_of(admin, name) for name in chosen}
    members = {name: members_of(found[name].members) for name in chosen}
    all_partitions = {p for name in chosen for p in (*commits[name], *members[name])}
    starts, ends = (offsets_at(admin, all_partitions, which) for which in ("earliest", "latest"))
    return [
        Group(
            name,
            STATES.get(found[name].state.name),
            [
                checked(
                    GroupPartition(
                        partition,
                        commits[name].get(partition),
                        ends.get(partition),
                        starts.get(partition),
                        members[name].get(partition),
                    )
                )
                for partition in sorted({*commits[name], *members[name]})
            ],
        )
        for name in chosen
    ]


def commits_of(admin: AdminClient, name: str) -> dict[TopicPartition, int]:
    """The committed offsets of a group."""
    from confluent_kafka import ConsumerGroupTopicPartitions

    asked = [ConsumerGroupTopicPartitions(name)]
    fetched = admin.list_consumer_group_offsets(asked, request_timeout=SECONDS)[name].result()
    return {
        TopicPartition(each.topic, each.partition): each.offset
        for each in fetched.topic_partitions
        if each.offset >= 0  # librdkafka has negative numbers for no offset
    }


def members_of(members: Iterable[Any]) -> dict[TopicPartition, str]:
    """The member that each partition is assigned to."""
    return {
        TopicPartition(each.topic, each.partition): member.member_id
        for member in members
        for each in member.assignment.topic_partitions
    }


def offsets_at(
    admin: AdminClient, partitions: Iterable[TopicPartition], which: str
) -> Mapping[TopicPartition, int]:
    """The first or last offsets of partitions; a partition that was deleted has none."""
    import confluent_kafka
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

    asked = {confluent_kafka.TopicPartition(*p): getattr(OffsetSpec, which)() for p in partitions}
    found = {}
    for each, future in admin.list_offsets(asked, request_timeout=SECONDS).items() if asked else ():
        try:
            found[TopicPartition(each.topic, each.partition)] = future.result().offset
        except KafkaException as error:
            if error.args[0].code() != confluent_kafka.KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
    return found
