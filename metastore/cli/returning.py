"""`metastore import back`: applies changes of switched databases to the source, and gives the databases back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from metastore.cli.import_report import Report, as_dicts, reporting
from metastore.cli.importing import opened_source, opened_store
from metastore.cli.printing import printable
from metastore.errors import ConfigurationError, UnavailableError
from metastore.importing.digests import Digests
from metastore.importing.sources.thrift_calls import ThriftCalls
from metastore.importing.way_back.returner import Returner
from metastore.settings import Settings, safe_url

_PAUSE: Final = 0.5  # seconds between two readings of the log
_RETRY: Final = 2.0  # seconds after a failure


@dataclass(frozen=True, kw_only=True)
class WayBack:
    """What changes are returned, and until when.

    Attributes:
        source: the source that was imported, as the import names it.
        address: the Thrift address at which the source takes changes.
        uri: of this server.
        once: end when the source has all changes.
        give_back: then also give the databases back.
    """

    source: str
    address: str
    uri: str
    once: bool
    give_back: bool


def run_back(settings: Settings, way: WayBack, file: Path | None) -> None:
    """Returns changes until a signal arrives; with `once` or `give_back`, until the source has all of them.

    `file`: of the report. Raises ConfigurationError if the source cannot be written to, NotFoundError,
    InvalidOperationError, ConflictError.
    """
    if not way.address.startswith("thrift://"):
        raise ConfigurationError(
            f"{safe_url(way.address)} cannot be written to: changes go back through Thrift. Add --to thrift://host:9083"
        )
    with reporting(file, "back", way.address, way.uri) as report:
        while True:
            try:
                _run(settings, way, report)
            except UnavailableError as error:
                if way.once or way.give_back:
                    raise
                click.echo(printable(f"metastore: {error}"), err=True)
                time.sleep(_RETRY)
            else:
                return


def _run(settings: Settings, way: WayBack, report: Report) -> None:
    with (
        opened_store(settings) as store,
        opened_source(way.uri) as ours,
        opened_source(way.address) as theirs,
        closing(ThriftCalls(way.address)) as calls,
    ):
        returner = Returner(store, safe_url(way.source), ours, theirs, calls)
        with returner.lock(), _filled(report, returner):
            done = returner.catch_up()
            _say(f"{done.events} events applied to {way.address}: it has the changes up to event {done.position}")
            if way.give_back:
                done = returner.give_back()
                _say(f"{way.address} owns the databases again, after {done.events} more events. Next: move the clients")
            elif not way.once:
                _continue(returner)


@contextmanager
def _filled(report: Report, returner: Returner) -> Iterator[None]:
    """Adds what the block has applied to the report. Its digest is of the events."""
    digests = Digests(report.digests)
    try:
        yield
    finally:
        digests.add("events", returner.digest)
        report.counts = {"events": report.counts.get("events", 0) + returner.events}
        report.digests = digests.texts()
        report.findings += as_dicts(returner.reported)
        report.details = {"event": returner.position}


def _continue(returner: Returner) -> None:
    try:
        while True:
            if not returner.step().events:
                time.sleep(_PAUSE)
    except KeyboardInterrupt:
        _say("stopped; the same command continues")


def _say(line: str) -> None:
    click.echo(printable(f"metastore: {line}"), err=True)
