"""Rejects messages of Spark Connect that would bypass the rules of a driver's analyzer.

Only the relevant fields are read, so that the gateway does not depend on the version of Spark's messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

# Local data and Python modules. Jars and classes would run in the driver's JVM.
_UPLOADS: Final = ("cache/", "pyfiles/", "files/")
# Field numbers of spark.connect.AddArtifactsRequest and ExecutePlanRequest, and of the messages in them.
_BATCH, _FIRST_CHUNK, _ARTIFACTS, _NAME = 3, 4, 1, 1
_PLAN, _COMMAND, _COMPRESSED = 3, 2, 3
# Commands that run as plans: functions, views, writes, SQL, resources, data sources, checkpoints, cached data, MERGE.
# Others read and write files themselves (ML, external commands, pipelines), or are streams.
_COMMANDS: Final = frozenset({1, 2, 3, 4, 5, 8, 10, 12, 14, 15, 16})
_REGISTER_FUNCTION, _JAVA_FUNCTION = 1, 6  # a command, and a field of CommonInlineUserDefinedFunction
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types


def rejection(method: str, message: bytes) -> str | None:
    """Returns the part of a message to a method of SparkConnectService that is rejected, or None.

    Raises ValueError if the message is malformed.
    """
    if method.endswith("/AddArtifacts"):
        name = _rejected_upload(message)
        return None if name is None else f"uploading {name!r}"
    if method.endswith("/ExecutePlan"):
        return _rejected_command(message)
    return None


def _rejected_upload(message: bytes) -> str | None:
    """Returns the name of a file that drivers must not receive, or None."""
    for number, value in _fields(message):
        artifacts = [part for each, part in _fields(value) if each == _ARTIFACTS] if number == _BATCH else []
        artifacts += [value] if number == _FIRST_CHUNK else []
        for artifact in artifacts:
            names = [part.decode() for each, part in _fields(artifact) if each == _NAME] or [""]
            for name in names:
                if not name.startswith(_UPLOADS) or ".." in name:
                    return name
    return None


def _rejected_command(message: bytes) -> str | None:
    """Returns the command that drivers must not execute, or None."""
    for plan in (value for number, value in _fields(message) if number == _PLAN):
        for number, value in _fields(plan):
            if number == _COMPRESSED:
                return "a compressed plan"
            for command, function in _fields(value) if number == _COMMAND else ():
                if command not in _COMMANDS:
                    return f"command {command} of Spark Connect (streams, ML, pipelines, external commands)"
                if command == _REGISTER_FUNCTION and any(each == _JAVA_FUNCTION for each, _ in _fields(function)):
                    return "a Java function"
    return None


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields number and value of each field with bytes of a Protocol Buffers message. Raises ValueError.

    Java reads 32 bits of a tag and ignores others, so a longer one would be another field here than there.
    """
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind, number = tag & 7, tag >> 3
        if tag >= 2**32:
            raise ValueError("the number of a field is too large")
        if kind == _VARINT:
            _, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
        elif kind == _BYTES:
            length, begin = _varint(message, at)
            at = begin + length
            if at > len(message):
                raise ValueError("a field is truncated")
            yield number, message[begin:at]
        else:
            raise ValueError(f"wire type {kind}")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Returns a number and the position after it."""
    value = shift = 0
    while shift < 70:
        if at >= len(message):
            raise ValueError("a number is truncated")
        value |= (message[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if message[at - 1] < 0x80:
            return value, at
    raise ValueError("a number is too long")
