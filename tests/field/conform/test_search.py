"""A search against the embedded broker: nothing differs, or it is found, shrunk and replayed."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kspec.field.cli.conform_broker import PROFILES
from kspec.field.conform.connection import Connection
from kspec.field.conform.play import Clock
from kspec.field.conform.security import Security
from kspec.impl.background import Address
from kspec.impl.broker import BrokerSettings, EmbeddedBroker
from kspec.impl.wire import API_KEYS, create, request_type
from tests.cli.conftest import Kspec, kspec
from tests.field.conform.conftest import SearchIt
from tests.field.conform.faults import FAULTS
from tests.field.conform.proxy import Fault, proxied

__all__ = ["kspec"]


def fault(name: str) -> Fault:
    return next(fault for fault in FAULTS if fault.name == name)


QUICK = fault("join: the leader is lost")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profiles", "histories"), [(("group", "offsets"), 300), (("records",), 100)]
)
def test_the_embedded_broker_conforms(
    profiles: tuple[str, ...], histories: int, embedded: str, search_it: SearchIt
) -> None:
    """A busy machine may answer a history late; the next search of the same histories may not."""
    for _ in range(3):
        searched = search_it(embedded, histories=histories, profiles=profiles)
        assert searched.found == ()
        if searched.unsteady == 0:
            break
    assert (searched.unsteady, searched.steps) == (0, 40 * histories)


@pytest.mark.slow
def test_nothing_is_left_at_the_embedded_broker(kspec: Kspec) -> None:
    profiles = [word for name in PROFILES if name != "timers" for word in ("--profile", name)]
    settings = BrokerSettings(initial_rebalance_delay=0, max_size=4)
    with EmbeddedBroker(settings) as broker:
        ran = kspec("conform", "broker", broker.bootstrap, "--histories", "60", *profiles)
        assert ran.code == 0, ran.out
        with closing(Connection(Address.parse(broker.bootstrap), Security())) as connection:
            groups = connection.call(create(request_type(API_KEYS["list_groups"], 4))).groups
            metadata = create(request_type(API_KEYS["metadata"], 9), topics=None)
            assert (groups, connection.call(metadata).topics) == ((), ())


@pytest.mark.slow
def test_the_timers_of_the_embedded_broker_conform(
    timeless: tuple[str, Clock], search_it: SearchIt
) -> None:
    address, clock = timeless
    searched = search_it(address, histories=40, profiles=("timers",), clock=clock, workers=1)
    assert searched.found == ()
    assert searched.unsteady == 0
    assert clock.now() > 60


@pytest.mark.slow
def test_a_broker_without_describe_groups_is_compared(kspec: Kspec) -> None:
    """Librdkafka's mock cluster, which differs in its first responses."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    producer = confluent_kafka.Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1})
    [broker] = producer.list_topics(timeout=600).brokers.values()
    ran = kspec(
        "conform", "broker", f"{broker.host}:{broker.port}", "--max-differences", "2", "--json"
    )
    assert ran.code == 3
    assert len(json.loads(ran.out)["differences"]) >= 2


@pytest.mark.slow
def test_the_command_compares_a_broker(embedded: str, kspec: Kspec) -> None:
    ran = kspec("conform", "broker", embedded, "--histories", "4", "--coverage")
    assert ran.code == 0, ran.err
    assert "No difference" in ran.out
    assert "generation is current" in ran.out


def test_records_are_compared(embedded: str, kspec: Kspec) -> None:
    options = ("--profile", "records", "--histories", "4", "--json")
    ran = kspec("conform", "broker", embedded, *options)
    assert ran.code == 0, ran.err
    guards = {guard["guard"] for guard in json.loads(ran.out)["guards"]}
    assert {"offset is within the log", "sequence number follows the last one"} <= guards


def test_a_difference_is_saved_replayed_and_expected(
    embedded: str, kspec: Kspec, tmp_path: Path
) -> None:
    options = ("--histories", "2", "--steps", "10", "--max-differences", "1")
    with proxied(embedded, QUICK) as address:
        command = ("conform", "broker", address)
        ran = kspec(*command, *options, "--json", "--save", "found.json", "--junit", "report.xml")
        assert ran.code == 3
        record = json.loads(ran.out)
        [difference] = record["differences"]
        assert difference["guard"] == "all guards hold"
        assert len(difference["history"]) == 2
        assert difference["specification"]
        assert "leader=m" not in difference["broker"]
        assert record["guards"]
        report = ElementTree.fromstring((tmp_path / "report.xml").read_text())
        assert report.get("failures") == "1"
        assert kspec(*command, "--replay", "found.json").code == 3
        ran = kspec(*command, *options, "--expect", "found.json")
        assert ran.code == 0, ran.out
        assert "1 expected" in ran.out
    assert kspec("conform", "broker", embedded, "--replay", "found.json").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["localhost"], 151, "not HOST:PORT"),
        (["localhost:99999"], 151, "not HOST:PORT"),
        (["127.0.0.1:1"], 151, "cannot connect to 127.0.0.1:1"),
        (["127.0.0.1:1", "--set", "group.max.size"], 2, "takes NAME=NUMBER"),
        (["127.0.0.1:1", "--set", "group.max.sise=3"], 151, "group.max.size"),
        (["127.0.0.1:1", "--profile", "grup"], 2, "grup"),
        (["127.0.0.1:1", "--expect", "absent.json"], 151, "absent.json"),
        (["127.0.0.1:1", "--command-config", "absent.properties"], 151, "absent.properties"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], code: int, said: str, kspec: Kspec) -> None:
    ran = kspec("conform", "broker", *arguments)
    assert ran.code == code
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_a_listener_that_is_no_broker_is_one_line(kspec: Kspec) -> None:
    import socket
    import threading

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            for _ in range(2):  # the versions are asked for again, as an old broker needs it
                connection, _ = listener.accept()
                with connection:
                    connection.recv(100)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        ran = kspec("conform", "broker", f"127.0.0.1:{listener.getsockname()[1]}")
    assert ran.code == 151
    assert ran.err.count("\n") == 1
