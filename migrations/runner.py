"""Upgrades a database to this version's schema, and checks which schema it has. Needs no alembic.ini.

Each revision is one transaction under an advisory lock: concurrent upgrades run one after the other, and a failed
upgrade changes nothing. Upgrades only add to the schema, so servers of the previous version keep running; `finish`
later removes what only they needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from sqlalchemy import Connection, NullPool, text
from sqlalchemy.exc import ArgumentError, DBAPIError

from metastore.errors import ConfigurationError, UnavailableError
from metastore.settings import safe_url
from metastore.storage.postgres.connect import PasswordError, engine_for, parameters_of, with_password
from metastore.storage.postgres.exhaustion import exhausted
from metastore.storage.postgres.rejection import is_temporary, rejection_states
from migrations.servers import RunningServer as RunningServer
from migrations.servers import older, running

if TYPE_CHECKING:  # alembic is imported only when something is upgraded: it is slow, and most starts do not need it
    from alembic.config import Config
    from alembic.script import ScriptDirectory

T = TypeVar("T")

_FOLDER: Final = Path(__file__).parent

LOCK_TIMEOUT: Final = 30
"""Seconds that an upgrade waits for a concurrent upgrade, or for tables that are in use."""

_SHORT: Final = 0.5
"""Seconds that one attempt waits for a lock. Statements that arrive meanwhile queue up behind it, so it is short; and
shorter than PostgreSQL's deadlock_timeout, so that in a deadlock the upgrade gives way and not the other session."""

_LAST_EXCLUSIVE: Final = "0010"
"""Upgrades up to this revision break older servers, so none may be running."""

_UPGRADED: Final = "schema.upgraded"
_FINISHED: Final = "schema.finished"
_IN_USE: Final = ("55P03", "40P01")  # lock_not_available, deadlock_detected

_WRITE_AND_ROLL_BACK: Final = text("""
    DO $$ BEGIN
        INSERT INTO metastore_properties (name, value) VALUES ('readiness of ' || pg_backend_pid(), '');
        RAISE EXCEPTION USING ERRCODE = 'RBACK';
    EXCEPTION WHEN SQLSTATE 'RBACK' THEN NULL;
    END $$
""")
_OTHER_SCHEMA: Final = text("""
    SELECT quote_ident(nspname) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE relname = 'alembic_version' AND NOT pg_table_is_visible(pg_class.oid) LIMIT 1
""")

_CONNECT_TIMEOUT: Final = 10  # seconds

_ADVISORY_LOCK: Final = 0x6D657461  # "meta"


def head() -> str:
    """Returns the schema revision that this version needs."""
    return _known()[-1]


def current(database: str | Connection) -> str | None:
    """Returns the revision of a database, None if it has no metastore schema. Raises UnavailableError,
    ConfigurationError.
    """
    if isinstance(database, Connection):
        if not database.scalar(text("SELECT to_regclass('alembic_version') IS NOT NULL")):
            return None
        revision: str | None = database.scalar(text("SELECT version_num FROM alembic_version"))
        return revision
    with _connected(database) as connection:
        return current(connection)


def upgrade(database_url: str) -> bool:
    """Upgrades a database to `head()` while servers of the previous version run; False if it was there already.

    Raises UnavailableError; ConfigurationError, also if servers are running that the upgrade would break.
    """
    changed = False
    while True:
        _prepare(database_url)
        if not _changed(database_url, lambda connection: _upgrade(connection, database_url)):
            return changed
        changed = True


def _prepare(database_url: str) -> None:
    """Executes the statements in `PREPARE` of the next revision, each as often as it changes rows.

    Each execution is a transaction of its own, so that it holds locks for a short time. The statements can be repeated,
    and the revision itself completes what they leave.
    """
    for statement in _changed(database_url, _preparation):
        while _changed(database_url, partial(_rows_changed, statement)):
            pass


def _preparation(connection: Connection) -> tuple[str, ...]:
    revision = current(connection)
    following = [script for script in _known() if revision and script > revision]
    return getattr(_scripts().get_revision(following[0]).module, "PREPARE", ()) if following else ()


def _rows_changed(statement: str, connection: Connection) -> bool:
    return connection.execute(text(statement)).rowcount > 0


def finish(database_url: str) -> bool:
    """Removes what only servers of earlier versions needed; False if nothing was left to do.

    Each statement is a transaction of its own, so that few tables are locked at a time. Raises UnavailableError;
    ConfigurationError while such a server is running, and before the upgrade.
    """
    for statement in _changed(database_url, lambda connection: _left_to_finish(connection, database_url)):
        _changed(database_url, methodcaller("execute", text(statement)))
    return _changed(database_url, lambda connection: _note_finished(connection, database_url))


def is_finished(database_url: str) -> bool:
    """Returns whether `finish` has nothing left to do. Raises UnavailableError, ConfigurationError."""
    with _connected(database_url) as connection:
        return _finished(connection) >= (current(connection) or "")


def servers(database_url: str) -> list[RunningServer]:
    """Lists the servers that use a database. Raises UnavailableError, ConfigurationError."""
    with _connected(database_url) as connection:
        return running(connection)


def check(database_url: str, *, read_only: bool = False) -> None:
    """Raises ConfigurationError, with the command to run, unless this version can use the database.

    It can if the schema is at `head()`, or if a later version has upgraded it and that upgrade is not finished. Unless
    `read_only`, the database must also accept writes. Raises UnavailableError for a standby: it may be promoted.
    """
    with _connected(database_url) as connection:
        check_schema(connection, database_url, read_only=read_only)


def check_schema(connection: Connection, database_url: str, *, read_only: bool = False) -> None:
    """Does the same as `check` over an open connection. Raises DBAPIError, too."""
    if not read_only:
        _check_writable(connection, database_url)
    _check_encoding(connection, database_url)
    revision = current(connection)
    if revision == head() or (revision and _is_usable(connection, revision)):
        if not read_only:
            _try_to_write(connection)
        return
    _refuse_unknown(revision, database_url)
    if revision is None:
        _check_search_path(connection, database_url)
    state = f"has the schema of revision {revision}" if revision else "has no schema yet"
    shown = safe_url(database_url)
    option = "" if "***" in shown else f" --database-url {shown}"  # a hidden password cannot be copied
    raise ConfigurationError(
        f"the database {shown} {state}, this version needs {head()}: run  metastore db upgrade{option}"
    )


def _check_writable(connection: Connection, database_url: str) -> None:
    query = "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only')::bool"
    standby, read_only = connection.execute(text(query)).one()
    fix = "to serve reads from it, set METASTORE_READ_ONLY=true"
    if standby:
        raise UnavailableError(
            f"the database {safe_url(database_url)} is a standby, which accepts no writes: connect to the "
            f"primary, or, {fix}"
        )
    if read_only:
        raise ConfigurationError(
            f"the database {safe_url(database_url)} accepts no writes: turn off its setting "
            f"default_transaction_read_only, or, {fix}"
        )


def _try_to_write(connection: Connection) -> None:
    """Writes a row and rolls it back, in one statement that works in a transaction and in autocommit mode.

    Raises DBAPIError: the disk may be full, or the role may lack the privilege.
    """
    connection.execute(_WRITE_AND_ROLL_BACK)


def _check_search_path(connection: Connection, database_url: str) -> None:
    """Raises ConfigurationError if the tables are in a schema that sessions do not search."""
    schema = connection.scalar(_OTHER_SCHEMA)
    if schema:
        raise ConfigurationError(
            f"the database {safe_url(database_url)} has the tables in the schema {schema}, which is not in the "
            f"search_path: run  ALTER ROLE … SET search_path = {schema}"
        )


def _check_encoding(connection: Connection, database_url: str) -> None:
    encoding = connection.scalar(text("SHOW server_encoding"))
    if encoding == "SQL_ASCII":
        raise ConfigurationError(
            f"the database {safe_url(database_url)} has the encoding SQL_ASCII, which does not check texts: create it "
            f"with  CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )


def _changed(database_url: str, change: Callable[[Connection], T]) -> T:
    """Makes a change in one transaction, and retries it while other sessions hold locks that it needs.

    Raises UnavailableError after `LOCK_TIMEOUT`.
    """
    deadline = time.monotonic() + LOCK_TIMEOUT
    with _connected(database_url) as connection:
        while True:
            try:
                connection.execute(text(f"SET LOCAL lock_timeout = '{int(_SHORT * 1000)}ms'"))
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
                changed = change(connection)
                connection.commit()
                return changed
            except DBAPIError as error:
                connection.rollback()
                if getattr(error.orig, "pgcode", None) not in _IN_USE:
                    raise
                if time.monotonic() > deadline:
                    raise UnavailableError(
                        f"tables of the database {safe_url(database_url)} have been locked for more than "
                        f"{LOCK_TIMEOUT} s: end the sessions that lock them (see pg_stat_activity), and try again"
                    ) from error
            time.sleep(_SHORT)


def _upgrade(connection: Connection, database_url: str) -> bool:
    """Upgrades by one revision, so that each transaction locks few tables; from an empty database to `head()`."""
    revision = current(connection)
    _refuse_unknown(revision, database_url)
    if revision == head():
        return False
    _check_writable(connection, database_url)
    _check_encoding(connection, database_url)
    if revision is None:
        _check_search_path(connection, database_url)
    if revision and revision < _LAST_EXCLUSIVE:
        _refuse_older(connection, _LAST_EXCLUSIVE, "They cannot run during this upgrade")
    from alembic import command

    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "+1" if revision else "head")
    _note(connection, _UPGRADED)
    if revision is None:
        for statement in _left_to_finish(connection, database_url):
            connection.execute(text(statement))
        _note(connection, _FINISHED)
    return True


def _left_to_finish(connection: Connection, database_url: str) -> list[str]:
    """Returns the statements that finish an upgrade. Raises ConfigurationError if it cannot be finished now."""
    revision = current(connection)
    if revision != head():
        raise ConfigurationError(
            f"the database {safe_url(database_url)} has schema revision {revision or 'none'}, this version needs "
            f"{head()}: run  metastore db upgrade  first, then  metastore db upgrade --finish"
        )
    finished = _finished(connection)
    if finished == revision:
        return []
    if finished < revision:
        _refuse_older(connection, revision, "The upgrade cannot be finished while they run")
    scripts = reversed(list(_scripts().walk_revisions()))
    return [step for script in scripts if script.revision > finished for step in getattr(script.module, "FINISH", ())]


def _note_finished(connection: Connection, database_url: str) -> bool:
    _left_to_finish(connection, database_url)
    if _finished(connection) == head():
        return False
    _note(connection, _FINISHED)
    return True


def _refuse_older(connection: Connection, revision: str, reason: str) -> None:
    if outdated := older(connection, revision):
        names = ", ".join(map(str, outdated))
        raise ConfigurationError(f"servers of an older version are running: {names}. {reason}: stop them first")


def _finished(connection: Connection) -> str:
    """Returns the revision up to which upgrades are finished.

    Databases from before this was recorded are finished up to the last revision that had nothing to finish.
    """
    return _noted(connection, _FINISHED) or _LAST_EXCLUSIVE


def _is_usable(connection: Connection, revision: str) -> bool:
    """Returns whether a later version upgraded the database and has not finished that: this version still fits."""
    return revision == _noted(connection, _UPGRADED) > head() >= _finished(connection)


def _noted(connection: Connection, name: str) -> str:
    if not connection.scalar(text("SELECT to_regclass('metastore_properties') IS NOT NULL")):
        return ""
    return connection.scalar(text("SELECT value FROM metastore_properties WHERE name = :name"), {"name": name}) or ""


def _note(connection: Connection, name: str) -> None:
    statement = (
        "INSERT INTO metastore_properties VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = :value"
    )
    connection.execute(text(statement), {"name": name, "value": current(connection)})


def _refuse_unknown(revision: str | None, database_url: str) -> None:
    if revision is not None and revision not in _known():
        raise ConfigurationError(
            f"the database {safe_url(database_url)} has the schema of revision {revision}, which this version does not "
            f"know: install the version of metastore that created it, or a later one"
        )


def _known() -> list[str]:
    """Lists the revisions of this version, from their file names. Raises ConfigurationError if there are none."""
    revisions = sorted(path.name.partition("_")[0] for path in (_FOLDER / "versions").glob("[0-9]*.py"))
    if not revisions:
        raise ConfigurationError("the migrations are not part of this installation; install metastore again")
    return revisions


def _scripts() -> ScriptDirectory:
    from alembic.script import ScriptDirectory

    return ScriptDirectory.from_config(_config())


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


@contextmanager
def _connected(database_url: str) -> Iterator[Connection]:
    """Yields a connection. Raises ConfigurationError, UnavailableError, each one line without the password."""
    shown = safe_url(database_url)
    try:
        engine = engine_for(
            database_url,
            poolclass=NullPool,
            isolation_level="READ COMMITTED",
            connect_args={"connect_timeout": _CONNECT_TIMEOUT},
        )
    except (ArgumentError, ValueError) as error:
        raise ConfigurationError(
            f"database URL {shown!r} cannot be read; write postgresql://user:password@host:5432/database"
        ) from error
    try:
        connection = engine.connect()
    except DBAPIError as error:
        raise _connection_error(database_url, shown, error) from error
    try:
        with connection:
            yield connection
    except DBAPIError as error:
        if lack := exhausted([getattr(error.orig, "pgcode", None) or ""], str(error.orig)):
            raise lack from error
        raise UnavailableError(f"the database {shown} reports an error ({_one_line(error)})") from error


def _connection_error(database_url: str, shown: str, error: DBAPIError) -> ConfigurationError | UnavailableError:
    """Returns ConfigurationError for wrong settings, UnavailableError if the same connection may succeed later."""
    states = _states(database_url, error)
    if lack := exhausted(states or (), str(error.orig)):
        return lack
    if is_temporary(states):
        return UnavailableError(
            f"cannot connect to the database {shown} ({_one_line(error)}); check the address, and that PostgreSQL is "
            f"running and accepts connections"
        )
    return ConfigurationError(
        f"the database {shown} rejects the connection ({_one_line(error)}); check user, password and database"
    )


def _states(database_url: str, error: DBAPIError) -> frozenset[str] | None:
    """Returns the result of `rejection_states` for a failed connection."""
    if isinstance(error.orig, PasswordError):
        return None
    parameters = {**with_password(parameters_of(database_url)), "connect_timeout": _CONNECT_TIMEOUT}
    return rejection_states((), parameters)


def _one_line(error: DBAPIError) -> str:
    return " ".join(str(error.orig).split())
