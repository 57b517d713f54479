"""TLS to a MySQL source that the address requires."""

from __future__ import annotations

import socket
import struct
import threading
from pathlib import Path

import pytest

from metastore.errors import ConfigurationError, UnavailableError
from metastore.importing.sources.opening import open_source

_TLS = 0x800  # CLIENT_SSL, a capability
_CAPABILITIES = 0x001AF7FF & ~_TLS  # of a server, or of somebody who has removed it


def greeting() -> bytes:
    """Returns the first packet of a MySQL server (protocol 10) without TLS."""
    low, high = _CAPABILITIES & 0xFFFF, _CAPABILITIES >> 16
    body = b"\x0a8.0.36\0" + struct.pack("<I", 1) + b"12345678\0" + struct.pack("<HBHHB", low, 45, 2, high, 21)
    body += bytes(10) + b"123456789012\0" + b"mysql_clear_password\0"
    return struct.pack("<I", len(body)) + body  # the fourth byte of the length is the number of the packet


@pytest.mark.parametrize("parameters", ["ssl=true", "ssl", "ssl_ca="])
def test_a_password_is_not_sent_without_tls(parameters: str) -> None:
    received = []

    def serve(listening: socket.socket) -> None:
        with listening.accept()[0] as accepted:
            accepted.sendall(greeting())
            received.append(accepted.recv(1000))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = threading.Thread(target=serve, args=(listening,))
        serving.start()
        with pytest.raises(UnavailableError, match="SSL"):
            open_source(f"mysql://user:secret@127.0.0.1:{listening.getsockname()[1]}/hive?{parameters}")
        serving.join()
    assert received == [b""]


@pytest.mark.parametrize("parameter", ["sslmode=require", "useSSL=true", "ssl-mode=REQUIRED", "tls=true", "ssl=false"])
def test_a_parameter_for_tls_of_another_client_is_not_ignored(parameter: str) -> None:
    with pytest.raises(ConfigurationError, match=parameter.partition("=")[0]):
        open_source(f"mysql://user:secret@127.0.0.1:1/hive?{parameter}")


def test_an_authority_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate")
    for file in (tmp_path / "missing.pem", bad):
        with pytest.raises(ConfigurationError, match=f"ssl_ca={file} cannot be read"):
            open_source(f"mysql://user:secret@127.0.0.1:1/hive?ssl_ca={file}")
