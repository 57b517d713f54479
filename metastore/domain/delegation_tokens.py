"""Encoding of delegation tokens: Hadoop's Token and AbstractDelegationTokenIdentifier.

Numbers use the variable-length encoding of WritableUtils (VInt, VLong); texts are UTF-8 after their length. Clients
receive a token as URL-safe base64 without padding.
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
    """The public part of a token.

    Attributes:
        owner: user whom the token authenticates.
        renewer: user who may renew it.
        real_user: proxy user who requested it for the owner, or "".
        issued: time of issue, in milliseconds since 1970.
        latest: time of the latest possible expiry, in milliseconds since 1970.
        sequence: number of the token.
        key: number of the signing key.
    """

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
    """Returns the text that get_delegation_token returns. The service is empty; the client sets it."""
    parts = b"".join(map(_with_length, (identifier, password, KIND.encode(), b"")))
    return base64.urlsafe_b64encode(parts).decode().rstrip("=")


def parse_token(text: str) -> tuple[bytes, bytes]:
    """Returns the identifier and the password in a token's text. Raises ValueError if it is malformed."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise ValueError("not base64") from error
    identifier, rest = _read(data)
    password, _ = _read(rest)
    return identifier, password


def number(value: int) -> bytes:
    """Encodes a VInt or VLong."""
    if -112 <= value <= 127:
        return value.to_bytes(1, "big", signed=True)
    base, rest = (-112, value) if value >= 0 else (-120, ~value)
    size = (rest.bit_length() + 7) // 8
    return (base - size).to_bytes(1, "big", signed=True) + rest.to_bytes(size, "big")


def _with_length(data: bytes) -> bytes:
    return number(len(data)) + data


def _read(data: bytes) -> tuple[bytes, bytes]:
    """Decodes a byte string after its length. Returns it and the remaining bytes. Raises ValueError."""
    if not data:
        raise ValueError("it ends too early")
    first = data[0] - 256 if data[0] > 127 else data[0]
    size = max(0, -112 - first) if first < -112 else 0
    length = int.from_bytes(data[1 : 1 + size], "big") if size else first
    begin = 1 + size
    if size > 4 or not 0 <= length <= len(data) - begin:
        raise ValueError("it ends too early")
    return data[begin : begin + length], data[begin + length :]
