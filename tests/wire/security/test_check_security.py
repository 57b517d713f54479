"""`metastore check-security` tells which side is misconfigured."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from metastore.cli.check_security import check_security
from metastore.security.passwords import PasswordFile
from tests.fixtures.server import Server

from .conftest import Authority

pytestmark = pytest.mark.slow


def check(uri: str, **shown: str) -> tuple[int, str]:
    environment = {**os.environ, **{f"METASTORE_CLIENT_{name.upper()}": value for name, value in shown.items()}}
    command = [sys.executable, "-m", "metastore.cli", "check-security", uri]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def server(start: Callable[..., Server], tls_options: list[str], tmp_path_factory: pytest.TempPathFactory) -> Server:
    path = tmp_path_factory.mktemp("check") / "users"
    PasswordFile(path).add("alice", "wonderland")
    return start("--tls", "required", "--authentication", "password", "--password-file", str(path), *tls_options)


def test_all_is_well(server: Server, authority: Authority) -> None:
    uri = f"thrift://localhost:{server.port}"
    status, said = check(uri, tls="true", ca=str(authority.pem), user="alice", password="wonderland")
    assert status == 0, said
    for text in ("TLSv1.3 works", "older than 1.2 is rejected", "offers PLAIN", "ok      Credentials accepted, as"):
        assert text in said
    assert "METASTORE_TLS=required" in said
    assert "wonderland" not in said


@pytest.mark.parametrize(
    ("shown", "told"),
    [
        ({"password": "guess"}, "FAILED  Credentials rejected: Error validating the login"),
        ({"tls": ""}, "METASTORE_TLS=required"),
        ({"ca": "/dev/null"}, "client: /dev/null"),
    ],
)
def test_the_wrong_side_is_reported(server: Server, authority: Authority, shown: dict[str, str], told: str) -> None:
    right = {"tls": "true", "ca": str(authority.pem), "user": "alice", "password": "wonderland"}
    status, said = check(f"thrift://localhost:{server.port}", **(right | shown))
    assert (status, told in said, "Traceback" in said) == (1, True, False), said


def test_another_authority(server: Server, strange_authority: Authority) -> None:
    uri = f"thrift://localhost:{server.port}"
    status, said = check(uri, tls="true", ca=str(strange_authority.pem), user="alice", password="wonderland")
    assert status == 1
    assert "client: set METASTORE_CLIENT_CA" in said


def test_another_name(start: Callable[..., Server], authority: Authority) -> None:
    pem = authority.issue("elsewhere.example")
    server = start("--tls", "required", "--tls-certificate", str(pem.chain), "--tls-key", str(pem.key))
    status, said = check(f"thrift://localhost:{server.port}", tls="true", ca=str(authority.pem))
    assert (status, "server: METASTORE_TLS_CERTIFICATE is for other host names" in said) == (1, True), said


def test_an_open_server(metastore_server: Server) -> None:
    status, said = check(metastore_server.uri)
    assert status == 0
    assert "Without credentials: accepted" in said
    assert "No credentials in METASTORE_CLIENT_*" in said


def test_no_server_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    status, said = check(f"thrift://127.0.0.1:{port}")
    assert (status, "Cannot connect" in said) == (1, True)
    status, said = check("nonsense")
    assert (status, said.count("\n")) == (1, 1)


@pytest.mark.parametrize(
    ("says", "told"),
    [
        (b"", "no answer in 0.3 seconds"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "another server answers 'SSH-2.0-OpenSSH_9.2'"),
    ],
)
def test_another_server_listens(
    says: bytes, told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metastore.cli.check_security._PROBE_TIMEOUT", 0.3)
    with ExitStack() as kept, socket.create_server(("127.0.0.1", 0)) as other:
        talking = threading.Thread(target=answer, args=(other, says, kept))
        talking.start()
        assert check_security(f"thrift://127.0.0.1:{other.getsockname()[1]}") == 1
        other.shutdown(socket.SHUT_RDWR)
        talking.join()
    said = capsys.readouterr().out.splitlines()
    assert [line[:8] for line in said[1:]] == ["  FAILED"]
    assert f"No metastore answers: {told}. Check the port" in said[1]


def answer(other: socket.socket, says: bytes, kept: ExitStack) -> None:
    """Sends this text to every client and keeps the connection open."""
    with suppress(OSError):
        while True:
            kept.enter_context(other.accept()[0]).sendall(says)
