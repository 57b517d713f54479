"""Replies as structs."""

from __future__ import annotations

from typing import Any

from metastore.encoding.binary import EncodedList, EncodedMap, EncodedStruct


def decoded(value: Any) -> Any:
    """Returns a reply as structs. Encoded parts are decoded, at any depth."""
    if isinstance(value, EncodedStruct | EncodedList | EncodedMap):
        return value.decode()
    if isinstance(value, list):
        return [decoded(item) for item in value]
    for field in value.__slots__ if hasattr(value, "thrift_spec") else ():
        inner = getattr(value, field, None)
        if not isinstance(inner, str | int | float | None):
            setattr(value, field, decoded(inner))
    return value
