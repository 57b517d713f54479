"""Few threads serve many connections; limits hold and are reported."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import psutil
import pytest
from thrift.Thrift import TApplicationException
from thrift.transport.TTransport import TTransportException

from .conftest import WIRE_FORMATS, BlockedCall, EchoServer, blocking, eventually
from .messages import call, compact, strict

pytestmark = pytest.mark.slow

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
    assert int(server.client().getOption("threads")) <= 4 + 2  # with the accepting and supervising ones
    for socket in idle:
        socket.sendall(call("echo awake"))
    assert all(b"awake" in socket.recv(4096) for socket in idle)


def test_slow_senders_do_not_keep_others_waiting(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, max_threads=8)
    message = call("echo late")
    slow = [server.connect() for _ in range(7)]
    for socket in slow:
        socket.sendall(message[:-1])
    client = server.client()
    assert [client.getOption(f"echo {n}") for n in range(100)] == [str(n) for n in range(100)]
    for socket in slow:
        socket.sendall(message[-1:])
    assert all(b"late" in socket.recv(4096) for socket in slow)


def test_calls_of_concurrent_clients_are_not_mixed_up(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=2, max_threads=4)
    wrong: list[str] = []

    def talk(name: str) -> None:
        client = server.client()
        wrong.extend(name for n in range(50) if client.getOption(f"echo {name} {n}") != f"{name} {n}")

    threads = [threading.Thread(target=talk, args=(f"client {n}",)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert "Traceback" not in server.log


def test_spare_threads_end(serve_echo: ServeEcho, tmp_path: Path) -> None:
    server = serve_echo(workers=1, spare_thread_timeout=0.1)
    blocked = []
    for number in range(10):
        (folder := tmp_path / str(number)).mkdir()
        blocked.append(BlockedCall(server, folder))
    client = server.client()
    assert int(client.getOption("threads")) > 10
    for blocked_call in blocked:
        blocked_call.release()
    assert eventually(lambda: int(client.getOption("threads")) <= 4)


def test_begun_messages_need_no_threads(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, max_threads=2)
    message = call("echo late")
    begun = [server.connect() for _ in range(140)]
    for socket in begun:
        socket.sendall(message[:7])
    client = server.client()
    assert [client.getOption(f"echo {n}") for n in range(100)] == [str(n) for n in range(100)]
    assert int(client.getOption("threads")) <= 3 + 2  # with the threads that accept and supervise
    for socket in begun:
        socket.sendall(message[7:])
    assert all(b"late" in socket.recv(4096) for socket in begun)


def test_unread_replies_need_no_threads_and_bounded_memory(serve_echo: ServeEcho) -> None:
    limit = 250 * 2**20
    server = serve_echo(workers=1, max_threads=4, memory_limit=limit, queue_timeout=5)
    ours = server.client(source="127.0.0.2")
    process = psutil.Process(int(ours.getOption("pid")))
    for _ in range(40):
        server.connect().sendall(call("large 10000000"))
    most = 0
    for number in range(100):
        assert ours.getOption(f"echo {number}") == str(number)
        most = max(most, process.memory_info().rss)
    assert max(most, process.memory_info().rss) < limit


def test_a_reader_that_takes_a_byte_now_and_then_is_left(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, write_timeout=0.3)
    slow = server.connect()
    slow.sendall(call("large 50000000"))

    def gone() -> bool:
        slow.recv(1)
        return "closed: the client did not read its reply within 0.3 s" in server.log

    assert eventually(gone)


def test_elements_are_counted_by_their_memory(serve_echo: ServeEcho) -> None:
    """An empty struct is a byte on the wire, and 130 in memory."""
    limit = 150 * 2**20
    server = serve_echo(workers=1, memory_limit=limit)
    client = server.client()
    process = psutil.Process(int(client.getOption("pid")))
    count = 900_000
    parts = b"\x0c\x00\x01\x0f\x00\x03\x0c" + count.to_bytes(4, "big") + bytes(count) + b"\x00\x00"
    for _ in range(3):
        client.socket.sendall(strict("add_partitions_req", parts))
        assert b"METASTORE_MEMORY_LIMIT" in client.socket.recv(4096)
        assert process.memory_info().rss < limit
    assert client.getOption("echo still here") == "still here"
    assert eventually(lambda: process.memory_info().rss < limit * 0.7), "it goes back"


def test_calls_from_the_queue_that_take_long_leave_a_thread_for_others(serve_echo: ServeEcho, tmp_path: Path) -> None:
    """Half of the calls wait for memory that is reserved for the others, whose method has no known replies."""
    server = serve_echo(workers=1, max_threads=64)
    folders = [tmp_path / str(number) for number in range(24)]
    for folder in folders:
        folder.mkdir()
        for name in ("in", "go"):
            os.mkfifo(folder / name)
        server.connect().sendall(blocking(folder))
    assert server.client(source="127.0.0.2").getOption("echo still here") == "still here"
    for folder in folders:
        (folder / "in").read_text()
    assert server.client().getOption("echo still here") == "still here"
    for folder in folders:
        (folder / "go").write_text("")


def test_a_list_has_the_number_of_elements_in_its_header(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1)
    victim = server.connect()
    parts = b"\x0c\x00\x01\x0f\x00\x03\x0c" + (900_000).to_bytes(4, "big") + bytes(100_000)
    message = strict("add_partitions_req", parts)
    victim.sendall(len(message).to_bytes(4, "big") + message)
    server.wait_for_log("exceeded")
    told = b"".join(iter(lambda: victim.recv(4096), b""))
    assert f"limit: {len(message) + 4} elements of a container, at most one per byte".encode() in told


def test_addresses_take_turns_and_a_long_wait_names_the_limit(serve_echo: ServeEcho, tmp_path: Path) -> None:
    server = serve_echo(workers=1, max_threads=4, max_calls_per_address=2, queue_timeout=0.5)
    blocked = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        blocked.append(BlockedCall(server, tmp_path / name))
    third = server.client()
    with pytest.raises(TApplicationException, match=r"max_calls_per_address=2 calls of 127\.0\.0\.1 are in flight"):
        third.getOption("echo")
    assert server.client(source="127.0.0.2").getOption("echo other") == "other"
    for blocked_call in blocked:
        assert blocked_call.release()
    assert third.getOption("echo now") == "now"


@pytest.mark.parametrize("wire_format", ["framed binary", "framed compact"])
def test_a_large_call_that_waits_too_long_names_the_limit(
    serve_echo: ServeEcho, tmp_path: Path, wire_format: str
) -> None:
    server = serve_echo(workers=1, max_threads=1, queue_timeout=0.5)
    client = server.client(wire_format)
    assert client.getOption("echo small") == "small"
    blocked = BlockedCall(server, tmp_path)
    structs = {  # 20,000 of them, in a list
        "framed binary": strict("add_partitions_req", b"\x0c\x00\x01\x0f\x00\x03\x0c\x00\x00\x4e\x20" + bytes(20_002)),
        "framed compact": compact("add_partitions_req", b"\x1c\x39\xfc\xa0\x9c\x01" + bytes(20_002)),
    }
    message = structs[wire_format]
    client.socket.sendall(len(message).to_bytes(4, "big") + message)
    assert b"max_threads=1 calls are in flight" in client.socket.recv(4096)
    assert blocked.release()
    assert client.getOption("echo well") == "well"


def test_an_address_has_its_share_of_connections(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, max_connections=10, max_connections_per_address=2)
    assert [server.client().getOption("echo in") for _ in range(2)] == ["in", "in"]
    assert server.connect().recv(1) == b""
    server.wait_for_log("connections are rejected: max_connections_per_address=2 of 127.0.0.1 are open")
    told = r"max_connections_per_address=2 of 127.0.0.1 \(METASTORE_MAX_CONNECTIONS_PER_ADDRESS\)"
    for wire_format in WIRE_FORMATS:
        with pytest.raises(TApplicationException, match=told):
            server.client(wire_format).getOption("echo in")
    assert server.client(source="127.0.0.2").getOption("echo in") == "in"


def test_a_message_has_a_time_and_an_idle_connection_has_not(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, read_timeout=0.2)
    idle = server.client()
    idle.getOption("echo")
    slow = server.connect()
    slow.sendall(call("echo")[:-1])
    assert slow.recv(4096) == b""
    server.wait_for_log("closed: no complete request within 0.2 s")
    assert idle.getOption("calls") == "2"


def test_a_client_that_does_not_take_its_reply_is_left(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, write_timeout=0.2)
    server.connect().sendall(call("large 50000000"))
    server.wait_for_log("closed: the client did not read its reply within 0.2 s")
    assert server.client().getOption("echo well") == "well"


def test_connections_take_no_files_that_the_rest_needs(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, max_connections=100, files=64)
    server.wait_for_log("max_connections=100 needs 356 open files, but ulimit -n allows 64: the limit is lowered to 32")
    clients = [server.client() for _ in range(32)]
    assert [client.getOption("echo") for client in clients] == [""] * 32
    with pytest.raises(TApplicationException, match="max_connections=32"):
        server.client().getOption("echo")
    assert clients[0].getOption("echo well") == "well"


def test_connections_beyond_the_limit_are_closed_with_one_line(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, max_connections=3)
    clients = [server.client() for _ in range(3)]
    assert [client.getOption("echo") for client in clients] == [""] * 3
    assert [server.connect().recv(1) for _ in range(5)] == [b""] * 5
    server.wait_for_log("connections are rejected: max_connections=3 are open")
    assert server.log.count("connections are rejected: max_connections=3 are open") == 1
    clients[0].socket.close()
    server.wait_for_log("closed after 1 calls")

    def accepted() -> bool:
        try:
            return server.client().getOption("echo in") == "in"
        except (TTransportException, TApplicationException):
            return False

    assert eventually(accepted)


def test_large_writes_take_their_turn_among_readers_of_large_replies(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, memory_limit=250 * 2**20)
    written = Event()

    def read() -> int:
        replies = 0
        while not written.is_set():
            reader = server.connect()
            reader.sendall(call("large 30000000"))
            missing = 30_000_000
            while missing > 0:
                received = len(reader.recv(2**20))
                assert received, "the reply is rejected or cut"
                missing -= received
            reader.close()
            replies += 1
        return replies

    count = 200_000
    parts = b"\x0c\x00\x01\x0f\x00\x03\x0c" + count.to_bytes(4, "big") + bytes(count)
    padding = b"\x0b\x00\x63" + (2 * 2**20).to_bytes(4, "big") + bytes(2 * 2**20)
    message = strict("add_partitions_req", parts + padding + b"\x00\x00")
    with ThreadPoolExecutor(8) as threads:
        readers = [threads.submit(read) for _ in range(8)]
        try:
            for _ in range(2):
                writer = server.connect()
                writer.sendall(len(message).to_bytes(4, "big") + message)
                assert b"200000" in writer.recv(4096)
        finally:
            written.set()
        assert all(reader.result() for reader in readers)
