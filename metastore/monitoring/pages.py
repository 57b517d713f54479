"""The pages of the HTTP port: figures, health, slow calls and those in flight. A process beside the workers."""

from __future__ import annotations

import contextlib
import json
import logging
import select
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from metastore.monitoring.exposition import Gauges, render
from metastore.monitoring.shared_metrics import SharedMetrics

log = logging.getLogger("metastore.monitoring")

_PATIENCE: Final = 2.0  # seconds that a page waits for the database
_FRESH: Final = 5.0  # seconds that figures of the database are shown before they are asked again
_MOST_REQUESTS: Final = 64  # at a time
_TEXT: Final = "text/plain; charset=utf-8"
_JSON: Final = "application/json"


class ProbeError(Exception):
    """The database does not answer, or does not fit: one line."""


class _Server(ThreadingHTTPServer):
    """A thread for each request, of which the oldest goes where there are too many: those that are well take
    milliseconds."""

    daemon_threads = True

    def __init__(self, address: Any, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler, bind_and_activate=False)
        self._requests: deque[socket.socket] = deque()

    def process_request(self, request: Any, client_address: Any) -> None:
        """In the one thread that accepts."""
        while len(self._requests) >= _MOST_REQUESTS:
            with contextlib.suppress(OSError):  # it has been answered
                self._requests.popleft().shutdown(socket.SHUT_RDWR)
        self._requests.append(request)
        super().process_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the library's names
        """Logs in one line that a client broke off; the library prints a traceback past the log."""
        log.info("a page was not sent to %s: %s", client_address[0], sys.exc_info()[1])


class Pages:
    """What the HTTP port answers."""

    def __init__(
        self,
        board: SharedMetrics,
        figures: Callable[[], Gauges],
        others: Callable[[], Gauges],
        *,
        hive_names: bool,
        private: bool = False,
    ) -> None:
        """`figures` asks the database, and raises ProbeError; `others`: those that are there without it, at once.
        `private`: calls, which name users and tables, are shown to this machine only.
        """
        self._board = board
        self._figures = figures
        self._others = others
        self._hive_names = hive_names
        self._private = private
        self._lock = threading.Lock()
        self._asker = ThreadPoolExecutor(1, "asking the database")
        self._asking: Future[Gauges] | None = None
        self._known: Gauges = {}
        self._trouble = ""
        self._asked = float("-inf")

    def serve(self, listener: socket.socket, lifeline: int) -> int:
        """Answers until `lifeline` can be read; then whoever asks is refused, however long others drain."""
        pages = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:
                is_local = ip_address(self.client_address[0].removeprefix("::ffff:").partition("%")[0]).is_loopback
                status, kind, text = pages.page(self.path, is_local=is_local)
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Nobody reads a line a scrape."""

        server = _Server(listener.getsockname()[:2], Handler)
        server.socket.close()
        server.socket = listener
        threading.Thread(target=server.serve_forever, daemon=True).start()
        select.select([lifeline], [], [])
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        return 0

    def page(self, path: str, *, is_local: bool) -> tuple[int, str, str]:
        """Status, content type and text of a page. `is_local`: who asks is on this machine."""
        where = path.partition("?")[0]
        if where == "/metrics":
            figures, trouble = self._database()
            asked = {**figures, **self._others()}
            text = render(self._board, asked, up=not trouble, hive_names=self._hive_names)
            return 200, "text/plain; version=0.0.4; charset=utf-8", text
        if where == "/health/live":
            return (200, _TEXT, "alive\n") if self._workers() else (503, _TEXT, "no worker runs\n")
        if where == "/health/ready":
            trouble = self._database()[1] or ("" if self._workers() else "no worker runs")
            return (503, _TEXT, f"{trouble}\n") if trouble else (200, _TEXT, "ready\n")
        if where.startswith("/calls/") and self._private and not is_local:
            return (
                403,
                _TEXT,
                "calls name tables: ask on the server's machine (metastore calls)\n",
            )
        if where in ("/calls/slow", "/calls/now"):
            calls = [
                call
                for worker in self._board.workers()
                for call in (worker.slow_calls() if "slow" in where else worker.calls_in_flight())
            ]
            return 200, _JSON, json.dumps(calls)
        return 404, _TEXT, "pages: /metrics /health/live /health/ready /calls/slow /calls/now\n"

    def _workers(self) -> int:
        pids = [int(worker.gauges()["pid"]) for worker in self._board.workers()]
        return sum(1 for pid in pids if pid and Path(f"/proc/{pid}/stat").exists())

    def _database(self) -> tuple[Gauges, str]:
        """Returns its figures, and what is wrong with it; asked again when the last answer has become old, or was an
        error.
        """
        with self._lock:
            if self._asking is None and (self._trouble or time.monotonic() - self._asked > _FRESH):
                self._asking = self._asker.submit(self._figures)
            asking = self._asking
            if asking is None:
                return self._known, self._trouble
        if not wait((asking,), _PATIENCE).done:
            return {}, f"the database has not answered for {_PATIENCE:g} s"
        try:
            known, trouble = asking.result(), ""
        except ProbeError as error:
            known, trouble = {}, str(error)
        with self._lock:
            if self._asking is asking:
                self._asking, self._known, self._trouble, self._asked = None, known, trouble, time.monotonic()
        return known, trouble
