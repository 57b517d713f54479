"""The texts of metadata files that were read or written lately.

A metadata file never changes: a commit writes a new one. Most requests are about tables that have just been loaded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from metastore.caches import Cache
from metastore.errors import MetastoreError
from metastore.iceberg.errors import NOT_FOUND, RestError, rest_error
from metastore.iceberg.metadata import MOST, plain

_BYTES: Final = 32 * 2**20
_AGE: Final = 60.0  # seconds, after which an administrator's repair of a file takes effect


class MetadataTexts:
    """Reads the JSON texts of metadata files, each at most once a minute while there is room for it."""

    def __init__(
        self, read_file: Callable[[str, int], bytes | None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`read_file`: returns the first bytes of a file within the roots, None without one. `clock`: seconds."""
        self._read_file, self._clock = read_file, clock
        self._texts: Cache[str, tuple[bytes, float]] = Cache(_BYTES)

    def read(self, location: str) -> bytes:
        """Returns the text of a metadata file. Raises RestError."""
        known = self._texts.get(location)
        if known is not None and self._clock() - known[1] < _AGE:
            return known[0]
        return self.read_anew(location)

    def read_anew(self, location: str) -> bytes:
        """Returns the text of a metadata file that may have been replaced. Raises RestError."""
        try:
            content = self._read_file(location, MOST + 1)
        except MetastoreError as error:
            raise rest_error(error) from error
        if content is None:
            raise RestError(404, NOT_FOUND, f"Failed to open input stream for file: {location} does not exist")
        text = plain(content, location)
        self.note(location, text)
        return text

    def note(self, location: str, text: bytes) -> None:
        """Keeps the text of a file that was written."""
        self._texts.put(location, (text, self._clock()), len(text))
