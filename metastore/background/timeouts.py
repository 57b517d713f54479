"""The timer that ends what was not renewed in time: a thread in each worker, of which one at a time does the work."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from typing import Final

from metastore.errors import MetastoreError
from metastore.services.timeouts import TimeoutService

log = logging.getLogger("metastore.timeouts")

_SHARE: Final = 10  # runs in one time-out
_SHORTEST: Final = 1.0  # seconds between two runs
_PATIENCE: Final = 5.0  # seconds that stopping waits for a run under way


class Timeouts:
    """Calls the service from time to time, until it is stopped."""

    def __init__(self, service: TimeoutService, timeout: timedelta) -> None:
        self._service = service
        self._interval = max(timeout.total_seconds() / _SHARE, _SHORTEST)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="timeouts", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """No run begins after this."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            try:
                self._service.run()
            except MetastoreError as error:
                log.warning("what is late was not ended, it will be tried again: %s", error)
            except Exception:
                log.exception("what is late was not ended, it will be tried again")
