"""`metastore serve` whose workers kill themselves. `FAULTS` names a file that contains the step at which to die."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from functools import partial
from pathlib import Path

from metastore.app import timers, worker
from metastore.cli import main
from metastore.storage.postgres import clock

FAULTS = "METASTORE_TEST_FAULTS"


def die(control: Path, step: str) -> None:
    """Kills this process once, as kill -9 does."""
    if control.exists() and control.read_text() == step:
        control.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    clock.LEASE = timedelta(seconds=1)  # a dead worker is replaced soon
    timers.RECOVERY_INTERVAL = 0.2  # type: ignore[misc]
    if control := os.environ.pop(FAULTS, ""):
        worker.Application = partial(worker.Application, on_step=partial(die, Path(control)))  # type: ignore[misc, assignment]
    main()
