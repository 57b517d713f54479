"""The pool of connections."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Engine, create_engine

from metastore.settings import Settings
from metastore.storage.postgres.watch import Link

LIFE: Final = 600
"""Seconds until a connection is replaced: what it keeps, plans most of all, is not older."""

LIVELY: Final = {
    "connect_timeout": 3,
    "keepalives": 1,
    "keepalives_idle": 4,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 8000,
}
"""Parameters of libpq by which a host that has fallen silent is noticed within ten seconds: seconds, the last one
milliseconds (PostgreSQL documentation, 32.1.2)."""


def make_engine(
    settings: Settings,
    url: str,
    *,
    statement_timeout: float | None = None,
    application: str = "metastore",
    size: int | None = None,
) -> Engine:
    """Returns an engine whose sessions wait neither for locks nor for statements without end.

    Sessions commit each statement unless told to begin a transaction (`unit_of_work`): a read is one round trip.

    Args:
        settings: `pool_size` connections, `lock_timeout` and `statement_timeout` in seconds.
        url: a PostgreSQL URL with the psycopg2 driver.
        statement_timeout: in place of the settings'.
        application: what PostgreSQL shows the connections as.
        size: connections, in place of the settings'.
    """
    patience = statement_timeout or settings.statement_timeout
    options = (
        f"-c lock_timeout={int(settings.lock_timeout * 1000)} "
        f"-c statement_timeout={int(patience * 1000)} -c timezone=UTC -c jit=off"
    )
    return create_engine(
        url,
        pool_size=size or settings.pool_size,
        max_overflow=0,
        pool_use_lifo=True,  # what was used last has most in its caches
        pool_recycle=LIFE,
        pool_reset_on_return=None,  # there is nothing to reset: who begins a transaction ends it
        isolation_level="AUTOCOMMIT",
        pool_timeout=settings.pool_timeout,
        connect_args={"options": options, "application_name": application, "connection_factory": Link, **LIVELY},
    )
