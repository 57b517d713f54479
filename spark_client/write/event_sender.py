"""Sends run events to the collector of OpenLineage that OPENLINEAGE_URL names.

A thread sends them with OpenLineage's own client, whose variables (`OPENLINEAGE_…`) configure the rest. A collector
that is slow or dead delays no write: events that it does not take in time are dropped, with one warning.
"""

from __future__ import annotations

import atexit
import logging
import queue
import threading
from functools import cache
from typing import Any, Final

_log = logging.getLogger(__name__)

URL: Final = "OPENLINEAGE_URL"
_MOST_WAITING: Final = 1000  # events
_LAST_WAIT: Final = 5.0  # seconds that the end of the program waits for the thread
_warned: Final = set[str]()


class Sender:
    """A thread that sends events to one collector."""

    def __init__(self) -> None:
        from openlineage.client import OpenLineageClient

        self._client = OpenLineageClient()
        self._waiting: queue.Queue[Any] = queue.Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._send, name="openlineage", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def put(self, event: Any) -> None:
        """Sends an event later, or drops it if too many wait."""
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            warn_once(f"events for {URL} are dropped: it takes them too slowly")

    def close(self) -> None:
        """Waits for the events that are left, at most some seconds."""
        self.put(None)
        self._thread.join(_LAST_WAIT)

    def _send(self) -> None:
        while (event := self._waiting.get()) is not None:
            try:
                self._client.emit(event)
            except Exception as error:  # noqa: BLE001 - the thread goes on
                warn_once(f"events could not be sent to {URL}", error)


@cache
def sender(_url: str) -> Sender:
    """Returns the thread of a collector, which is started once. Raises errors of OpenLineage's client."""
    return Sender()


def warn_once(text: str, error: object = "") -> None:
    """Logs a text once, with its first error: those that follow differ, by the address of an object at least."""
    if text not in _warned:
        _warned.add(text)
        _log.warning("%s%s", text, f": {error}" if error else "")
