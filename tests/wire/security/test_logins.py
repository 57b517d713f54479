"""Failed logins on a real server: delays, log and audit; and connections whose user is removed or that are too old."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from metastore.client import Credentials, MetastoreClient, connect, errors
from metastore.security.passwords import PasswordFile
from tests.fixtures.forks import CONSTANTS
from tests.fixtures.server import Server
from tests.wire.transport.conftest import eventually

from .conftest import Authority, Pem, client_of, raw
from .test_passwords import message

pytestmark = pytest.mark.slow


@pytest.fixture
def users(tmp_path: Path) -> PasswordFile:
    file = PasswordFile(tmp_path / "users")
    for name in ("alice", "bob"):
        file.add(name, name)
    return file


@pytest.fixture
def frequent_reviews(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes servers review their sessions every 0.2 seconds instead of every 5."""
    constants = {
        "metastore.transport.session_review._INTERVAL": 0.2,
        "metastore.transport.certificate._RELOAD_INTERVAL": 0,
    }
    monkeypatch.setenv(CONSTANTS, json.dumps(constants))


@pytest.fixture
def long_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the first delay a minute instead of a second: no guess of a slow test comes after it."""
    monkeypatch.setenv(CONSTANTS, '{"metastore.security.throttle._FIRST_DELAY": 60.0}')


@pytest.fixture
def options(users: PasswordFile) -> list[str]:
    secured = ["--authentication", "password", "--password-file", str(users._path), "--workers", "1"]
    return [*secured, "--allow-password-without-tls", "true"]


def login(server: Server, user: str, password: str) -> MetastoreClient:
    return connect(server.uri, credentials=Credentials(user=user, password=password))


def answer(server: Server, user: str, password: str, header: bytes = b"") -> str:
    """Returns the server's message of a rejected login, or an empty text."""
    with raw(server) as sock:
        sock.sendall(header + message(1, b"PLAIN") + message(5, f"\0{user}\0{password}".encode()))
        head = sock.recv(5, 0x100)  # MSG_WAITALL
        text = sock.recv(int.from_bytes(head[1:]), 0x100)
        return "" if head[0] == 5 else text.decode()


@pytest.mark.usefixtures("long_delays")
def test_guesses_are_delayed_and_others_log_in(start: Callable[..., Server], options: list[str]) -> None:
    server = start(*options, "--audit", "log")
    with ThreadPoolExecutor(20) as threads:
        guesses = [threads.submit(answer, server, "alice", f"guess {number}") for number in range(100)]
        with login(server, "bob", "bob") as client:
            assert client.get_database("default")
        texts = [guess.result() for guess in guesses]
    assert sum("password is wrong" in text for text in texts) == 5
    assert "Too many failed logins of this user" in answer(server, "alice", "alice")
    with login(server, "alice", "alice") as client, pytest.raises(errors.LoginUnavailableError):
        client.get_database("default")
    assert "login failed: user='alice'" in server.log.read_text()
    assert "guess" not in server.log.read_text()
    assert eventually(lambda: server.log.read_text().count("user=alice for=- address=127.0.0.1") == 5)
    assert "method=login objects=- outcome=refused" in server.log.read_text()


@pytest.mark.usefixtures("long_delays")
def test_a_guesser_behind_a_proxy_delays_no_other_client(start: Callable[..., Server], options: list[str]) -> None:
    server = start(*options, "--proxy-protocol-from", "127.0.0.0/8")
    guesser, client = (f"PROXY TCP4 10.0.0.{host} 10.0.0.1 4711 9083\r\n".encode() for host in (66, 7))
    texts = [answer(server, "alice", "a guess", guesser) for _ in range(6)]
    assert "Too many failed logins of this user" in texts[-1]
    assert answer(server, "alice", "alice", client) == ""
    assert "login failed: user='alice' address=10.0.0.66:4711" in server.log.read_text()


@pytest.mark.usefixtures("long_delays")
def test_all_workers_count_failed_logins_together(start: Callable[..., Server], options: list[str]) -> None:
    """And so do all servers on the database: a guesser gets five guesses, not five from each."""
    servers = [start(*options, "--workers", "2") for _ in range(2)]
    texts = [answer(servers[number % 2], "carol", f"guess {number}") for number in range(24)]
    assert sum("password is wrong" in text for text in texts) == 5
    assert sum("Too many failed logins of this user" in text for text in texts) == 19
    assert all("Too many" in answer(server, "carol", "another guess") for server in servers)


@pytest.mark.usefixtures("frequent_reviews")
def test_a_removed_user_is_disconnected(start: Callable[..., Server], options: list[str], users: PasswordFile) -> None:
    server = start(*options)
    with login(server, "alice", "alice") as alice, login(server, "bob", "bob") as bob:
        assert alice.get_database("default")
        assert bob.get_database("default")
        users.remove("alice")
        assert eventually(lambda: "alice was removed from the password file" in server.log.read_text())
        with pytest.raises(errors.AuthenticationError):
            alice.get_database("default")
        assert bob.get_database("default")
    assert "bob was removed" not in server.log.read_text()


@pytest.mark.usefixtures("frequent_reviews")
def test_an_old_connection_is_closed_and_the_client_logs_in_again(
    start: Callable[..., Server], options: list[str]
) -> None:
    server = start(*options, "--session-max-age", "1")
    with login(server, "alice", "alice") as alice:
        assert alice.get_database("default")
        assert eventually(lambda: "(METASTORE_SESSION_MAX_AGE)" in server.log.read_text())
        assert alice.get_database("default")


@pytest.mark.usefixtures("frequent_reviews")
def test_a_revoked_certificate_ends_its_connection(
    start: Callable[..., Server], host_pem: Pem, authority: Authority, tmp_path: Path
) -> None:
    pem, ca = authority.issue(user="alice"), tmp_path / "clients.pem"
    ca.write_text(authority.pem.read_text())
    files = ["--tls-certificate", str(host_pem.chain), "--tls-key", str(host_pem.key), "--tls-client-ca", str(ca)]
    methods = ["--authentication", "tls-certificate", "--tls-client-certificates", "required"]
    server = start(*files, *methods, "--tls", "required")
    own = {"certificate": str(pem.chain), "key": str(pem.key)}
    with client_of(server, tls=True, ca=str(authority.pem), **own) as alice:
        assert alice.get_database("default")
        ca.write_text(authority.pem.read_text() + authority.revoke(pem))
        assert eventually(lambda: "so the client's must be verified again" in server.log.read_text())
        with pytest.raises(errors.ClientError):
            alice.get_database("default")
