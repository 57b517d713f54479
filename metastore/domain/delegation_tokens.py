"""Delegation tokens as bytes and text: Hadoop's Token, and its AbstractDelegationTokenIdentifier.

Numbers are WritableUtils' (VInt, VLong); a text is its length and UTF-8. What clients are given is URL-safe base64
without padding.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Final

KIND: Final = "HIVE_DELEGATION_TOKEN"
_VERSION: Final = b"\x00"


@dataclass(frozen=True)
class Identifier:
    """Whose token it is, who may renew it, who asked for it in the owner's name; moments in ms since 1970."""

    owner: str
    renewer: str
    real_user: str
    issued: int
    latest: int
    sequence: int
    key: int = 0

    def encoded(self) -> bytes:
        texts = b"".join(_with_length(text.encode()) for text in (self.owner, self.renewer, self.real_user))
        return _VERSION + texts + b"".join(map(number, (self.issued, self.latest, self.sequence, self.key)))


def token_text(identifier: bytes, password: bytes) -> str:
    """Returns a token as `get_delegation_token` returns it; its service is empty, the client sets it."""
    parts = b"".join(map(_with_length, (identifier, password, KIND.encode(), b"")))
    return base64.urlsafe_b64encode(parts).decode().rstrip("=")


def parse_token(text: str) -> tuple[bytes, bytes]:
    """Identifier and password of such a text. Raises ValueError."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise ValueError("no base64") from error
    identifier, rest = _read(data)
    password, _ = _read(rest)
    return identifier, password


def number(value: int) -> bytes:
    """Returns a VInt or VLong."""
    if -112 <= value <= 127:
        return value.to_bytes(1, "big", signed=True)
    base, rest = (-112, value) if value >= 0 else (-120, ~value)
    size = (rest.bit_length() + 7) // 8
    return (base - size).to_bytes(1, "big", signed=True) + rest.to_bytes(size, "big")


def _with_length(data: bytes) -> bytes:
    return number(len(data)) + data


def _read(data: bytes) -> tuple[bytes, bytes]:
    """Returns a byte string with its length, and what is behind it. Raises ValueError."""
    if not data:
        raise ValueError("it ends too early")
    first = data[0] - 256 if data[0] > 127 else data[0]
    size = max(0, -112 - first) if first < -112 else 0
    length = int.from_bytes(data[1 : 1 + size], "big") if size else first
    begin = 1 + size
    if size > 4 or not 0 <= length <= len(data) - begin:
        raise ValueError("it ends too early")
    return data[begin : begin + length], data[begin + length :]
