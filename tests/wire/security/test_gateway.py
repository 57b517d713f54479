"""The gateway of `metastore spark serve` with a real metastore. Other programs take the place of the Spark drivers."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext

import pytest

from metastore.cli import spark
from metastore.client import Credentials, connect
from metastore.client.connection import Connection
from metastore.client.errors import AuthenticationError, MetastoreRefusedError
from metastore.client.sasl import Plain
from metastore.domain.delegation_tokens import parse_token, token_text
from metastore.errors import ConfigurationError, UnavailableError
from metastore.security.passwords import PasswordFile
from spark_client.errors import SessionError
from spark_client.gateway import sasl, thrift_server
from spark_client.gateway.listener import close
from spark_client.gateway.logins import Logins
from spark_client.gateway.relay import Relay, new_token
from spark_client.gateway.thrift_server import ThriftServer
from tests.fixtures.real_hive import free_port
from tests.fixtures.server import Server
from tests.wire.security.conftest import PATIENCE, who
from tests.wire.security.stub_drivers import SECRET, StubDrivers
from thrift_idl.gen.hive_metastore.ttypes import MetaException


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> PasswordFile:
    file = PasswordFile(tmp_path_factory.mktemp("users") / "users")
    for name in ("alice", "bob", "carol"):
        file.add(name, f"{name}'s password")
    return file


@pytest.fixture(scope="module")
def server(start: Callable[..., Server], users: PasswordFile) -> Server:
    options = ["--authentication", "password", "--password-file", str(users._path), "--workers", "1"]
    return start(*options, "--allow-password-without-tls", "true")


@pytest.fixture
def logins(server: Server) -> Logins:
    return Logins(f"thrift://localhost:{server.port}")


def password(user: str) -> Credentials:
    return Credentials(user=user, password=f"{user}'s password")


@asynccontextmanager
async def connection(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        await writer.wait_closed()


async def log_in(port: int, user: str, password: str) -> None:
    async with connection(port) as streams:
        await sasl.log_in(*streams, Plain(user, password))


@asynccontextmanager
async def relaying(logins: Logins) -> AsyncIterator[Relay]:
    relay = Relay(logins.addresses)
    await relay.start()
    try:
        yield relay
    finally:
        await relay.stop()


def caller(relay: Relay, token: str) -> str:
    """Returns the user that the metastore sees behind the relay, and hears a reply of many bytes."""
    with connect(f"thrift://127.0.0.1:{relay.port}", credentials=Credentials(token=token), timeout=PATIENCE) as client:
        client.get_database("default")
        return who(client)


def test_a_driver_calls_as_its_user(logins: Logins) -> None:
    async def run() -> None:
        async with relaying(logins) as relay:
            tokens = {user: new_token(user) for user in ("alice", "bob")}
            for user, token in tokens.items():
                relay.add(token, lambda user=user: password(user))  # type: ignore[misc]
            for user, token in tokens.items():
                assert await asyncio.to_thread(caller, relay, token.text) == user
            relay.remove(tokens["alice"])
            for rejected in (tokens["alice"], new_token("bob")):
                with pytest.raises(AuthenticationError, match="the token is not valid"):
                    await asyncio.to_thread(caller, relay, rejected.text)
            assert await asyncio.to_thread(caller, relay, tokens["bob"].text) == "bob"

    asyncio.run(run())


def test_other_tokens_mechanisms_and_protocols_are_rejected(logins: Logins) -> None:
    async def run() -> None:
        async with relaying(logins) as relay:
            token = new_token("alice")
            relay.add(token, lambda: password("alice"))
            forged = token_text(parse_token(token.text)[0], b"another password")
            with pytest.raises(AuthenticationError, match="the token is not valid"):
                await asyncio.to_thread(caller, relay, forged)
            with pytest.raises(AuthenticationError, match="SASL DIGEST-MD5"):
                await log_in(relay.port, "alice", "alice's password")
            async with connection(relay.port) as (reader, writer):
                writer.write(b"\x80\x01\x00\x01\x00\x00\x00\x07getName\x00\x00\x00\x00\x00")
                assert b"does not use SASL" in await reader.read()

    asyncio.run(run())


def test_the_error_of_the_metastore_reaches_the_driver(logins: Logins) -> None:
    async def run() -> None:
        async with relaying(logins) as relay:
            token = new_token("alice")
            relay.add(token, lambda: Credentials(user="alice", password="old password"))
            with pytest.raises(AuthenticationError, match="the password is wrong"):
                await asyncio.to_thread(caller, relay, token.text)

    asyncio.run(run())


def test_the_metastore_names_the_user_and_ends_the_login(logins: Logins, users: PasswordFile) -> None:
    login = logins.log_in(password("carol"))
    assert (login.user, login.is_open) == ("carol", True)
    with pytest.raises(AuthenticationError, match="unknown or the password is wrong"):
        logins.log_in(Credentials(user="carol", password="wrong"))
    users.remove("carol")
    login.connection._socket.handle.settimeout(60)
    assert login.connection._socket.handle.recv(1) == b""  # the server closes the connection
    assert not login.is_open


def test_an_error_of_the_metastore_is_one_line_and_ends_no_login(
    logins: Logins, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_self: Connection, _method: str, *_arguments: object) -> None:
        raise MetaException("the database is in recovery")

    monkeypatch.setattr(Connection, "call", fail)
    with pytest.raises(MetastoreRefusedError, match="in recovery") as raised:
        logins.log_in(password("alice"))
    assert not isinstance(raised.value, AuthenticationError)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    user, given = await sasl.read_plain(reader)
    assert given == SECRET
    sasl.accept(writer)
    writer.write(f"{user} ".encode())
    while data := await reader.read(1000):
        writer.write(data)
    writer.close()


def test_jdbc_clients_are_passed_to_the_driver_of_their_user(logins: Logins) -> None:
    async def run() -> None:
        below = await asyncio.start_server(echo, "127.0.0.1", 0)
        drivers = StubDrivers(logins, thrift=below.sockets[0].getsockname()[1])
        server, port = ThriftServer(logins, drivers), free_port()
        await server.start("127.0.0.1", port, None)
        async with connection(port) as (reader, writer):
            await sasl.log_in(reader, writer, Plain("bob", "bob's password"))
            assert await reader.readexactly(4) == b"bob "
            drivers._forget(password("bob"))  # they are no longer valid
            assert await reader.read() == b""
        async with connection(port) as (reader, writer):
            await sasl.log_in(reader, writer, Plain("bob", "bob's password"))
            writer.write(b"x" * 100_000)
            assert await reader.readexactly(4 + 100_000) == b"bob " + b"x" * 100_000
            for user, wrong in (("bob", "alice's password"), ("nobody", "x"), ("bob", SECRET)):
                with pytest.raises(AuthenticationError, match="unknown or the password is wrong"):
                    await log_in(port, user, wrong)
            drivers.driver.listeners[drivers.driver.thrift] = "a socket that has been closed"
            with pytest.raises(AuthenticationError, match="the driver of stub has ended"):
                await log_in(port, "bob", "bob's password")
            await server.stop()
            assert await reader.read() == b""
        await drivers.stop()
        below.close()

    asyncio.run(run())


def test_a_jdbc_connection_uses_its_driver_only_during_calls(logins: Logins) -> None:
    async def run() -> None:
        answer, ended = asyncio.Event(), asyncio.Event()

        async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await sasl.read_plain(reader)
            sasl.accept(writer)
            while data := await reader.read(1000):
                await answer.wait()
                writer.write(data)
            await close(writer)
            ended.set()

        below = await asyncio.start_server(slow, "127.0.0.1", 0)
        drivers = StubDrivers(logins, thrift=below.sockets[0].getsockname()[1])
        server, port = ThriftServer(logins, drivers), free_port()
        await server.start("127.0.0.1", port, None)
        async with connection(port) as (reader, writer):
            await sasl.log_in(reader, writer, Plain("bob", "bob's password"))
            assert drivers.driver.uses == 0
            for _ in range(2):
                answer.clear()
                writer.write(b"call")
                while not drivers.driver.uses:
                    await asyncio.sleep(0.01)
                before = drivers.driver.last_use
                answer.set()
                assert await reader.readexactly(4) == b"call"
                assert drivers.driver.uses == 0
                assert drivers.driver.last_use > before
            answer.clear()
            writer.write(b"call")
            while not drivers.driver.uses:
                await asyncio.sleep(0.01)
        while drivers.driver.uses:  # the client has gone
            await asyncio.sleep(0.01)
        answer.set()
        await ended.wait()
        await server.stop()
        await drivers.stop()
        below.close()

    asyncio.run(asyncio.wait_for(run(), PATIENCE))


def test_connections_of_a_user_are_limited(logins: Logins, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async def driver(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await sasl.read_plain(reader)
            sasl.accept(writer)
            await reader.read()
            await close(writer)

        below = await asyncio.start_server(driver, "127.0.0.1", 0)
        drivers = StubDrivers(logins, thrift=below.sockets[0].getsockname()[1])
        server, port = ThriftServer(logins, drivers), free_port()
        await server.start("127.0.0.1", port, None)
        async with connection(port) as first:
            await sasl.log_in(*first, Plain("bob", "bob's password"))
            async with connection(port) as second:
                with pytest.raises(AuthenticationError, match="bob has 1 connections, the maximum: close some of them"):
                    await sasl.log_in(*second, Plain("bob", "bob's password"))
        await server.stop()
        await drivers.stop()
        below.close()

    monkeypatch.setattr(thrift_server, "_CONNECTIONS_OF_USER", 1)
    asyncio.run(asyncio.wait_for(run(), PATIENCE))


def test_calls_of_spark_connect_are_passed_to_the_driver_of_their_user(server: Server) -> None:
    """In a process of its own: gRPC's threads and the forks of the tests' servers do not go together."""
    command = [sys.executable, "-m", "tests.wire.security.calls_of_connect", f"thrift://localhost:{server.port}"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_a_port_that_was_taken_is_one_line(logins: Logins) -> None:
    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(SessionError, match=f"cannot listen on 127.0.0.1:{port}: .*choose another port"):
                await ThriftServer(logins, StubDrivers(logins)).start("127.0.0.1", port, None)

    asyncio.run(run())


LAUNCH = "env USER={user}"


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """`program(uri, **options)` returns the module and arguments that the command executes."""
    executed: list[str] = []

    def main_of(module: str) -> Callable[[list[str]], int]:
        return lambda arguments: executed.append(" ".join([module, *arguments])) or 0

    monkeypatch.setattr(spark, "_main", main_of)
    monkeypatch.setattr(spark, "java_required", lambda _command: nullcontext())
    monkeypatch.setattr(spark, "require_packages", lambda *_names: None)

    def program(uri: str, **options: object) -> str:
        empty = {"connect": None, "thrift": 10000, "share_level": None, "launch": None, "uri": uri}
        assert spark.serve(("a=b",), {**empty, **options}) == 0
        return executed[-1]

    return program


def test_the_share_level_follows_the_metastore(
    server: Server, metastore_server: Server, program: Callable[..., str]
) -> None:
    users, trusting = f"thrift://localhost:{server.port}", metastore_server.uri
    gateway = "spark_client.commands.gateway --thrift=10000"
    for level in (None, "user"):
        assert program(users, share_level=level, launch=LAUNCH).split(" --launch=")[0] == gateway
        with pytest.raises(ConfigurationError, match=r"need --launch, .* --share-level server runs one driver"):
            program(users, share_level=level)
    assert program(trusting) == f"spark_client.commands.serve --thrift=10000 --uri={trusting} --conf=a=b"
    assert program(users, share_level="server").startswith("spark_client.commands.serve ")
    assert program(users, launch=LAUNCH, max_drivers=3).endswith(" --max_drivers=3 --conf=a=b")


def test_the_share_level_is_not_guessed_without_a_metastore(program: Callable[..., str]) -> None:
    uri = f"thrift://127.0.0.1:{free_port()}"
    with pytest.raises(UnavailableError, match=uri):
        program(uri)
    assert program(uri, share_level="server").startswith("spark_client.commands.serve ")


def test_an_option_of_the_other_share_level_is_rejected(server: Server, program: Callable[..., str]) -> None:
    users = f"thrift://localhost:{server.port}"
    with pytest.raises(ConfigurationError, match="--connect-token-file has no effect with --share-level user"):
        program(users, launch=LAUNCH, connect_token_file="file")
    with pytest.raises(ConfigurationError, match="--launch has no effect with --share-level server"):
        program(users, launch=LAUNCH, share_level="server")
    with pytest.raises(ConfigurationError, match="cannot share port 10000"):
        program(users, connect=10000)
