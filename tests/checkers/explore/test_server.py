"""The explorer's server: who is answered."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from kspec.checkers.explore.protocol import Explorer
from kspec.checkers.explore.server import ExplorerServer
from kspec.checkers.explore.session import Session
from kspec.checkers.models.find import find_model
from kspec.spec.core import SpecError

pytestmark = pytest.mark.slow

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server() -> Iterator[ExplorerServer]:
    running = ExplorerServer(Explorer(Session(find_model("die-hard").system())))
    yield running
    running.close()


def ask(
    server: ExplorerServer, method: str, path: str | None = None, body: Any = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """The status, the headers and the body of an answer; `_` in a header's name is `-`."""
    connection = http.client.HTTPConnection(server.host, timeout=600)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path or f"/{server.token}/", body, given)
    response = connection.getresponse()
    answer = response.status, dict(response.getheaders()), response.read()
    connection.close()
    return answer


def test_the_page_is_served_under_its_token_on_the_loopback_interface(
    server: ExplorerServer,
) -> None:
    assert server.http.server_address[0] == "127.0.0.1"
    assert len(server.token) >= 32
    status, headers, body = ask(server, "GET")
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "DENY"
    assert not any(name.startswith("Access-Control") for name in headers)
    assert b"default-src 'none'" in body
    assert b"connect-src 'self'" in body
    assert server.token.encode() not in body


def test_a_request_is_answered(server: ExplorerServer) -> None:
    status, headers, body = ask(server, "POST", body=json.dumps({"do": "describe"}), **JSON)
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert json.loads(body)["model"] == "die-hard"
    for wrong in (b"{", b"\xff", b"[1]", b'{"do": "x"}'):
        status, _, body = ask(server, "POST", body=wrong, **JSON)
        assert status == 200
        assert "error" in json.loads(body)


@pytest.mark.parametrize("path", ["/", "/wrong/", "/../", "//", "/%2e/", "/wrong/?x"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_the_token_nothing_is_answered(
    server: ExplorerServer, method: str, path: str
) -> None:
    status, _, body = ask(server, method, path, '{"do": "describe"}', **JSON)
    assert status == 404
    assert b"die-hard" not in body


@pytest.mark.parametrize("host", ["evil.test", "localhost", "127.0.0.1", "127.0.0.1:1", ""])
def test_another_host_name_is_refused(server: ExplorerServer, host: str) -> None:
    status, _, body = ask(server, "POST", None, '{"do": "describe"}', Host=host, **JSON)
    assert status == 403
    assert "answers only as" in json.loads(body)["error"]


@pytest.mark.parametrize("origin", ["http://evil.test", "null", "https://127.0.0.1"])
def test_another_site_is_refused(server: ExplorerServer, origin: str) -> None:
    status, headers, _ = ask(server, "POST", None, '{"do": "describe"}', Origin=origin, **JSON)
    assert status == 403
    assert not any(name.startswith("Access-Control") for name in headers)
    own = f"http://{server.host}"
    assert ask(server, "POST", None, '{"do": "describe"}', Origin=own, **JSON)[0] == 200


def test_a_form_of_another_site_cannot_ask(server: ExplorerServer) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert ask(server, "POST", None, '{"do": "describe"}', Content_Type=kind)[0] == 415
    assert ask(server, "OPTIONS")[0] == 501


@pytest.mark.parametrize("length", ["-1", "x", "99999999999999", "9" * 5000, "²"])
def test_a_length_that_is_wrong_is_refused(server: ExplorerServer, length: str) -> None:
    with socket.create_connection(
        ("127.0.0.1", server.http.server_port), timeout=600
    ) as connection:
        lines = [
            f"POST /{server.token}/ HTTP/1.1",
            f"Host: {server.host}",
            "Content-Type: application/json",
            f"Content-Length: {length}",
        ]
        connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_port_in_use_is_named(server: ExplorerServer) -> None:
    with pytest.raises(SpecError, match="cannot listen on port"):
        ExplorerServer(server.explorer, server.http.server_port)
