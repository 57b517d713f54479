"""A thread that runs a job at intervals."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from metastore.errors import MetastoreError

log = logging.getLogger("metastore.background")

_REPEAT_INTERVAL: Final = 600.0  # seconds after which the same failure is logged again
_STOP_TIMEOUT: Final = 5.0  # seconds that `stop` waits for a running job


class Timer:
    """Calls `job` every `interval` seconds until it is stopped. Logs a failed run and retries at the next interval.

    `once`: end after the first successful run.
    """

    def __init__(self, name: str, job: Callable[[], object], interval: float, *, once: bool = False) -> None:
        self._once = once
        self._name = name
        self._job = job
        self._interval = interval
        self._stopped = threading.Event()
        self._logged: tuple[str, float] | None = None  # the last failure in the log, and when it was written
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Starts the thread. The first run is after one interval."""
        self._thread.start()

    def stop(self) -> None:
        """Prevents further runs, and waits at most 5 seconds for the current one."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_TIMEOUT)

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            try:
                self._job()
                if self._once:
                    return
                self._logged = None
            except MetastoreError as error:
                self._report(str(error))
            except Exception:  # one failure must not end the timer
                log.exception("Background job failed and will be retried: %s", self._name)

    def _report(self, failure: str) -> None:
        """Logs a failure. A repeated failure, such as that of a standby database, is logged only from time to time."""
        now = time.monotonic()
        if self._logged is None or self._logged[0] != failure or now - self._logged[1] > _REPEAT_INTERVAL:
            self._logged = failure, now
            log.warning("Background job failed and will be retried: %s: %s", self._name, failure)
