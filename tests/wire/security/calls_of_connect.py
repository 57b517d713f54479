"""Calls to the gateway's server of Spark Connect. Another gRPC server takes the place of the driver.

python -m tests.wire.security.calls_of_connect thrift://host:port
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import grpc
import psutil
import pytest
import trustme

from spark_client.errors import SessionError
from spark_client.gateway import listener
from spark_client.gateway.connect_server import ConnectServer
from spark_client.gateway.gateway import GatewayOptions, tls_context
from spark_client.gateway.logins import Logins
from tests.fixtures.real_hive import free_port
from tests.wire.security.stub_drivers import SECRET, StubDrivers

SERVICE = "/spark.connect.SparkConnectService/"
ALICE = ("authorization", "Bearer alice:alice's password")
LARGEST = 100_000  # bytes of a message


class Driver(grpc.GenericRpcHandler):  # type: ignore[misc] # the package has no types
    """Answers with the metadata and message that it receives. The method Fail fails with details."""

    def service(self, details: Any) -> Any:
        async def answer(message: bytes, context: Any) -> bytes:
            if details.method.endswith("Fail"):
                await context.abort(grpc.StatusCode.INTERNAL, "failed", (("grpc-status-details-bin", b"\x00\x01"),))
            return repr((sorted(map(tuple, context.invocation_metadata())), message)).encode()

        return grpc.unary_unary_rpc_method_handler(answer)


async def call(port: int, method: str, message: bytes, *metadata: tuple[str, str]) -> str:
    """Returns the answer, or the status of the error."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = channel.unary_unary(f"{SERVICE}{method}")
        try:
            return (await stub(message, metadata=metadata)).decode()
        except grpc.aio.AioRpcError as error:
            details = dict(tuple(error.trailing_metadata())).get("grpc-status-details-bin")
            return f"{error.code().name} {error.details() if details else ''} {details}"


async def check_tls(server: ConnectServer) -> None:
    """gRPC requires that the server selects HTTP/2 in the TLS handshake."""
    authority, port = trustme.CA(), free_port()
    with authority.issue_cert("localhost").private_key_and_cert_chain_pem.tempfile() as pem:
        options = GatewayOptions("", "127.0.0.1", port, None, Path(pem), Path(pem), LARGEST)
        await server.start("127.0.0.1", port, tls_context(options), LARGEST)
    credentials = grpc.ssl_channel_credentials(authority.cert_pem.bytes())
    async with grpc.aio.secure_channel(f"localhost:{port}", credentials) as channel:
        answer = await channel.unary_unary(f"{SERVICE}Config")(b"\x00message", metadata=(ALICE,))
    assert b"message" in answer, answer
    await server.stop()


async def check_long_folder() -> None:
    """The names of Unix sockets have at most 107 characters, on macOS 103."""
    with tempfile.TemporaryDirectory(prefix="x" * 100) as folder:
        tempfile.tempdir = folder
        with pytest.raises(SessionError, match="set TMPDIR to a short path"):
            await ConnectServer(cast(Any, None), cast(Any, None)).start("127.0.0.1", 0, None, LARGEST)
        assert not list(Path(folder).iterdir())
        tempfile.tempdir = None


async def main(uri: str) -> None:
    listener._UNAUTHENTICATED = 2  # type: ignore[misc] # a smaller limit
    logins, below = Logins(uri), grpc.aio.server()
    below.add_generic_rpc_handlers((Driver(),))
    drivers = StubDrivers(logins, connect=below.add_insecure_port("127.0.0.1:0"))
    server, port = ConnectServer(logins, drivers), free_port()
    await below.start()
    await server.start("127.0.0.1", port, None, LARGEST)
    tcp = [each for each in psutil.Process().net_connections("tcp") if each.status == psutil.CONN_LISTEN]
    assert {each.laddr.port for each in tcp} == {port, drivers.driver.connect}, tcp  # nothing goes around the listener
    answer = await call(port, "Config", b"\x00message", ALICE, ("x-other", "1"))
    assert f"('authorization', 'Bearer {SECRET}')" in answer, answer
    assert "('x-other', '1')" in answer, answer
    assert r"b'\x00message'" in answer, answer
    assert "alice" not in answer, answer
    answer = await call(port, "Fail", b"", ALICE)
    assert answer == r"INTERNAL failed b'\x00\x01'", answer
    for header in ((), (("authorization", "Bearer alice:wrong"),), (("authorization", f"Bearer {SECRET}"),)):
        answer = await call(port, "Config", b"", *header)
        assert answer.startswith("UNAUTHENTICATED "), answer
    drivers.driver.listeners[drivers.driver.connect] = "a socket that has been closed"
    answer = await call(port, "Config", b"", ALICE)
    assert answer.startswith("RESOURCE_EXHAUSTED "), answer
    drivers.driver.listeners.clear()
    answer = await call(port, "Config", b"\0" * (LARGEST + 1), ALICE)
    assert answer.startswith("RESOURCE_EXHAUSTED "), answer
    ended, drivers.driver = drivers.driver, replace(drivers.driver, process=SimpleNamespace(returncode=None))
    ended.process.returncode = 1
    answer = await call(port, "Config", b"\x00message", ALICE)
    assert f"('authorization', 'Bearer {SECRET}')" in answer, answer
    assert list(server._channels) == [drivers.driver]
    flood = [await asyncio.open_connection("127.0.0.1", port) for _ in range(listener._UNAUTHENTICATED + 1)]
    await flood[0][0].read()  # the oldest connection is closed
    answer = await call(port, "Config", b"\x00message", ALICE)
    assert f"('authorization', 'Bearer {SECRET}')" in answer, answer
    for _, writer in flood:
        await listener.close(writer)
    with pytest.raises(SessionError, match=f"^cannot listen on 127.0.0.1:{port}: "):
        await ConnectServer(logins, drivers).start("127.0.0.1", port, None, LARGEST)
    await server.stop()
    assert not server._sockets.exists()
    await check_tls(ConnectServer(logins, drivers))
    await check_long_folder()
    await drivers.stop()
    await below.stop(0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
