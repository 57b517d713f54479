"""Calls on busy Thrift connections, and live pages that a browser keeps open."""

from __future__ import annotations

import http.client
import multiprocessing
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from tests.bench.load import Connection, encode
from tests.fixtures.server import Server

OPEN = 50  # pages
_BUSY = 16  # Thrift connections
_REFRESH = 5.0  # seconds, as in console.js
_LIVE = ("/now", "/changes", "/locks")


def busy(server: Server, seconds: float) -> list[float]:
    """Calls get_table on 16 connections. Returns the seconds of each call."""
    request = encode("get_table", "db_000", "events_by_hour")
    latencies: list[float] = []

    def work() -> None:
        with closing(Connection(server)) as connection:
            end = time.perf_counter() + seconds
            while (begun := time.perf_counter()) < end:
                connection.call(request)
                latencies.append(time.perf_counter() - begun)

    _together([threading.Thread(target=work) for _ in range(_BUSY)])
    return latencies


@contextmanager
def open_pages(host: str) -> Iterator[Any]:
    """Keeps 50 live pages open while the block runs, in a process of its own. Yields the number of refreshes and of
    bytes.
    """
    context = multiprocessing.get_context("spawn")
    closing_time, counts = context.Event(), context.Array("q", 2)
    process = context.Process(target=_watch, args=(host, closing_time, counts))
    process.start()
    try:
        while counts[0] < OPEN and process.is_alive():  # each page has been shown once
            time.sleep(0.1)
        yield counts
    finally:
        closing_time.set()
        process.join()


def _watch(host: str, closing_time: Any, counts: Any) -> None:
    """Refreshes pages as `console.js` does, until `closing_time` is set."""

    def watch(address: str) -> None:
        tag = ""
        closing_time.wait(random.random() * _REFRESH)
        while not closing_time.is_set():
            accepted = {"Cache-Control": f"max-age={_REFRESH - 1:.0f}", "If-None-Match": tag}
            tag, size = refreshed(host, address, accepted)
            with counts.get_lock():
                counts[0] += 1
                counts[1] += size
            closing_time.wait(_REFRESH)

    _together([threading.Thread(target=watch, args=(_LIVE[number % len(_LIVE)],)) for number in range(OPEN)])


def refreshed(host: str, address: str, headers: dict[str, str]) -> tuple[str, int]:
    """Requests a page. Returns its entity tag, and the bytes of its body."""
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request("GET", address.replace(" ", "%20"), headers=headers)
    reply = connection.getresponse()
    size = len(reply.read())
    connection.close()
    if reply.status not in (200, 304):
        raise RuntimeError(f"{address}: HTTP status {reply.status}")
    return reply.headers["ETag"], size


def _together(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
