"""Which database a command works on, and its schema: `db upgrade`, `db current`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from metastore.settings import Settings
from metastore.storage.postgres.embedded import EmbeddedPostgres
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
