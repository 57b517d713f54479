"""Connects commands to a running server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from metastore.client import MetastoreClient, connect, errors
from metastore.errors import ConfigurationError, InvalidInputError, NotFoundError, UnavailableError

_TIMEOUT = 30.0  # seconds
_MISSING_TABLE = re.compile(r"(\S+)\.\S+ table not found")
_MISSING_DATABASE = re.compile(r"database \S+ not found")


@contextmanager
def connected(uris: str, timeout: float = _TIMEOUT) -> Iterator[Any]:
    """Yields the methods of Hive's service and of our own, of the first server in `uris` that answers.

    See `connected_client`.
    """
    with connected_client(uris, timeout) as client:
        yield client.methods


@contextmanager
def connected_client(uris: str, timeout: float = _TIMEOUT) -> Iterator[MetastoreClient]:
    """Yields a client of the first server in `uris` (separated by commas) that answers.

    `timeout`: maximum time of a call, in seconds. Raises ConfigurationError for an invalid URI or credentials,
    NotFoundError for a missing object, InvalidInputError for a table that cannot be read, and UnavailableError for all
    other failures.
    """
    try:
        with connect(uris, connect_timeout=_TIMEOUT, timeout=timeout) as client:
            yield client
    except (errors.InvalidAddressError, errors.CredentialsError) as error:
        raise ConfigurationError(str(error)) from error
    except errors.NoSuchObjectError as error:
        raise NotFoundError(f"{error}{_hint(str(error))}") from error
    except (errors.UnreadableTableError, errors.InvalidFilterError, errors.StaleSnapshotError) as error:
        raise InvalidInputError(str(error)) from error
    except errors.MetastoreUnavailableError as error:
        raise UnavailableError(f"{error}. Use --uri for another address.") from error
    except errors.AuthenticationError as error:  # the text names the address
        raise UnavailableError(str(error)) from error
    except errors.ClientError as error:
        raise UnavailableError(f"{uris}: {error}") from error


def _hint(text: str) -> str:
    """Returns the command that lists the names among which an object is missing."""
    if match := _MISSING_TABLE.fullmatch(text):
        return f". List the tables with: metastore tables {match[1]}"
    return ". List the databases with: metastore databases" if _MISSING_DATABASE.fullmatch(text) else ""
