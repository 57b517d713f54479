"""Opens the file system of a location, and raises its errors as one line that names the location and the fix."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import shorten
from typing import Any, Final

from metastore.errors import InvalidInputError, MetastoreError, UnavailableError
from metastore.warehouse import paths
from metastore.warehouse.kinds import file_system

_IMPOSSIBLE: Final = (errno.ENAMETOOLONG, errno.ELOOP)


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
