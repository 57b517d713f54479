"""S3 through s3fs, which by itself tries for minutes to be answered by a host that says nothing."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from s3fs import S3FileSystem  # type: ignore[import-untyped] # it has no types

_AT_ONCE: Final = 64  # connections to a host: as many calls as a worker has may wait for one that is silent
_TRIES: Final = 2  # by botocore, of which each may take half of the time
_LONGEST_CONNECT: Final = 5.0  # seconds
_MOVING: Final = frozenset(
    {"copy_object", "upload_part", "upload_part_copy", "put_object", "complete_multipart_upload"}
)
"""What takes as long as an object is large: between two bytes of an answer half of the time may pass."""


class BoundedS3(S3FileSystem):  # type: ignore[misc]
    """Gives up a request, whatever else is tried again, after so many seconds without an answer."""

    def __init__(
        self, *arguments: Any, seconds: float, config_kwargs: dict[str, Any] | None = None, **more: Any
    ) -> None:
        self._seconds = seconds
        each = seconds / _TRIES
        bounds = {
            "connect_timeout": min(each, _LONGEST_CONNECT),
            "read_timeout": each,
            "retries": {"total_max_attempts": _TRIES},
            "max_pool_connections": _AT_ONCE,
        }
        super().__init__(*arguments, config_kwargs=bounds | (config_kwargs or {}), **more)

    async def _call_s3(self, method: str, *arguments: Any, **more: Any) -> Any:
        """As s3fs's. Raises ConnectionError."""
        asked = super()._call_s3(method, *arguments, **more)
        if method in _MOVING:
            return await asked
        try:
            return await asyncio.wait_for(asked, self._seconds)
        except TimeoutError as error:
            raise ConnectionError(f"no answer within {self._seconds:g} s (METASTORE_S3_TIMEOUT)") from error
