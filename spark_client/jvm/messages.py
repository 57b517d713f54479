"""The base of the messages that the JVM sends to Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self


class Message:
    """A dataclass that is read from a JSON object whose keys are its field names."""

    # Fields that hold lists of messages, and the type of these messages.
    nested: ClassVar[Mapping[str, type[Message]]] = {}

    @classmethod
    def read(cls, sent: Mapping[str, Any]) -> Self:
        """Creates the message from a JSON object. Keys without a field are ignored."""
        values = {field.name: sent[field.name] for field in fields(cls) if field.name in sent}  # type: ignore[arg-type] # of subclasses
        for name, kind in cls.nested.items():
            if values.get(name) is not None:
                values[name] = tuple(kind.read(item) for item in values[name])
        return cls(**values)
