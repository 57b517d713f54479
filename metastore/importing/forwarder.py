"""Forwarding: changes of followed databases are sent to the source, and the caller gets the source's reply."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from threading import Lock
from typing import Any, Final

from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TApplicationException

from metastore.client.connection import BROKEN, Address, Connection, NoReplyError, NotSentError, describe, parse_uris
from metastore.client.credentials import Credentials
from metastore.client.errors import ClientError
from metastore.errors import ConfigurationError, UnavailableError
from metastore.storage.unit_of_work import Store

_CONNECT_TIMEOUT: Final = 5.0  # seconds
_TIMEOUT: Final = 600.0  # seconds for a reply
_IDLE: Final = 16
"""Maximum number of idle connections for each user."""
_PATIENCE: Final = 5.0  # seconds that a reply waits until the change has arrived here
_PAUSE: Final = 0.02


class Forwarder:
    """Sends calls to the Thrift service of a source, as the calling user. Thread-safe."""

    def __init__(self, address: str, store: Store) -> None:
        """Does not connect. Raises ConfigurationError for a wrong address or contradictory credentials."""
        try:
            self._addresses = parse_uris(address)
            self._credentials = Credentials.from_environment()
        except ClientError as error:
            raise ConfigurationError(f"METASTORE_FORWARD_WRITES: {error}") from None
        self.address = address
        self._store = store
        self._idle: dict[str | None, deque[Connection]] = {}
        self._lock = Lock()

    def call(self, name: str, method: str, arguments: Sequence[Any], user: str | None) -> Any:
        """Returns the reply of the source, after the change has arrived here, or after some seconds.

        `name`: of the import, whose position shows which changes have arrived. Raises the exceptions of the source,
        and UnavailableError.
        """
        connection = self._take(user)
        try:
            try:
                reply = connection.call(method, *arguments)
            except NotSentError:  # an idle connection whose server has restarted
                connection.close()
                connection = self._connect(user)
                reply = connection.call(method, *arguments)
        except (NotSentError, NoReplyError) as error:
            connection.close()
            raise UnavailableError(
                f"{connection.address} closed the connection during {method} ({error}); the outcome is unknown"
            ) from None
        except (TExceptionBase, TApplicationException):
            self._put(user, connection)  # the server answered
            raise
        except BaseException:  # also Ctrl-C: the connection may hold half a message
            connection.close()
            raise
        self._wait(name, self._last_event(user, connection))
        return reply

    def _last_event(self, user: str | None, connection: Connection) -> int | None:
        """Returns the last event of the source: that of the call or a later one. None if it is unknown.

        The change has been made, so a failure of the source at this point is not an error.
        """
        try:
            event = connection.call("get_current_notificationEventId").eventId or None
        except (TExceptionBase, TApplicationException):  # it has no log, or does not show it to the user
            event = None
        except (NotSentError, NoReplyError):
            connection.close()
            return None
        self._put(user, connection)
        return event

    def _wait(self, name: str, event: int | None) -> None:
        """Waits until this server has the event, so that callers read their own writes."""
        until = time.monotonic() + _PATIENCE
        while event is not None and time.monotonic() < until:
            with self._store.read() as work:
                state = work.imports.find(name)
            if state is None or state.position is None or state.position >= event:
                return
            time.sleep(_PAUSE)

    def _take(self, user: str | None) -> Connection:
        with self._lock:
            idle = self._idle.setdefault(user, deque())
            while idle:
                connection = idle.pop()
                if connection.is_alive:
                    return connection
                connection.close()
        return self._connect(user)

    def _put(self, user: str | None, connection: Connection) -> None:
        with self._lock:
            idle = self._idle.setdefault(user, deque())
            if len(idle) < _IDLE:
                idle.append(connection)
                return
        connection.close()

    def _connect(self, user: str | None) -> Connection:
        failures = []
        for address in self._addresses:
            try:
                return self._connection(address, user)
            except (*BROKEN, ClientError) as error:
                failures.append(f"{address} ({describe(error)})")
        raise UnavailableError(f"The change cannot be forwarded: no metastore answers at {', '.join(failures)}")

    def _connection(self, address: Address, user: str | None) -> Connection:
        return Connection(
            address,
            connect_timeout=_CONNECT_TIMEOUT,
            timeout=_TIMEOUT,
            user=None if self._credentials.prove_a_user else user,
            credentials=self._credentials,
        )
