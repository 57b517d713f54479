"""Calls to a metastore: a pool of idle connections, fail-over between addresses, retries of safe calls."""

from __future__ import annotations

import getpass
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TApplicationException

from metastore.client import errors
from metastore.client.connection import BROKEN, Address, Connection, NoReplyError, NotSentError, describe, parse_uris
from metastore.client.credentials import Credentials

Faults = Mapping[type[TExceptionBase], type[errors.ClientError]]
_DENIED: Final = "Permission denied: "  # of Hive and of this server


class Calls:
    """A pool of connections to the servers of one metastore. Subclasses make their calls with `_call`."""

    def __init__(
        self,
        uris: str | Sequence[str],
        *,
        connect_timeout: float = 5.0,
        timeout: float = 120.0,
        user: str | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        """Parses the addresses. The first call opens the first connection.

        Args:
            uris: addresses as in `hive.metastore.uris`.
            connect_timeout: seconds to open a connection.
            timeout: seconds to wait for a reply.
            user: user name sent with set_ugi. Default: the user of this process, unless the credentials identify one.
            credentials: default: `Credentials.from_environment()`.

        Raises:
            InvalidAddressError: an address cannot be parsed.
            CredentialsError: the credentials in the environment are contradictory.
        """
        self.addresses = parse_uris(uris)
        self._connect_timeout = connect_timeout
        self._timeout = timeout
        self.credentials = Credentials.from_environment() if credentials is None else credentials
        self._user = user or (None if self.credentials.prove_a_user else _user_name())
        self._idle: deque[Connection] = deque()
        self._preferred = 0

    def close(self) -> None:
        """Closes all idle connections. The next call opens a new one."""
        while self._idle:
            self._idle.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, method: str, *args: Any, repeat: bool, faults: Faults) -> Any:
        """Calls a method and returns its result. Tries one time more than there are addresses.

        The additional attempt is for an idle connection whose server has stopped since the last call. A call that did
        not reach a server completely is always sent again. A call whose reply did not arrive is sent again only if
        `repeat` is true, because the server may have executed it; otherwise the call raises ReplyLostError.

        `faults` maps Thrift exceptions to client errors; others become MetastoreRefusedError.
        """
        failures: list[str] = []
        for _ in range(len(self.addresses) + 1):
            connection = self._take()
            try:
                reply = connection.call(method, *args)
            except NotSentError as error:
                self._forget(connection)
                failures.append(f"{connection.address} ({error})")
            except NoReplyError as error:
                self._forget(connection)
                if not repeat:
                    raise errors.ReplyLostError(
                        f"{connection.address} closed the connection during {method} ({error}); the outcome is unknown"
                    ) from error
                if error.timed_out:
                    raise errors.MetastoreUnavailableError(
                        f"{connection.address} did not answer {method} within {self._timeout:g} seconds"
                    ) from error
                failures.append(f"{connection.address} ({error})")
            except (TExceptionBase, TApplicationException) as error:
                self._idle.append(connection)  # The connection is intact: the server answered.
                # `from None`: contextlib sets the traceback of a cause, which generated exceptions do not allow.
                raise _translate(method, error, faults) from None
            except BaseException:  # also Ctrl-C: the connection may hold half a message
                connection.close()
                raise
            else:
                self._idle.append(connection)
                return reply
        raise errors.MetastoreUnavailableError(f"no metastore answered {method}: {', '.join(failures)}")

    def check_reachable(self) -> None:
        """Opens a connection without calling a method. Raises MetastoreUnavailableError if no address accepts one."""
        self._idle.append(self._take())

    def _take(self) -> Connection:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # Another thread took the last one.
                break
            if connection.is_alive:
                return connection
            connection.close()
        return self._connect()

    def _connect(self) -> Connection:
        """Opens a connection to the preferred address, or to the next one that accepts it.

        The address becomes the preferred one. Raises MetastoreUnavailableError if no address accepts a connection.
        """
        failures = []
        start, count = self._preferred, len(self.addresses)
        for index in ((start + step) % count for step in range(count)):
            address: Address = self.addresses[index]
            try:
                connection = Connection(
                    address,
                    connect_timeout=self._connect_timeout,
                    timeout=self._timeout,
                    user=self._user,
                    credentials=self.credentials,
                )
            except BROKEN as error:
                failures.append(f"{address} ({describe(error)})")
            else:
                self._preferred = index
                return connection
        raise errors.MetastoreUnavailableError(
            f"no metastore answers at {', '.join(failures)}; start it (metastore serve), or check the address"
        )

    def _forget(self, broken: Connection) -> None:
        """Closes all connections to the address of a broken one, and prefers the next address from now on."""
        broken.close()
        self._preferred = (self.addresses.index(broken.address) + 1) % len(self.addresses)
        for connection in list(self._idle):
            if connection.address == broken.address:
                self._idle.remove(connection)
                connection.close()


def _user_name() -> str:
    """Returns the user name of this process, or `unknown`: in a container, a user id may have no name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def _translate(method: str, error: Exception, faults: Faults) -> errors.ClientError:
    kind = next((ours for fault, ours in faults.items() if isinstance(error, fault)), errors.MetastoreRefusedError)
    text = getattr(error, "message", None) or str(error)
    line = " ".join(str(text).split())
    if kind is errors.MetastoreRefusedError and line.startswith(_DENIED):
        kind = errors.PermissionDeniedError
    if isinstance(error, TApplicationException) and error.type == TApplicationException.UNKNOWN_METHOD:
        kind, line = errors.UnknownMethodError, f"the metastore does not serve {method}: {line}"
    return kind(line)
