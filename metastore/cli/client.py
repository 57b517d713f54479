"""A connection to a running metastore, for the commands that look into one."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from thrift.protocol.TBase import TExceptionBase
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from metastore.errors import ConfigurationError, NotFoundError, UnavailableError
from thrift_idl.gen.hive_metastore.ttypes import NoSuchObjectException, UnknownDBException
from thrift_idl.gen.metastore import Metastore

_TIMEOUT = 30.0  # seconds
logging.getLogger("thrift").setLevel(logging.CRITICAL)  # it logs what we tell in our own words


@contextmanager
def connected(uris: str, timeout: float = _TIMEOUT) -> Iterator[Any]:
    """A generated client, of Hive's methods and ours, of the first of `uris` (comma-separated) that answers.

    An answer may take `timeout` seconds.

    Raises ConfigurationError for what is no URI, UnavailableError and NotFoundError for what goes wrong: one line each.
    """
    transport = _first_open([_address(uri.strip()) for uri in uris.split(",")], uris, timeout)
    try:
        yield Metastore.Client(TBinaryProtocolAccelerated(transport))
    except (NoSuchObjectException, UnknownDBException) as error:
        raise NotFoundError(str(error.message)) from error
    except (TTransportException, TApplicationException, OSError, EOFError) as error:
        raise UnavailableError(f"{uris} does not answer as a metastore: {error}") from error
    except (TException, TExceptionBase) as error:  # the generated exceptions are of the second kind
        raise UnavailableError(f"{uris}: {getattr(error, 'message', error)}") from error
    finally:
        transport.close()


def _address(uri: str) -> tuple[str, int]:
    try:
        parts = urlsplit(uri)
        if parts.scheme == "thrift" and parts.hostname and parts.port:
            return parts.hostname, parts.port
    except ValueError:
        pass
    raise ConfigurationError(f"{uri!r} is no address of a metastore; write thrift://host:port")


def _first_open(addresses: list[tuple[str, int]], uris: str, timeout: float) -> TBufferedTransport:
    for host, port in addresses:
        socket = TSocket(host, port)
        socket.setTimeout(_TIMEOUT * 1000)
        try:
            socket.open()
        except TTransportException:
            continue
        socket.setTimeout(timeout * 1000)
        return TBufferedTransport(socket)
    raise UnavailableError(
        f"no metastore answers at {uris}: start one with  metastore serve  or name another with --uri"
    )
