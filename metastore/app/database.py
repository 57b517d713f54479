"""Opens the configured database for the life of a process, or of a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from metastore.errors import ConfigurationError
from metastore.settings import Settings
from metastore.storage.postgres.embedded import EmbeddedPostgres
from metastore.storage.postgres.engine import make_engine
from metastore.storage.postgres.exceptions import one_line_errors
from metastore.storage.verification.completeness import incompleteness


@contextmanager
def database(settings: Settings, *, make: bool = False) -> Iterator[str]:
    """Yields the URL of the configured database. An embedded database runs inside the block.

    `make`: create the embedded database if it does not exist. Raises ConfigurationError.
    """
    with opened(settings, make=make) as (url, _):
        yield url


@contextmanager
def opened(settings: Settings, *, make: bool) -> Iterator[tuple[str, EmbeddedPostgres | None]]:
    """Yields the URL of the database, as `database` does, and the embedded PostgreSQL, if it is one."""
    if settings.database_url is not None:
        yield settings.database_url, None
    else:
        with EmbeddedPostgres(settings.data_dir, settings.workers * settings.pool_size, make=make) as postgres:
            yield postgres.url, postgres


def check_complete(settings: Settings, url: str) -> None:
    """Raises ConfigurationError, with the fix, if an interrupted restore left the schema incomplete.

    Raises UnavailableError if the database does not answer.
    """
    engine = make_engine(settings, url, size=1)
    try:
        with one_line_errors(settings.safe_url), engine.connect() as connection:
            lack = incompleteness(connection)
    finally:
        engine.dispose()
    if lack:
        raise ConfigurationError(f"{settings.safe_url}: {lack}")
