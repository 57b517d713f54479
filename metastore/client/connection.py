"""One connection to one server: address, socket, handshakes.

A failed call raises NotSentError or NoReplyError: `calls` repeats a change only if the server cannot have executed it.
"""

from __future__ import annotations

import logging
import select
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from metastore.client.credentials import Credentials
from metastore.client.errors import AuthenticationError, InvalidAddressError
from metastore.client.sasl import SaslTransport, mechanism_of
from metastore.domain.client_kinds import SEQUENCE
from thrift_idl.gen.hive_metastore.ttypes import MetaException
from thrift_idl.gen.metastore import Metastore

# Thrift logs errors that it also raises. Without a handler, Python would print them to stderr.
logging.getLogger(TSocket.__module__).addHandler(logging.NullHandler())

DEFAULT_PORT = 9083
_BUFFER_BYTES = 65536
# Errors of a connection that is broken, or whose peer is not a metastore.
BROKEN = (TTransportException, TProtocolException, OSError, EOFError, OverflowError)  # the last: a negative length


@dataclass(frozen=True, slots=True)
class Address:
    """Host and port of a server."""

    host: str
    port: int = DEFAULT_PORT

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"thrift://{host}:{self.port}"


def parse_uris(uris: str | Sequence[str] | None) -> tuple[Address, ...]:
    """Parses `thrift://host:port[,thrift://host2:port2]`, as in `hive.metastore.uris`. The default port is 9083.

    Raises InvalidAddressError for any other text, and if there is no address.
    """
    parts = uris.split(",") if isinstance(uris, str) else uris or ()
    addresses = tuple(_parse_uri(part.strip()) for part in parts if part.strip())
    if not addresses:
        raise InvalidAddressError("No metastore address is set. Write thrift://host:9083")
    return addresses


def _parse_uri(text: str) -> Address:
    try:
        url = urlsplit(text)
        host, port = url.hostname, url.port
    except ValueError:
        host = port = None
    if not host or url.scheme != "thrift" or url.path or url.query or "@" in url.netloc:
        raise InvalidAddressError(
            f"{text!r} is not a metastore address; write thrift://host:port, such as thrift://host:9083"
        )
    return Address(host, DEFAULT_PORT if port is None else port)


class NotSentError(Exception):
    """The request was not sent completely, so the server has not executed it."""


class NoReplyError(Exception):
    """The request was sent completely, but no reply arrived."""

    def __init__(self, cause: Exception, *, timed_out: bool) -> None:
        super().__init__(describe(cause))
        self.timed_out = timed_out


def describe(error: Exception) -> str:
    """Returns the first line of the error's text, or the name of its class. Thrift's own text for a connection that
    cannot be opened lacks the reason."""
    if isinstance(error, TTransportException) and isinstance(error.inner, OSError):
        error = error.inner
    text = (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
    return text.splitlines()[0]


class _Protocol(TBinaryProtocolAccelerated):  # type: ignore[misc]
    """The binary protocol with a fixed sequence number, by which servers recognize this client (`client_kinds`)."""

    def writeMessageBegin(self, name: str, type: int, seqid: int) -> None:  # noqa: A002, ARG002, N802 - Thrift's
        """Writes the message header."""
        super().writeMessageBegin(name, type, SEQUENCE)


class Connection:
    """A connection. Use it from one thread at a time."""

    def __init__(
        self,
        address: Address,
        *,
        connect_timeout: float,
        timeout: float,
        user: str | None,
        credentials: Credentials,
    ) -> None:
        """Opens the connection and authenticates: TLS, then SASL, then set_ugi.

        `connect_timeout` limits the connection and the handshakes, `timeout` each reply, both in seconds. A `user` of
        None skips set_ugi. Raises AuthenticationError if the server rejects the credentials or its certificate is not
        valid, and one of BROKEN if the server is unreachable or is not a metastore.
        """
        self.address = address
        self._socket = TSocket(address.host, address.port, socket_keepalive=True)
        self._socket.setTimeout(connect_timeout * 1000)
        self._tls = credentials.context() if credentials.tls else None
        mechanism = mechanism_of(credentials, address.host)
        try:
            self._socket.open()
            if self._tls:
                self._shake_hands(self._tls)
            transport = TBufferedTransport(self._socket, _BUFFER_BYTES)
            if mechanism:
                sasl = SaslTransport(transport, mechanism)
                sasl.open()
                transport = TBufferedTransport(sasl, _BUFFER_BYTES)
            self._client = Metastore.Client(_Protocol(transport))
            if user is not None:
                self._client.set_ugi(user, [user])
        except TApplicationException:
            pass  # The server does not implement set_ugi.
        except MetaException as error:
            self.close()
            raise AuthenticationError(f"{address}: {error.message}") from None
        except AuthenticationError as error:
            self.close()
            raise type(error)(f"{address}: {error}") from error
        except BaseException:  # also Ctrl-C: the socket must not stay open
            self.close()
            raise
        self._socket.setTimeout(timeout * 1000)

    def _shake_hands(self, context: ssl.SSLContext) -> None:
        """Starts TLS. Raises AuthenticationError for an invalid certificate, OSError for any other failure."""
        try:
            self._socket.setHandle(context.wrap_socket(self._socket.handle, server_hostname=self.address.host))
        except ssl.SSLCertVerificationError as error:
            raise AuthenticationError(f"the server's certificate is not valid: {error.verify_message}") from error
        except ssl.SSLError as error:
            raise OSError(f"TLS: {error.reason or error}; is TLS enabled on the server (METASTORE_TLS)?") from error

    @property
    def is_alive(self) -> bool:
        """False if the server has closed the connection."""
        if self._tls and self._socket.handle:  # an idle TLS socket is readable only if it was closed
            return not select.select([self._socket.handle], [], [], 0)[0]
        return bool(self._socket.isOpen())

    def call(self, method: str, *args: Any) -> Any:
        """Calls a method once and returns its result.

        Raises NotSentError, NoReplyError, or the exception in the reply.
        """
        try:
            getattr(self._client, f"send_{method}")(*args)
        except OverflowError:  # an argument is too large for its Thrift type
            raise
        except BROKEN as error:
            # The server executes a call only after it has received the last byte.
            raise NotSentError(describe(error)) from error
        try:
            return getattr(self._client, f"recv_{method}")()
        except BROKEN as error:
            timed_out = isinstance(error, TTransportException) and error.type == TTransportException.TIMED_OUT
            raise NoReplyError(error, timed_out=timed_out) from error
        except (TypeError, ValueError) as error:  # of the decoder, for values of another type
            raise NoReplyError(ValueError(f"its reply is not valid: {error}"), timed_out=False) from error

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()
