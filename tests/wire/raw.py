"""Calls that no generated client sends: any bytes for a text, any type for a field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol, TBinaryProtocolAccelerated
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from metastore.handlers.registry import served
from tests.fixtures.server import Server
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore

_WRITE: dict[int, Callable[[Any], None]] = {
    TType.BOOL: lambda out: out.writeBool(True),
    TType.I32: lambda out: out.writeI32(7),
    TType.DOUBLE: lambda out: out.writeDouble(0.5),
    TType.STRING: lambda out: out.writeString("text"),
    TType.STRUCT: lambda out: out.writeFieldStop(),
}


class _BytesProtocol(TBinaryProtocol):  # type: ignore[misc]
    r"""Writes lone surrogates of a text as the bytes that they represent: `"\udcff"` is the byte 0xFF."""

    def writeString(self, str_val: str) -> None:  # noqa: N802 - Thrift's name
        self.writeBinary(str_val.encode("utf-8", "surrogateescape"))


@contextmanager
def bytes_client(server: Server) -> Iterator[Any]:
    """A generated client whose texts may hold any bytes."""
    transport = TBufferedTransport(TSocket(server.host, server.port))
    transport.open()
    yield ThriftHiveMetastore.Client(TBinaryProtocolAccelerated(transport), _BytesProtocol(transport))
    transport.close()


class RawClient:
    """Writes calls field by field."""

    def __init__(self, server: Server, protocol: Any = TBinaryProtocol) -> None:
        self._transport = TBufferedTransport(TSocket(server.host, server.port))
        self._transport.open()
        self._protocol = protocol(self._transport)

    def call(self, method: str, fields: Sequence[tuple[int, int, Callable[[Any], None]]]) -> Any:
        """`fields`: number, type and writer of each argument. Returns the result struct, or TApplicationException."""
        out = self._protocol
        out.writeMessageBegin(method, TMessageType.CALL, 1)
        out.writeStructBegin("")
        for number, kind, write in fields:
            out.writeFieldBegin("", kind, number)
            write(out)
            out.writeFieldEnd()
        out.writeFieldStop()
        out.writeStructEnd()
        out.writeMessageEnd()
        self._transport.flush()
        _, kind, _ = out.readMessageBegin()
        result = served()[method].result
        assert result is not None
        answer = TApplicationException() if kind == TMessageType.EXCEPTION else result()
        answer.read(out)
        out.readMessageEnd()
        return answer

    def close(self) -> None:
        self._transport.close()


def value(kind: int) -> Callable[[Any], None]:
    """Writes a value of a basic type."""
    return _WRITE[kind]


def other(kind: int) -> int:
    """Returns another type than this one."""
    return TType.STRUCT if kind != TType.STRUCT else TType.STRING


def list_of(kind: int) -> Callable[[Any], None]:
    """Writes a list with one element."""

    def write(out: Any) -> None:
        out.writeListBegin(kind, 1)
        _WRITE[kind](out)
        out.writeListEnd()

    return write


PROTOCOLS = {"binary": TBinaryProtocol, "compact": TCompactProtocol}
