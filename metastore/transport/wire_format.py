"""Thrift wire formats: strict and old binary, and compact; each framed or unframed."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from thrift.protocol import fastbinary
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TCompactProtocol import TCompactProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolBase, TProtocolException
from thrift.Thrift import TApplicationException, TType
from thrift.transport.TTransport import TTransportBase, TTransportException

PEEKED: Final = 6  # bytes that identify the wire format; the smallest message has more
_DEPTH: Final = 64  # levels of nesting that the C decoder allows
_NEGATIVE: Final = "negative length"  # the C decoder adds the limit to this text, which would mislead
_MAX_NAME: Final = 256  # bytes, and characters, of a method's name
_STRICT: Final = b"\x80\x01"
_HEAD: Final = struct.Struct("!Ii")  # version and TMessageType; length of the method's name
_SEQUENCE: Final = struct.Struct("!i")
_VERSION: Final = 0x80010000
_COMPACT: Final = 0x82


@dataclass(frozen=True)
class WireFormat:
    """The wire format of one connection."""

    framed: bool
    compact: bool = False
    strict: bool = True

    @property
    def name(self) -> str:
        """The name for metrics and logs. Strict and old binary have the same: only their message heads differ."""
        return ("framed " if self.framed else "") + ("compact" if self.compact else "binary")

    def protocol(self, transport: TTransportBase, max_string: int, max_container: int) -> TProtocolBase:
        """Returns a protocol on `transport`. Limits: bytes of a string, elements of a container."""
        limits = {"string_length_limit": max_string, "container_length_limit": max_container}
        if self.compact:
            return CompactProtocol(transport, **limits)
        return BinaryProtocol(transport, strictWrite=self.strict, **limits)


def detect(first: bytes) -> WireFormat:
    """Returns the wire format of a connection that begins with `first` (PEEKED bytes).

    The rule is Thrift's (THeaderTransport, TBinaryProtocol.readMessageBegin): a strict binary message begins with
    80 01, a compact one with 82. Anything else is the length of a frame or, in the old binary protocol, of the
    method's name. Raises TProtocolException if it is neither.
    """
    if first.startswith(_STRICT):
        return WireFormat(framed=False)
    if first[0] == _COMPACT:
        return WireFormat(framed=False, compact=True)
    positive = first[0] < 0x80
    if first[4:6] == _STRICT and positive:
        return WireFormat(framed=True)
    if first[4] == _COMPACT and positive:
        return WireFormat(framed=True, compact=True)
    if 0 < int.from_bytes(first[:4], "big") <= _MAX_NAME:
        return WireFormat(framed=False, strict=False)
    raise TProtocolException(TProtocolException.BAD_VERSION, f"not Thrift: it begins with {first!r}")


class SkippedStruct:
    """The target for skipped structs: it has no fields, so the decoder skips all of them."""


def _describe_size(protocol: TProtocolBase, text: str) -> str:
    """Adds to the decoder's error about a size which limit it has exceeded, judging by the limit's value."""
    if text.startswith(_NEGATIVE):
        return _NEGATIVE
    if not text.startswith("size exceeded"):
        return text
    if text.endswith(f": {protocol.container_length_limit}"):
        return f"{text} elements of a container, at most one per byte (METASTORE_MAX_CONTAINER_LENGTH)"
    return f"{text} bytes of a text (METASTORE_MAX_MESSAGE_BYTES)"


def too_deep() -> TProtocolException:
    """Returns the error for values that are nested too deeply."""
    text = f"malformed message: recursion depth of more than {_DEPTH} levels"
    return TProtocolException(TProtocolException.DEPTH_LIMIT, text)


class _Guarded(TProtocolBase):  # type: ignore[misc]
    """Adds to Thrift's protocols: limited names, skipping in C, one exception for malformed bytes."""

    _decoder: Callable[[object, TProtocolBase, object], None]
    string_length_limit: int

    def __init__(self, transport: TTransportBase, **options: Any) -> None:
        super().__init__(transport, fallback=False, **options)
        del self._fast_decode  # Thrift's decoder, which hides the method of this class

    def readMessageBegin(self) -> tuple[str, int, int]:  # noqa: N802 - Thrift's name
        """Returns the method's name, the TMessageType and the sequence number. Raises TProtocolException."""
        try:
            name, kind, sequence = self._read_head()
        except ValueError as error:
            raise TProtocolException(TProtocolException.INVALID_DATA, f"malformed header: {error}") from error
        if len(name) > _MAX_NAME:
            raise TProtocolException(TProtocolException.SIZE_LIMIT, f"a method's name of {len(name)} characters")
        return name, kind, sequence

    def _read_head(self) -> tuple[str, int, int]:
        """Rejects a name that is too long before it has arrived: it would be buffered and decoded."""
        limit, self.string_length_limit = self.string_length_limit, _MAX_NAME
        try:
            head: tuple[str, int, int] = super().readMessageBegin()
        except TTransportException as error:
            if error.type != TTransportException.SIZE_LIMIT:
                raise
            text = f"a method's name of more than {_MAX_NAME} bytes"
            raise TProtocolException(TProtocolException.SIZE_LIMIT, text) from error
        finally:
            self.string_length_limit = limit
        return head

    def skip(self, ttype: int, max_depth: int = 64) -> None:
        """Skips a value; a struct, such as the arguments of an unsupported method, in C."""
        if ttype == TType.STRUCT:
            self._decode(SkippedStruct(), [SkippedStruct, ()])
        else:
            super().skip(ttype, max_depth)

    def _fast_decode(self, target: object, _: TProtocolBase, type_arguments: object) -> None:
        """Decodes a struct. The generated code calls it.

        If a list or map has other elements than the IDL says, skips the struct and raises TApplicationException: the
        call is answered with it, and the connection continues.
        """
        self.trans.mark()
        try:
            self._decode(target, type_arguments)
        except TProtocolException as error:
            if not isinstance(error.__cause__, TypeError):
                raise
            self.trans.rewind()
            self._decode(SkippedStruct(), [SkippedStruct, ()])
            raise TApplicationException(TApplicationException.PROTOCOL_ERROR, str(error.__cause__)) from error
        finally:
            self.trans.mark()  # bytes before the mark can be removed

    def _decode(self, target: object, type_arguments: object) -> None:
        """Decodes a struct in C. Each error about malformed bytes becomes a TProtocolException."""
        try:
            self._decoder(target, self, type_arguments)
        except OverflowError as error:
            text = f"malformed message: {_describe_size(self, str(error))}"
            raise TProtocolException(TProtocolException.SIZE_LIMIT, text) from error
        except (TypeError, ValueError, SystemError) as error:
            raise TProtocolException(TProtocolException.INVALID_DATA, f"malformed message: {error}") from error
        except TProtocolException as error:
            if error.type != TProtocolException.DEPTH_LIMIT:
                raise
            raise too_deep() from error


class BinaryProtocol(_Guarded, TBinaryProtocolAccelerated):  # type: ignore[misc]
    """Thrift's binary protocol."""

    _decoder = staticmethod(fastbinary.decode_binary)

    def _read_head(self) -> tuple[str, int, int]:
        """Reads the head of a message in two reads, where Thrift's own code takes a dozen."""
        if not self.strictWrite:
            return super()._read_head()
        version, size = _HEAD.unpack(self.trans.readAll(_HEAD.size))
        if version & 0xFFFF0000 != _VERSION:
            raise TProtocolException(TProtocolException.BAD_VERSION, f"a message that begins with {version:08x}")
        if not 0 <= size <= _MAX_NAME:
            raise TProtocolException(TProtocolException.SIZE_LIMIT, f"a method's name of {size} bytes")
        rest = self.trans.readAll(size + _SEQUENCE.size)
        return rest[:size].decode(), version & 0xFF, _SEQUENCE.unpack_from(rest, size)[0]

    def writeMessageBegin(self, name: str, type: int, seqid: int) -> None:  # noqa: A002, N802 - Thrift's names
        """Writes the head of a message in one write."""
        if not self.strictWrite:
            super().writeMessageBegin(name, type, seqid)
            return
        method = name.encode()
        self.trans.write(_HEAD.pack(_VERSION | type, len(method)) + method + _SEQUENCE.pack(seqid))


class CompactProtocol(_Guarded, TCompactProtocolAccelerated):  # type: ignore[misc]
    """Thrift's compact protocol."""

    _decoder = staticmethod(fastbinary.decode_compact)
