"""The follower of `metastore serve --follow`: applies the changes of the source of an import."""

from __future__ import annotations

import logging
import os
import select
from threading import Event, Thread
from typing import Final

from metastore.importing.follower.loop import follow
from metastore.monitoring.logs import configure
from metastore.settings import Settings, safe_url
from metastore.storage.postgres.engine import make_engine
from metastore.storage.unit_of_work import Store

log = logging.getLogger("metastore.import")

_STATEMENT_TIMEOUT: Final = 3600.0  # seconds
_STOP_TIMEOUT: Final = 5.0  # seconds for a running batch to end. Otherwise it is rolled back, and applied again later


def run_follower(settings: Settings, url: str, lifeline: int) -> int:
    """Runs in a process of `metastore serve --follow`, until `lifeline` is readable. Returns its exit status.

    Ends the process after an unexpected error: the server starts it again.
    """
    configure(settings.log_level, settings.log_format)
    stopped = Event()
    engine = make_engine(settings, url, statement_timeout=_STATEMENT_TIMEOUT, application="metastore follower", size=4)
    store = Store(engine, settings)
    address = safe_url(settings.follow)

    def report(line: str) -> None:
        log.warning("Following %s: %s", address, line)

    def run() -> None:
        try:
            follow(store, settings.follow, stopped, report)
        except Exception:  # the supervisor restarts the process
            log.exception("Following %s failed", address)
            os._exit(1)

    thread = Thread(target=run, name="follower", daemon=True)
    thread.start()
    select.select([lifeline], [], [])
    stopped.set()
    thread.join(_STOP_TIMEOUT)
    return 0
