"""SASL PLAIN over TLS: passwords of a file, and rejected logins."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TSaslClientTransport

from metastore.client import Credentials, MetastoreClient, connect, errors
from metastore.security.passwords import PasswordFile
from tests.fixtures.server import Server
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore

from .conftest import Authority, client_of, raw, who

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def password_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("passwords") / "users"
    PasswordFile(path).add("alice", "wonderland-é")
    return path


@pytest.fixture(scope="module")
def server(start: Callable[..., Server], tls_options: list[str], password_file: Path) -> Server:
    options = ["--authentication", "password", "--password-file", str(password_file)]
    return start("--tls", "allowed", "--listeners", "127.0.0.1:0", *options, *tls_options)


def test_the_right_password_proves_the_name(server: Server, authority: Authority) -> None:
    shown = Credentials(tls=True, ca=str(authority.pem), user="alice", password="wonderland-é")
    with connect(f"thrift://localhost:{server.port}", credentials=shown) as client:
        assert who(client) == "alice"
        assert "default" in client.methods.get_all_databases()


@pytest.mark.parametrize(("user", "password"), [("alice", "Wonderland"), ("mallory", "wonderland-é"), ("alice:", "x")])
def test_a_wrong_password_is_reported_and_not_logged(
    server: Server, authority: Authority, user: str, password: str
) -> None:
    shown = Credentials(tls=True, ca=str(authority.pem), user=user, password=password)
    with (
        connect(f"thrift://localhost:{server.port}", credentials=shown) as client,
        pytest.raises(errors.AuthenticationError, match="the user is unknown or the password is wrong"),
    ):
        client.get_database("default")
    assert password not in server.log.read_text() or password == "x"


def test_without_tls_no_password_is_taken(server: Server) -> None:
    with (
        connect(server.uri, credentials=Credentials(user="alice", password="wonderland-é")) as client,
        pytest.raises(errors.AuthenticationError, match="passwords over TLS only"),
    ):
        client.get_database("default")


def test_the_error_for_clients_without_credentials_names_the_required_ones(server: Server) -> None:
    with (
        client_of(server) as client,
        pytest.raises(errors.AuthenticationError, match=r"METASTORE_AUTHENTICATION=password\): use a password"),
    ):
        client.get_database("default")


def test_another_mechanism_is_reported(server: Server) -> None:
    with raw(server) as sock:
        sock.sendall(b"\x01\x00\x00\x00\x06GSSAPI")
        assert b"Unsupported mechanism type GSSAPI: this metastore offers PLAIN" in sock.recv(4096)


def test_an_added_user_can_log_in_and_a_removed_one_cannot(start: Callable[..., Server], tmp_path: Path) -> None:
    path = tmp_path / "users"
    command = [sys.executable, "-m", "metastore.cli", "users"]

    def run(*arguments: str, text: str = "") -> str:
        given = [*command, *arguments, "--password-file", str(path)]
        done = subprocess.run(given, input=text, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    assert "User bob added to" in run("add", "bob", text="builder\n")
    assert path.stat().st_mode & 0o777 == 0o600
    assert "builder" not in path.read_text()
    assert run("list") == "bob\n"
    options = ["--authentication", "password", "--password-file", str(path), "--allow-password-without-tls", "true"]
    server = start(*options)

    def comes_in(user: str, password: str) -> bool:
        with connect(server.uri, credentials=Credentials(user=user, password=password)) as client:
            try:
                return bool(client.get_database("default"))
            except errors.AuthenticationError:
                return False

    assert comes_in("bob", "builder")
    assert "Password of bob changed" in run("add", "bob", text="carpenter\n")
    assert (comes_in("bob", "builder"), comes_in("bob", "carpenter")) == (False, True)
    assert "User bob removed from" in run("remove", "bob")
    assert "user bob does not exist" in run("remove", "bob")
    assert not comes_in("bob", "carpenter")

    run("add", "carol", text="singer\n")
    sock = TSocket("127.0.0.1", server.port)  # Thrift's own client, with pure-sasl
    transport = TSaslClientTransport(sock, "localhost", None, mechanism="PLAIN", username="carol", password="singer")
    transport.open()
    assert "default" in ThriftHiveMetastore.Client(TBinaryProtocol(transport)).get_all_databases()
    transport.close()


def message(status: int, payload: bytes) -> bytes:
    return struct.pack("!BI", status, len(payload)) + payload


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (message(1, b"PLAIN") + message(1, b""), b"Invalid SASL status"),
        (message(1, b"PLAIN") + message(5, b""), b"is not [authzid] NUL user NUL password"),
        (message(1, b"PLAIN") + message(5, b"\0alice\0"), b"user or password is missing"),
        (message(1, b"PLAIN") + message(5, b"\0\xff\0x"), b"not UTF-8"),
        (message(1, b"PLAIN") + message(5, b"root\0alice\0wonderland-\xc3\xa9"), b"cannot log in as root"),
        (message(1, b"PLAIN") + b"\x02\x7f\xff\xff\xff", b"before authentication"),
        (message(1, b"XXXX" * 4) + message(5, b""), b"Unsupported mechanism"),
    ],
)
def test_malformed_exchanges_are_reported(plain_server: Server, said: bytes, told: bytes) -> None:
    with raw(plain_server) as sock:
        sock.sendall(said)
        answer = b""
        while data := sock.recv(4096):
            answer += data
    assert answer[0] == 3
    assert told in answer


@pytest.fixture(scope="module")
def plain_server(start: Callable[..., Server], password_file: Path) -> Server:
    options = [
        "--authentication",
        "password",
        "--password-file",
        str(password_file),
        "--allow-password-without-tls",
        "true",
    ]
    return start(*options)


GOOD = message(1, b"PLAIN") + message(5, b"\0alice\0wonderland-\xc3\xa9")
CALL = b"\x80\x01\x00\x01\x00\x00\x00\x11get_all_databases\x00\x00\x00\x00\x00"


def test_an_exchange_may_arrive_in_any_pieces_and_with_the_first_call(plain_server: Server) -> None:
    data = GOOD + struct.pack("!I", len(CALL)) + CALL
    for size in (1, 7, len(data)):
        with raw(plain_server) as sock:
            for at in range(0, len(data), size):
                sock.send(data[at : at + size])
            answer = b""
            while b"default" not in answer:
                more = sock.recv(4096)
                assert more, answer
                answer += more
            assert answer.startswith(message(5, b""))


@pytest.mark.parametrize(
    "after", [b"\x16\x03\x01\x00\xf4\x01\x00", b"\x01\x00\x00\x00\x05PLAIN", b"POST / HTTP/1.1\r\n"]
)
def test_only_thrift_is_accepted_after_an_exchange(plain_server: Server, after: bytes) -> None:
    with raw(plain_server) as sock:
        sock.sendall(GOOD + struct.pack("!I", len(after)) + after)
        answer = b""
        while data := sock.recv(4096):
            answer += data
        assert answer == message(5, b"")


def test_proxy_users_act_for_others_and_only_they(start: Callable[..., Server], tmp_path: Path) -> None:
    path, groups = tmp_path / "users", tmp_path / "groups"
    for user in ("trino", "alice"):
        PasswordFile(path).add(user, user)
    groups.write_text("analysts: bob\nengines: trino\n")
    options = ["--authentication", "password", "--password-file", str(path), "--allow-password-without-tls", "true"]
    server = start(*options, "--group-mapping", str(groups), "--proxy-users", "trino?groups=analysts&hosts=127.0.0.0/8")

    def connected(user: str) -> MetastoreClient:
        return connect(server.uri, credentials=Credentials(user=user, password=user))

    with connected("trino") as client:
        assert client.methods.set_ugi("trino", []) == ["engines", "trino"]
        assert client.methods.set_ugi("bob", ["admin"]) == ["analysts", "bob"]
        assert client.methods.set_ugi("trino", []) == ["engines", "trino"]
        with pytest.raises(errors.MetastoreRefusedError, match="trino is not allowed to impersonate root"):
            client.methods.set_ugi("root", ["admin"])
        assert client.methods.set_ugi("trino", []) == ["engines", "trino"]
    with connected("alice") as client:
        assert client.methods.set_ugi("bob", ["admin"]) == ["alice"]
