"""Detects connection poolers, such as PgBouncer, that METASTORE_DATABASE_POOLER does not fit."""

from __future__ import annotations

from typing import Final

from sqlalchemy.exc import DBAPIError

from metastore.errors import ConfigurationError
from metastore.settings import Settings, safe_url
from metastore.settings.sections import OFF, TRANSACTION
from metastore.storage.postgres.connect import PasswordError, parameters_of, with_password
from metastore.storage.postgres.engine import make_engine
from metastore.storage.postgres.rejection import rejection_states

_ROUNDS: Final = 3  # a pooler gives a released server connection to the next client, unless another one comes first
_UNSUPPORTED: Final = "08P01"  # protocol_violation: PgBouncer's answer to a startup parameter that it does not know


def check_pooler(settings: Settings, url: str) -> None:
    """Raises ConfigurationError, with the fix, if a pooler between the server and PostgreSQL shares or changes
    sessions.

    Other errors of the database are left to the check of the schema.
    """
    pooler = settings.database_pooler
    if pooler != OFF and parameters_of(url).get("options"):
        raise ConfigurationError(
            "a pooler drops the parameter options of the database URL: remove it, and set its values with "
            "ALTER ROLE … SET"
        )
    if pooler == TRANSACTION:
        return
    engine = make_engine(settings, url, size=2)
    try:
        with engine.connect() as first, engine.connect() as second:
            timeout = first.exec_driver_sql("SELECT setting FROM pg_settings WHERE name = 'lock_timeout'").scalar()
            query = "SELECT pg_backend_pid()"
            shared = any(
                first.exec_driver_sql(query).scalar() == second.exec_driver_sql(query).scalar() for _ in range(_ROUNDS)
            )
    except DBAPIError as error:
        if pooler == OFF and _rejects_options(url, error):
            raise ConfigurationError(
                f"the pooler at {safe_url(url)} rejects the startup parameter options: set METASTORE_DATABASE_POOLER "
                f"to its pool_mode, session or transaction"
            ) from error
        return
    finally:
        engine.dispose()
    if shared:
        raise ConfigurationError(
            f"the pooler at {safe_url(url)} shares sessions between clients (PgBouncer: pool_mode = transaction): set "
            f"METASTORE_DATABASE_POOLER=transaction"
        )
    if timeout != str(int(settings.lock_timeout * 1000)):
        raise ConfigurationError(
            f"the pooler at {safe_url(url)} ignores the startup parameter options (PgBouncer: "
            f"ignore_startup_parameters): set METASTORE_DATABASE_POOLER to its pool_mode, session or transaction"
        )


def _rejects_options(url: str, error: DBAPIError) -> bool:
    """Returns whether a connection with the parameter options is rejected as a violation of the protocol."""
    if isinstance(error.orig, PasswordError):
        return False
    states = rejection_states((), {**with_password(parameters_of(url)), "options": "-c jit=off"})
    return states is not None and _UNSUPPORTED in states
