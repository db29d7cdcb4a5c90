"""A real Kafka broker conforms to the specification, and is reached as its clients reach it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.cli.conftest import Kspec, kspec
from tests.field.conform.conftest import SearchIt
from tests.field.conform.faults import FAULTS
from tests.field.conform.proxy import Fault, proxied
from tests.field.conform.test_faults import assert_found
from tests.real_broker import free_port, real_broker

__all__ = ["kspec"]

pytestmark = [pytest.mark.slow, pytest.mark.other_software]


@pytest.fixture(scope="module")
def kafka() -> Iterator[str]:
    with real_broker() as address:
        yield address


def test_kafka_conforms(kafka: str, search_it: SearchIt) -> None:
    searched = search_it(kafka, histories=100)
    assert searched.found == ()
    assert searched.undecided == 0
    assert searched.steps == 4_000
    blocked = {(kind, guard) for kind, guard, _, failed in searched.coverage.rows() if failed}
    assert len(blocked) >= 33


def test_the_records_of_kafka_conform(kafka: str, search_it: SearchIt) -> None:
    searched = search_it(kafka, histories=50, profiles=("records",))
    assert searched.found == ()
    assert searched.steps == 2_000
    never_blocked = {row[:2] for row in searched.coverage.rows() if not row[3]}
    assert len(never_blocked) <= 3  # a new partition has no older leader epoch, for instance


def test_the_timers_of_kafka_conform(kafka: str, search_it: SearchIt) -> None:
    assert search_it(kafka, histories=6, profiles=("timers",)).found == ()


@pytest.mark.parametrize("fault", FAULTS[::8], ids=lambda fault: fault.name)
def test_a_fault_before_kafka_is_found(fault: Fault, kafka: str, search_it: SearchIt) -> None:
    with proxied(kafka, fault) as address:
        assert_found(fault, partial(search_it, address, histories=40, most=1))


def test_nothing_is_left_behind(kafka: str, kspec: Kspec) -> None:
    assert kspec("conform", "broker", kafka, "--histories", "4", "--prefix", "mine").code == 0
    left = list_names(kafka)
    assert not [name for name in left if name.startswith("mine")]


def list_names(address: str) -> list[str]:
    """The names of groups and topics."""
    from kspec.field.conform.connection import Connection
    from kspec.field.conform.security import Security
    from kspec.impl.background import Address
    from kspec.impl.wire import API_KEYS, create, request_type

    connection = Connection(Address.parse(address), Security())
    groups = connection.call(create(request_type(API_KEYS["list_groups"], 4))).groups
    topics = connection.call(create(request_type(API_KEYS["metadata"], 9), topics=None)).topics
    connection.close()
    return [group.group_id for group in groups] + [topic.name for topic in topics]


# -- TLS and SASL -----------------------------------------------------------------------------

USER = 'username="alice" password="se\\"cret"'


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A broker behind TLS and SASL, and the folder of its certificate."""
    if shutil.which("openssl") is None:
        pytest.skip("a certificate needs openssl")
    folder = tmp_path_factory.mktemp("certificate")
    command = [
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
        "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    both = (folder / "key.pem").read_text() + (folder / "cert.pem").read_text()
    (folder / "store.pem").write_text(both)
    port, inner = free_port(), free_port()
    login = "org.apache.kafka.common.security"
    plain = f'{login}.plain.PlainLoginModule required user_alice="se\\\\"cret";'
    scram = f"{login}.scram.ScramLoginModule required;"
    settings = {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,INNER:PLAINTEXT,OUTER:SASL_SSL",
        "inter.broker.listener.name": "INNER",
        "advertised.listeners": f"OUTER://127.0.0.1:{port},INNER://127.0.0.1:{inner}",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.outer.plain.sasl.jaas.config": plain,
        "listener.name.outer.scram-sha-256.sasl.jaas.config": scram,
        "listener.name.outer.scram-sha-512.sasl.jaas.config": scram,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "store.pem"),
    }
    listeners = f"OUTER://127.0.0.1:{port},INNER://127.0.0.1:{inner}"
    users = ["--add-scram", 'SCRAM-SHA-256=[name=alice,password=se"cret]',
             "--add-scram", 'SCRAM-SHA-512=[name=alice,password=se"cret]']  # fmt: skip
    with real_broker(settings=settings, listeners=listeners, port=port, format_options=users):
        yield f"127.0.0.1:{port}", folder


def client_properties(folder: Path, mechanism: str, user: str = USER) -> Path:
    file = folder / "client.properties"
    escaped = user.replace("\\", "\\\\")
    file.write_text(
        f"security.protocol=SASL_SSL\nsasl.mechanism={mechanism}\n"
        f"sasl.jaas.config=a.LoginModule required {escaped};\n"
        f"ssl.truststore.type=PEM\nssl.truststore.location={folder}/cert.pem\n"
    )
    return file


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_broker_is_reached_by_tls_and_sasl(
    mechanism: str, guarded: tuple[str, Path], kspec: Kspec
) -> None:
    address, folder = guarded
    config = str(client_properties(folder, mechanism))
    ran = kspec(
        "conform", "broker", address, "--command-config", config,
        "--histories", "2", "--steps", "20", "--workers", "1",
    )  # fmt: skip
    assert ran.code == 0, ran.err


def test_a_wrong_password_is_one_line(guarded: tuple[str, Path], kspec: Kspec) -> None:
    address, folder = guarded
    user = 'username="alice" password="wrong"'
    config = str(client_properties(folder, "SCRAM-SHA-256", user))
    ran = kspec("conform", "broker", address, "--command-config", config)
    assert ran.code == 151
    assert "refuses the credentials" in ran.err
    assert ran.err.count("\n") == 1
