"""Opens the file systems of locations: Arrow's own for local files, S3, HDFS and Google, fsspec's for all others.

Credentials are those that these libraries find, as in the environment or in ~/.aws.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final

from pyarrow import fs

from metastore.client.errors import UnreadableTableError

_LOCATION: Final = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?://(?P<authority>[^/]*))?(?P<path>.*)", re.DOTALL
)
_S3: Final = ("s3", "s3a", "s3n")  # Hadoop had three connectors
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")  # of every AWS client


class FileSystems:
    """The file systems of the locations of one table. Each is opened once. Threads may share it."""

    def __init__(self, given: Any = None, options: Mapping[str, Any] | None = None) -> None:
        """Prepares to open file systems.

        Args:
            given: a file system of pyarrow or fsspec for all locations, instead of the ones that they name.
            options: parameters of fsspec's file system for remote locations, such as credentials.
        """
        self._parameters = (given, options)
        self._given = None if given is None else _arrow(given)
        self._options = options
        self._opened: dict[tuple[str, str], fs.FileSystem] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return FileSystems, self._parameters

    def of(self, location: str) -> tuple[fs.FileSystem, str]:
        """Returns the file system of a location and the path in it. As in Hadoop, nothing is percent-encoded.

        Raises UnreadableTableError if no installed package reads its scheme.
        """
        scheme, authority, path = parse(location)
        files = self._given or self._opened.get((scheme, authority))
        if files is None:
            files = self._opened[scheme, authority] = _open(scheme, authority, location, self._options)
        return files, path if scheme in ("file", "hdfs", "viewfs") else f"{authority}{path}"


def parse(location: str) -> tuple[str, str, str]:
    """Returns scheme, authority and path of a location. A path without a scheme is a local one."""
    match = _LOCATION.fullmatch(location)
    scheme = ((match and match["scheme"]) or "file").lower()
    return scheme, (match and match["authority"]) or "", match["path"] if match else location


def engine_path(location: str) -> str:
    """Returns a location as pandas, polars and DuckDB take it: a local path, or a URI such as `s3://bucket/file`."""
    scheme, authority, path = parse(location)
    if scheme == "file":
        return path
    return f"{'s3' if scheme in _S3 else scheme}://{authority}{path}"


def _open(scheme: str, authority: str, location: str, options: Mapping[str, Any] | None) -> fs.FileSystem:
    if scheme == "file":
        return fs.LocalFileSystem()
    if options is not None:
        return _fsspec("s3" if scheme in _S3 else scheme, location, options)
    if scheme in _S3:
        return _s3(authority)
    if scheme in ("hdfs", "viewfs"):
        return fs.HadoopFileSystem.from_uri(f"{scheme}://{authority}")
    if scheme == "gs":
        return fs.GcsFileSystem()
    return _fsspec(scheme, location, {})


def _fsspec(scheme: str, location: str, options: Mapping[str, Any]) -> fs.FileSystem:
    try:
        import fsspec

        return _arrow(fsspec.filesystem(scheme, **options))
    except (ImportError, ValueError) as error:
        raise UnreadableTableError(f"{location}: {error}; install the fsspec package that serves {scheme}:") from None


def _s3(bucket: str) -> fs.FileSystem:
    """Returns S3 with the standard chain of credentials. The environment may name the endpoint of another store."""
    endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), None)
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if endpoint:
        scheme, _, host = endpoint.partition("://")
        return fs.S3FileSystem(endpoint_override=host or scheme, scheme=scheme if host else "https", region=region)
    return fs.S3FileSystem(region=region or fs.resolve_s3_region(bucket))


def _arrow(files: Any) -> fs.FileSystem:
    return files if isinstance(files, fs.FileSystem) else fs.PyFileSystem(fs.FSSpecHandler(files))
