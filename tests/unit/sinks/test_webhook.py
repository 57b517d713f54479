"""What a webhook answers, and what becomes of it: statuses, redirects, silence, and connections that end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from metastore.domain.cloud_events import Message
from metastore.domain.sinks import Sink, parse_sinks
from metastore.errors import ConfigurationError
from metastore.sinks.destination import Failure, Outcome
from metastore.sinks.opening import check_sinks
from metastore.sinks.webhook import Webhook
from tests.fixtures.receiver import SECRET, Answer, receiving

MESSAGES = [Message(number, f"{number}@x", "d.t", b'{"data": {"id": %d}}' % number) for number in (1, 2, 3)]
NEVER = 1e9


@pytest.fixture
def sink(tmp_path: Path) -> Callable[..., Sink]:
    file = tmp_path / "secret"
    file.write_text(SECRET)
    return lambda url, options="": parse_sinks(f"hook={url}#secret_file={file}{options}")[0]


def read_message(connection: socket.socket) -> None:
    """Reads a whole request: the client sends its body on its own, and a server that closes before resets."""
    received = b""
    while not received.endswith(b"}}") and (part := connection.recv(2**16)):
        received += part


@contextmanager
def raw(answer: Callable[[socket.socket, int], None]) -> Iterator[str]:
    """A server whose n-th connection is answered so."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            number = 0
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    answer(connection, number)
                number += 1

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/x"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_messages_are_sent_over_one_connection(sink: Callable[..., Sink]) -> None:
    with receiving() as receiver:
        webhook = Webhook(sink(receiver.url))
        assert webhook.send(MESSAGES, NEVER) == Outcome(3)
        assert webhook.send(MESSAGES, 0) == Outcome(1)  # at least one, however late it is
        webhook.close()
    assert [each.identity for each in receiver.deliveries] == ["1@x", "2@x", "3@x", "1@x"]


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (Answer(500), Failure("answers 500 Internal Server Error")),
        (Answer(400, {"Retry-After": "7"}), Failure("answers 400 Bad Request", 7)),
        (Answer(429, {"Retry-After": "never"}), Failure("answers 429 Too Many Requests")),
        (Answer(302, {"Location": "/other"}), Failure("answers 302 Found: redirects are not followed")),
        (Answer(410), Failure("answers 410 Gone", is_gone=True)),
    ],
)
def test_answers_other_than_2xx_are_failures(sink: Callable[..., Sink], answer: Answer, failure: Failure) -> None:
    with receiving() as receiver:
        receiver.answer = lambda delivery: answer if delivery.event["id"] == 2 else Answer(200)
        webhook = Webhook(sink(receiver.url))
        outcome = webhook.send(MESSAGES, NEVER)
        webhook.close()
    assert outcome.delivered == 1
    assert outcome.failure
    address = receiver.url.partition("?")[0]
    assert outcome.failure == failure._replace(reason=f"{address} {failure.reason}")
    assert [each.event["id"] for each in receiver.deliveries] == [1, 2]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 500 a\0 \x1b[1m\r\n\r\n", r"answers 500 a\x00 \x1b[1m"),
        (b"\x15\x03\x03\0\x02\x02F", r"cannot be reached: \x15\x03\x03\x00\x02\x02F"),  # a receiver of TLS
    ],
)
def test_a_reason_can_be_stored_and_logged(sink: Callable[..., Sink], answer: bytes, reason: str) -> None:
    def send(connection: socket.socket, _: int) -> None:
        read_message(connection)
        connection.sendall(answer)

    with raw(send) as url:
        assert Webhook(sink(url)).send(MESSAGES, NEVER) == Outcome(0, Failure(f"{url} {reason}"))


def test_a_receiver_that_answers_a_byte_at_a_time_is_given_up(sink: Callable[..., Sink]) -> None:
    ended = threading.Event()

    def drip(connection: socket.socket, _: int) -> None:
        read_message(connection)
        try:
            while not ended.wait(0.05):
                connection.sendall(b"H")
        except OSError:
            pass

    with raw(drip) as url:
        outcome = Webhook(sink(url, "&timeout=0.3")).send(MESSAGES, NEVER)
        ended.set()
    assert outcome == Outcome(0, Failure(f"{url} does not answer within 0.3 s"))


def test_a_connection_that_the_receiver_has_closed_meanwhile_is_opened_again(sink: Callable[..., Sink]) -> None:
    def answer(connection: socket.socket, number: int) -> None:
        for _ in range(1 if number < 2 else 2):  # closes the connection, and says nothing of it
            read_message(connection)
            connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    with raw(answer) as url:
        webhook = Webhook(sink(url))
        assert webhook.send(MESSAGES, NEVER) == Outcome(3)
        webhook.close()


@pytest.mark.parametrize(
    "head", ["HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n"]
)
def test_a_receiver_that_closes_the_connection_after_its_answer_has_taken_it(
    sink: Callable[..., Sink], head: str
) -> None:
    def answer(connection: socket.socket, _: int) -> None:
        read_message(connection)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(head.encode())
        connection.sendall(b"ok")

    with raw(answer) as url:
        assert Webhook(sink(url)).send(MESSAGES, NEVER) == Outcome(3)


def test_an_answer_to_a_failed_message_is_not_taken_for_that_to_the_next_one(sink: Callable[..., Sink]) -> None:
    def answer(connection: socket.socket, number: int) -> None:
        read_message(connection)
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n" if number == 0 else b"HTTP/1.1 500 No\r\n\r\n")
        if number == 0:
            read_message(connection)
            with suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with raw(answer) as url:
        webhook = Webhook(sink(url))
        assert webhook.send(MESSAGES, NEVER) == Outcome(0, Failure(f"{url} answers 103 Early Hints"))
        assert webhook.send(MESSAGES, NEVER) == Outcome(0, Failure(f"{url} answers 500 No"))


def test_a_long_answer_is_not_read(sink: Callable[..., Sink]) -> None:
    def answer(connection: socket.socket, _: int) -> None:
        read_message(connection)
        with suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n" + bytes(2**20))

    with raw(answer) as url:
        webhook = Webhook(sink(url))
        assert webhook.send(MESSAGES, NEVER) == Outcome(3)
        webhook.close()


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:1/x",
        "http://no-such-host.invalid/x",
        f"http://{'x' * 70}.invalid/x",
        "https://127.0.0.1:1/x?k=v",
    ],
)
def test_a_receiver_that_cannot_be_reached_is_named(sink: Callable[..., Sink], address: str) -> None:
    outcome = Webhook(sink(address)).send(MESSAGES, NEVER)
    assert outcome.failure
    assert outcome.failure.reason.startswith(f"{address.partition('?')[0]} cannot be reached: ")


def test_a_certificate_is_verified(sink: Callable[..., Sink]) -> None:
    with receiving() as receiver:  # speaks no TLS
        outcome = Webhook(sink(receiver.url.replace("http:", "https:"))).send(MESSAGES, NEVER)
    assert outcome.failure
    assert "cannot be reached" in outcome.failure.reason


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (None, "secret_file FILE cannot be read: No such file or directory"),
        ("", "secret_file FILE: it is empty"),
        ("hunter2", "secret_file FILE: a secret must be whsec_ and base64 of 24 to 64 bytes"),
        ("ü", "secret_file FILE: it is no text"),
    ],
)
def test_a_wrong_secret_file_is_named_without_its_content(tmp_path: Path, content: str | None, error: str) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigurationError) as raised:
        check_sinks(f"hook=https://host/#secret_file={file}")
    assert str(raised.value) == f"sinks: hook: {error.replace('FILE', str(file))}"


def test_a_wrong_file_of_authorities_is_named(sink: Callable[..., Sink], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"ca_file {tmp_path}/none cannot be read"):
        Webhook(sink("https://host/", f"&ca_file={tmp_path}/none"))


def test_properties_of_kafka_are_read_without_showing_them(tmp_path: Path) -> None:
    file = tmp_path / "properties"
    file.write_text("# comment\n\nsasl.username = ann\nhunter2\n")
    with pytest.raises(ConfigurationError, match=f"config_file {file}, line 4: write name=value$"):
        check_sinks(f"bus=kafka://host:9092/topic#config_file={file}")
