"""Which database a command works on, and what it holds: `db upgrade`, `db current`, `db verify`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from metastore.cli.printing import print_table, printable
from metastore.errors import ConfigurationError
from metastore.settings import Settings
from metastore.storage.postgres import backup
from metastore.storage.postgres.embedded import EmbeddedPostgres
from metastore.storage.postgres.engine import make_engine
from metastore.storage.verification.verify import verify
from migrations import runner

_LEFT = "servers of the version before may go on; when none runs any more:  metastore db upgrade --finish"


@contextmanager
def database(settings: Settings, *, make: bool = False) -> Iterator[str]:
    """Returns the URL of the given database; or of the embedded one, which runs inside the block. `make`: where there
    is none yet, it is made. Raises ConfigurationError."""
    with opened(settings, make=make) as (url, _):
        yield url


@contextmanager
def opened(settings: Settings, *, make: bool) -> Iterator[tuple[str, EmbeddedPostgres | None]]:
    """Opens it as `database` does, with the embedded PostgreSQL, where it is that."""
    if settings.database_url is not None:
        yield settings.database_url, None
    else:
        with EmbeddedPostgres(settings.data_dir, settings.workers * settings.pool_size, make=make) as postgres:
            yield postgres.url, postgres


def upgrade(settings: Settings) -> str:
    """Brings the database to the schema of this version; says what was done, and what is left to do."""
    with database(settings, make=True) as url:
        done = "was upgraded" if runner.upgrade(url) else "was up to date"
        rest = "" if runner.is_finished(url) else f"; {_LEFT}"
        return f"{settings.safe_url} {done}: revision {runner.head()}{rest}"


def finish(settings: Settings) -> str:
    """Removes what only servers of the version before needed; says so."""
    with database(settings) as url:
        done = "is finished" if runner.finish(url) else "was finished"
        return f"{settings.safe_url}: the upgrade to revision {runner.head()} {done}"


def current(settings: Settings) -> str:
    """Says where the database stands."""
    with database(settings) as url:
        rest = "" if runner.is_finished(url) else f"; {_LEFT}"
        return (
            f"{settings.safe_url}: revision {runner.current(url) or 'none'}, this version needs {runner.head()}{rest}"
        )


def back_up(settings: Settings, file: Path) -> str:
    """Copies the whole database into a file; says so. Raises ConfigurationError, UnavailableError."""
    with database(settings) as url:
        revision = runner.current(url)
        if revision is None:
            raise ConfigurationError(f"{settings.safe_url} has no schema yet: there is nothing to back up")
        backup.back_up(url, file)
        return f"{settings.safe_url}, revision {revision}: {file}, {file.stat().st_size} bytes"


def restore(settings: Settings, file: Path) -> str:
    """Fills an empty database from a file; says so. Raises ConfigurationError, UnavailableError."""
    with database(settings, make=True) as url:
        if runner.current(url) is not None:
            raise ConfigurationError(f"{settings.safe_url} holds a metastore already: restore into an empty database")
        backup.restore(url, file)
        revision = runner.current(url)
        rest = "" if revision == runner.head() else f", this version needs {runner.head()}: run  metastore db upgrade"
        return f"{settings.safe_url} is as it was when {file} was made: revision {revision}{rest}"


def show_servers(settings: Settings) -> None:
    """Prints the servers that run on the database, with their versions."""
    with database(settings) as url:
        found = runner.servers(url)
    rows = [
        [server.address, server.version or "older", server.revision, str(server.workers), f"{server.seen:.0f} s ago"]
        if server.seen is not None
        else [server.address, "older", "", f"{server.workers} connections", "now"]
        for server in found
    ]
    print_table("Servers", ["address", "version", "revision", "workers", "seen"], rows)


def show_verified(settings: Settings, most: int) -> int:
    """Prints how many rows of each kind there are and how many contradict their bytes, then the first of these.

    Returns the exit status: 1 where there are any. Raises ConfigurationError for a schema that does not fit.
    """
    with database(settings) as url:
        runner.check(url)
        engine = make_engine(settings, url)
        try:
            found = list(verify(engine, most))
        finally:
            engine.dispose()
    print_table(
        "Rows",
        ["kind", "rows", "wrong"],
        [[verified.kind, str(verified.rows), str(verified.wrong)] for verified in found],
    )
    for verified in found:
        for difference in verified.differences:
            click.echo(printable(f"metastore: {difference}"), err=True)
    wrong = sum(verified.wrong for verified in found)
    if wrong:
        mend = "alter these objects through a client, which writes both, or restore a backup"
        rows = "1 row contradicts" if wrong == 1 else f"{wrong} rows contradict"
        click.echo(f"metastore: {rows} the bytes that clients are sent: {mend}", err=True)
    return 1 if wrong else 0
