"""Finds out why PostgreSQL rejects connections: the SQLSTATEs, in any language of the server's messages.

libpq reports a failed connection as text only, in the server's `lc_messages`. It includes the SQLSTATE when its error
verbosity is raised, but that needs the connection object before the handshake begins. psycopg2 has it then only for
asynchronous connections, and those cannot be used for ordinary queries. So after a failure, an asynchronous
connection is attempted, only for its error.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from functools import cache
from time import monotonic
from typing import Any, Final

import psycopg2  # type: ignore[import-untyped] # it has no types
from psycopg2 import extensions

from metastore.descriptors import readable, writable

OUT_OF_CONNECTIONS: Final = "53300"
"""too_many_connections: of the server, the database or the role; also where only reserved slots are left."""

_TEMPORARY: Final = ("53", "57P", "08")  # resources exhausted, starting up or shutting down, connection broken
_VERBOSE: Final = 2  # libpq's PQERRORS_VERBOSE
_STATE: Final = re.compile(r":\s+([0-9A-Z]{5}): ")  # "FATAL:  53300: sorry, …", where "FATAL" is translated
_TIMEOUT: Final = 10.0  # seconds, without connect_timeout


def rejection_states(arguments: tuple[Any, ...], parameters: Mapping[str, Any]) -> frozenset[str] | None:
    """Connects once more, with the arguments of `psycopg2.connect`, and returns the SQLSTATEs of the rejections.

    Returns:
        One SQLSTATE for each host that rejects the connection; none if no host does (none answers, or it is not
        PostgreSQL's rejection); None if the connection succeeds.
    """
    plain = {name: value for name, value in parameters.items() if name not in ("connection_factory", "async_")}
    deadline = monotonic() + float(plain.get("connect_timeout") or _TIMEOUT)
    connection = None
    try:
        connection = psycopg2.connect(*arguments, **plain, async_=True)
        _libpq().PQsetErrorVerbosity(ctypes.c_void_p(connection.pgconn_ptr), _VERBOSE)
        while (state := connection.poll()) != extensions.POLL_OK:
            ready = readable if state == extensions.POLL_READ else writable
            if not ready([connection], max(0.0, deadline - monotonic())):
                return frozenset()
    except (psycopg2.Error, AttributeError) as error:  # AttributeError: a libpq whose functions are not visible
        return frozenset(_STATE.findall(str(error)))
    finally:
        if connection is not None:
            connection.close()
    return None


def is_temporary(states: frozenset[str] | None) -> bool:
    """Returns whether PostgreSQL may accept the same connection later, without a change of its address or account."""
    return not states or any(state.startswith(_TEMPORARY) for state in states)


@cache
def _libpq() -> Any:
    """Returns the libpq that psycopg2 is linked to: its functions are found through psycopg2's own library."""
    return ctypes.CDLL(psycopg2._psycopg.__file__)  # noqa: SLF001 - no public attribute has its path
