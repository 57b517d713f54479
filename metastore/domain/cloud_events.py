"""Events as CloudEvents 1.0 in JSON, and their signature by Standard Webhooks 1.0."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from metastore.domain.event_stream import MISSED, REWOUND

CONTENT_TYPE: Final = "application/cloudevents+json; charset=utf-8"
"""The type of a body that is a whole CloudEvent: all of its attributes are signed."""
PREFIX: Final = "whsec_"
"""The beginning of a secret. Base64 follows."""
_SECRET_SIZES: Final = range(24, 65)  # bytes


class Message(NamedTuple):
    """A message to a sink.

    Attributes:
        number: of the event. A sink that has the message has all events up to this one.
        identity: the same for each delivery of an event, and unlike those of all other events, also if a restored
            database gives their numbers again.
        key: `database.table`, or as much of it as the event has. Messages with one key arrive in order.
        body: the CloudEvent.
    """

    number: int
    identity: str
    key: str
    body: bytes


def message_of(event: dict[str, Any], catalog: str, epoch: str) -> Message:
    """Returns the message of an object of `domain.event_stream`.

    `catalog`: the UUID of the catalog. `epoch`: see `domain.sinks.is_rewound`.
    """
    number, kind = int(event["id"]), str(event["type"])
    if kind == MISSED:
        identity = f"{event['first']}-{number}@{epoch}"
    elif kind == REWOUND:
        identity = f"{number}@{epoch}"
    else:
        identity = f"{number}@{event['time']}"
    key = ".".join(event[part] for part in ("database", "table") if event.get(part))
    attributes = {
        "specversion": "1.0",
        "id": identity,
        "source": f"urn:uuid:{catalog}",
        "type": f"metastore.{kind.lower()}",
        "subject": key or None,
        "time": event.get("time"),
        "datacontenttype": "application/json",
        "data": event,
    }
    shown = {name: value for name, value in attributes.items() if value is not None}
    body = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
    return Message(number, identity, key, body)


def parse_secret(text: str) -> bytes:
    """Returns the key of a secret, `whsec_` and base64 of 24 to 64 bytes. Raises ValueError, without the secret."""
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not text.startswith(PREFIX) or len(key) not in _SECRET_SIZES:
        raise ValueError(f"a secret must be {PREFIX} and base64 of 24 to 64 bytes")
    return key


def signed_headers(keys: Sequence[bytes], identity: str, moment: int, body: bytes) -> dict[str, str]:
    """Returns the headers of a message, with a signature by each key: receivers accept any of them during a rotation.

    `moment`: seconds since 1970.
    """
    content = b".".join((identity.encode(), str(moment).encode(), body))
    signatures = (base64.b64encode(hmac.digest(key, content, "sha256")).decode() for key in keys)
    return {
        "webhook-id": identity,
        "webhook-timestamp": str(moment),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
