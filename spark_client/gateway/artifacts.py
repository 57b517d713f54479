"""The names of the files that a client of Spark Connect uploads, read from the messages of AddArtifacts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

METHOD: Final = "/spark.connect.SparkConnectService/AddArtifacts"
# Local data and Python modules. Jars and classes would run in the driver's JVM.
_ACCEPTED: Final = ("cache/", "pyfiles/", "files/")
_BATCH, _FIRST_CHUNK, _ARTIFACTS, _NAME = 3, 4, 1, 1  # field numbers of spark.connect.AddArtifactsRequest
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types


def rejected_name(message: bytes) -> str | None:
    """Returns the name of an artifact that drivers must not receive, or None.

    Raises ValueError if the message is not an AddArtifactsRequest.
    """
    for number, value in _fields(message):
        artifacts = [part for each, part in _fields(value) if each == _ARTIFACTS] if number == _BATCH else []
        artifacts += [value] if number == _FIRST_CHUNK else []
        for artifact in artifacts:
            names = [part.decode() for each, part in _fields(artifact) if each == _NAME] or [""]
            for name in names:
                if not name.startswith(_ACCEPTED) or ".." in name:
                    return name
    return None


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields number and value of each field with bytes of a Protocol Buffers message. Raises ValueError."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind, number = tag & 7, tag >> 3
        if kind == _VARINT:
            _, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
        elif kind == _BYTES:
            length, begin = _varint(message, at)
            at = begin + length
            if at > len(message):
                raise ValueError("a field ends too early")
            yield number, message[begin:at]
        else:
            raise ValueError(f"wire type {kind}")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Returns a number and the position after it."""
    value = shift = 0
    while shift < 70:
        if at >= len(message):
            raise ValueError("a number ends too early")
        value |= (message[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if message[at - 1] < 0x80:
            return value, at
    raise ValueError("a number is too long")
