"""Few threads serve many connections; limits hold, and are told."""

from __future__ import annotations

import resource
import threading
from collections.abc import Callable

import pytest
from thrift.transport.TTransport import TTransportException

from .conftest import EchoServer, eventually
from .messages import call

ServeEcho = Callable[..., EchoServer]


@pytest.fixture
def many_files() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 3000:
        pytest.skip(f"2,000 connections need more than the {hard} files that this machine allows")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@pytest.mark.usefixtures("many_files")
def test_two_thousand_idle_connections_need_no_threads(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, max_threads=4)
    idle = [server.connect() for _ in range(2000)]
    assert int(server.client().getOption("threads")) <= 4 + 2  # with the ones that accept and that wait for the end
    for each in idle:
        each.sendall(call("echo awake"))
    assert all(b"awake" in each.recv(4096) for each in idle)


def test_slow_senders_do_not_keep_others_waiting(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, max_threads=8)
    message = call("echo late")
    slow = [server.connect() for _ in range(7)]
    for each in slow:
        each.sendall(message[:-1])
    client = server.client()
    assert [client.getOption(f"echo {n}") for n in range(100)] == [str(n) for n in range(100)]
    for each in slow:
        each.sendall(message[-1:])
    assert all(b"late" in each.recv(4096) for each in slow)


def test_calls_of_many_clients_at_once_are_not_mixed_up(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=2, max_threads=4)
    wrong: list[str] = []

    def talk(name: str) -> None:
        client = server.client()
        wrong.extend(name for n in range(50) if client.getOption(f"echo {name} {n}") != f"{name} {n}")

    threads = [threading.Thread(target=talk, args=(f"client {n}",)) for n in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []
    assert "Traceback" not in server.log


def test_spare_threads_end(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, spare_thread_timeout=0.1)
    slow = [server.connect() for _ in range(10)]
    for each in slow:
        each.sendall(call("echo")[:-1])
    client = server.client()
    assert eventually(lambda: int(client.getOption("threads")) > 10)
    for each in slow:
        each.close()
    assert eventually(lambda: int(client.getOption("threads")) <= 4)


def test_a_message_has_a_time_and_an_idle_connection_has_not(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, read_timeout=0.2)
    idle = server.client()
    idle.getOption("echo")
    slow = server.connect()
    slow.sendall(call("echo")[:-1])
    assert slow.recv(4096) == b""
    server.wait_for_log("closed: a message not complete after 0.2 s")
    assert idle.getOption("calls") == "2"


def test_a_client_that_does_not_take_its_reply_is_left(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, write_timeout=0.2)
    server.connect().sendall(call("large 50000000"))
    server.wait_for_log("closed: a reply of which nothing was taken for 0.2 s")
    assert server.client().getOption("echo well") == "well"


def test_connections_beyond_the_limit_are_closed_with_one_line(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, max_connections=3)
    clients = [server.client() for _ in range(3)]
    assert [each.getOption("echo") for each in clients] == [""] * 3
    assert [server.connect().recv(1) for _ in range(5)] == [b""] * 5
    server.wait_for_log("connections are refused: max_connections=3 are open")
    assert server.log.count("connections are refused: max_connections=3 are open") == 1
    clients[0].socket.close()
    server.wait_for_log("closed after 1 calls")

    def accepted() -> bool:
        try:
            return server.client().getOption("echo in") == "in"
        except TTransportException:
            return False

    assert eventually(accepted)
