"""Names of metadata files, and the files that a commit leaves behind."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from typing import Final, Protocol

from metastore.iceberg.documents import Document
from metastore.iceberg.errors import invalid

_FOLDER: Final = "write.metadata.path"
_CODEC: Final = "write.metadata.compression-codec"
_DELETES: Final = "write.metadata.delete-after-commit.enabled"
_NUMBER: Final = re.compile(r"^(\d+)-")
_SUFFIX: Final = ".metadata.json"


class Files(Protocol):
    """The files of tables within the roots. All methods raise MetastoreError."""

    def write(self, location: str, content: bytes) -> None:
        """Creates a file."""

    def delete(self, location: str) -> None:
        """Deletes a file, if it exists."""


def folder_of(metadata: Document) -> str:
    """Returns the directory of the metadata files of a table or view."""
    properties: Mapping[str, str] = metadata.get("properties", {})
    folder = properties.get(_FOLDER) or f"{str(metadata.get('location', '')).rstrip('/')}/metadata"
    return str(folder).rstrip("/")


def new_location(metadata: Document, base: str | None, uuid: str) -> str:
    """Returns the location of a new metadata file, whose number follows that of its base. Raises RestError."""
    match = _NUMBER.match((base or "").rpartition("/")[2])
    number = int(match[1]) + 1 if match else 0
    return f"{folder_of(metadata)}/{number:05d}-{uuid}{'.gz' if _is_compressed(metadata) else ''}{_SUFFIX}"


def encoded(metadata: Document, content: bytes) -> bytes:
    """Returns the bytes of a metadata file: compressed if a property of the table says so."""
    return gzip.compress(content, compresslevel=6, mtime=0) if _is_compressed(metadata) else content


def _is_compressed(metadata: Document) -> bool:
    codec = str(metadata.get("properties", {}).get(_CODEC, "none")).lower()
    if codec not in ("none", "gzip"):
        raise invalid(f"Invalid codec name: {codec} ({_CODEC})")
    return codec == "gzip"


def outdated(before: Document, after: Document) -> list[str]:
    """Returns the metadata files that a commit has removed from the log, if the table's properties say that they are
    deleted. Only those in the table's own directory: users write the log.
    """
    if str(after.get("properties", {}).get(_DELETES, "false")).lower() != "true":
        return []
    kept = {entry.get("metadata-file") for entry in after.get("metadata-log", [])}
    removed = [str(entry.get("metadata-file")) for entry in before.get("metadata-log", [])]
    folder = f"{folder_of(after)}/"
    return [text for text in removed if text not in kept and _is_own(text, folder)]


def _is_own(location: str, folder: str) -> bool:
    name = location.removeprefix(folder)
    return location.startswith(folder) and "/" not in name and name.endswith(_SUFFIX)
