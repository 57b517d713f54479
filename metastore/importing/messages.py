"""Messages of notification events, in the formats of Hive's servers."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any, Final

from metastore.domain.names import DEFAULT_CATALOG, TableName, fold
from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent

GZIP: Final = "gzip(json-2.0)"
"""The default of Hive 4: Base64 of the compressed JSON text of `json-0.2` (Hive's GzipJSONMessageEncoder)."""
_WITH_HEADER: Final = 31  # zlib's `wbits` for gzip
_LARGEST: Final = 2**28  # bytes of a decompressed message; larger ones are unreadable
_PLAIN: Final = (None, "", "json-0.2")


def json_message(event: NotificationEvent) -> str | None:
    """Returns the message as JSON text; None for an unknown format or a damaged message."""
    if event.messageFormat in _PLAIN:
        return event.message or ""
    if event.messageFormat != GZIP:
        return None
    try:
        unpacking = zlib.decompressobj(_WITH_HEADER)
        text = unpacking.decompress(base64.b64decode(event.message or "", validate=True), _LARGEST).decode()
        json.loads(text)
    except (ValueError, RecursionError, zlib.error):
        return None
    return text if unpacking.eof else None


def message_of(event: NotificationEvent) -> Mapping[str, Any] | None:
    """Decodes the message of an event. Returns None for an unreadable message."""
    try:
        document = json.loads(json_message(event) or "")
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def struct_of(message: Mapping[str, Any] | None, name: str) -> Mapping[str, Any] | None:
    """Returns a struct of a message: a text in Thrift's JSON protocol, with the numbers of fields as keys."""
    try:
        document = json.loads((message or {})[name])
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def name_of(table: Mapping[str, Any], catalog: str) -> TableName | None:
    """Returns the name of a table that `struct_of` returned; None if it has none."""
    fields = (table.get(number) for number in ("1", "2"))
    name, database = (str(one.get("str", "")).lower() if isinstance(one, dict) else "" for one in fields)
    return TableName(catalog, database, name) if name and database else None


def is_renamed(event: NotificationEvent) -> bool:
    """Returns whether the event gave its table another name. Events are stored under the new name. An event with an
    unreadable message may have done so."""
    if event.eventType != "ALTER_TABLE":
        return False
    before = struct_of(message_of(event), "tableObjBeforeJson")
    catalog = fold(event.catName or DEFAULT_CATALOG)
    new = TableName(catalog, fold(event.dbName or ""), fold(event.tableName or ""))
    return before is None or name_of(before, catalog) != new
