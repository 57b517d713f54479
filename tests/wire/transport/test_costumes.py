"""Every form in which clients speak Thrift is understood, and answered in kind."""

from __future__ import annotations

import socket

import pytest
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TMessageType

from metastore.transport.costume import Costume, detect

from .conftest import COSTUMES, EchoServer
from .messages import call

EVERY_COSTUME = pytest.mark.parametrize("costume", COSTUMES)


@EVERY_COSTUME
def test_calls_of_one_connection_are_one_session(server: EchoServer, costume: str) -> None:
    """Trap 29."""
    client = server.client(costume)
    assert client.getOption("echo häßlich 北京") == "häßlich 北京"
    assert client.getOption("calls") == "2"
    assert client.getOption("peer").startswith("127.0.0.1:")


@EVERY_COSTUME
def test_a_method_that_is_not_served_leaves_the_connection_usable(server: EchoServer, costume: str) -> None:
    client = server.client(costume)
    with pytest.raises(TApplicationException) as refusal:
        client.getOptions()
    assert refusal.value.type == TApplicationException.UNKNOWN_METHOD
    assert client.getOption("echo still here") == "still here"


@EVERY_COSTUME
def test_replies_larger_than_every_buffer_arrive_whole(server: EchoServer, costume: str) -> None:
    client = server.client(costume)
    assert client.getOption("large 5000000") == "x" * 5_000_000
    assert client.getOption("calls") == "2"


@EVERY_COSTUME
def test_pipelined_calls_are_answered_in_order(server: EchoServer, costume: str) -> None:
    client = server.client(costume)
    client.socket.sendall(b"".join(call(f"echo {n}", costume=costume) for n in range(1000)))
    assert [client.recv_getOption() for _ in range(1000)] == [str(n) for n in range(1000)]


@EVERY_COSTUME
def test_nothing_is_sent_for_a_oneway_call(server: EchoServer, costume: str) -> None:
    sock = server.connect()
    sock.sendall(call("echo one", costume=costume, kind=TMessageType.ONEWAY) + call("echo two", costume=costume))
    reply = sock.recv(4096)
    assert b"two" in reply
    assert b"one" not in reply


@EVERY_COSTUME
def test_a_message_may_arrive_byte_by_byte(server: EchoServer, costume: str) -> None:
    sock = server.connect()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in call("echo slowly", costume=costume):
        sock.send(bytes([byte]))
    assert b"slowly" in sock.recv(4096)


@pytest.mark.parametrize(
    ("first", "costume"),
    [
        (b"\x80\x01\x00\x01\x00\x00", Costume(framed=False)),
        (b"\x00\x00\x00\x09getOption"[:6], Costume(framed=False, strict=False)),
        (b"\x82\x21\x07\x09ge", Costume(framed=False, compact=True)),
        (b"\x00\x00\x00\x30\x80\x01", Costume(framed=True)),
        (b"\x05\x00\x00\x00\x80\x01", Costume(framed=True)),
        (b"\x00\x00\x00\x30\x82\x21", Costume(framed=True, compact=True)),
    ],
)
def test_the_first_bytes_tell_the_costume(first: bytes, costume: Costume) -> None:
    assert detect(first) == costume


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (b"GET / ", "HTTP"),
        (b"\x16\x03\x01\x02\x00\x01", "TLS"),
        (b"\x01\x00\x00\x00\x06GSSAPI"[:6], "SASL"),
        (b"\x00\x00\x00\x00\x80\x02", "not Thrift"),
        (b"\xff\xff\xff\xff\x80\x01", "not Thrift"),
    ],
)
def test_strangers_are_named(first: bytes, reason: str) -> None:
    with pytest.raises(TProtocolException, match=reason):
        detect(first)
