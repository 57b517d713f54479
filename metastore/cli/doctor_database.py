"""The checks of `metastore doctor` that need the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from metastore.app.database import database
from metastore.cli.findings import ERROR, OK, WARNING, Finding
from metastore.errors import ConfigurationError, MetastoreError
from metastore.settings import Settings
from metastore.settings.sections import TRANSACTION
from metastore.storage.postgres.client_programs import client_program, need_of
from metastore.storage.postgres.connect import parameters_of
from metastore.storage.postgres.embedded import is_made, usable
from metastore.storage.postgres.engine import make_engine
from metastore.storage.postgres.exceptions import one_line_errors
from metastore.storage.postgres.pooler import check_pooler
from metastore.storage.verification.server_state import ServerState, server_state
from migrations import runner

_OLDEST: Final = 140_000  # server_version_num of PostgreSQL 14
_CLOCK_SKEW: Final = 5.0  # seconds


def check_database(settings: Settings) -> Iterator[Finding]:
    """Yields the findings. Raises UnavailableError, ConfigurationError if the server could not start."""
    if settings.embedded and not is_made(settings.data_dir):
        usable(settings.data_dir)
        yield Finding(OK, f"{settings.safe_url} does not exist yet: metastore serve creates it")
        return
    with database(settings) as url:
        runner.check(url, read_only=settings.read_only)
        check_pooler(settings, url)
        yield Finding(OK, f"{settings.safe_url}: schema {runner.head()}, {_kind(settings)}")
        engine = make_engine(settings, url, application="metastore doctor", size=1)
        try:
            with one_line_errors(settings.safe_url):
                state = server_state(engine, read_only=settings.read_only)
        finally:
            engine.dispose()
        yield from _settings_of_postgres(settings, state)
        yield from (Finding(ERROR, problem) for problem in (state.lack, state.exhausted) if problem)
        if state.is_older:
            yield Finding(
                WARNING, "the database may be older than the files: run  metastore db restored  to reconcile them"
            )
        if state.excess:
            yield Finding(WARNING, state.excess)
        yield from _other_warehouses(settings, url)
        yield from _client_programs(settings, url)


def running_servers(settings: Settings) -> set[str]:
    """Returns the addresses of the servers on the database; none if it cannot be used: `check_database` reports why."""
    if settings.embedded and not is_made(settings.data_dir):
        return set()
    with suppress(MetastoreError), database(settings) as url:
        return {server.address for server in runner.servers(url)}
    return set()


def _other_warehouses(settings: Settings, url: str) -> Iterator[Finding]:
    """Servers on the database whose warehouse is not that of these settings."""
    for server in runner.servers(url):
        if server.warehouse not in (None, settings.warehouse):
            yield Finding(
                ERROR,
                f"the warehouse of these settings is {settings.warehouse}, but the running server {server.address} "
                f"uses {server.warehouse}: give all servers of a database the same METASTORE_WAREHOUSE",
            )


def _kind(settings: Settings) -> str:
    return "accepts reads" if settings.read_only else "accepts writes"


def _settings_of_postgres(settings: Settings, state: ServerState) -> Iterator[Finding]:
    if state.version < _OLDEST:
        yield Finding(ERROR, f"PostgreSQL {state.release} is too old: upgrade to 14 or later")
    needed = settings.workers * settings.pool_size
    if settings.database_pooler != TRANSACTION and needed > state.connections:
        yield Finding(
            WARNING,
            f"a server may open {needed} connections, PostgreSQL allows {state.connections}: raise its "
            f"max_connections, or lower METASTORE_POOL_SIZE",
        )
    if abs(state.ahead) > _CLOCK_SKEW:
        side = "ahead of" if state.ahead > 0 else "behind"
        yield Finding(WARNING, f"its clock is {abs(state.ahead):.0f} s {side} this host's: run NTP on both")
    if not state.autovacuum:
        yield Finding(WARNING, "autovacuum is off, so tables grow and queries get slow: set autovacuum = on")
    if not state.fsync:
        yield Finding(WARNING, "fsync is off, so a crash can destroy the database: set fsync = on")
    if state.network and not state.encrypted:
        yield Finding(WARNING, "the connection is not encrypted: add sslmode=verify-full to the database URL")
    if state.superuser and not settings.embedded:
        yield Finding(WARNING, "the role is a superuser: use a role that owns the database and has no other rights")


def _client_programs(settings: Settings, url: str) -> Iterator[Finding]:
    """`pg_dump` and `psql`, which backups need."""
    if settings.database_pooler == TRANSACTION and not settings.database_direct_url:
        yield Finding(WARNING, "backups are not possible through the pooler: set METASTORE_DATABASE_DIRECT_URL")
        return
    try:
        need = need_of(parameters_of(settings.database_direct_url or url))
        programs = ", ".join(client_program(name, need).path for name in ("pg_dump", "psql"))
    except ConfigurationError as error:
        yield Finding(WARNING, f"backups are not possible. {error}")
    else:
        yield Finding(OK, f"backups use {programs}")
