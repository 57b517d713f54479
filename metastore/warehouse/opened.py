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
    with translated(location):
        files, root = file_system(scheme, authority)
        yield files, root + path


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Raises errors of the file system inside as errors of the metastore."""
    try:
        yield
    except MetastoreError:
        raise
    except ImportError as error:
        raise UnavailableError(f"{location}: a Python package is missing: {_one_line(error)}") from error
    except PermissionError as error:
        raise UnavailableError(f"{location}: permission denied; make it writable for the metastore's user") from error
    except OSError as error:
        if error.errno in _IMPOSSIBLE:
            raise InvalidInputError(f"{location}: {_one_line(error)}; no file can exist there") from error
        raise UnavailableError(f"{location}: {_one_line(error)}") from error
    except Exception as error:  # drivers of remote file systems raise exceptions of any class
        raise UnavailableError(f"{location}: {_one_line(error)}") from error


def means_missing(error: OSError) -> bool:
    """Tells whether an error means that the path does not exist, or cannot exist (name too long, loop of links)."""
    return isinstance(error, FileNotFoundError | NotADirectoryError) or error.errno in _IMPOSSIBLE


def _one_line(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return shorten(text, 200, placeholder=" …") or type(error).__name__
