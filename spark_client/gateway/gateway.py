"""Runs the gateway: its listeners, the relay and the drivers."""

from __future__ import annotations

import asyncio
import signal
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spark_client.errors import SessionError
from spark_client.gateway.connect_server import ConnectServer
from spark_client.gateway.drivers import DriverOptions, Drivers
from spark_client.gateway.logins import Logins
from spark_client.gateway.relay import Relay
from spark_client.gateway.thrift_server import ThriftServer


@dataclass(frozen=True, slots=True)
class GatewayOptions:
    """Where the gateway listens. A port may be None. `certificate` and `key`: PEM files, or None for no TLS.

    `largest_message`: of a client of Spark Connect, in bytes.
    """

    uris: str
    host: str
    connect: int | None
    thrift: int | None
    certificate: Path | None
    key: Path | None
    largest_message: int


async def run(options: GatewayOptions, driver_options: DriverOptions, on_ready: Callable[[], None]) -> None:
    """Serves until SIGTERM or Ctrl-C. Raises SessionError if an address is taken or a TLS file is unusable."""
    stopped = asyncio.Event()
    for signal_ in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_, stopped.set)
    logins = Logins(options.uris)
    relay = Relay(logins.addresses)
    drivers = Drivers(logins, relay, driver_options)
    connect, thrift = ConnectServer(logins, drivers), ThriftServer(logins, drivers)
    context = tls_context(options)
    await relay.start()
    if options.connect is not None:
        await connect.start(options.host, options.connect, context, options.largest_message)
    if options.thrift is not None:
        await thrift.start(options.host, options.thrift, context)
    watching = asyncio.ensure_future(drivers.watch())
    on_ready()
    await stopped.wait()
    watching.cancel()
    if options.connect is not None:
        await connect.stop()
    await thrift.stop()
    await drivers.stop()
    await relay.stop()


def tls_context(options: GatewayOptions) -> ssl.SSLContext | None:
    """Returns a context with the certificate and key, or None without them. Raises SessionError."""
    if options.certificate is None or options.key is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["h2"])  # clients of gRPC require it; those of JDBC ignore it
    try:
        context.load_cert_chain(options.certificate, options.key)
    except OSError as error:  # ssl.SSLError is one, too
        raise SessionError(f"{options.certificate}, {options.key}: {error}; they must be PEM files") from None
    return context
