"""The file systems of locations: fsspec's, except our own for S3. Their errors name the location and the fix."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from textwrap import shorten
from typing import Any, Final

import fsspec

from metastore.errors import InvalidInputError, MetastoreError, UnavailableError
from metastore.warehouse import paths

_ABSTRACT: Final = ("fsspec.spec", "fsspec.asyn")  # modules of base classes, which define every operation
_s3: Final = {"seconds": 15.0}  # time limit of a request
_IMPOSSIBLE: Final = (errno.ENAMETOOLONG, errno.ELOOP)


def set_s3_timeout(seconds: float) -> None:
    """Sets the time limit of requests to S3 in this process, in seconds."""
    _s3["seconds"] = seconds
    _resolved.cache_clear()


def file_system(scheme: str, authority: str) -> tuple[Any, str]:
    """Returns a file system, and the prefix of paths in it (for example the bucket)."""
    kind, options, root = _resolved(scheme, authority)
    # Listings are not cached: others write, too.
    return kind(**options, use_listings_cache=False), (root if authority else "").rstrip("/")


@lru_cache(maxsize=64)
def _resolved(scheme: str, authority: str) -> tuple[Callable[..., Any], dict[str, Any], str]:
    """Returns the class of a file system, its options and its root, as fsspec's slow `url_to_fs` would.

    The path is not part of the URL: fsspec would interpret `::` in it.
    """
    kind, bounds = fsspec.get_filesystem_class(scheme), {}
    if scheme == "s3":
        from metastore.warehouse.s3 import BoundedS3

        kind, bounds = BoundedS3, _s3
    url = f"{scheme}://{authority}"
    return kind, kind._get_kwargs_from_urls(url) | bounds, kind._strip_protocol(url)  # noqa: SLF001 - as url_to_fs does


def supports_deletion(files: type[Any]) -> bool:
    """Returns whether a file-system class implements deletion: `http:`, for example, is read-only."""
    names = ("rm", "rm_file", "_rm", "_rm_file")
    return any(name in vars(kind) for kind in files.__mro__ if kind.__module__ not in _ABSTRACT for name in names)


@contextmanager
def opened(location: str) -> Iterator[tuple[Any, str]]:
    """Yields the file system of a location, and its path there."""
    scheme, authority, path = paths.parse(location).identity
    try:
        files, root = file_system(scheme, authority)
        yield files, root + path
    except MetastoreError:
        raise
    except Exception as error:  # drivers of remote file systems raise exceptions of any class
        raise translate(error, location) from error


def translate(error: Exception, location: str) -> MetastoreError:
    """Returns the metastore's error for an error of a file system."""
    if isinstance(error, ImportError):
        return UnavailableError(f"{location}: a Python package is missing: {_one_line(error)}")
    if isinstance(error, PermissionError):
        return UnavailableError(f"{location}: permission denied; make it writable for the metastore's user")
    if isinstance(error, OSError) and error.errno in _IMPOSSIBLE:
        return InvalidInputError(f"{location}: {_one_line(error)}; no file can exist there")
    return UnavailableError(f"{location}: {_one_line(error)}")


def means_missing(error: OSError) -> bool:
    """Returns whether an error means that the path does not exist, or cannot exist (name too long, loop of links)."""
    return isinstance(error, FileNotFoundError | NotADirectoryError) or error.errno in _IMPOSSIBLE


def _one_line(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return shorten(text, 200, placeholder=" …") or type(error).__name__
