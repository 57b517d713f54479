"""The doors for those who have no driver of ours: Spark Connect and JDBC. Clients need nothing of this library."""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spark_client.errors import SessionError
from spark_client.jvm import servers
from spark_client.session import Session, session

# Clients of Spark Connect are told what is wrong, and not where in the server.
_SETTINGS = {"spark.sql.connect.serverStacktrace.enabled": "false"}


@dataclass(frozen=True, slots=True)
class Servers:
    """What is served from a session, and under which addresses; None where it is not."""

    session: Session
    connect: str | None = None
    thrift: str | None = None
    _thrift: Any = None

    def stop(self) -> None:
        """Closes the doors, and stops Spark."""
        if self._thrift is not None:
            self._thrift.stop()
        if self.connect is not None:
            servers.stop_connect(self.session)
        self.session.stop()


def serve(
    uris: str | Sequence[str],
    *,
    connect: int | None = None,
    thrift: int | None = None,
    host: str = "127.0.0.1",
    app_name: str = "spark_client",
    master: str | None = None,
    warehouse: str | None = None,
    conf: Mapping[str, Any] | None = None,
) -> Servers:
    """Starts Spark with its own servers: Spark Connect on port `connect`, the Thrift server (JDBC) on `thrift`.

    `host`: the address that they listen on. They ask nobody who he is: whoever reaches them is this process's user.
    The rest is as in `session`.

    Raises:
        SessionError: no door is asked for, the host is not this machine's, a port is taken, or this Spark lacks it.
        MetastoreUnavailableError, UnsupportedSparkError: as `session`.
    """
    if connect is None and thrift is None:
        raise SessionError("nothing to serve: say connect=15002 (Spark Connect), thrift=10000 (JDBC), or both")
    if connect == thrift:
        raise SessionError(f"Spark Connect and the Thrift server cannot share port {connect}; choose another for one")
    for port in (connect, thrift):
        if port is not None:
            _check_free(host, port)
    settings = {**_SETTINGS, **(conf or {})}
    spark = session(uris, app_name=app_name, master=master, warehouse=warehouse, conf=settings)
    opened = Servers(spark)
    try:
        if connect is not None:
            servers.start_connect(spark, host, connect)
            opened = replace(opened, connect=f"sc://{host}:{connect}")
        if thrift is not None:
            server = servers.start_thrift(spark, host, thrift)
            opened = replace(opened, thrift=f"jdbc:hive2://{host}:{thrift}", _thrift=server)
    except SessionError:
        opened.stop()
        raise
    return opened


def _check_free(host: str, port: int) -> None:
    """Raises SessionError where nobody could listen there, or somebody does: Spark would say so late, and at length."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OverflowError as error:
        raise servers.cannot_listen(host, port, str(error)) from None
    except (socket.gaierror, UnicodeError):
        raise servers.cannot_listen(host, port, "nobody knows this host", servers.OTHER_HOST) from None
    except OSError as error:
        mend = servers.OTHER_HOST if error.errno == errno.EADDRNOTAVAIL else servers.OTHER_PORT
        raise servers.cannot_listen(host, port, str(error.strerror), mend) from None
