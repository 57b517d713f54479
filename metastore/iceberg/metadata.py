"""Metadata files of Iceberg, which are JSON texts. Only the fields that a request needs are decoded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from metastore.encoding.gzipped import unpacked
from metastore.iceberg.errors import BAD_REQUEST, RestError

MOST: Final = 32 * 2**20  # bytes of a metadata file, so that few requests at once fit into the memory of a container
_REFERRED: Final = "refs"
_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Reference(msgspec.Struct):
    snapshot: int = msgspec.field(name="snapshot-id")


class _Snapshot(msgspec.Struct):
    id: int = msgspec.field(name="snapshot-id")


@contextmanager
def well_formed(location: str) -> Iterator[None]:
    """Raises RestError in place of the errors that metadata with other types or without required fields causes."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        text = f"{location} is no metadata of Iceberg: {type(error).__name__}: {error}"
        raise RestError(400, BAD_REQUEST, text) from error


def plain(content: bytes, location: str) -> bytes:
    """Returns the JSON text of a metadata file, which may be compressed (`.gz.metadata.json`).

    Raises RestError for a file that is too large, or no JSON object.
    """
    try:
        content = unpacked(content, MOST + 1)
    except ValueError as error:
        raise RestError(400, BAD_REQUEST, f"{location} is damaged: {error}") from None
    if len(content) > MOST:
        raise RestError(400, BAD_REQUEST, f"{location} has more than {MOST >> 20} MiB")
    decoded(content, location)
    return content


def decoded(content: bytes, location: str) -> dict[str, msgspec.Raw]:
    """Returns the fields of a metadata file, with their JSON texts. Raises RestError if it is no JSON object."""
    try:
        return _fields.decode(content)
    except msgspec.MsgspecError as error:
        raise RestError(400, BAD_REQUEST, f"{location} is no metadata of Iceberg: {error}") from None


def referred_snapshots(content: bytes, location: str) -> bytes:
    """Returns the metadata with those snapshots only that a branch or tag names. All other fields stay as they are."""
    fields = decoded(content, location)
    try:
        references = msgspec.json.decode(fields.get("refs", b"{}"), type=dict[str, _Reference])
        listed = msgspec.json.decode(fields.get("snapshots", b"[]"), type=list[msgspec.Raw] | None) or []
        wanted = {reference.snapshot for reference in references.values()}
        wanted.add(msgspec.json.decode(fields.get("current-snapshot-id", b"-1"), type=int | None) or -1)
        kept = [each for each in listed if msgspec.json.decode(each, type=_Snapshot).id in wanted]
    except msgspec.MsgspecError as error:
        raise RestError(400, BAD_REQUEST, f"{location} is no metadata of Iceberg: {error}") from None
    if len(kept) == len(listed):
        return content
    return msgspec.json.encode({**fields, "snapshots": kept})


def is_referred(snapshots: str) -> bool:
    """Returns whether a request asks for the snapshots of branches and tags only. Raises RestError."""
    if snapshots not in ("", "all", _REFERRED):
        raise RestError(400, BAD_REQUEST, f"snapshots={snapshots} is neither all nor refs")
    return snapshots == _REFERRED


def load_result(location: str | None, metadata: bytes) -> bytes:
    """Returns a `LoadTableResult` or `LoadViewResult`. The bytes of the metadata are passed through. `location`: None
    for a table that is only staged.
    """
    if location is None:
        return b'{"metadata":%b,"config":{}}' % metadata
    return b'{"metadata-location":%b,"metadata":%b,"config":{}}' % (msgspec.json.encode(location), metadata)


def entity_tag(location: str, *, referred: bool) -> str:
    """Returns the ETag of a loaded table. It follows from the catalog's row: metadata files never change."""
    digest = hashlib.sha256(f"{location}\n{referred}".encode()).hexdigest()
    return f'"{digest[:32]}"'


def names_tag(header: str, tag: str) -> bool:
    """Returns whether the header If-None-Match names an ETag (RFC 9110, 13.1.2: weak comparison)."""
    texts = [text.strip().removeprefix("W/") for text in header.split(",")]
    return "*" in texts or tag in texts
