"""Spans of calls, as a collector receives them."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from metastore.errors import ConfigurationError
from metastore.monitoring.tracing import Spans
from tests.fixtures.server import Server, connected
from tests.wire.builders import new_table
from thrift_idl.gen.hive_metastore.ttypes import NoSuchObjectException

Start = Callable[..., Server]


class Collector(HTTPServer):
    """A collector that keeps the received spans. `url` is its endpoint."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.spans: list[Span] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1/traces"


class Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        sent = ExportTraceServiceRequest()
        sent.ParseFromString(gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
        self.server.spans += [
            span for resource_span in sent.resource_spans for scope in resource_span.scope_spans for span in scope.spans
        ]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Logs nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.serve_forever)
    thread.start()
    yield collector
    collector.shutdown()
    thread.join()
    collector.server_close()


def test_each_call_is_a_span(database_url: str, start_metastore: Start, collector: Collector) -> None:
    server = start_metastore(database_url, "--traces-endpoint", collector.url)
    with connected(server) as client:
        client.set_ugi("alice", [])
        database, name = new_table(client)
        client.get_table(database, name)
        with pytest.raises(NoSuchObjectException):
            client.get_table(database, "missing")
    assert server.stop() == 0, "the remaining spans are sent when the server stops"
    actual = [span for span in collector.spans if span.name == "metastore/get_table"]
    good, bad = actual
    attributes = {attribute.key: attribute.value for attribute in good.attributes}
    assert attributes["rpc.system"].string_value == "apache_thrift"
    assert attributes["rpc.method"].string_value == "get_table"
    assert attributes["enduser.id"].string_value == "alice"
    assert attributes["metastore.object"].string_value == f"{database}.{name}"
    assert attributes["metastore.outcome"].string_value == "ok"
    assert attributes["metastore.reply_bytes"].int_value > 100
    assert attributes["db.query.summary"].string_value.startswith(("SELECT", "EXECUTE"))
    seconds = (good.end_time_unix_nano - good.start_time_unix_nano) / 1e9
    assert 0 < attributes["metastore.database_seconds"].double_value <= seconds
    assert (good.kind, good.status.code) == (Span.SPAN_KIND_SERVER, Status.STATUS_CODE_UNSET)
    assert bad.status.code == Status.STATUS_CODE_ERROR
    assert "missing" in bad.status.message


def test_calls_do_not_wait_for_an_unreachable_collector(
    database_url: str, start_metastore: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")  # seconds for sending the remaining spans at the end
    server = start_metastore(database_url, "--traces-endpoint", "http://127.0.0.1:1/v1/traces")
    with connected(server) as client:
        assert client.get_all_databases() == ["default"]


def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'metastore\[tracing\]'"):
        Spans("http://127.0.0.1:1/v1/traces", "1")


def test_opentelemetry_is_not_loaded_by_default() -> None:
    code = "import sys, metastore.app.worker; sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
