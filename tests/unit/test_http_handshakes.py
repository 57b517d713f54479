"""TLS handshakes of the HTTP port, without a server process."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
import trustme

from metastore.addresses import one_to_close
from metastore.web.handshakes import Handshakes

FOREVER = 3600.0  # seconds


class Echo(asyncio.Protocol):
    """Sends back what it receives."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)


@pytest.fixture(scope="module")
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The contexts of the server and of its clients."""
    authority = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("localhost").configure_cert(server)
    authority.configure_trust(client)
    return server, client


@asynccontextmanager
async def listening(handshakes: Handshakes) -> AsyncIterator[int]:
    """Yields the port of a server."""
    server = await asyncio.get_running_loop().create_server(lambda: handshakes.protocol(Echo), "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        handshakes.abort()


async def is_closed(reader: asyncio.StreamReader) -> bool:
    """Waits for the server to close a connection. The time limit of pytest ends a failure."""
    with suppress(ConnectionError):
        return not await reader.read()
    return True


async def echoed(streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> bytes:
    streams[1].write(b"hello")
    received = await streams[0].readexactly(5)
    streams[1].transport.abort()
    return received


def test_the_oldest_of_too_many_handshakes_is_closed(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    async def run() -> None:
        async with listening(Handshakes(lambda: contexts[0], 3, FOREVER)) as port:
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
            assert await is_closed(silent[0][0])
            encrypted = await asyncio.open_connection("127.0.0.1", port, ssl=contexts[1], server_hostname="localhost")
            assert await echoed(encrypted) == b"hello"
            assert await is_closed(silent[1][0])
            newest = silent[3]  # it is still welcome
            await newest[1].start_tls(contexts[1], server_hostname="localhost")
            assert await echoed(newest) == b"hello"
            for _, writer in silent:
                writer.transport.abort()

    asyncio.run(run())


def test_a_flood_closes_no_connection_of_another_client() -> None:
    assert one_to_close({1: "192.0.2.1", 2: "192.0.2.2", 3: "192.0.2.2", 4: "192.0.2.1", 5: "192.0.2.2"}) == 2


def test_a_flood_of_handshakes_closes_no_other_client(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    async def run() -> None:
        async with listening(Handshakes(lambda: contexts[0], 2, FOREVER)) as port:
            other = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.2", 0))
            flood = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            assert await is_closed(flood[0][0])
            assert await is_closed(flood[1][0])
            await other[1].start_tls(contexts[1], server_hostname="localhost")
            assert await echoed(other) == b"hello"
            for _, writer in flood:
                writer.transport.abort()

    asyncio.run(run())


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01"])
def test_a_handshake_that_does_not_finish_is_closed(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext], sent: bytes
) -> None:
    async def run() -> None:
        async with listening(Handshakes(lambda: contexts[0], 3, 0.02)) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            while not await is_closed(reader):  # an alert may come first
                pass
            writer.transport.abort()

    asyncio.run(run())


def test_a_request_may_arrive_with_the_end_of_the_handshake(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    async def run() -> bytes:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = contexts[1].wrap_bio(incoming, outgoing, server_hostname="localhost")
        async with listening(Handshakes(lambda: contexts[0], 3, FOREVER)) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            while True:
                try:
                    client.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    writer.write(outgoing.read())
                    incoming.write(await reader.read(100_000))
            client.write(b"hello")
            writer.write(outgoing.read())  # one message, with the end of the handshake
            while True:
                try:
                    received = client.read(5)
                    writer.transport.abort()
                    return received
                except ssl.SSLWantReadError:
                    incoming.write(await reader.read(100_000))

    assert asyncio.run(run()) == b"hello"
