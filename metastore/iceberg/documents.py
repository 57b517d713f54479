"""JSON objects of which only the needed fields are decoded: fields of newer format versions survive a change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

_decode: Final = msgspec.json.decode
_encode: Final = msgspec.json.encode
_object: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_raws: Final = msgspec.json.Decoder(list[msgspec.Raw])


class Document:
    """A JSON object. A field is decoded at its first use, and encoded only if it has been set."""

    def __init__(self, fields: Mapping[str, msgspec.Raw] | None = None) -> None:
        self._fields: dict[str, msgspec.Raw] = dict(fields or {})
        self._values: dict[str, Any] = {}

    @classmethod
    def of(cls, content: bytes) -> Document:
        """Returns the object of a JSON text. Raises msgspec.MsgspecError."""
        return Document(_object.decode(content))

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the value of a field; the default if it is absent or null. Change it only by `set`."""
        if name not in self._values:
            field = self._fields.get(name)
            if field is None:
                return default
            self._values[name] = _decode(field)
        value = self._values[name]
        return default if value is None else value

    def raws(self, name: str) -> list[msgspec.Raw]:
        """Returns the JSON texts of the elements of a list."""
        field = self._fields.get(name)
        return [] if field is None or bytes(field) == b"null" else _raws.decode(field)

    def set(self, name: str, value: Any) -> None:
        """Replaces the value of a field. Lists may contain JSON texts (`msgspec.Raw`)."""
        self._fields[name] = msgspec.Raw(_encode(value))
        self._values.pop(name, None)

    def remove(self, *names: str) -> None:
        """Removes fields."""
        for name in names:
            self._fields.pop(name, None)
            self._values.pop(name, None)

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def encode(self) -> bytes:
        """Returns the JSON text. Fields keep their order."""
        return _encode(self._fields)
