"""Readers of the stream of events."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.wire.console.conftest import PASSWORDS, Console
from tests.wire.console.conftest import console as console
from tests.wire.console.conftest import guarded as guarded
from tests.wire.console.conftest import password_file as password_file

PATIENCE = 60  # seconds


class Reader:
    """A client of the stream, as a browser's EventSource."""

    def __init__(self, url: str, parameters: str = "", user: str | None = None, after: int | None = None) -> None:
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        if user:
            secret = base64.b64encode(f"{user}:{PASSWORDS[user]}".encode()).decode()
            headers["Authorization"] = f"Basic {secret}"
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)
        self._connection.request("GET", f"/events/stream{parameters}", headers=headers)
        self.response = self._connection.getresponse()
        self.last = after

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yields the data of each message with data, and notes the last event id."""
        fields: dict[str, str] = {}
        while line := self.response.readline().decode():
            name, colon, value = line.rstrip("\n").partition(": ")
            if colon:
                fields[name] = value
                continue
            if "id" in fields:
                self.last = int(fields["id"])
            if "data" in fields:
                data = json.loads(fields["data"])
                assert (data["id"], data["type"]) == (self.last, fields["event"])
                yield data
            fields.clear()

    def begin(self) -> None:
        """Reads up to the first id: the stream has its place in the log."""
        while not self.response.readline().startswith(b"id: "):
            pass

    def close(self) -> None:
        with suppress(OSError):
            self._connection.close()
            self.response.close()


Open = Callable[..., Reader]


@pytest.fixture
def stream() -> Iterator[Open]:
    """Opens streams, which end with the test."""
    opened: list[Reader] = []

    def start(server: Console, *arguments: Any, **options: Any) -> Reader:
        opened.append(Reader(server.url, *arguments, **options))
        return opened[-1]

    yield start
    for each in opened:
        with closing(each):
            pass
