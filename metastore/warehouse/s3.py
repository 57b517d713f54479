"""S3 through s3fs, with a time limit. By default s3fs retries for minutes if a host does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
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

    def unfinished_uploads(self, prefix: str) -> Iterator[tuple[str, str, datetime]]:
        """Yields path, id and begin of each multipart upload that is not complete and whose path has the prefix."""
        bucket, key, _ = self.split_path(prefix)
        position: dict[str, str] = {}
        while True:
            page = self.call_s3("list_multipart_uploads", Bucket=bucket, Prefix=key, **position)
            for upload in page.get("Uploads", ()):
                yield f"{bucket}/{upload['Key']}", upload["UploadId"], upload["Initiated"]
            if not page.get("IsTruncated"):
                return
            position = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}

    def abort_upload(self, path: str, upload_id: str) -> None:
        """Aborts a multipart upload. Does nothing if it has ended."""
        bucket, key, _ = self.split_path(path)
        with suppress(FileNotFoundError):
            self.call_s3("abort_multipart_upload", Bucket=bucket, Key=key, UploadId=upload_id)

    async def _call_s3(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Calls S3 as s3fs does. Raises ConnectionError after the time limit."""
        request = super()._call_s3(method, *arguments, **options)
        if method in _MOVING:
            return await request
        try:
            return await asyncio.wait_for(request, self._seconds)
        except TimeoutError as error:
            raise ConnectionError(f"no answer within {self._seconds:g} s (METASTORE_S3_TIMEOUT)") from error
