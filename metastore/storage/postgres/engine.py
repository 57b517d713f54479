"""The SQLAlchemy engine: connection parameters and session settings."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Engine
from sqlalchemy.engine import make_url

from metastore.settings import Settings
from metastore.settings.sections import OFF
from metastore.storage.postgres.connect import engine_for
from metastore.storage.postgres.driver import Link
from metastore.storage.postgres.sessions import apply_after_connecting, session_settings, startup_options

LIFE: Final = 600
"""Seconds after which a connection is replaced, and with it its cached plans and memory."""

LIVELY: Final = {
    "connect_timeout": 3,
    "keepalives": 1,
    "keepalives_idle": 4,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 8000,
}
"""libpq parameters that detect a silent host within ten seconds. In seconds, the last one in milliseconds (PostgreSQL
documentation, 32.1.2)."""


def make_engine(
    settings: Settings,
    url: str,
    *,
    statement_timeout: float | None = None,
    application: str = "metastore",
    size: int | None = None,
    parallel: bool = True,
) -> Engine:
    """Returns an engine whose sessions wait for locks and run statements for a bounded time.

    Sessions are in autocommit mode, so that a read is one round trip; `unit_of_work` begins transactions explicitly.

    Args:
        settings: `pool_size`, `database_pooler`, and `lock_timeout` and `statement_timeout` in seconds.
        url: a PostgreSQL URL with the psycopg2 driver. Its parameter `options`, such as `-csearch_path=x`, applies to
            the sessions, except for the settings that are made here.
        statement_timeout: replaces the setting, in seconds.
        application: the application_name of the sessions.
        size: replaces `pool_size`.
        parallel: whether PostgreSQL may use several processes for a statement.
    """
    own = session_settings(settings, statement_timeout)
    if not parallel:
        own["max_parallel_workers_per_gather"] = "0"
    options = {}
    if settings.database_pooler == OFF:
        # `options` in connect_args would replace the URL's. Of two equal settings, PostgreSQL takes the last one.
        options["options"] = " ".join([*make_url(url).normalized_query.get("options", ()), startup_options(own)])
    engine = engine_for(
        url,
        pool_size=size or settings.pool_size,
        max_overflow=0,
        pool_use_lifo=True,  # the connection used last has the warmest caches
        pool_recycle=LIFE,
        pool_reset_on_return=None,  # nothing to reset: `UnitOfWork` ends every transaction that it begins
        isolation_level="AUTOCOMMIT",
        pool_timeout=settings.pool_timeout,
        connect_args={**options, "application_name": application, "connection_factory": Link, **LIVELY},
    )
    apply_after_connecting(engine, own, settings.database_pooler)
    return engine
