"""Brings a database to the schema of this version, and says where one stands. Needs no alembic.ini.

An upgrade is one transaction under an advisory lock: two come one after the other, and a broken one changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from metastore.errors import ConfigurationError, UnavailableError
from metastore.settings import safe_url

LOCK_TIMEOUT: Final = 30
"""Seconds that an upgrade waits for another one, or for a table that is in use."""

_PASSING: Final = re.compile(
    r"starting up|shutting down|recovery|not yet accepting|too many|connection slots|terminating"
)
"""What a server says that refuses a connection, but will take it later."""

_ADVISORY_LOCK: Final = 0x6D657461  # "meta"


def head() -> str:
    """The revision that this version needs."""
    revision = ScriptDirectory.from_config(_config()).get_current_head()
    if revision is None:
        raise ConfigurationError("the migrations are not part of this installation; install metastore again")
    return revision


def current(database: str | Connection) -> str | None:
    """The revision of a database, None for one without our schema. Raises UnavailableError, ConfigurationError."""
    if isinstance(database, Connection):
        return MigrationContext.configure(database).get_current_revision()
    with _connected(database) as connection:
        return current(connection)


def upgrade(database_url: str) -> bool:
    """Brings a database to `head()`; false where it stood there. Raises UnavailableError, ConfigurationError."""
    with _connected(database_url) as connection:
        connection.execute(text(f"SET lock_timeout = '{LOCK_TIMEOUT}s'"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        revision = current(connection)
        _refuse_unknown(revision, database_url)
        if revision == head():
            return False
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.commit()
        return True


def check(database_url: str) -> None:
    """Raises ConfigurationError, with the command that mends it, unless a database stands at `head()`."""
    revision = current(database_url)
    _refuse_unknown(revision, database_url)
    if revision != head():
        state = f"has the schema of revision {revision}" if revision else "has no schema yet"
        raise ConfigurationError(
            f"the database {safe_url(database_url)} {state}, this version needs {head()}: "
            f"run  metastore db upgrade --database-url {safe_url(database_url)}"
        )


def _refuse_unknown(revision: str | None, database_url: str) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if revision is not None and revision not in known:
        raise ConfigurationError(
            f"the database {safe_url(database_url)} has the schema of revision {revision}, which this version does not "
            f"know: install the version of metastore that made it, or a later one"
        )


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


@contextmanager
def _connected(database_url: str) -> Iterator[Connection]:
    shown = safe_url(database_url)
    try:
        url = make_url(database_url)
        engine = create_engine(url, poolclass=NullPool, connect_args={"connect_timeout": 10})
    except (ArgumentError, ValueError) as error:
        raise ConfigurationError(
            f"database URL {shown!r} cannot be read; write postgresql://user:password@host:5432/database"
        ) from error
    try:
        with engine.connect() as connection:
            yield connection
    except DBAPIError as error:
        reason = " ".join(str(error.orig).split())
        if "FATAL:" in reason and not _PASSING.search(reason):
            mend = "are user, password and database right?"
            raise ConfigurationError(f"the database {shown} refuses the connection ({reason}); {mend}") from error
        raise UnavailableError(
            f"the database {shown} cannot be used ({reason}); is the address right, is PostgreSQL running?"
        ) from error
