"""`metastore import follow` and `metastore serve --follow`."""

from __future__ import annotations

import logging
import os
import select
import signal
from threading import Event, Thread
from typing import Final

import click

from metastore.cli.importing import opened_source, opened_store
from metastore.cli.printing import printable
from metastore.importing.copying import find_import
from metastore.importing.following.follower import Follower
from metastore.importing.following.running import follow
from metastore.monitoring.logs import configure
from metastore.settings import Settings, safe_url
from metastore.storage.postgres.engine import make_engine
from metastore.storage.unit_of_work import Store

log = logging.getLogger("metastore.import")

_STATEMENT_TIMEOUT: Final = 3600.0  # seconds
_STOP_TIMEOUT: Final = 5.0  # seconds for a running batch to end. Otherwise it is rolled back, and applied again later


def run_follow(settings: Settings, address: str, *, once: bool) -> None:
    """Follows a source until a signal arrives; with `once`, until this server has all changes.

    Raises NotFoundError if there is no import from the source, UnavailableError if it does not answer at first.
    """
    with opened_store(settings) as store:
        with store.read() as work:
            find_import(work, safe_url(address))
        if once:
            click.echo(printable(catch_up(store, address)), err=True)
            return
        with opened_source(address):
            pass  # a wrong address or password is an error, not a temporary failure
        stopped = Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        follow(
            store,
            address,
            stopped,
            lambda line: click.echo(printable(f"metastore: {safe_url(address)}: {line}"), err=True),
        )


def catch_up(store: Store, address: str) -> str:
    """Applies the changes of a source up to now. Returns a line of text."""
    lines: list[str] = []
    with opened_source(address) as source:
        follower = Follower(source, store, lines.append)
        with follower.lock() as is_held:
            if not is_held:
                return f"{source.address}: another process follows it"
            step = follower.catch_up()
    compared = f" {lines[0]}." if lines else ""
    at = "" if step.position is None else f" This server is at event {step.position}."
    return f"{source.address}: {step.events} events applied.{compared}{at}"


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
