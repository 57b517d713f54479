"""Brings a database to the schema of this version, and says where one stands. Needs no alembic.ini.

Each revision is one transaction under an advisory lock: two upgrades come one after the other, and what breaks changes
nothing. An upgrade only adds, so that servers of before go on; what they alone needed goes when it is finished.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from metastore.errors import ConfigurationError, UnavailableError
from metastore.settings import safe_url
from migrations.servers import RunningServer, older, running

if TYPE_CHECKING:  # alembic is imported where something is upgraded: a start that need not does not wait for it
    from alembic.config import Config
    from alembic.script import ScriptDirectory

T = TypeVar("T")

_FOLDER: Final = Path(__file__).parent

LOCK_TIMEOUT: Final = 30
"""Seconds that an upgrade waits for another one, or for a table that is in use."""

_SHORT: Final = 0.5
"""Seconds that one attempt waits for a lock: so long, whoever comes after it waits, too; and less than PostgreSQL's
deadlock_timeout, so that of two who wait for each other it is the upgrade that gives way."""

_ALONE: Final = "0010"
"""Up to this revision, upgrades change what servers of before need: none may be there."""

_UPGRADED: Final = "schema.upgraded"
_FINISHED: Final = "schema.finished"
_IN_USE: Final = ("55P03", "40P01")  # lock_not_available, deadlock_detected

_PASSING: Final = re.compile(
    r"starting up|shutting down|recovery|not yet accepting|too many|connection slots|terminating"
)
"""What a server says that refuses a connection, but will take it later."""

_ADVISORY_LOCK: Final = 0x6D657461  # "meta"


def head() -> str:
    """Returns the revision that this version needs."""
    return _known()[-1]


def current(database: str | Connection) -> str | None:
    """Returns the revision of a database, None for one without our schema. Raises UnavailableError,
    ConfigurationError."""
    if isinstance(database, Connection):
        if not database.scalar(text("SELECT to_regclass('alembic_version') IS NOT NULL")):
            return None
        revision: str | None = database.scalar(text("SELECT version_num FROM alembic_version"))
        return revision
    with _connected(database) as connection:
        return current(connection)


def upgrade(database_url: str) -> bool:
    """Brings a database to `head()`, beside servers of the version before; false where it stood there.

    Raises UnavailableError; ConfigurationError also where servers are there that the upgrade would break.
    """
    changed = False
    while _changed(database_url, lambda connection: _upgrade(connection, database_url)):
        changed = True
    return changed


def finish(database_url: str) -> bool:
    """Removes what only servers of before needed; false where there is nothing left to be done.

    Raises UnavailableError; ConfigurationError while such a server is there, and before the upgrade itself.
    """
    for statement in _changed(database_url, lambda connection: _left_to_finish(connection, database_url)):
        _changed(database_url, methodcaller("execute", text(statement)))
    return _changed(database_url, lambda connection: _note_finished(connection, database_url))


def is_finished(database_url: str) -> bool:
    """Tells whether nothing is left for `finish` to do. Raises UnavailableError, ConfigurationError."""
    with _connected(database_url) as connection:
        return _finished(connection) >= (current(connection) or "")


def servers(database_url: str) -> list[RunningServer]:
    """Lists the servers that run on a database. Raises UnavailableError, ConfigurationError."""
    with _connected(database_url) as connection:
        return running(connection)


def check(database_url: str) -> None:
    """Raises ConfigurationError, with the command that mends it, unless a server of this version fits a database: it
    stands at `head()`, or was upgraded further, and that is not finished.
    """
    with _connected(database_url) as connection:
        check_schema(connection, database_url)


def check_schema(connection: Connection, database_url: str) -> None:
    """Checks as `check`, over a connection that is there. Raises DBAPIError, too."""
    revision = current(connection)
    if revision == head() or (revision and _goes_on_beside(connection, revision)):
        return
    _refuse_unknown(revision, database_url)
    state = f"has the schema of revision {revision}" if revision else "has no schema yet"
    raise ConfigurationError(
        f"the database {safe_url(database_url)} {state}, this version needs {head()}: "
        f"run  metastore db upgrade --database-url {safe_url(database_url)}"
    )


def _changed(database_url: str, change: Callable[[Connection], T]) -> T:
    """Makes a change in one transaction; where something is in use that it needs, again and again for a while."""
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
                        f"the database {safe_url(database_url)} has tables in use for more than {LOCK_TIMEOUT} s: end "
                        f"what takes so long (pg_stat_activity shows it), and try again"
                    ) from error
            time.sleep(_SHORT)


def _upgrade(connection: Connection, database_url: str) -> bool:
    """Goes one revision further, so that those at work wait for few tables at a time; from nothing, all at once."""
    revision = current(connection)
    _refuse_unknown(revision, database_url)
    if revision == head():
        return False
    if revision and revision < _ALONE:
        _refuse_older(connection, _ALONE, "This step cannot be made beside them")
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
    """Returns the statements that finish an upgrade. Raises ConfigurationError where that must not be."""
    revision = current(connection)
    if revision != head():
        raise ConfigurationError(
            f"the database {safe_url(database_url)} has the schema of revision {revision or 'none'}: run  metastore db "
            f"upgrade  of the version that it is to have, before its --finish"
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


def _refuse_older(connection: Connection, revision: str, why: str) -> None:
    found = older(connection, revision)
    if found:
        raise ConfigurationError(f"servers of before are there: {', '.join(map(str, found))}. {why}: stop them first")


def _finished(connection: Connection) -> str:
    """Returns the revision up to which upgrades are finished; of a database from before there was such a thing, the
    last one that was one step.
    """
    return _noted(connection, _FINISHED) or _ALONE


def _goes_on_beside(connection: Connection, revision: str) -> bool:
    """Tells whether a later version has upgraded the database, but not finished that: then this one goes on."""
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
            f"know: install the version of metastore that made it, or a later one"
        )


def _known() -> list[str]:
    """Lists the revisions of this version, as their files are named. Raises ConfigurationError where there are none."""
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
