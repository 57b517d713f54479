"""Files that may be compressed with gzip."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import Final

_MAGIC: Final = b"\x1f\x8b"


def unpacked(content: bytes, most: int) -> bytes:
    """Returns the content of a file; of a compressed one, its first `most` bytes. Raises ValueError if damaged."""
    if not content.startswith(_MAGIC):
        return content
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        try:
            return file.read(most)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(str(error)) from error
