"""Access control of the HTTP port, and its limits for broken and slow clients."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.server import Server
from tests.wire.monitoring.pages import HTTP, is_closed, page, status

Start = Callable[..., Server]


def test_calls_require_the_token_and_a_host_name_of_the_server(seen: tuple[Server, str], tmp_path: Path) -> None:
    _, url = seen
    token_file = tmp_path / "http.token"
    assert token_file.stat().st_mode & 0o777 == 0o600
    token = token_file.read_text().strip()
    for path in ("/calls/now", "/calls/slow", "/calls/missing", "/calls/"):
        good = 404 if path in ("/calls/missing", "/calls/") else 200
        assert status(f"{url}{path}") == 401
        assert status(f"{url}{path}", Authorization="Bearer wrong") == 401
        assert status(f"{url}{path}", Authorization=token) == 401
        assert status(f"{url}{path}", Authorization=f"Bearer {token}") == good
        assert status(f"{url}{path}", Authorization=f"Bearer {token}", Host="localhost:1") == good
        for host in ("evil.example", "127.0.0.1.evil.example:80", "169.254.0.1", "[::1", ""):
            assert status(f"{url}{path}", Authorization=f"Bearer {token}", Host=host) in (400, 403), host
    for path in ("/metrics", "/health/live", "/health/ready"):
        assert status(f"{url}{path}", Host="metastore.example") == 200


def test_host_names_can_be_allowed(database_url: str, start_metastore: Start, tmp_path: Path) -> None:
    token_file = tmp_path / "http.token"
    token_file.write_text("chosen by the operator\n")
    token_file.chmod(0o600)
    options = ["--http-token-file", str(token_file), "--http-allowed-hosts", "Metastore.example, other"]
    match = HTTP.search(start_metastore(database_url, "--http-port", "0", *options).ready)
    assert match
    headers = {"Authorization": "Bearer chosen by the operator"}
    for host, code in (("metastore.example:9084", 200), ("OTHER", 200), ("another", 403)):
        assert status(f"{match[1]}/calls/now", Host=host, **headers) == code


def test_calls_are_disabled_if_the_token_file_cannot_be_written(
    database_url: str, start_metastore: Start, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    data_dir = tmp_path / "file" / "data"  # a directory below a file cannot be created
    server = start_metastore(database_url, "--http-port", "0", "--data-dir", str(data_dir))
    match = HTTP.search(server.ready)
    assert match
    assert "/calls on the HTTP port is disabled" in server.log.read_text()
    assert status(f"{match[1]}/calls/now", Authorization="Bearer ") == 401
    assert status(f"{match[1]}/health/ready") == 200


def test_a_broken_connection_leaves_no_traceback_in_the_log(database_url: str, start_metastore: Start) -> None:
    server = start_metastore(database_url, "--http-port", "0")
    match = HTTP.search(server.ready)
    assert match
    host, port = match[1].removeprefix("http://").split(":")
    for message in (b"GET /met", b"no HTTP\r\n\r\n", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"):
        with socket.create_connection((host, int(port)), 20) as client:
            client.sendall(message)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
    for path in ("/metrics", "/logout", "/nowhere"):  # the error is in the body, when the application has begun
        with socket.create_connection((host, int(port)), 20) as client:
            head = f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nTransfer-Encoding: chunked\r\n\r\n"
            client.sendall(head.encode() + b"not a chunk\r\n")
            assert client.recv(1000).startswith(b"HTTP/1.1 400")
    assert page(f"{match[1]}/health/ready") == "ready\n"
    assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()
    assert "Error" not in server.log.read_text()


def test_uvicorn_and_starlette_are_not_loaded_at_the_start() -> None:
    names = "{'uvicorn', 'starlette', 'prometheus_client'}"
    code = f"import sys, metastore.cli.serve; sys.exit(bool({names} & {{*sys.modules}}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_incomplete_requests_block_no_other_client(seen: tuple[Server, str]) -> None:
    port = int(seen[1].rpartition(":")[2])
    halves = [socket.create_connection(("127.0.0.1", port), 20) for _ in range(70)]
    try:
        for half in halves:
            half.sendall(b"GET /metr")
        assert "metastore_" in page(f"{seen[1]}/metrics")
        assert all(is_closed(half) for half in halves[:6]), "the oldest connections are closed"
        halves[-1].sendall(b"ics HTTP/1.0\r\n\r\n")
        assert halves[-1].recv(12) == b"HTTP/1.1 200"
    finally:
        for half in halves:
            half.close()


def test_a_port_in_use_is_reported(database_url: str, start_metastore: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(AssertionError, match="the port is in use"):
            start_metastore(database_url, "--http-port", port)
