"""Calls to a metastore: idle connections, fail-over between addresses, retry of what is safe."""

from __future__ import annotations

import getpass
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TApplicationException

from metastore.client import errors
from metastore.client.connection import BROKEN, Address, Connection, NoReplyError, NotSentError, describe, parse_uris
from metastore.client.credentials import Credentials

Faults = Mapping[type[TExceptionBase], type[errors.ClientError]]


class Calls:
    """Connections to the servers of one metastore, and calls through them."""

    def __init__(
        self,
        uris: str | Sequence[str],
        *,
        connect_timeout: float = 5.0,
        timeout: float = 120.0,
        user: str | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        """`uris` as in `hive.metastore.uris`; timeouts in seconds. Nothing is connected before the first call.

        Without `credentials`, those of the environment are shown. Raises InvalidAddressError, CredentialsError.
        """
        self.addresses = parse_uris(uris)
        self._connect_timeout = connect_timeout
        self._timeout = timeout
        self.credentials = Credentials.from_environment() if credentials is None else credentials
        self._user = user or (None if self.credentials.prove_a_user else _user_name())
        self._idle: deque[Connection] = deque()
        self._preferred = 0

    def close(self) -> None:
        """Hangs up; the next call connects again."""
        while self._idle:
            self._idle.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, method: str, *args: Any, repeat: bool, faults: Faults) -> Any:
        """Calls once more than there are addresses: the first may meet a server that has gone meanwhile."""
        failures: list[str] = []
        for _ in range(len(self.addresses) + 1):
            connection = self._take()
            try:
                answer = connection.call(method, *args)
            except NotSentError as error:
                self._forget(connection)
                failures.append(f"{connection.address} ({error})")
            except NoReplyError as error:
                self._forget(connection)
                if not repeat:
                    raise errors.ReplyLostError(
                        f"{connection.address} broke off during {method} ({error}); whether it happened is not known"
                    ) from error
                if error.timed_out:
                    raise errors.MetastoreUnavailableError(
                        f"{connection.address} did not answer {method} within {self._timeout:g} seconds"
                    ) from error
                failures.append(f"{connection.address} ({error})")
            except (TExceptionBase, TApplicationException) as error:
                self._idle.append(connection)  # An answer, if not the wanted one.
                # Generated exceptions cannot be given a traceback, which contextlib wants of a cause.
                raise _translate(method, error, faults) from None
            except BaseException:
                connection.close()  # Half a message may be in it.
                raise
            else:
                self._idle.append(connection)
                return answer
        raise errors.MetastoreUnavailableError(f"no metastore answered {method}: {', '.join(failures)}")

    def check_reachable(self) -> None:
        """Raises MetastoreUnavailableError where none of the addresses answers; asks for nothing."""
        self._idle.append(self._take())

    def _take(self) -> Connection:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # Another thread was faster.
                break
            if connection.is_alive:
                return connection
            connection.close()
        return self._connect()

    def _connect(self) -> Connection:
        """Returns a connection to the address that answered last, or to the next that answers."""
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
            f"no metastore answers at {', '.join(failures)}; is it started (metastore serve) and reachable?"
        )

    def _forget(self, broken: Connection) -> None:
        """Starts with the next address, and drops what was connected to this one."""
        broken.close()
        self._preferred = (self.addresses.index(broken.address) + 1) % len(self.addresses)
        for connection in list(self._idle):
            if connection.address == broken.address:
                self._idle.remove(connection)
                connection.close()


def _user_name() -> str:
    """Returns as whom this process runs; containers may run as a number that nobody has named."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def _translate(method: str, error: Exception, faults: Faults) -> errors.ClientError:
    kind = next((ours_ for theirs, ours_ in faults.items() if isinstance(error, theirs)), errors.MetastoreRefusedError)
    text = getattr(error, "message", None) or str(error)
    line = " ".join(str(text).split())
    if isinstance(error, TApplicationException) and error.type == TApplicationException.UNKNOWN_METHOD:
        line = f"the metastore does not serve {method}: {line}"
    return kind(line)
