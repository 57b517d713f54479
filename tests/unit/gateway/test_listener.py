"""The bound on connections that are not authenticated."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from spark_client.gateway import listener as module
from spark_client.gateway.listener import Listener, Streams, close

HOST = "127.0.0.1"


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_UNAUTHENTICATED", 2)


@asynccontextmanager
async def connecting(tls: ssl.SSLContext | None = None) -> AsyncIterator[Callable[..., Coroutine[Any, Any, Streams]]]:
    """Yields a function that connects to a listener, from an address. Clients are authenticated when they send `in`."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            if data == b"in":
                listener.authenticated()
            writer.write(data)

    async def connect(address: str = HOST) -> Streams:
        streams = await asyncio.open_connection(HOST, port, local_addr=(address, 0))
        stack.push_async_callback(close, streams[1])
        return streams

    async with AsyncExitStack() as stack:
        listener = Listener(serve)
        port = await listener.start(HOST, 0, tls)
        stack.push_async_callback(listener.stop)
        yield connect
    assert not listener._tasks
    assert not listener._unauthenticated


async def is_open(streams: Streams) -> bool:
    streams[1].write(b"text")
    return await streams[0].read(100) == b"text"


def run(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(body(), 60))


def test_a_flood_closes_its_oldest_connection_and_no_authenticated_one() -> None:
    async def body() -> None:
        async with connecting() as connect:
            known = await connect()
            known[1].write(b"in")
            assert await known[0].read(100) == b"in"
            flood = [await connect() for _ in range(3)]
            assert await flood[0][0].read() == b""
            for streams in (known, *flood[1:]):
                assert await is_open(streams)

    run(body)


def test_another_address_is_not_kept_out() -> None:
    async def body() -> None:
        async with connecting() as connect:
            other = await connect("127.0.0.2")
            flood = [await connect() for _ in range(4)]
            assert [await reader.read() for reader, _ in flood[:3]] == [b""] * 3
            assert await is_open(other)

    run(body)


def test_connections_in_a_tls_handshake_count() -> None:
    async def body() -> None:
        async with connecting(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)) as connect:
            silent = [await connect() for _ in range(3)]
            assert await silent[0][0].read() == b""

    run(body)
