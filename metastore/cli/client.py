"""A connection to a running metastore, for the commands that look into one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from metastore.client import connect, errors
from metastore.errors import ConfigurationError, NotFoundError, UnavailableError

_TIMEOUT = 30.0  # seconds


@contextmanager
def connected(uris: str, timeout: float = _TIMEOUT) -> Iterator[Any]:
    """Yields the methods of Hive's service and of ours, at the first of `uris` (comma-separated) that answers.

    An answer may take `timeout` seconds.

    Raises ConfigurationError for what is no URI, UnavailableError and NotFoundError for what goes wrong: one line each.
    """
    try:
        with connect(uris, connect_timeout=_TIMEOUT, timeout=timeout) as client:
            yield client.methods
    except (errors.InvalidAddressError, errors.CredentialsError) as error:
        raise ConfigurationError(str(error)) from error
    except errors.NoSuchObjectError as error:
        raise NotFoundError(str(error)) from error
    except errors.MetastoreUnavailableError as error:
        raise UnavailableError(f"{error}; --uri names another") from error
    except errors.AuthenticationError as error:  # which names the address
        raise UnavailableError(str(error)) from error
    except errors.ClientError as error:
        raise UnavailableError(f"{uris}: {error}") from error
