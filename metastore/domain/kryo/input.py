"""Decoder of Kryo's numbers and texts: version 3 (Hive 2.3, 3.1) is big-endian, version 5 (Hive 4) little-endian."""

from __future__ import annotations

import struct

from metastore.errors import InvalidInputError

MAX_BYTES = 1 << 20


class UnreadableExpressionError(InvalidInputError):
    """The bytes are not an expression of a supported Hive version. The text describes the problem."""


class Input:
    """A cursor over the bytes. Every method raises UnreadableExpressionError if the data ends too early."""

    def __init__(self, data: bytes, version: int) -> None:
        """Raises UnreadableExpressionError for more than MAX_BYTES. `version` is that of Kryo: 3 or 5."""
        if len(data) > MAX_BYTES:
            raise UnreadableExpressionError(f"it has {len(data):,} bytes; the maximum is {MAX_BYTES:,}")
        self._data = data
        self._position = 0
        self.version = version
        self._order = ">" if version == 3 else "<"

    @property
    def left(self) -> int:
        """Number of bytes that have not been read yet."""
        return len(self._data) - self._position

    def byte(self) -> int:
        """Reads an unsigned byte."""
        if self._position >= len(self._data):
            raise UnreadableExpressionError("it ends too early")
        value = self._data[self._position]
        self._position += 1
        return value

    def boolean(self) -> bool:
        """Reads a boolean."""
        return self.byte() == 1

    def varint(self, bits: int = 32) -> int:
        """Reads an unsigned variable-length number: 7 bits per byte, the lowest first.

        The ninth byte of a 64-bit number has 8 bits.
        """
        value = shift = 0
        while shift < bits:
            byte = self.byte()
            if shift == 56:
                return value | byte << shift
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & ((1 << bits) - 1)
            shift += 7
        raise UnreadableExpressionError("a number is too long")

    def zigzag(self, bits: int = 32) -> int:
        """Reads a signed variable-length number. The lowest bit is the sign."""
        value = self.varint(bits)
        return (value >> 1) ^ -(value & 1)

    def flagged(self) -> tuple[bool, int]:
        """Reads a flag and a variable-length number. The first byte has the flag, a continuation bit and 6 bits."""
        first = self.byte()
        value = first & 0x3F
        if first & 0x40:
            value |= self.varint(26) << 6
        return first >= 0x80, value

    def fixed(self, kind: str) -> int | float:
        """Reads a number of a fixed size. `kind` is a format character of `struct`: h, i, q, f or d."""
        size = struct.calcsize(kind)
        return struct.unpack(self._order + kind, self._taken(size))[0]  # type: ignore[no-any-return] # one number, by its format

    def text(self) -> str | None:
        """Reads a text or null.

        An ASCII text ends with the byte that has the high bit set. Other texts follow their length in UTF-16 units.
        """
        if self._position < len(self._data) and self._data[self._position] < 0x80:
            return self._ascii()
        _, length = self.flagged()
        if length == 0:
            return None
        units = bytearray()
        for _ in range(min(length - 1, self.left + 1)):
            units += self._unit().to_bytes(2, "big")
        try:
            return units.decode("utf-16-be")
        except UnicodeDecodeError:
            raise UnreadableExpressionError("a text has a lone surrogate") from None

    def count(self, length: int) -> int:
        """Returns `length` if that many elements of at least one byte each can follow.

        Raises UnreadableExpressionError if they cannot.
        """
        if not 0 <= length <= self.left:
            raise UnreadableExpressionError("a list is longer than the remaining data")
        return length

    def _taken(self, size: int) -> bytes:
        if size > self.left:
            raise UnreadableExpressionError("it ends too early")
        start = self._position
        self._position += size
        return self._data[start : self._position]

    def _ascii(self) -> str:
        end = self._position
        while end < len(self._data) and self._data[end] < 0x80:
            end += 1
        data = self._taken(end + 1 - self._position)
        return (data[:-1] + bytes([data[-1] & 0x7F])).decode("ascii")

    def _unit(self) -> int:
        first = self.byte()
        match first >> 4:
            case 12 | 13:
                return (first & 0x1F) << 6 | self.byte() & 0x3F
            case 14:
                second = self.byte()
                return (first & 0x0F) << 12 | (second & 0x3F) << 6 | self.byte() & 0x3F
        if first >= 0x80:
            raise UnreadableExpressionError("a text is malformed")
        return first
