"""Bytes of valid and invalid calls."""

from __future__ import annotations

import struct
from typing import Any

from thrift.Thrift import TMessageType
from thrift.transport.TTransport import TMemoryBuffer

from thrift_idl.gen.fb303.FacebookService import getOption_args

from .conftest import WIRE_FORMATS

STOP = b"\x00"


def call(key: str, *, wire_format: str = "binary", name: str = "getOption", kind: int = TMessageType.CALL) -> bytes:
    """Returns a call of getOption, or of a method with the same arguments."""
    buffer = TMemoryBuffer()
    transport, protocol = (WIRE_FORMATS[wire_format][0](buffer), WIRE_FORMATS[wire_format][1])
    writer: Any = protocol(transport)
    writer.writeMessageBegin(name, kind, 7)
    getOption_args(key=key).write(writer)
    writer.writeMessageEnd()
    transport.flush()
    return buffer.getvalue()


def strict(name: str, arguments: bytes) -> bytes:
    """Returns a strict binary call with these bytes as arguments."""
    return b"\x80\x01\x00\x01" + struct.pack("!i", len(name)) + name.encode() + b"\x00\x00\x00\x07" + arguments


def compact(name: str, arguments: bytes) -> bytes:
    """Returns a compact call with these bytes as arguments."""
    return b"\x82\x21\x07" + bytes([len(name)]) + name.encode() + arguments
