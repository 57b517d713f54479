"""The life of the server: draining, replacing dead workers, leaving no process behind, and errors at start."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from metastore.transport.bind import BindError, listen

from .conftest import BlockedCall, EchoServer, eventually

pytestmark = pytest.mark.slow

ServeEcho = Callable[..., EchoServer]


def terminate(server: EchoServer) -> None:
    server.process.send_signal(signal.SIGTERM)


def interrupt_all(server: EchoServer) -> None:
    """Interrupts as a terminal does."""
    os.killpg(server.process.pid, signal.SIGINT)


def hang_up(server: EchoServer) -> None:
    server.process.send_signal(signal.SIGHUP)


@pytest.mark.parametrize("stop", [terminate, interrupt_all, hang_up])
def test_it_drains(serve_echo: ServeEcho, tmp_path: Path, stop: Callable[[EchoServer], None]) -> None:
    server = serve_echo(workers=2)
    idle = [server.connect() for _ in range(10)]
    blocked = BlockedCall(server, tmp_path)
    stop(server)
    assert [each.recv(1) for each in idle] == [b""] * 10
    assert server.refuses()
    assert tmp_path.name.encode() in blocked.release()
    assert blocked.socket.recv(1) == b""
    assert server.wait() == 0
    assert server.log.count("application closed") == 2
    assert server.log.count("closed after 1 calls") == 1


def test_calls_that_do_not_end_in_time_are_cut(serve_echo: ServeEcho, tmp_path: Path) -> None:
    server = serve_echo(workers=1, drain_timeout=0.2)
    blocked = BlockedCall(server, tmp_path)
    terminate(server)
    assert server.wait() == 1, "the exit status shows that a call was aborted"
    assert blocked.socket.recv(1) == b""
    assert "1 calls were aborted: they did not finish within 0.2 s" in server.log
    assert "application closed" in server.log


def test_a_second_signal_ends_it_immediately(serve_echo: ServeEcho, tmp_path: Path) -> None:
    server = serve_echo(workers=2, drain_timeout=60)
    BlockedCall(server, tmp_path)
    terminate(server)
    server.wait_for_log("draining: SIGTERM")
    terminate(server)
    assert server.wait() == 1


def ask(server: EchoServer) -> tuple[Any, int]:
    """Returns a new client, and the process that serves it."""
    client = server.client()
    return client, int(client.getOption("pid"))


def test_a_killed_worker_is_replaced_and_others_continue(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=2)
    clients = dict(reversed(ask(server)) for _ in range(8))
    assert len(clients) == 2, "both workers accept"
    (killed, victim), (_, bystander) = clients.items()
    os.kill(killed, signal.SIGKILL)
    assert victim.socket.recv(1) == b""
    assert bystander.getOption("echo on") == "on"
    server.wait_for_log(f"worker {killed} ended with signal 9; it is restarted")
    assert eventually(lambda: ask(server)[1] not in clients)
    assert bystander.getOption("echo on") == "on"
    terminate(server)
    assert server.wait() == 0


def test_a_worker_that_hangs_is_replaced_and_others_continue(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=2, hung_after=2)
    clients = dict(reversed(ask(server)) for _ in range(8))
    hung, healthy = clients
    os.kill(hung, signal.SIGSTOP)
    server.wait_for_log(f"worker {hung} has no heartbeat and is killed")
    server.wait_for_log(f"worker {hung} ended with signal 9; it is restarted")
    assert clients[healthy].getOption("echo there") == "there"
    assert eventually(lambda: len(workers(server) - {hung}) == 2)
    terminate(server)
    assert server.wait() == 0


def test_a_worker_that_hangs_while_it_drains_is_not_waited_for_without_end(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=1, hung_after=1, drain_timeout=-8)  # with ten seconds of grace, that is two
    _, hung = ask(server)
    os.kill(hung, signal.SIGSTOP)
    terminate(server)
    assert server.wait() == 1
    assert f"worker {hung} has no heartbeat and is killed" in server.log


def test_workers_do_not_outlive_their_supervisor(serve_echo: ServeEcho, tmp_path: Path) -> None:
    server = serve_echo(workers=2)
    blocked = BlockedCall(server, tmp_path)
    server.process.kill()
    assert eventually(server.refuses)
    assert blocked.release() != b""
    assert server.wait() == -signal.SIGKILL
    assert server.log.count("application closed") == 2


def test_workers_that_cannot_start_end_it(serve_echo: ServeEcho, tmp_path: Path) -> None:
    server = serve_echo(workers=2, broken=str(tmp_path))
    assert server.wait() == 1
    assert "ERROR a worker cannot start: the database does not answer" in server.log
    assert server.log.count("giving up: ") == 1
    assert "Traceback" not in server.log


def test_workers_that_cannot_start_any_more_are_retried_and_others_continue(
    serve_echo: ServeEcho, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    server = serve_echo(workers=2, broken=str(broken))
    clients = dict(reversed(ask(server)) for _ in range(8))
    (killed, _), (_, bystander) = clients.items()
    broken.touch()
    os.kill(killed, signal.SIGKILL)
    server.wait_for_log("it is restarted in 0.4 s")
    assert bystander.getOption("echo on") == "on"
    broken.unlink()
    assert eventually(lambda: ask(server)[1] not in clients)
    assert bystander.getOption("echo on") == "on"
    terminate(server)
    assert server.wait() == 0


def workers(server: EchoServer) -> set[int]:
    """Returns the running ones."""
    children = psutil.Process(server.process.pid).children()
    return {child.pid for child in children if child.status() != psutil.STATUS_ZOMBIE}


def test_no_number_of_deaths_ends_it(serve_echo: ServeEcho) -> None:
    server = serve_echo(workers=2)
    _, survivor = ask(server)
    for number in range(1, 7):
        assert eventually(lambda: bool(workers(server) - {survivor}))
        os.kill((workers(server) - {survivor}).pop(), signal.SIGKILL)
        server.wait_for_log("ended with signal 9; it is restarted", number)
    assert eventually(lambda: ask(server)[1] not in (survivor, 0))
    terminate(server)
    assert server.wait() == 0


def test_a_port_in_use_is_named_in_one_line(server: EchoServer, serve_echo: ServeEcho) -> None:
    second = serve_echo(port=server.port)
    assert second.wait() == 1
    assert second.log == (
        f"cannot listen on 127.0.0.1:{server.port}: the port is in use; "
        "stop the process that listens there, or choose another port"
    )


@pytest.mark.parametrize(
    ("host", "port", "fix"),
    [
        ("no-such-host.invalid", 0, "host name is unknown"),
        ("host name", 0, "host name is unknown"),
        ("x" * 300, 0, "host name is unknown"),
        ("192.0.2.1", 0, "no such address"),
        ("127.0.0.1", 70000, "1 to 65535"),
    ],
)
def test_an_address_that_cannot_be_listened_on_is_named(host: str, port: int, fix: str) -> None:
    with pytest.raises(BindError, match=fix) as refusal:
        listen(host, port)
    assert str(refusal.value).startswith(f"cannot listen on {host}:{port}: ")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "0.0.0.0", ""])
def test_connections_inherit_their_options_from_the_listener(host: str) -> None:
    with listen(host, 0) as listener, socket.create_connection(("127.0.0.1", listener.getsockname()[1])):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 300
