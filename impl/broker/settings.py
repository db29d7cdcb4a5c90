"""The broker's configuration, under Kafka's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from kspec.spec.core import SpecError, look_up
from kspec.spec.messages import GROUP_SETTINGS, JAVA, SCALA, Settings


def setting(name: str, default: Any, doc: str, *, least: int = 0, most: int = 2**31 - 1) -> Any:
    """A field with its name in Kafka's configuration, what it means, and its limits."""
    return attrs.field(
        default=default, metadata={"name": name, "doc": doc, "least": least, "most": most}
    )


@attrs.frozen
class BrokerSettings:
    """The settings of an embedded broker. The metadata of each field has its name and meaning."""

    initial_rebalance_delay: int = setting(
        "group.initial.rebalance.delay.ms", 3_000, "how long an empty group waits for more members"
    )
    min_session_timeout: int = setting(
        "group.min.session.timeout.ms", 6_000, "the shortest session timeout of a member"
    )
    max_session_timeout: int = setting(
        "group.max.session.timeout.ms", 1_800_000, "the longest session timeout of a member"
    )
    max_size: int = setting(
        "group.max.size", 2**31 - 1, "how many members a group may have", least=1
    )
    max_metadata: int = setting(
        "offset.metadata.max.bytes", 4_096, "how long the metadata of an offset may be"
    )
    offsets_retention_minutes: int = setting(
        "offsets.retention.minutes", 10_080, "how long offsets are kept", least=1
    )
    java_coordinator: bool = setting(
        "group.coordinator.new.enable",
        True,
        "whether groups are coordinated as in Kafka 4, or as by default up to 3.9",
    )
    auto_create_topics: bool = setting(
        "auto.create.topics.enable", True, "whether a client's question creates a topic"
    )
    partitions: int = setting(
        "num.partitions", 1, "partitions of a topic created without a number", least=1, most=10_000
    )
    max_message_bytes: int = setting(
        "message.max.bytes", 1_048_588, "the largest record batch", least=61
    )
    max_partition_bytes: int = setting(
        "log.retention.bytes",
        64 * 2**20,
        "the most that a partition holds; the oldest batches are deleted",
        least=61,
    )
    max_fetch_bytes: int = setting(
        "fetch.max.bytes", 16 * 2**20, "the most that a response to Fetch holds", least=1_024
    )
    max_request_bytes: int = setting(
        "socket.request.max.bytes", 16 * 2**20, "the largest request", least=1_024
    )
    max_connections: int = setting(
        "max.connections", 1_000, "how many connections are open at a time", least=1
    )
    max_idle: int = setting(
        "connections.max.idle.ms", 600_000, "how long a silent connection stays open", least=1
    )
    # The names below are this broker's own: Kafka has no such setting.
    max_partitions: int = setting(
        "kspec.max.partitions", 10_000, "how many partitions there may be", least=1
    )
    max_buffered_bytes: int = setting(
        "kspec.max.buffered.bytes",
        256 * 2**20,
        "the most that waits to be received or sent; the connection with most of it is closed",
        least=1_024,
    )
    slow_timeout: int = setting(
        "kspec.slow.timeout.ms",
        30_000,
        "how long a request may take to arrive, or a response to leave",
        least=1,
    )

    @classmethod
    def named(cls, values: Mapping[str, str]) -> BrokerSettings:
        """The settings with these values, by their names in Kafka's configuration."""
        known = {field.metadata["name"]: field for field in attrs.fields(cls)}
        changed: dict[str, Any] = {}
        for name, text in values.items():
            field = look_up("setting", name, known)
            changed[field.name] = _value(name, field, text)
        return cls(**changed)

    def by_name(self) -> dict[str, str]:
        """Each setting's value as text, by its name in Kafka's configuration."""
        return {
            field.metadata["name"]: str(getattr(self, field.name)).lower()
            for field in attrs.fields(type(self))
        }

    def for_trace(self) -> dict[str, Any]:
        """The header of a recorded trace: what decides how groups are coordinated."""
        of_groups = self.for_coordinator()
        settings = {
            name: getattr(of_groups, field)
            for name, field in GROUP_SETTINGS.items()
            if field != "max_metadata"
        }
        return {"variant": of_groups.variant.name, "settings": settings}

    def for_coordinator(self) -> Settings:
        """The coordinator's share of them."""
        share: dict[str, Any] = {name: getattr(self, name) for name in GROUP_SETTINGS.values()}
        return Settings(**share, variant=JAVA if self.java_coordinator else SCALA)


def _value(name: str, field: Any, text: str) -> int | bool:
    if isinstance(field.default, bool):
        if text not in ("true", "false"):
            raise SpecError(f"{name} is true or false, not {text!r:.40}")
        return text == "true"
    least, most = field.metadata["least"], field.metadata["most"]
    if not text.isascii() or not text.isdigit() or len(text) > 10:
        raise SpecError(f"{name} is a whole number, not {text!r:.40}")
    if not least <= int(text) <= most:
        raise SpecError(f"{name} is within {least} and {most}, not {text}")
    return int(text)
