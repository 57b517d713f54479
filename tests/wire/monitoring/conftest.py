"""A server with an HTTP port."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import trustme

from tests.fixtures.server import Server
from tests.wire.monitoring.pages import HTTP

Start = Callable[..., Server]


@pytest.fixture
def seen(database_url: str, start_metastore: Start, tmp_path: Path) -> tuple[Server, str]:
    """A server with two workers, a certificate, and an HTTP port. A call of a millisecond counts as slow."""
    certificate = tmp_path / "certificate.pem"
    trustme.CA().issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(str(certificate))
    options = [
        "--http-port",
        "0",
        "--slow-call-threshold",
        "0.001",
        "--metrics-hive-names",
        "true",
        "--tls",
        "allowed",
        "--http-token-file",
        str(tmp_path / "http.token"),
    ]
    server = start_metastore(database_url, "--workers", "2", "--tls-certificate", str(certificate), *options)
    match = HTTP.search(server.ready)
    assert match
    return server, match[1]
