"""The server of the page: one process, on the loopback interface, for one person.

The address has a random token, without which nothing is answered. The name of the host that a
browser asks for has to be this one, so that no other site can reach the server by a name of its
own that resolves to 127.0.0.1. No other site may read an answer, since no header allows it, and
requests are JSON, which no form of another site can send.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kspec.checkers.explore.protocol import Explorer
from kspec.spec.core import SpecError
from kspec.traces.page import explorer_page
from kspec.traces.source import MOST_BYTES, parse_json

HOST = "127.0.0.1"


class ExplorerServer:
    """Serves one explorer until it is closed."""

    def __init__(self, explorer: Explorer, port: int = 0) -> None:
        """Listen on a port, or on any free one; SpecError if that fails."""
        self.explorer = explorer
        self.token = secrets.token_urlsafe(24)
        page = explorer_page(f"kspec explore {explorer.session.model.name}")
        handler = type("Handler", (Handler,), {"served": self, "page": page.encode()})
        try:
            self.http = ThreadingHTTPServer((HOST, port), handler)
        except OSError as error:
            raise SpecError(f"cannot listen on port {port}: {error.strerror or error}") from None
        self.http.daemon_threads = True
        self.host = f"{HOST}:{self.http.server_port}"
        self.address = f"http://{self.host}/{self.token}/"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Stop the search, and stop listening."""
        self.explorer.close()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


class Handler(BaseHTTPRequestHandler):
    """Answers GET with the page, and POST with the answer to a request."""

    served: ExplorerServer
    page: bytes
    protocol_version = "HTTP/1.1"
    timeout = 600
    """Seconds after which a connection that sends nothing is closed."""

    def do_GET(self) -> None:
        """The page."""
        if self.is_allowed():
            self.respond(200, "text/html; charset=utf-8", self.page)

    def do_POST(self) -> None:
        """The answer to a request."""
        if not self.is_allowed():
            return
        length = self.headers.get("Content-Length", "")
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip()
        if kind != "application/json":
            self.refuse(415, "the request is not JSON")
        elif not (re.fullmatch("[0-9]{1,12}", length) and int(length) <= MOST_BYTES):
            self.refuse(413, "the request has no length, or is too long")
        else:
            self.respond_json(200, self.answer(self.rfile.read(int(length))))

    def answer(self, body: bytes) -> dict[str, Any]:
        """The answer to a request, or what is wrong with it."""
        try:
            request = parse_json(body.decode())
        except UnicodeDecodeError:
            return {"error": "the request is not UTF-8"}
        except SpecError as error:
            return {"error": str(error)}
        return self.served.explorer.answer(request)

    def is_allowed(self) -> bool:
        """Whether host, origin and token are the server's own; if not, the request is refused."""
        origin = self.headers.get("Origin")
        if self.headers.get_all("Host") != [self.served.host]:
            self.refuse(403, f"this server answers only as {self.served.host}")
        elif origin is not None and origin != f"http://{self.served.host}":
            self.refuse(403, "requests from other sites are refused")
        elif not hmac.compare_digest(self.path.encode(), f"/{self.served.token}/".encode()):
            self.refuse(404, "open the address that kspec printed, with its token")
        else:
            return True
        return False

    def refuse(self, code: int, why: str) -> None:
        """Answer with an error, and close the connection: the request's body was not read."""
        self.close_connection = True
        self.respond_json(code, {"error": why})

    def respond_json(self, code: int, record: dict[str, Any]) -> None:
        """Answer with a JSON object."""
        self.respond(code, "application/json", json.dumps(record).encode())

    def respond(self, code: int, kind: str, body: bytes) -> None:
        """Answer."""
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """The name of the server."""
        return "kspec"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Requests are not logged."""
