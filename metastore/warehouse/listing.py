"""Names of subdirectories, for programs that list directories of external tables. The server's roots do not apply."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from metastore.errors import UnavailableError
from metastore.warehouse import paths
from metastore.warehouse.file_systems import means_missing, opened

_AT_ONCE: Final = 16  # requests to a remote file system
_S3: Final = "s3"


def subdirectories(folders: Sequence[tuple[str, str]]) -> Iterator[list[str] | None]:
    """Yields the names of the subdirectories of each directory, None if it does not exist.

    `folders`: locations, each with the least name that is needed. On S3, the list begins there. Raises
    UnavailableError if a file system does not answer or rejects the request.
    """
    if len(folders) < 2 or all(paths.parse(location).scheme == "file" for location, _ in folders):
        yield from map(_subdirectories, folders)
        return
    with ThreadPoolExecutor(min(len(folders), _AT_ONCE), thread_name_prefix="listing") as threads:
        yield from threads.map(_subdirectories, folders)


def _subdirectories(folder: tuple[str, str]) -> list[str] | None:
    location, first = folder
    with opened(location) as (files, path):
        try:
            if "file" in files.protocol:
                with os.scandir(path) as entries:  # fsspec asks for the status of each entry
                    return [entry.name for entry in entries if entry.is_dir() and entry.name >= first]
            if _S3 in files.protocol:
                return _prefixes(files, path, first)
            entries = files.ls(path, detail=True)
        except PermissionError as error:
            raise UnavailableError(f"{location}: permission denied; make it readable for this user") from error
        except OSError as error:
            if means_missing(error):
                return None
            raise
    names = [entry["name"].rstrip("/").rpartition("/")[2] for entry in entries if entry["type"] == "directory"]
    return [name for name in names if name >= first]


def _prefixes(files: Any, path: str, first: str) -> list[str] | None:
    """Returns the common prefixes in a directory on S3, which does not exist without objects."""
    bucket, _, folder = path.strip("/").partition("/")
    prefix = f"{folder}/" if folder else ""
    request: dict[str, Any] = {"Bucket": bucket, "Prefix": prefix, "Delimiter": "/"}
    if first:
        request["StartAfter"] = prefix + first
    names: list[str] = []
    is_empty = True
    while True:
        page = files.call_s3("list_objects_v2", **request)
        names += [each["Prefix"][len(prefix) :].rstrip("/") for each in page.get("CommonPrefixes", ())]
        is_empty = is_empty and not (names or page.get("Contents"))
        if not page.get("IsTruncated"):
            return None if is_empty and not first else names
        request["ContinuationToken"] = page["NextContinuationToken"]
