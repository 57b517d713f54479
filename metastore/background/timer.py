"""What a timer is: a thread in each worker that does its job again and again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from metastore.errors import MetastoreError

log = logging.getLogger("metastore.background")

_PATIENCE: Final = 5.0  # seconds that stopping waits for a run under way


class Timer:
    """Calls `job` every `interval` seconds, until it is stopped. A run that fails is logged, and the next one comes.

    `once`: no run comes after one that did not fail.
    """

    def __init__(self, name: str, job: Callable[[], object], interval: float, *, once: bool = False) -> None:
        self._once = once
        self._name = name
        self._job = job
        self._interval = interval
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stops: no run begins after this."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            try:
                self._job()
                if self._once:
                    return
            except MetastoreError as error:
                log.warning("%s will be tried again: %s", self._name, error)
            except Exception:
                log.exception("%s will be tried again", self._name)
