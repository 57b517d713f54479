"""Promises about connections and logins."""

from __future__ import annotations

import socket
import time

from metastore.client import Credentials, connect
from tests.bench.promises.installation import Installation, fails, promise
from tests.wire.security.test_passwords import message


@promise("A plain connection gets an error that names the setting")
def _(installation: Installation) -> None:
    fails(lambda: connect(installation.server.uri, timeout=30).methods.get_all_databases(), "METASTORE_TLS")


@promise("A password over a plain connection is not accepted")
def _(installation: Installation) -> None:
    credentials = Credentials(user="alice", password="alice")
    fails(
        lambda: connect(installation.server.uri, timeout=30, credentials=credentials).methods.get_all_databases(), "TLS"
    )


@promise("TLS without a login is not enough")
def _(installation: Installation) -> None:
    credentials = Credentials(tls=True, ca=str(installation.ca))
    uri = f"thrift://localhost:{installation.server.port}"
    fails(lambda: connect(uri, timeout=30, credentials=credentials).methods.get_all_databases(), "authenticat")


@promise("The certificate must contain the host's name")
def _(installation: Installation) -> None:
    credentials = Credentials(tls=True, ca=str(installation.ca), user="alice", password="alice")
    uri = f"thrift://127.0.0.1:{installation.server.port}"
    fails(lambda: connect(uri, timeout=30, credentials=credentials).methods.get_all_databases(), "ertificate")


@promise("A wrong password, an empty one and an unknown user get the same text")
def _(installation: Installation) -> None:
    told = {_answer(installation, *login) for login in (("eve", "wrong"), ("nobody", "nobody"), ("alice2", "alice"))}
    assert told == {"Error validating the login: the user is unknown or the password is wrong"}, told
    assert _answer(installation, "eve", "")


@promise("A user cannot log in as another one by the authorization id")
def _(installation: Installation) -> None:
    assert "cannot log in as root" in _answer(installation, "eve", "eve", "root")


@promise("set_ugi does not change an authenticated name")
def _(installation: Installation) -> None:
    eve = installation.login("eve", "eve")
    assert eve.methods.set_ugi("root", ["wheel"])[-1] == "eve"
    fails(lambda: eve.methods.get_table("sales", "shown"), "table not found")
    eve.close()


@promise("An unknown SASL mechanism is rejected with the ones that are offered")
def _(installation: Installation) -> None:
    with installation.raw() as sock:
        sock.sendall(message(1, b"ANONYMOUS") + message(5, b""))
        assert b"offers PLAIN" in sock.recv(4096)


@promise("A message before the login has at most 64 KB")
def _(installation: Installation) -> None:
    with installation.raw() as sock:
        sock.sendall(message(1, b"PLAIN") + b"\2" + (2**20).to_bytes(4))
        assert b"PLAIN" not in sock.recv(4096)  # an error, or the end
        assert _ended(sock)


@promise("After five wrong passwords, all workers delay the user at this address")
def _(installation: Installation) -> None:
    texts = [_answer(installation, "guessed", f"guess {number}") for number in range(12)]
    # On a busy machine a delay ends before the last attempts, which are then checked and delay the user for longer.
    assert all("password is wrong" in text for text in texts[:5]), texts
    assert "Too many failed logins" in texts[5], texts
    assert "Too many failed logins" in _answer(installation, "guessed", "guessed")


@promise("Others log in while a user is guessed")
def _(installation: Installation) -> None:
    installation.login("bob", "bob").close()


@promise("The log and the audit trail name the user who is guessed, but no password")
def _(installation: Installation) -> None:
    log = installation.server.log.read_text()
    assert "login failed: user='guessed'" in log
    assert "guess 1" not in log
    deadline = time.monotonic() + 30
    while "method=login objects=- outcome=refused" not in installation.server.log.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@promise("Removing a user ends the open connections within a minute")
def _(installation: Installation) -> None:
    with installation.raw() as sock:
        sock.sendall(message(1, b"PLAIN") + message(5, b"\0gone\0gone"))
        assert sock.recv(4096)[0] == 5
        installation.users.remove("gone")
        sock.settimeout(60)
        assert _ended(sock)
    assert "password is wrong" in _answer(installation, "gone", "gone")


def _answer(installation: Installation, user: str, password: str, authorization_id: str = "") -> str:
    """Returns the server's message of a rejected login, or an empty text."""
    with installation.raw() as sock:
        sock.sendall(message(1, b"PLAIN") + message(5, f"{authorization_id}\0{user}\0{password}".encode()))
        data = b""
        while len(data) < 5 or len(data) < 5 + int.from_bytes(data[1:5]):
            more = sock.recv(4096)
            assert more, data
            data += more
        return "" if data[0] == 5 else data[5:].decode()


def _ended(sock: socket.socket) -> bool:
    try:
        return sock.recv(4096) == b""
    except ConnectionError:
        return True
