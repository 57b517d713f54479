"""`metastore import follow`."""

from __future__ import annotations

import signal
from threading import Event

import click

from metastore.cli.importing import opened_source, opened_store
from metastore.cli.printing import printable
from metastore.importing.copier import find_import
from metastore.importing.follower.follower import Follower
from metastore.importing.follower.loop import follow
from metastore.settings import Settings, safe_url
from metastore.storage.unit_of_work import Store


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
