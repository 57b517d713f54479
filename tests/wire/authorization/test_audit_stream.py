"""The audit trail as a stream: a rotated file that several workers write, syslog, and an OpenTelemetry collector."""

from __future__ import annotations

import errno
import json
import logging
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from metastore.app.security import check_security_settings
from metastore.app.worker import make_application
from metastore.errors import ConfigurationError
from metastore.monitoring.audit_stream import audit_handlers
from metastore.settings import Settings
from tests.wire.authorization.test_costs import Client
from thrift_idl.gen.hive_metastore.ttypes import Database


def lines(folder: Path) -> list[dict[str, Any]]:
    """Returns the lines of the file and of the files that were rotated."""
    return [json.loads(line) for file in sorted(folder.glob("audit*")) for line in file.read_text().splitlines()]


def test_lines_go_to_a_rotated_file_and_to_syslog(database_url: str, tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as syslog:
        syslog.bind(("127.0.0.1", 0))
        syslog.settimeout(30)
        stream = f"file:{tmp_path}/audit.json?max_size=2KiB&backups=50 syslog://127.0.0.1:{syslog.getsockname()[1]}"
        settings = Settings(warehouse=str(tmp_path / "w"), database_url=database_url, audit="log", audit_stream=stream)
        workers = [make_application(settings, database_url) for _ in range(2)]
        names = [f"db{number}" for number in range(20)]
        for number, name in enumerate(names):
            Client(workers[number % 2], "alice").create_database(Database(name=name))
            workers[number % 2]._audit.tell()  # type: ignore[union-attr]
        assert b'"method": "create_database"' in syslog.recv(65536)
        for worker in workers:
            worker.close()
    told = [line for line in lines(tmp_path) if line["method"] == "create_database"]
    assert sorted(line["objects"].split(",")[-1] for line in told) == sorted(names)
    assert {line["user"] for line in told} == {"alice"}
    assert len(list(tmp_path.glob("audit*"))) > 2


class Collector(BaseHTTPRequestHandler):
    received: list[bytes]

    def do_POST(self) -> None:
        self.received.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """The test's output stays readable."""


@pytest.fixture
def collector() -> Iterator[tuple[str, list[bytes]]]:
    received: list[bytes] = []
    handler = type("Received", (Collector,), {"received": received})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/logs", received
        server.shutdown()


def test_lines_go_to_a_collector(
    database_url: str, tmp_path: Path, collector: tuple[str, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    url, received = collector
    settings = Settings(
        warehouse=str(tmp_path / "w"), database_url=database_url, audit="log", audit_stream=f"otlp:{url}"
    )
    worker = make_application(settings, database_url)
    Client(worker, "alice").create_database(Database(name="told"))
    worker._audit.tell()  # type: ignore[union-attr]
    worker.close()
    assert any(b"create_database" in data and b"told" in data for data in received)


def test_no_part_of_a_line_stays_in_a_file_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (handler,) = audit_handlers(f"file:{tmp_path}/audit.json")

    def flush_and_fail() -> None:
        handler.stream.flush()  # type: ignore[attr-defined]
        raise OSError(errno.ENOSPC, "No space left on device")

    def write(text: str) -> None:
        handler.handle(logging.makeLogRecord({"msg": text}))

    write("first")
    with monkeypatch.context() as full:
        full.setattr(handler, "flush", flush_and_fail)
        with pytest.raises(OSError, match="No space left"):
            write("second")
    write("third")
    lines = (tmp_path / "audit.json").read_text().splitlines()
    assert [json.loads(line)["message"] for line in lines] == ["first", "third"]


@pytest.mark.parametrize(
    "text",
    [
        "audit.json",
        "file:",
        "file:/nowhere/audit.json",
        "file:{folder}?max_size=1",
        "file:{folder}/a?size=1",
        "file:{folder}/a?max_size=much",
        "file:{folder}/a?backups=few",
        "syslog:",
        "syslog:/nowhere/log",
        "syslog://host:port",
        "otlp://host",
        "kafka://host",
    ],
)
def test_a_stream_that_cannot_work_prevents_the_start(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match="audit_stream"):
        audit_handlers(text.format(folder=tmp_path))


def test_a_stream_without_a_trail_prevents_the_start() -> None:
    with pytest.raises(ConfigurationError, match="audit=log"):
        check_security_settings(Settings(audit_stream="syslog://127.0.0.1"))
