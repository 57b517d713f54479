"""Roles of PostgreSQL that read the views of the schema `hive` and nothing else of the metastore."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any, Final, TypeVar

from psycopg2.errors import DependentObjectsStillExist, Error, InsufficientPrivilege  # type: ignore[import-untyped]
from psycopg2.extensions import encrypt_password  # type: ignore[import-untyped]
from psycopg2.sql import SQL, Identifier, Literal  # type: ignore[import-untyped]
from sqlalchemy import Engine

from metastore.errors import ConfigurationError, InvalidInputError, NotFoundError, UnavailableError

T = TypeVar("T")

_RESERVED: Final = ("public", "none")
_LONGEST: Final = 63  # bytes of a role's name
_PASSWORD_BYTES: Final = 24

_SETTINGS: Final = {
    "search_path": "hive",
    "default_transaction_read_only": "on",
    # Queries over several views join many tables, and the order matters.
    "from_collapse_limit": "20",
    "join_collapse_limit": "20",
    "geqo_threshold": "21",  # with the genetic search, planning takes longer than the query
    "jit": "off",
}

_ROLE: Final = """
    SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls
           OR has_table_privilege(oid, 'tables', 'SELECT')
    FROM pg_roles WHERE rolname = %s
"""
_READERS: Final = """
    SELECT pg_get_userbyid(a.grantee) FROM pg_namespace n, aclexplode(n.nspacl) a
    WHERE n.nspname = 'hive' AND a.privilege_type = 'USAGE' AND a.grantee NOT IN (0, n.nspowner) ORDER BY 1
"""
_REVOKES_OF_PUBLIC: Final = """
    SELECT format('GRANT CREATE ON SCHEMA %1$I TO %2$I; REVOKE CREATE ON SCHEMA %1$I FROM PUBLIC', nspname,
                  current_user)
    FROM pg_namespace
    WHERE oid = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('tables'))
          AND has_schema_privilege('public', oid, 'CREATE')
"""
_MAY_CREATE: Final = "SELECT rolsuper OR rolcreaterole, rolname FROM pg_roles WHERE rolname = current_user"

_GRANTS: Final = (
    "GRANT CONNECT ON DATABASE {database} TO {role}",
    "GRANT USAGE ON SCHEMA hive TO {role}",
    "GRANT SELECT ON ALL TABLES IN SCHEMA hive TO {role}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA hive GRANT SELECT ON TABLES TO {role}",  # views of later revisions
)
_REVOKES: Final = (
    "ALTER ROLE {role} IN DATABASE {database} RESET ALL",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA hive REVOKE SELECT ON TABLES FROM {role}",
    "REVOKE ALL ON ALL TABLES IN SCHEMA hive FROM {role}",
    "REVOKE ALL ON SCHEMA hive FROM {role}",
    "REVOKE CONNECT ON DATABASE {database} FROM {role}",
)


class Readers:
    """The readers of one database. Methods raise ConfigurationError, UnavailableError."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def names(self) -> list[str]:
        """Returns the names of the readers, ascending."""
        return self._run(lambda cursor: _column(cursor, _READERS))

    def excess(self) -> str | None:
        """Returns a right of readers that goes beyond reading, with the fix; None if they have none."""
        revokes = self._run(lambda cursor: _column(cursor, _REVOKES_OF_PUBLIC))
        if not revokes:
            return None
        return (
            "readers can create objects in the schema of the metastore's tables. As the owner of the schema or a "
            f"superuser, run:  {revokes[0]}"
        )

    def add(self, name: str, password: str | None) -> str | None:
        """Lets a role read the views, and creates it if it does not exist.

        Returns the generated password of a new role. None if `password` is given, or if the role existed: its password
        changes only to a given one. Raises InvalidInputError, also for a role that has more rights.
        """
        _check_name(name)
        return self._run(lambda cursor: _add(cursor, name, password))

    def remove(self, name: str) -> bool:
        """Revokes the views from a reader, and drops the role. Returns False if the role stays, because other objects
        of this server grant it rights. Raises NotFoundError, InvalidInputError.
        """
        _check_name(name)
        if name not in self.names():
            raise NotFoundError(f"{name} is not a reader of this database. List the readers: metastore db reader list")

        def revoke(cursor: Any) -> None:
            for statement in _REVOKES:
                _execute(cursor, statement, name)

        self._run(revoke)
        try:
            self._run(lambda cursor: _execute(cursor, "DROP ROLE {role}", name))
        except _StillUsedError:
            return False
        return True

    def _run(self, work: Callable[[Any], T]) -> T:
        """Runs `work` with a cursor in one transaction."""
        link = self._engine.raw_connection()
        connection: Any = link.dbapi_connection
        connection.autocommit = False
        try:
            with connection, connection.cursor() as cursor:
                return work(cursor)
        except DependentObjectsStillExist as error:
            raise _StillUsedError from error
        except InsufficientPrivilege as error:
            raise ConfigurationError(f"The database rejects the change: {_line(error)}. {_FIX}") from error
        except Error as error:
            raise UnavailableError(f"The database reports an error: {_line(error)}") from error
        finally:
            connection.autocommit = True
            link.close()


class _StillUsedError(Exception):
    """The role owns objects or has rights elsewhere."""


_FIX: Final = "Run the command as the owner of the schema hive, a user with the attribute CREATEROLE"


def _add(cursor: Any, name: str, password: str | None) -> str | None:
    may_create, user = _row(cursor, _MAY_CREATE)
    if not may_create:
        raise ConfigurationError(
            f"The database user {user} may not create roles. As a superuser of the database, run:  "
            f'ALTER ROLE "{user}" CREATEROLE'
        )
    existing = _row(cursor, _ROLE, name)
    generated = None
    if existing is None:
        password = password or (generated := secrets.token_urlsafe(_PASSWORD_BYTES))
        _execute(cursor, "CREATE ROLE {role} LOGIN NOINHERIT", name)
    elif existing[0]:
        raise InvalidInputError(f"The role {name} exists and has more rights than a reader. Choose another name")
    if password:
        # The server's log may contain statements: it gets the hash only.
        hashed = encrypt_password(password, name, scope=cursor.connection, algorithm="scram-sha-256")
        cursor.execute(SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(Identifier(name), Literal(hashed)))
    for statement in _GRANTS:
        _execute(cursor, statement, name)
    for setting, value in _SETTINGS.items():
        statement = "ALTER ROLE {role} IN DATABASE {database} SET " + setting + " = {value}"
        _execute(cursor, statement, name, value=Literal(value))
    return generated


def _execute(cursor: Any, statement: str, role: str, **values: Any) -> None:
    database = Identifier(cursor.connection.info.dbname)
    cursor.execute(SQL(statement).format(role=Identifier(role), database=database, **values))


def _row(cursor: Any, query: str, *values: str) -> Any:
    cursor.execute(query, values)
    return cursor.fetchone()


def _column(cursor: Any, query: str) -> list[str]:
    cursor.execute(query)
    return [row[0] for row in cursor.fetchall()]


def _check_name(name: str) -> None:
    if name.startswith("pg_") or name in _RESERVED:
        raise InvalidInputError(
            f"{name!r} cannot be the name of a role, because PostgreSQL reserves it: choose another"
        )
    if not name or not name.isprintable() or len(name.encode()) > _LONGEST:
        raise InvalidInputError(
            f"{name!r} cannot be the name of a role: choose 1 to {_LONGEST} bytes of printable characters"
        )


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
