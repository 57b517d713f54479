"""Connections of trusted proxies begin with a header that names their client."""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress

import pytest

from metastore.transport.listener import Listener
from metastore.transport.proxy_protocol import ProxyHeaders

from .conftest import EchoServer
from .messages import call

pytestmark = pytest.mark.slow

PROXY = "127.0.0.1"  # everything else of 127.0.0.0/8 is not a proxy
SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
TLV = b"\x04\x00\x03abc"


def version_2(command: int, family: int, addresses: bytes) -> bytes:
    return SIGNATURE + bytes([0x20 | command, family]) + struct.pack("!H", len(addresses)) + addresses


IPV4 = socket.inet_pton(socket.AF_INET, "10.1.2.3") + socket.inet_pton(socket.AF_INET, "10.0.0.1")
IPV6 = socket.inet_pton(socket.AF_INET6, "2001:db8::7") + socket.inet_pton(socket.AF_INET6, "2001:db8::1")
MAPPED = socket.inet_pton(socket.AF_INET6, "::ffff:10.1.2.3") + socket.inet_pton(socket.AF_INET6, "::1")
PORTS = struct.pack("!HH", 4711, 9083)

HEADERS = {
    "1, IPv4": (b"PROXY TCP4 10.1.2.3 10.0.0.1 4711 9083\r\n", "10.1.2.3:4711"),
    "1, IPv6": (b"PROXY TCP6 2001:db8::7 2001:db8::1 4711 9083\r\n", "[2001:db8::7]:4711"),
    "2, IPv4": (version_2(1, 0x11, IPV4 + PORTS), "10.1.2.3:4711"),
    "2, IPv4 and more": (version_2(1, 0x11, IPV4 + PORTS + TLV), "10.1.2.3:4711"),
    "2, IPv6": (version_2(1, 0x21, IPV6 + PORTS), "[2001:db8::7]:4711"),
    "2, IPv4 as IPv6": (version_2(1, 0x21, MAPPED + PORTS), "10.1.2.3:4711"),
}
NO_CLIENT = {
    "1": b"PROXY UNKNOWN\r\n",
    "2, a health check": version_2(0, 0x00, b""),
    "2, a health check with addresses": version_2(0, 0x11, IPV4 + PORTS),
    "2, of a Unix socket": version_2(1, 0x31, bytes(216)),
}
INVALID = {
    "Thrift": call("peer"),
    "a long line": b"PROXY TCP4 " + b"1" * 5000,
    "an address of letters": b"PROXY TCP4 ten 10.0.0.1 4711 9083\r\n",
    "a port beyond 65535": b"PROXY TCP4 10.1.2.3 10.0.0.1 65536 9083\r\n",
    "missing addresses": version_2(1, 0x11, IPV4),
    "a long header": SIGNATURE + b"\x21\x11\xff\xff",
    "another version": SIGNATURE + b"\x31\x11\x00\x00",
    "another command": SIGNATURE + b"\x2f\x11\x00\x00",
    "a Unix socket of no text": version_2(1, 0x31, b"\xff" * 216),
}


@pytest.fixture(scope="module")
def proxied() -> Iterator[EchoServer]:
    server = EchoServer(workers=1, proxies=f"10.0.0.0/8,{PROXY}", max_connections_per_address=3)
    yield server
    server.close()


@pytest.mark.parametrize(("header", "client"), HEADERS.values(), ids=HEADERS)
def test_the_client_is_the_one_that_the_header_names(proxied: EchoServer, header: bytes, client: str) -> None:
    for pieces in ([header + call("peer")], [bytes([byte]) for byte in header + call("peer")]):
        sock = proxied.connect()
        for piece in pieces:
            sock.sendall(piece)
        assert client.encode() in sock.recv(4096)
        sock.close()


@pytest.mark.parametrize("header", NO_CLIENT.values(), ids=NO_CLIENT)
def test_without_a_client_the_address_is_the_proxys(proxied: EchoServer, header: bytes) -> None:
    sock = proxied.connect()
    sock.sendall(header + call("peer"))
    assert f"{PROXY}:{sock.getsockname()[1]}".encode() in sock.recv(4096)
    sock.close()


@pytest.mark.parametrize("header", INVALID.values(), ids=INVALID)
def test_a_connection_without_a_valid_header_is_closed(proxied: EchoServer, header: bytes) -> None:
    sock = proxied.connect()
    sock.sendall(header)
    with suppress(ConnectionResetError):  # bytes behind the error are unread
        assert sock.recv(4096) == b""
    port = sock.getsockname()[1]
    proxied.wait_for_log(f"connection from {PROXY}:{port} closed: it does not begin with a valid PROXY header")


def test_waiting_connections_do_not_hold_up_others(proxied: EchoServer) -> None:
    silent = [proxied.connect() for _ in range(300)]
    proxied.wait_for_log("closed: 256 connections wait for PROXY headers")
    for sock in silent:
        sock.close()
    header, client = HEADERS["1, IPv4"]
    sock = proxied.connect()
    sock.sendall(header + call("peer"))
    assert client.encode() in sock.recv(4096)
    sock.close()


def test_a_header_that_has_arrived_does_not_wait() -> None:
    """Otherwise most of 1,000 clients that connect again at once would be closed."""
    admitted = []
    headers = ProxyHeaders(lambda _, peer, __: admitted.append(peer))
    header, client = HEADERS["1, IPv4"]
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(header)
        headers.put(theirs, f"{PROXY}:1", Listener())
    assert admitted == [client]


def test_a_connection_that_cannot_be_admitted_does_not_end_the_thread() -> None:
    def admit(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    headers = ProxyHeaders(admit)
    ours, theirs = socket.socketpair()
    with ours:
        headers.put(theirs, f"{PROXY}:1", Listener())
        ours.sendall(HEADERS["1, IPv4"][0])
        headers._receive(headers._waiting[theirs.fileno()])
        assert ours.recv(1) == b""
    assert not headers._waiting


def test_other_addresses_cannot_name_a_client(proxied: EchoServer) -> None:
    assert proxied.client(source="127.0.0.2").getOption("peer").startswith("127.0.0.2:")
    sock = socket.create_connection((PROXY, proxied.port), source_address=("127.0.0.2", 0))
    sock.sendall(HEADERS["1, IPv4"][0] + call("peer"))
    assert b"127.0.0" not in sock.recv(4096)
    sock.close()


def test_clients_behind_one_proxy_are_limited_apart(proxied: EchoServer) -> None:
    def connect(client: str) -> socket.socket:
        sock = proxied.connect()
        sock.sendall(f"PROXY TCP4 {client} 10.0.0.1 1 9083\r\n".encode() + call("peer"))
        return sock

    assert all(b"10.9.9.1:1" in connect("10.9.9.1").recv(4096) for _ in range(3))
    assert b"max_connections_per_address=3 of 10.9.9.1" in connect("10.9.9.1").recv(4096)
    assert b"10.9.9.2:1" in connect("10.9.9.2").recv(4096)
