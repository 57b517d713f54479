"""The settings of each session, and how they are applied with and without a pooler.

Without a pooler, the settings travel with the connection (the startup parameter `options`) and cost no statement. A
pooler in session mode gets them in one statement for each connection. In transaction mode, the pooler may run each
transaction in another session of PostgreSQL: the settings then come with each BEGIN, as SET LOCAL, reads are
transactions, too, and nothing is prepared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

from sqlalchemy import Connection, Engine, event

from metastore.settings import Settings
from metastore.settings.sections import OFF, SESSION
from metastore.storage.postgres.driver import Link, run

_FIXED: Final = {
    "timezone": "UTC",
    "jit": "off",
    "default_transaction_isolation": "read committed",  # the statements lock rows, and expect to see new commits
}


def session_settings(settings: Settings, statement_timeout: float | None) -> dict[str, str]:
    """Returns the settings of a session. `statement_timeout` replaces the setting, in seconds."""
    timeout = statement_timeout or settings.statement_timeout
    return {
        "lock_timeout": str(int(settings.lock_timeout * 1000)),
        "statement_timeout": str(int(timeout * 1000)),
        **_FIXED,
    }


def startup_options(values: Mapping[str, str]) -> str:
    """Returns settings as the startup parameter `options` of libpq, where a backslash precedes a blank."""
    escaped = {name: value.replace(" ", r"\ ") for name, value in values.items()}
    return " ".join(f"-c {name}={value}" for name, value in escaped.items())


def apply_after_connecting(engine: Engine, values: Mapping[str, str], pooler: str) -> None:
    """Makes an engine set up each new connection through a pooler: METASTORE_DATABASE_POOLER."""
    if pooler == OFF:
        return
    scope = "SET" if pooler == SESSION else "SET LOCAL"
    statements = "; ".join(f"{scope} {name} = '{value}'" for name, value in values.items())

    def set_up(link: Link, _record: Any) -> None:
        if pooler == SESSION:
            with link.cursor() as cursor:
                cursor.execute(f"{statements}; SELECT pg_backend_pid()")
                ((link.pooled_process,),) = cursor.fetchall()
            link.commit()
        else:
            link.begin = f"BEGIN ISOLATION LEVEL READ COMMITTED; {statements}"
            link.shares_session, link.pooled_process = True, 0

    event.listen(engine, "connect", set_up)


def begin(connection: Connection, *columns: str) -> tuple[Any, ...]:
    """Begins a transaction with the settings of the session. Returns the values of SQL expressions.

    If a pooler shares sessions, notes the session that it has chosen for the transaction. All of this is one message.
    """
    link: Any = connection.connection.dbapi_connection
    if link.shares_session:
        link.pooled_process = 0
        columns = (*columns, "pg_backend_pid()")
    rows = run(connection, f"{link.begin}; SELECT {', '.join(columns)}" if columns else link.begin)
    if not link.shares_session:
        return rows[0] if rows else ()
    *values, link.pooled_process = rows[0]
    return tuple(values)


def reading(connection: Connection) -> AbstractContextManager[None]:
    """Applies the settings of the session to the block: as one transaction if a pooler shares sessions."""
    link: Any = connection.connection.dbapi_connection
    return _transaction(connection) if link.shares_session else nullcontext()


@contextmanager
def _transaction(connection: Connection) -> Iterator[None]:
    begin(connection)
    try:
        yield
        run(connection, "COMMIT")
    except BaseException:  # also Ctrl-C: the connection goes back to the pool without a transaction
        if not connection.invalidated:
            connection.exec_driver_sql("ROLLBACK")
        raise
