"""A command that is started again whenever it ends."""

from __future__ import annotations

import subprocess
from collections import Counter
from contextlib import suppress
from threading import Event, Thread


class Repeated(Thread):
    """Runs a command until it is stopped. `failures`: the last lines of runs that ended with an error."""

    def __init__(self, command: list[str]) -> None:
        super().__init__(daemon=True)
        self._command = command
        self._stopped = Event()
        self.failures: Counter[str] = Counter()

    def run(self) -> None:
        while not self._stopped.is_set():
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            _, errors = self._process.communicate()
            if self._process.returncode > 0:
                self.failures[errors.strip().rpartition("\n")[2][:160]] += 1
            self._stopped.wait(0.2)

    def kill(self) -> None:
        """Kills the command (SIGKILL). It starts again."""
        with suppress(AttributeError):
            self._process.kill()

    def stop(self) -> None:
        """Ends the command for good."""
        self._stopped.set()
        self._process.kill()
        self.join()
