"""The broker under test: its versions and settings, and the groups and topic for the test."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import attrs

from kspec.field.conform.connection import Connection, Lost
from kspec.field.conform.history import APIS
from kspec.field.conform.records import MOST_BYTES, Place
from kspec.field.conform.responses import PARTITIONS
from kspec.field.conform.security import Security
from kspec.field.conform.translate import MOST_VERSIONS
from kspec.impl.background import Address
from kspec.impl.wire import API_KEYS, VERSIONS, Message, create, request_type
from kspec.spec.core import SpecError
from kspec.spec.messages import GROUP_SETTINGS, Settings

NEEDED = ("metadata", "find_coordinator", "join_group")
"""The APIs without which nothing can be compared."""
USEFUL = (
    "create_topics", "delete_topics", "describe_groups", "delete_groups", "describe_configs",
    "init_producer_id",
)  # fmt: skip
"""The APIs that are used where the broker offers them."""

NEEDED_FOR_RECORDS = ("create_topics", "produce", "list_offsets", "fetch")
"""The APIs without which records cannot be compared."""
Found = TypeVar("Found")


@attrs.define
class Broker:
    """A cluster, reached through one of its brokers."""

    address: Address
    """The broker that was named."""
    security: Security
    """How connections are protected."""
    prefix: str
    """The beginning of the names of groups and of the topic that are used."""
    versions: dict[str, tuple[int, int]] = attrs.field(init=False)
    """The lowest and the highest version of each API that both sides know."""
    admin: Connection = attrs.field(init=False)
    """The connection for everything but histories."""

    def __attrs_post_init__(self) -> None:
        self.admin = Connection(self.address, self.security)
        try:
            self.versions = self.find_versions()
            missing = [name for name in NEEDED if name not in self.versions]
            if missing:
                raise SpecError(f"{self.address} does not offer {', '.join(missing)}")
        except SpecError:
            self.admin.close()
            raise

    def another(self) -> Broker:
        """The same broker, with its own connection."""
        return Broker(self.address, self.security, self.prefix)

    @property
    def topic(self) -> str:
        """The topic whose offsets are committed."""
        return f"{self.prefix}-topic"

    def find_versions(self) -> dict[str, tuple[int, int]]:
        """The versions that both sides support. Kafka: ApiVersions (KIP-35)."""
        try:
            response = self.ask_versions()
        except Lost as lost:
            raise SpecError(f"{self.address} does not answer ApiVersions: {lost}") from None
        offered = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
        versions = {}
        for name in (*APIS.values(), *NEEDED, *USEFUL):
            lowest, highest = VERSIONS[API_KEYS[name]]
            theirs = offered.get(API_KEYS[name], (0, -1))
            both = max(lowest, theirs[0]), min(highest, theirs[1], MOST_VERSIONS.get(name, 99))
            if both[0] <= both[1]:
                versions[name] = both
        return versions

    def ask_versions(self) -> Message:
        """The response to ApiVersions, of version 0 if the broker does not know a later one."""
        key = API_KEYS["api_versions"]
        request = create(
            request_type(key, 3), client_software_name="kspec", client_software_version="1"
        )
        try:
            response = self.admin.call(request)
        except Lost:  # librdkafka's mock cluster answers with a header that Kafka does not send
            self.admin.close()
            self.admin = Connection(self.address, self.security)
            return self.admin.call(create(request_type(key, 0)))
        if response.error_code.value:
            return self.admin.call(create(request_type(key, 0)))
        return response

    def request(self, api: str, highest: int = 99, /, **values: object) -> Message:
        """A request of the highest version that both sides know."""
        lowest, known = self.versions[api]
        if lowest > highest:
            raise SpecError(f"{self.address} offers {api} from version {lowest} on only")
        return create(request_type(API_KEYS[api], min(known, highest)), **values)

    # -- the cluster ------------------------------------------------------------------------------

    def settings(self, given: Mapping[str, int]) -> Settings:
        """The broker's settings from DescribeConfigs, overridden by those `given`."""
        found: dict[str, int] = {}
        if "describe_configs" in self.versions:
            with contextlib.suppress(Lost):
                found = self.described_settings()
        known: dict[str, Any] = {
            GROUP_SETTINGS[n]: value for n, value in {**found, **given}.items()
        }
        return Settings(**known)

    def described_settings(self) -> dict[str, int]:
        """The settings that DescribeConfigs shows."""
        nodes = self.admin.call(self.request("metadata", 8, topics=())).brokers
        if not nodes:
            return {}
        resource = {
            "resource_type": 4,
            "resource_name": str(nodes[0].node_id),
            "configuration_keys": list(GROUP_SETTINGS),
        }
        response = self.admin.call(self.request("describe_configs", resources=[resource]))
        return {
            config.name: int(config.value)
            for result in response.results
            for config in result.configs
            if config.name in GROUP_SETTINGS and config.value and config.value.isdigit()
        }

    def coordinator(self, group: str) -> Address:
        """The address of a group's coordinator, once there is one."""
        deadline = time.monotonic() + 30
        while True:
            response = self.admin.call(self.request("find_coordinator", 3, key=group, key_type=0))
            error = response.error_code.name.upper()
            if not response.error_code.value:
                return Address(response.host, response.port)
            if error not in ("COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"):
                raise SpecError(f"FindCoordinator of {group}: {error}")
            if time.monotonic() > deadline:
                raise SpecError(f"no coordinator for {group} within 30 s: {error}")
            time.sleep(0.1)

    # -- the topic --------------------------------------------------------------------------------

    def create_topic(self) -> None:
        """Create the topic, and wait until the broker knows it.

        A broker that does not offer CreateTopics has to create it when it is asked for metadata.
        """
        if "create_topics" in self.versions:
            topic = {"name": self.topic, "num_partitions": PARTITIONS, "replication_factor": 1}
            request = self.request("create_topics", topics=[topic], timeout=10_000)
            error = self.to_controller(request).topics[0].error_code.name.upper()
            if error not in ("NONE", "TOPIC_ALREADY_EXISTS"):
                raise SpecError(f"cannot create the topic {self.topic}: {error}")
        wanted = {"topics": [{"name": self.topic}], "allow_auto_topic_creation": True}

        def look() -> bool | None:
            found = self.admin.call(self.request("metadata", 8, **wanted)).topics[0]
            ready = [p for p in found.partitions if not p.error_code.value and p.leader_id >= 0]
            return None if found.error_code.value or len(ready) < PARTITIONS else True

        self.awaited(look, f"the topic {self.topic}")

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        if "delete_topics" not in self.versions:
            return
        with contextlib.suppress(Lost, SpecError):
            self.to_controller(self.request("delete_topics", 5, topic_names=[name], timeout=10_000))

    def new_partition(self, name: str) -> Place:
        """Create a topic with one partition, and wait until its leader answers."""
        missing = [api for api in NEEDED_FOR_RECORDS if api not in self.versions]
        if missing:
            raise SpecError(f"{self.address} does not offer {', '.join(missing)}")
        config = {"name": "max.message.bytes", "value": str(MOST_BYTES)}
        topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "configs": [config]}
        created = self.to_controller(self.request("create_topics", topics=[topic], timeout=10_000))
        if created.topics[0].error_code.value:
            raise SpecError(f"cannot create the topic {name}: {created.topics[0].error_code.name}")
        began = int(time.time()) * 1000 - 100_000  # no time is in the future
        wanted = {"topics": [{"name": name}], "allow_auto_topic_creation": False}
        asked = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}
        listing = self.request(
            "list_offsets", 10, replica_id=-1, topics=[{"name": name, "partitions": [asked]}]
        )

        def look() -> Place | None:
            metadata = self.admin.call(self.request("metadata", 12, **wanted))
            found = metadata.topics[0]
            nodes = {node.node_id: Address(node.host, node.port) for node in metadata.brokers}
            if found.error_code.value or found.partitions[0].leader_id not in nodes:
                return None
            leader = nodes[found.partitions[0].leader_id]
            answer = self.ask_at(leader, listing)
            if answer.topics[0].partitions[0].error_code.value:
                return None
            epoch = getattr(found.partitions[0], "leader_epoch", 0)
            topic_id = getattr(found, "topic_id", None)
            return Place(leader, name, topic_id, epoch, self.new_producer(), began)

        return self.awaited(look, f"the topic {name}")

    def new_producer(self) -> int:
        """A new producer id; -1 if the broker issues none."""
        if "init_producer_id" not in self.versions:
            return -1

        def look() -> int | None:
            values = {"transactional_id": None, "producer_id": -1, "producer_epoch": -1}
            issued = self.admin.call(self.request("init_producer_id", 5, **values))
            return None if issued.error_code.value else int(issued.producer_id)

        return self.awaited(look, "InitProducerId")

    def awaited(self, look: Callable[[], Found | None], what: str) -> Found:
        """What is found, as soon as it is."""
        deadline = time.monotonic() + 30
        while (found := look()) is None:
            if time.monotonic() > deadline:
                raise SpecError(f"{what} is not ready within 30 s")
            time.sleep(0.05)
        return found

    def ask_at(self, address: Address, request: Message) -> Message:
        """The response of the broker at this address."""
        if address == self.address:
            return self.admin.call(request)
        with contextlib.closing(Connection(address, self.security)) as connection:
            return connection.call(request)

    def to_controller(self, request: Message) -> Message:
        """The response of the broker that metadata name as the controller."""
        metadata = self.admin.call(self.request("metadata", 8, topics=()))
        nodes = {node.node_id: Address(node.host, node.port) for node in metadata.brokers}
        controller = nodes.get(metadata.controller_id, self.address)
        return self.ask_at(controller, request)

    def close(self) -> None:
        """Delete the topic and close the connection."""
        self.delete_topic(self.topic)
        self.admin.close()
