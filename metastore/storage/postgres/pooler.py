"""Detects connection poolers, such as PgBouncer, that do not keep the settings and statements of a session."""

from __future__ import annotations

from typing import Final

from sqlalchemy.exc import DBAPIError

from metastore.errors import ConfigurationError
from metastore.settings import Settings, safe_url
from metastore.storage.postgres.engine import make_engine

_ROUNDS: Final = 3  # a pooler gives a released server connection to the next client, unless another one comes first
_FIX: Final = "connect to PostgreSQL directly in METASTORE_DATABASE_URL"


def check_pooler(settings: Settings, url: str) -> None:
    """Raises ConfigurationError if a pooler on the way to PostgreSQL changes what a session is.

    Other errors of the database are left to the check of the schema.
    """
    engine = make_engine(settings, url, size=2)
    try:
        with engine.connect() as first, engine.connect() as second:
            timeout = first.exec_driver_sql("SELECT setting FROM pg_settings WHERE name = 'lock_timeout'").scalar()
            query = "SELECT pg_backend_pid()"
            shared = any(
                first.exec_driver_sql(query).scalar() == second.exec_driver_sql(query).scalar() for _ in range(_ROUNDS)
            )
    except DBAPIError as error:
        if "unsupported startup parameter" in str(error.orig):  # PgBouncer's words, in English only
            raise ConfigurationError(
                f"PgBouncer at {safe_url(url)} rejects the startup parameter options, which sets timeouts: {_FIX}"
            ) from error
        return
    finally:
        engine.dispose()
    if shared:
        raise ConfigurationError(
            f"the pooler at {safe_url(url)} shares sessions between clients (PgBouncer: pool_mode = transaction): "
            f"{_FIX}"
        )
    if timeout != str(int(settings.lock_timeout * 1000)):
        raise ConfigurationError(
            f"the pooler at {safe_url(url)} ignores the startup parameter options, which sets timeouts "
            f"(PgBouncer: ignore_startup_parameters): {_FIX}"
        )
