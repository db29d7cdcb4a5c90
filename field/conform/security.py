"""TLS and SASL, as the properties file of a Kafka client asks for them.

Kafka: `CommonClientConfigs.SECURITY_PROTOCOL_CONFIG`, `SslConfigs` and `SaslConfigs`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import socket
import ssl
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import attrs

from kspec.impl.wire import API_KEYS, Message, create, request_type
from kspec.spec.core import SpecError
from kspec.spec.core.errors import located
from kspec.traces.properties import parse_properties
from kspec.traces.source import read_bytes, read_text

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@attrs.frozen
class Security:
    """How connections are protected."""

    context: ssl.SSLContext | None = None
    """The TLS settings; None without TLS."""
    mechanism: str = ""
    """The SASL mechanism; empty without SASL."""
    username: str = ""
    """The user."""
    password: str = attrs.field(default="", repr=False)
    """The user's password."""

    def wrap(self, plain: socket.socket, host: str) -> socket.socket:
        """The socket, with TLS if that is asked for."""
        return (
            plain if self.context is None else self.context.wrap_socket(plain, server_hostname=host)
        )


def read_security(path: Path | None) -> Security:
    """The security settings of a client's properties file; none without a file."""
    if path is None:
        return Security()
    with located(str(path)):
        properties = {entry.key: entry.value for entry in parse_properties(read_bytes(path))}
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise SpecError(
            f"{path}: security.protocol is {protocol}, not one of {', '.join(PROTOCOLS)}"
        )
    context = tls(properties, path) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL"):
        return Security(context)
    mechanism = properties.get("sasl.mechanism", "GSSAPI")
    if mechanism not in MECHANISMS:
        raise SpecError(
            f"{path}: sasl.mechanism is {mechanism}, not one of {', '.join(MECHANISMS)}"
        )
    username, password = credentials(properties.get("sasl.jaas.config", ""), path)
    return Security(context, mechanism, username, password)


def tls(properties: Mapping[str, str], path: Path) -> ssl.SSLContext:
    """The TLS settings. Stores of certificates are PEM files or PEM text."""
    identification = properties.get("ssl.endpoint.identification.algorithm", "https")
    try:
        trusted = pem(properties, "ssl.truststore", "ssl.truststore.certificates", path)
        context = ssl.create_default_context(cadata=trusted or None)
        context.check_hostname = identification != ""
        chain = pem(properties, "ssl.keystore", "ssl.keystore.certificate.chain", path)
        if chain:
            key = properties.get("ssl.keystore.key", "")
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
                file.write(f"{chain}\n{key}\n")
                file.flush()
                context.load_cert_chain(file.name, password=properties.get("ssl.key.password"))
    except (OSError, ssl.SSLError, ValueError) as error:
        raise SpecError(f"{path}: the certificates cannot be loaded: {error}") from None
    return context


def pem(properties: Mapping[str, str], store: str, text: str, path: Path) -> str:
    """The certificates of a store; empty if it is not configured."""
    location = properties.get(f"{store}.location")
    if location is None:
        return properties.get(text, "")
    if properties.get(f"{store}.type", "JKS").upper() != "PEM":
        raise SpecError(
            f"{path}: {store}.type has to be PEM: convert it with `keytool -exportcert -rfc`"
        )
    return read_text(Path(location))


def credentials(jaas: str, path: Path) -> tuple[str, str]:
    """The user and the password of `sasl.jaas.config`."""
    options = dict(re.findall(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"', jaas))
    if "username" not in options or "password" not in options:
        raise SpecError(f'{path}: sasl.jaas.config has no username="…" and password="…"')
    unescaped = (re.sub(r"\\(.)", r"\1", options[name]) for name in ("username", "password"))
    return next(unescaped), next(unescaped)


# -- SASL -------------------------------------------------------------------------------------

Call = Callable[[Message], Message]


def authenticate(security: Security, call: Call) -> None:
    """Authenticate a new connection. Kafka: `SaslClientAuthenticator` (KIP-152)."""
    handshake = request_type(API_KEYS["sasl_handshake"], 1)
    answer = call(create(handshake, mechanism=security.mechanism))
    if answer.error_code.value:
        offered = ", ".join(answer.mechanisms)
        raise SpecError(f"the broker refuses {security.mechanism}; it offers {offered}")
    if security.mechanism == "PLAIN":
        exchange(call, f"\0{security.username}\0{security.password}".encode())
    else:
        scram(security, call)


def exchange(call: Call, data: bytes) -> bytes:
    """Send one token, and return the broker's."""
    answer = call(create(request_type(API_KEYS["sasl_authenticate"], 0), auth_bytes=data))
    if answer.error_code.value:
        raise SpecError(f"the broker refuses the credentials: {answer.error_message}")
    token: bytes = answer.auth_bytes
    return token


def scram(security: Security, call: Call) -> None:
    """Authenticate without sending the password (RFC 5802)."""
    algorithm = "sha256" if security.mechanism.endswith("256") else "sha512"

    def keyed(key: bytes, text: bytes) -> bytes:
        return hmac.digest(key, text, algorithm)

    user = security.username.replace("=", "=3D").replace(",", "=2C")
    first = f"n={user},r={secrets.token_urlsafe(24)}"
    challenge = exchange(call, f"n,,{first}".encode()).decode()
    fields = dict(part.split("=", 1) for part in challenge.split(",") if "=" in part)
    try:
        nonce, salt, rounds = fields["r"], base64.b64decode(fields["s"]), int(fields["i"])
    except (KeyError, ValueError):
        raise SpecError(f"the broker's SCRAM challenge is malformed: {challenge!r}") from None
    if not 4096 <= rounds <= 2**24:
        raise SpecError(f"the broker asks for {rounds} rounds of SCRAM")
    salted = hashlib.pbkdf2_hmac(algorithm, security.password.encode(), salt, rounds)
    client_key = keyed(salted, b"Client Key")
    final = f"c=biws,r={nonce}"
    everything = f"{first},{challenge},{final}".encode()
    signature = keyed(hashlib.new(algorithm, client_key).digest(), everything)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    answer = exchange(call, f"{final},p={base64.b64encode(proof).decode()}".encode())
    expected = b"v=" + base64.b64encode(keyed(keyed(salted, b"Server Key"), everything))
    if answer != expected:
        raise SpecError("the broker does not prove that it knows the password")
