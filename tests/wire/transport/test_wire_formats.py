"""Every wire format of Thrift is read, and answered in the same format."""

from __future__ import annotations

import socket

import pytest
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TMessageType

from metastore.transport.wire_format import WireFormat, detect

from .conftest import WIRE_FORMATS, EchoServer
from .messages import call

EVERY_WIRE_FORMAT = pytest.mark.parametrize("wire_format", WIRE_FORMATS)


@EVERY_WIRE_FORMAT
def test_calls_of_one_connection_are_one_session(server: EchoServer, wire_format: str) -> None:
    """Trap 29."""
    client = server.client(wire_format)
    assert client.getOption("echo häßlich 北京") == "häßlich 北京"
    assert client.getOption("calls") == "2"
    assert client.getOption("peer").startswith("127.0.0.1:")


@EVERY_WIRE_FORMAT
def test_a_method_that_is_not_served_leaves_the_connection_usable(server: EchoServer, wire_format: str) -> None:
    client = server.client(wire_format)
    with pytest.raises(TApplicationException) as refusal:
        client.getOptions()
    assert refusal.value.type == TApplicationException.UNKNOWN_METHOD
    assert client.getOption("echo still here") == "still here"


@EVERY_WIRE_FORMAT
def test_replies_larger_than_every_buffer_arrive_whole(server: EchoServer, wire_format: str) -> None:
    client = server.client(wire_format)
    assert client.getOption("large 5000000") == "x" * 5_000_000
    assert client.getOption("calls") == "2"


@EVERY_WIRE_FORMAT
def test_pipelined_calls_are_answered_in_order(server: EchoServer, wire_format: str) -> None:
    client = server.client(wire_format)
    client.socket.sendall(b"".join(call(f"echo {n}", wire_format=wire_format) for n in range(1000)))
    assert [client.recv_getOption() for _ in range(1000)] == [str(n) for n in range(1000)]


@EVERY_WIRE_FORMAT
def test_nothing_is_sent_for_a_oneway_call(server: EchoServer, wire_format: str) -> None:
    sock = server.connect()
    sock.sendall(
        call("echo one", wire_format=wire_format, kind=TMessageType.ONEWAY) + call("echo two", wire_format=wire_format)
    )
    reply = sock.recv(4096)
    assert b"two" in reply
    assert b"one" not in reply


@EVERY_WIRE_FORMAT
def test_a_message_may_arrive_byte_by_byte(server: EchoServer, wire_format: str) -> None:
    sock = server.connect()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in call("echo slowly", wire_format=wire_format):
        sock.send(bytes([byte]))
    assert b"slowly" in sock.recv(4096)


@pytest.mark.parametrize(
    ("first", "wire_format"),
    [
        (b"\x80\x01\x00\x01\x00\x00", WireFormat(framed=False)),
        (b"\x00\x00\x00\x09getOption"[:6], WireFormat(framed=False, strict=False)),
        (b"\x82\x21\x07\x09ge", WireFormat(framed=False, compact=True)),
        (b"\x00\x00\x00\x30\x80\x01", WireFormat(framed=True)),
        (b"\x05\x00\x00\x00\x80\x01", WireFormat(framed=True)),
        (b"\x00\x00\x00\x30\x82\x21", WireFormat(framed=True, compact=True)),
    ],
)
def test_the_first_bytes_determine_the_wire_format(first: bytes, wire_format: WireFormat) -> None:
    assert detect(first) == wire_format


@pytest.mark.parametrize("first", [b"GET / ", b"\x00\x00\x00\x00\x80\x02", b"\xff\xff\xff\xff\x80\x01"])
def test_other_bytes_are_rejected(first: bytes) -> None:
    with pytest.raises(TProtocolException, match="not Thrift: it begins with"):
        detect(first)
