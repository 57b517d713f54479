"""Messages of notification events, in the formats of Hive's servers."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from typing import Final

from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent

GZIP: Final = "gzip(json-2.0)"
"""The default of Hive 4: Base64 of the compressed JSON text of `json-0.2` (Hive's GzipJSONMessageEncoder)."""
_PLAIN: Final = (None, "", "json-0.2")


def json_message(event: NotificationEvent) -> str | None:
    """Returns the message as JSON text; None for an unknown format or a damaged message."""
    if event.messageFormat in _PLAIN:
        return event.message or ""
    if event.messageFormat != GZIP:
        return None
    try:
        text = gzip.decompress(base64.b64decode(event.message or "", validate=True)).decode()
        json.loads(text)
    except (ValueError, OSError, EOFError, zlib.error):
        return None
    return text
