"""The pages of the HTTP port: figures, health, slow calls and those in flight. A process beside the workers."""

from __future__ import annotations

import json
import logging
import select
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from metastore.monitoring.board import Board
from metastore.monitoring.exposition import Figures, render

log = logging.getLogger("metastore.monitoring")

_FRESH: Final = 5.0  # seconds that figures of the database are shown before they are asked again
_TEXT: Final = "text/plain; charset=utf-8"
_JSON: Final = "application/json"


class Pages:
    """`figures` asks the database, and raises OSError, with one line, where it does not answer or does not fit."""

    def __init__(self, board: Board, figures: Callable[[], Figures], *, hive_names: bool) -> None:
        self._board = board
        self._figures = figures
        self._hive_names = hive_names
        self._lock = threading.Lock()
        self._known: Figures = {}
        self._trouble = ""
        self._asked = float("-inf")

    def serve(self, listener: socket.socket, lifeline: int) -> int:
        """Answers until `lifeline` can be read."""
        pages = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:
                status, kind, text = pages.page(self.path)
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Nobody reads a line a scrape."""

        server = ThreadingHTTPServer(listener.getsockname()[:2], Handler, bind_and_activate=False)
        server.daemon_threads = True
        server.socket.close()
        server.socket = listener
        threading.Thread(target=server.serve_forever, daemon=True).start()
        select.select([lifeline], [], [])
        return 0

    def page(self, path: str) -> tuple[int, str, str]:
        """Status, content type and text of a page."""
        where = path.partition("?")[0]
        if where == "/metrics":
            figures, trouble = self._database()
            text = render(self._board, figures, up=not trouble, hive_names=self._hive_names)
            return 200, "text/plain; version=0.0.4; charset=utf-8", text
        if where == "/health/live":
            return (200, _TEXT, "alive\n") if self._workers() else (503, _TEXT, "no worker runs\n")
        if where == "/health/ready":
            trouble = self._database()[1] or ("" if self._workers() else "no worker runs")
            return (503, _TEXT, f"{trouble}\n") if trouble else (200, _TEXT, "ready\n")
        if where in ("/calls/slow", "/calls/now"):
            calls = [
                call for place in self._board.places() for call in (place.slow() if "slow" in where else place.now())
            ]
            return 200, _JSON, json.dumps(calls)
        return 404, _TEXT, "pages: /metrics /health/live /health/ready /calls/slow /calls/now\n"

    def _workers(self) -> int:
        pids = [int(place.gauges()["pid"]) for place in self._board.places()]
        return sum(1 for pid in pids if pid and Path(f"/proc/{pid}/stat").exists())

    def _database(self) -> tuple[Figures, str]:
        """Its figures, and what is wrong with it; asked again when the last answer has become old, or was an error."""
        with self._lock:
            if self._trouble or time.monotonic() - self._asked > _FRESH:
                try:
                    self._known, self._trouble = self._figures(), ""
                except OSError as error:
                    self._known, self._trouble = {}, str(error)
                self._asked = time.monotonic()
            return self._known, self._trouble
