"""The reader of the stream of events: resumed, redirected by errors, and closed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import Any

import pytest

from metastore.client import Credentials, events
from metastore.client.errors import AuthenticationError, InvalidAddressError, MetastoreRefusedError
from metastore.client.events import EventStream

STREAM = "text/event-stream; charset=utf-8"
Reply = tuple[int, str, str]


def event(number: int) -> str:
    return f'id: {number}\nevent: DROP_TABLE\ndata: {{"id": {number}, "type": "DROP_TABLE"}}\n\n'


class Script:
    """A server that sends one reply after the other, and notes the headers of requests."""

    def __init__(self, *replies: Reply) -> None:
        self.replies, self.requests = list(replies), list[dict[str, str]]()
        self.url, self.hold, self.retry_after = "", threading.Event(), "0"


@contextmanager
def serving(script: Script) -> Iterator[Script]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            script.requests.append({"path": self.path, **self.headers})
            status, kind, body = script.replies.pop(0) if script.replies else (200, STREAM, ":\n\n")
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Retry-After", script.retry_after)
            self.end_headers()
            self.wfile.write(body.encode())
            if not script.replies:
                self.wfile.flush()
                script.hold.wait(60)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        script.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield script
        finally:
            script.hold.set()
            server.shutdown()


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Script]]:
    monkeypatch.setattr(events, "PAUSE", 0.0)
    opened = []

    def start(*replies: Reply) -> Script:
        opened.append(serving(Script(*replies)))
        return opened[-1].__enter__()

    yield start
    for each in opened:
        each.__exit__(None, None, None)


def test_a_stream_resumes_after_the_last_message(serve: Callable[..., Script]) -> None:
    script = serve((200, STREAM, "retry: 1\n\nid: 4\n\n" + event(5) + "id: 6\nevent: DR"), (200, STREAM, event(6)))
    stream = EventStream(script.url, parameters={"database": "d"})
    assert [number for number, _ in islice(stream, 3)] == [4, 5, 6]
    assert [each.get("Last-Event-ID") for each in script.requests] == [None, "5"]
    assert script.requests[0]["path"] == "/events/stream?database=d"


def test_the_first_message_says_where_the_stream_begins(serve: Callable[..., Script]) -> None:
    script = serve((200, STREAM, "id: 4\n\n" + event(5)))
    assert list(islice(EventStream(script.url), 2)) == [(4, None), (5, {"id": 5, "type": "DROP_TABLE"})]


def test_a_busy_server_and_one_in_an_outage_are_asked_again(serve: Callable[..., Script]) -> None:
    script = serve((503, "text/plain", "busy"), (500, "text/plain", "broken"), (200, STREAM, event(1)))
    assert next(iter(EventStream(script.url)))[0] == 1


@pytest.mark.parametrize(("asked", "seconds"), [("0", 1.0), ("7", 7.0), ("9" * 400, 60.0), ("soon", 5.0)])
def test_a_busy_server_asks_for_a_pause(
    serve: Callable[..., Script], monkeypatch: pytest.MonkeyPatch, asked: str, seconds: float
) -> None:
    monkeypatch.setattr(events, "PAUSE", 1.0)
    script = serve((503, "text/plain", "busy"), (200, STREAM, event(1)))
    script.retry_after, stream, pauses = asked, EventStream(script.url), list[float | None]()
    monkeypatch.setattr(stream._closed, "wait", pauses.append)
    assert next(iter(stream))[0] == 1
    assert pauses == [seconds]


@pytest.mark.parametrize(
    "garbage", ["id: one\n\n", "id: -1\n\n", "id: 1\ndata: {\n\n", "id: 1\ndata: 7\n\n", "data: " + "x" * 999]
)
def test_the_next_server_is_asked_after_garbage(
    serve: Callable[..., Script], monkeypatch: pytest.MonkeyPatch, garbage: str
) -> None:
    monkeypatch.setattr(events, "_MESSAGE", 500)
    first, second = serve((200, STREAM, garbage)), serve((200, STREAM, event(2)))
    stream = EventStream(f"{first.url},{second.url}", after=1)
    assert next(iter(stream))[0] == 2
    assert second.requests[0]["Last-Event-ID"] == "1"


def test_the_next_server_takes_over(serve: Callable[..., Script]) -> None:
    first, second = serve((200, STREAM, event(1)), (503, "text/plain", "")), serve((200, STREAM, event(2)))
    assert [number for number, _ in islice(EventStream(f"{first.url},{second.url}"), 2)] == [1, 2]


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (401, "text/plain", AuthenticationError),
        (403, "text/plain", AuthenticationError),
        (404, "text/plain", MetastoreRefusedError),
        (200, "text/html", MetastoreRefusedError),
    ],
)
def test_what_no_attempt_mends_is_an_error(
    serve: Callable[..., Script], status: int, kind: str, error: type[Exception]
) -> None:
    script = serve((status, kind, "why\nnot"))
    with pytest.raises(error, match=rf"^{script.url}.*why not"):
        next(iter(EventStream(script.url)))


@pytest.mark.parametrize(
    ("credentials", "header"),
    [
        (Credentials(user="ann", password="secret"), "Basic YW5uOnNlY3JldA=="),
        (Credentials(jwt="a.b.c"), "Bearer a.b.c"),
        (Credentials(), None),
    ],
)
def test_credentials_are_sent(serve: Callable[..., Script], credentials: Credentials, header: str | None) -> None:
    script = serve((200, STREAM, event(1)))
    next(iter(EventStream(script.url, credentials=credentials)))
    assert script.requests[0].get("Authorization") == header


def test_close_ends_a_stream_that_waits(serve: Callable[..., Script]) -> None:
    script = serve((200, STREAM, event(1)))
    stream = EventStream(script.url)
    messages = iter(stream)
    next(messages)
    threading.Timer(0, stream.close).start()
    assert list(messages) == []


@pytest.mark.parametrize("address", ["", "thrift://h:9083", "http://", "h:9180", "http://u:p@h", "http://h:x"])
def test_addresses_are_checked(address: str) -> None:
    with pytest.raises(InvalidAddressError):
        EventStream(address)


def test_credentials_that_demand_tls_are_not_sent_without_it() -> None:
    credentials = Credentials(tls=True, user="ann", password="secret")
    EventStream("https://h:9180", credentials=credentials)
    with pytest.raises(InvalidAddressError, match=r"'http://g' has no TLS.*write https://host:9180"):
        EventStream("https://h:9180,http://g", credentials=credentials)
