"""The HTTP port with TLS: the certificate, its renewal, cookies, plain requests, and logins by JWT."""

from __future__ import annotations

import http.client
import shutil
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fixtures.server import running
from tests.wire.console.conftest import LOW, PASSWORDS, Console
from tests.wire.monitoring.pages import HTTP
from tests.wire.security.conftest import Authority, Pem
from tests.wire.security.test_jwt import AUDIENCE, ISSUER, Issuer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("console-pki") / "ours")


@pytest.fixture(scope="module")
def pem(authority: Authority) -> Pem:
    """The certificate and key that the server uses."""
    return authority.issue("localhost", "127.0.0.1")


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Issuer:
    actual_issuer = Issuer(tmp_path_factory.mktemp("console-jwt") / "keys.json")
    actual_issuer.add("one")
    return actual_issuer


@pytest.fixture(scope="module")
def encrypted(
    make_database: Callable[[], str],
    tmp_path_factory: pytest.TempPathFactory,
    password_file: Path,
    authority: Authority,
    pem: Pem,
    issuer: Issuer,
) -> Iterator[Console]:
    """A console with TLS; its Thrift listener has none."""
    folder = tmp_path_factory.mktemp("encrypted-console")
    options = ["--http-port", "0", "--http-tls", "required"]
    options += ["--tls-certificate", str(pem.chain), "--tls-key", str(pem.key)]
    options += ["--authentication", "password,jwt", "--password-file", str(password_file)]
    options += ["--jwt-keys", str(issuer.path), "--jwt-issuer", ISSUER, "--jwt-audience", AUDIENCE]
    with running(make_database(), folder, *options, "--allow-password-without-tls", "true") as server:
        match = HTTP.search(server.ready)
        assert match
        yield Console(server, match[1], ssl.create_default_context(cafile=str(authority.pem)))


def test_sessions_have_secure_cookies(encrypted: Console) -> None:
    assert encrypted.url.startswith("https://")
    visitor = encrypted.visitor()
    reply = visitor.log_in(LOW, PASSWORDS[LOW])
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith("__Host-metastore-console-")
    assert {"Secure", "HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert visitor.get("/").status == 200
    assert visitor.post("/logout", {}).status == 303
    assert visitor.get("/").status == 303


def test_a_renewed_certificate_is_used_without_a_restart(encrypted: Console, authority: Authority, pem: Pem) -> None:
    before = serial(encrypted)
    renewed = authority.issue("localhost", "127.0.0.1")
    shutil.copy(renewed.key, pem.key)
    shutil.copy(renewed.chain, pem.chain)
    while serial(encrypted) == before:  # the server checks its files once a second; pytest's time limit ends a failure
        pass
    assert encrypted.visitor().get("/login").status == 200


def test_users_log_in_with_a_jwt(encrypted: Console, issuer: Issuer) -> None:
    visitor = encrypted.visitor()
    for user in ("alice", ""):
        assert visitor.log_in(user, issuer.token("alice")).status == 303
        assert "alice" in visitor.get("/").text
    expired = encrypted.visitor().log_in("alice", issuer.token("alice", exp=1))
    assert expired.status == 401
    assert 'role="alert"' in expired.text
    bearer = encrypted.visitor()
    assert bearer.get("/index.json", Authorization=f"Bearer {issuer.token('alice')}").status == 200
    assert bearer.get("/index.json", Authorization="Bearer x.y.z").status == 401


def test_plain_requests_get_no_page(encrypted: Console) -> None:
    connection = http.client.HTTPConnection(encrypted.visitor().host, timeout=30)
    connection.request("GET", "/metrics")
    with pytest.raises((http.client.HTTPException, OSError)):
        connection.getresponse()
    connection.close()


def serial(console: Console) -> str:
    """Returns the serial number of the certificate with which the server answers."""
    connection = http.client.HTTPSConnection(console.visitor().host, timeout=30, context=console.tls)
    connection.connect()
    assert isinstance(connection.sock, ssl.SSLSocket)
    certificate = connection.sock.getpeercert() or {}
    connection.close()
    return str(certificate["serialNumber"])
