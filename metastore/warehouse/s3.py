"""S3 through s3fs, with a time limit. By default s3fs retries for minutes if a host does not answer."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from s3fs import S3FileSystem  # type: ignore[import-untyped] # it has no types

_AT_ONCE: Final = 64  # connections to a host: as many calls as a worker runs may wait for one that does not answer
_TRIES: Final = 2  # attempts by botocore; each may take half of the time limit
_LONGEST_CONNECT: Final = 5.0  # seconds
_MOVING: Final = frozenset(
    {"copy_object", "upload_part", "upload_part_copy", "put_object", "complete_multipart_upload"}
)
"""Calls whose duration depends on the object's size. Half of the time limit may pass between two bytes of a reply."""


class BoundedS3(S3FileSystem):  # type: ignore[misc]
    """An S3 file system whose requests fail after so many seconds without a reply, including retries."""

    def __init__(
        self, *arguments: Any, seconds: float, config_kwargs: dict[str, Any] | None = None, **options: Any
    ) -> None:
        self._seconds = seconds
        each = seconds / _TRIES
        bounds = {
            "connect_timeout": min(each, _LONGEST_CONNECT),
            "read_timeout": each,
            "retries": {"total_max_attempts": _TRIES},
            "max_pool_connections": _AT_ONCE,
        }
        super().__init__(*arguments, config_kwargs=bounds | (config_kwargs or {}), **options)

    async def _call_s3(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Calls S3 as s3fs does. Raises ConnectionError after the time limit."""
        request = super()._call_s3(method, *arguments, **options)
        if method in _MOVING:
            return await request
        try:
            return await asyncio.wait_for(request, self._seconds)
        except TimeoutError as error:
            raise ConnectionError(f"no answer within {self._seconds:g} s (METASTORE_S3_TIMEOUT)") from error
