"""Addresses in the forms that users write."""

from __future__ import annotations

import socket
import struct
import threading

import pytest
from thrift.Thrift import TType

from metastore.client import Address, Credentials, connect, parse_uris
from metastore.client.connection import Connection, NoReplyError
from metastore.client.errors import InvalidAddressError, MetastoreUnavailableError


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("thrift://a:1", [Address("a", 1)]),
        (" thrift://a:1 , thrift://b ", [Address("a", 1), Address("b", 9083)]),
        ("thrift://[::1]:9083", [Address("::1", 9083)]),
        (["thrift://a", "thrift://b:2"], [Address("a"), Address("b", 2)]),
    ],
)
def test_parse_uris(text: str | list[str], addresses: list[Address]) -> None:
    assert parse_uris(text) == tuple(addresses)


@pytest.mark.parametrize(
    "text",
    [None, [], "", ",", "a:1", "http://a:1", "thrift://", "thrift://a:x", "thrift://a:1/db", "thrift://a:99999"],
)
def test_rubbish_is_named(text: str | list[str] | None) -> None:
    with pytest.raises(InvalidAddressError, match="thrift://host:9083"):
        parse_uris(text)


@pytest.mark.parametrize("address", [Address("a", 1), Address("::1", 2)])
def test_an_address_prints_as_it_is_written(address: Address) -> None:
    assert parse_uris(str(address)) == (address,)


def test_the_reason_why_a_server_is_not_reached_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(MetastoreUnavailableError, match=rf"thrift://127.0.0.1:{port} \(Connection refused\)"):
        connect(f"thrift://127.0.0.1:{port}").check_reachable()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (struct.pack(">bi", TType.STRING, -5), "negative length"),
        (struct.pack(">bi", TType.I32, 1) + bytes(8), "is not valid: got wrong ttype"),
    ],
)
def test_an_invalid_reply_is_no_reply(content: bytes, reason: str) -> None:
    name = b"get_all_databases"
    reply = struct.pack(">Ii", 0x80010002, len(name)) + name + struct.pack(">i", 0)
    reply += struct.pack(">bh", TType.LIST, 0) + content

    def answer(listener: socket.socket) -> None:
        with listener.accept()[0] as client:
            client.recv(4096)
            client.sendall(reply)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=answer, args=[listener])
        server.start()
        address = Address("127.0.0.1", listener.getsockname()[1])
        connection = Connection(address, connect_timeout=10, timeout=10, user=None, credentials=Credentials())
        with pytest.raises(NoReplyError, match=reason):
            connection.call(name.decode())
        connection.close()
        server.join()
