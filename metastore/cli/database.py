"""Which database a command works on, and what it holds: `db upgrade`, `db current`, `db verify`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from metastore.cli.printing import print_table, printable
from metastore.settings import Settings
from metastore.storage.postgres.embedded import EmbeddedPostgres
from metastore.storage.postgres.engine import make_engine
from metastore.storage.verification.verify import verify
from migrations import runner


@contextmanager
def database(settings: Settings) -> Iterator[str]:
    """The URL of the given database; or of the embedded one, which runs inside the block. Raises ConfigurationError."""
    with opened(settings) as (url, _):
        yield url


@contextmanager
def opened(settings: Settings) -> Iterator[tuple[str, EmbeddedPostgres | None]]:
    """As `database`, with the embedded PostgreSQL, where it is that."""
    if settings.database_url is not None:
        yield settings.database_url, None
    else:
        with EmbeddedPostgres(settings.data_dir, settings.workers * settings.pool_size) as postgres:
            yield postgres.url, postgres


def upgrade(settings: Settings) -> str:
    """Brings the database to the schema of this version; says what was done."""
    with database(settings) as url:
        done = "was upgraded" if runner.upgrade(url) else "was up to date"
        return f"{settings.safe_url} {done}: revision {runner.head()}"


def current(settings: Settings) -> str:
    """Says where the database stands."""
    with database(settings) as url:
        return f"{settings.safe_url}: revision {runner.current(url) or 'none'}, this version needs {runner.head()}"


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
    print_table("Rows", ["kind", "rows", "wrong"], [[each.kind, str(each.rows), str(each.wrong)] for each in found])
    for each in found:
        for difference in each.differences:
            click.echo(printable(f"metastore: {difference}"), err=True)
    wrong = sum(each.wrong for each in found)
    if wrong:
        mend = "alter these objects through a client, which writes both, or restore a backup"
        rows = "1 row contradicts" if wrong == 1 else f"{wrong} rows contradict"
        click.echo(f"metastore: {rows} the bytes that clients are sent: {mend}", err=True)
    return 1 if wrong else 0
