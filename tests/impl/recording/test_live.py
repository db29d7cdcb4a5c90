"""Real clients before a real cluster, recorded and checked as they run."""

from __future__ import annotations

import json

import pytest

from kspec.field.recorded import from_objects, validate_recordings
from kspec.impl.recording import Recording
from kspec.impl.recording.proxy import RecordingProxy
from tests.impl.recording.consumers import GROUP
from tests.impl.recording.record import kafka, mock_cluster, record

pytestmark = [
    pytest.mark.slow,
    pytest.mark.other_software,
    # The clients leave sockets and tasks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def test_a_group_of_kafka_is_accepted() -> None:
    """Two members join, a third one is killed, and the others leave."""
    pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
    seen = Recording("coordinator", group=GROUP)
    done = Recording("consumer", group=GROUP)
    with kafka() as address:
        record(address, "confluent-kafka", "cooperative-sticky", seen, done)
    for recording in (seen, done):
        lines = map(json.loads, recording.lines)
        verdict = validate_recordings([from_objects(recording.mapping, lines)], {})
        assert verdict.verdict == "accepted", verdict.to_json()


def test_a_client_of_a_cluster_stays_with_the_proxy() -> None:
    """Each broker has a listener of its own."""
    pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
    from confluent_kafka.admin import AdminClient

    with mock_cluster() as address, RecordingProxy(address, Recording("coordinator")) as proxy:
        options = {"log_level": 0}
        direct = AdminClient({"bootstrap.servers": address, **options}).list_topics(timeout=600)
        admin = AdminClient({"bootstrap.servers": proxy.bootstrap, **options})
        through = admin.list_topics(timeout=600)
        assert direct.brokers.keys() == through.brokers.keys()
        ports = [{broker.port for broker in each.brokers.values()} for each in (direct, through)]
        assert not ports[0] & ports[1]
        assert len(ports[1]) == 3
