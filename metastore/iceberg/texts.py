"""The texts of large metadata files that were read lately, while the files are unchanged."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from metastore.caches import Cache
from metastore.errors import MetastoreError
from metastore.iceberg.errors import NOT_FOUND, RestError, rest_error
from metastore.iceberg.metadata import MOST, plain

_BYTES: Final = 32 * 2**20
_SMALLEST: Final = 64 * 2**10  # bytes: smaller files are read and checked fast, and are many


class _Known(NamedTuple):
    text: bytes
    version: tuple[int, ...]


class FilesToRead(Protocol):
    """The files within the roots. All methods raise MetastoreError."""

    def read_file(self, location: str, most: int) -> bytes | None:
        """Returns the first bytes of a file; None if it does not exist."""

    def file_version(self, location: str) -> tuple[int, ...] | None:
        """Returns the size of a file, and numbers that change when it is replaced; None if it does not exist, or if the
        file system does not tell without a request."""


class MetadataTexts:
    """Reads the JSON texts of metadata files. Parsing a large one again would take most of the time of a load."""

    def __init__(self, files: FilesToRead) -> None:
        self._files = files
        self._known: Cache[str, _Known] = Cache(_BYTES)

    def read(self, location: str) -> bytes:
        """Returns the text of a metadata file. Raises RestError."""
        try:
            version = self._files.file_version(location)  # before the text: later changes are noticed
            known = self._known.get(location)
            if known is not None and known.version == version:
                return known.text
            content = self._files.read_file(location, MOST + 1)
        except MetastoreError as error:
            raise rest_error(error) from error
        if content is None:
            raise RestError(404, NOT_FOUND, f"Failed to open input stream for file: {location} does not exist")
        text = plain(content, location)
        if version is not None and version[0] == len(content) >= _SMALLEST:
            self._known.put(location, _Known(text, version), len(text))
        return text
