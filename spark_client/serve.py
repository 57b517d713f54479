"""Serves a session to other clients: Spark Connect and JDBC. The clients need nothing of this library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spark_client.context import MetastoreSession
from spark_client.errors import SessionError
from spark_client.jvm import server_settings, servers, sessions
from spark_client.session import Session, session

# Clients of Spark Connect get the message of an error, without the server's stack trace.
_SETTINGS = {"spark.sql.connect.serverStacktrace.enabled": "false"}
# The web interface has no authentication.
_SETTINGS_OF_DRIVER = {"spark.ui.enabled": "false"}


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of a session and their addresses. An address is None if the server was not started."""

    session: Session
    connect: str | None = None
    thrift: str | None = None
    _thrift: Any = None

    def stop(self) -> None:
        """Stops the servers and Spark."""
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
    connect_token: str | None = None,
    thrift_password: str | None = None,
    app_name: str = "spark_client",
    master: str | None = None,
    warehouse: str | None = None,
    conf: Mapping[str, Any] | None = None,
) -> Servers:
    """Starts Spark with its own servers: Spark Connect on port `connect`, the Thrift server for JDBC on `thrift`.

    `host` is the address on which both listen. Without authentication, it must be a loopback address. Spark Connect
    rejects clients that do not present `connect_token`, the Thrift server those without `thrift_password`. Every client
    has the rights of this process, in Spark and at the metastore. Spark's RPC and block manager ports require a secret;
    in local mode, they listen on the loopback address. If Spark already runs, it keeps its settings. `session`
    describes the other parameters.

    Raises:
        SessionError: No port is given, the host is not an address of this machine, a port is taken, this Spark lacks
            the server, or other hosts could connect without authentication.
        MetastoreUnavailableError, UnsupportedSparkError: See `session`.
    """
    if connect is None and thrift is None:
        raise SessionError("nothing to serve: pass connect=15002 (Spark Connect), thrift=10000 (JDBC), or both")
    if connect == thrift:
        raise SessionError(f"Spark Connect and the Thrift server cannot share port {connect}; choose another for one")
    for port in (connect, thrift):
        if port is not None:
            servers.check_free(host, port)
    texts = {name: str(value) for name, value in (conf or {}).items()}
    serving = {"connect": connect is not None, "thrift": thrift is not None}
    settings = {**_settings(master, texts, host, connect_token, **serving), **(conf or {})}
    with server_settings.web_interface_address(settings.get("spark.driver.bindAddress")):
        spark = session(uris, app_name=app_name, master=master, warehouse=warehouse, conf=settings)
    started = Servers(spark)
    try:
        if connect is not None:
            servers.start_connect(spark, host, connect, connect_token)
            started = replace(started, connect=f"sc://{host}:{connect}")
        if thrift is not None:
            server = servers.start_thrift(spark, host, thrift, thrift_password)
            started = replace(started, thrift=f"jdbc:hive2://{host}:{thrift}", _thrift=server)
    except SessionError:
        started.stop()
        raise
    return started


def _settings(
    master: str | None, conf: Mapping[str, str], host: str, token: str | None, *, connect: bool, thrift: bool
) -> dict[str, str]:
    """Returns this library's settings for a driver that serves clients. Raises SessionError (see `serve`)."""
    token = conf.get(server_settings.CONNECT_TOKEN) if token is None else token
    server_settings.check_exposed(host, connect=connect, thrift=thrift, token=token, conf=conf)
    settings = {**_SETTINGS, **(server_settings.thrift_settings(conf) if thrift else {})}
    running = MetastoreSession.started
    if running is None or not sessions.is_running(running.sparkContext):
        settings |= _SETTINGS_OF_DRIVER | server_settings.network_settings(master, conf)
    return settings
