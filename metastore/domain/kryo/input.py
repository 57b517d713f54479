"""Numbers and texts as Kryo writes them: version 3 (Hive 2.3, 3.1) the high byte first, 5 (Hive 4) the low one."""

from __future__ import annotations

import struct

from metastore.errors import InvalidInputError

MAX_BYTES = 1 << 20


class UnreadableExpressionError(InvalidInputError):
    """What was sent is not an expression that is known here. The text says what is in the way."""


class Input:
    """A cursor over the bytes. Every method raises UnreadableExpressionError where they end too soon."""

    def __init__(self, data: bytes, version: int) -> None:
        """`version`: of Kryo, 3 or 5. Raises UnreadableExpressionError for more than MAX_BYTES."""
        if len(data) > MAX_BYTES:
            raise UnreadableExpressionError(f"it has {len(data):,} bytes, at most {MAX_BYTES:,} are read")
        self._data = data
        self._position = 0
        self.version = version
        self._order = ">" if version == 3 else "<"

    @property
    def left(self) -> int:
        """Bytes that are not read yet."""
        return len(self._data) - self._position

    def byte(self) -> int:
        """From 0 to 255."""
        if self._position >= len(self._data):
            raise UnreadableExpressionError("it ends too soon")
        value = self._data[self._position]
        self._position += 1
        return value

    def boolean(self) -> bool:
        return self.byte() == 1

    def varint(self, bits: int = 32) -> int:
        """Returns a number that is not negative: seven bits a byte, the lowest first, and of 64 eight in the last."""
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
        """Returns a number of this many bits, the sign in the lowest."""
        value = self.varint(bits)
        return (value >> 1) ^ -(value & 1)

    def flagged(self) -> tuple[bool, int]:
        """Returns the highest bit of the first byte, and a number whose first six bits follow it."""
        first = self.byte()
        value = first & 0x3F
        if first & 0x40:
            value |= self.varint(26) << 6
        return first >= 0x80, value

    def fixed(self, kind: str) -> int | float:
        """Returns a number of a fixed size, by the letter that `struct` has for it: h, i, q, f, d."""
        size = struct.calcsize(kind)
        return struct.unpack(self._order + kind, self._taken(size))[0]  # type: ignore[no-any-return] # by its letter

    def text(self) -> str | None:
        """ASCII up to a byte with the high bit; anything else is counted, in units of UTF-16."""
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
            raise UnreadableExpressionError("a text has half a character") from None

    def count(self, length: int) -> int:
        """Returns `length` if that many elements of at least one byte each can follow.

        Raises UnreadableExpressionError if they cannot.
        """
        if not 0 <= length <= self.left:
            raise UnreadableExpressionError("a list is longer than what follows")
        return length

    def _taken(self, size: int) -> bytes:
        if size > self.left:
            raise UnreadableExpressionError("it ends too soon")
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
            raise UnreadableExpressionError("a text is not one")
        return first
