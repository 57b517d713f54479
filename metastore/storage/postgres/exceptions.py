"""Translates PostgreSQL's errors to domain errors, by constraint name and SQLSTATE."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

import psycopg2  # type: ignore[import-untyped] # it has no types
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from metastore.errors import (
    AlreadyExistsError,
    ConflictError,
    ConnectionLostError,
    InvalidObjectError,
    InvalidOperationError,
    LockTimeoutError,
    MetastoreError,
    NotFoundError,
    TransactionNotFoundError,
    UnavailableError,
)
from metastore.storage.postgres.exhaustion import exhausted

READ_ONLY: Final = "25006"  # read_only_sql_transaction

# The errors for violated constraints. Constraints have explicit names (`schema.base`), which are the same on all
# servers.
_CONSTRAINTS: dict[str, tuple[type[MetastoreError], str]] = {
    "databases_catalog_name_key": (AlreadyExistsError, "Database already exists"),
    "databases_catalog_fkey": (NotFoundError, "Catalog not found"),
    "catalogs_pkey": (AlreadyExistsError, "Catalog already exists"),
    "tables_database_id_name_key": (AlreadyExistsError, "Table already exists"),
    "tables_database_id_fkey": (InvalidOperationError, "Database is not empty. One or more tables exist."),
    "partitions_table_id_name_key": (AlreadyExistsError, "Partition already exists"),
    "roles_pkey": (AlreadyExistsError, "Role already exists"),
    "role_grants_pkey": (AlreadyExistsError, "Principal already has the role"),
    "role_grants_role_fkey": (NotFoundError, "Role was dropped by another client"),
    "privileges_grant_idx": (AlreadyExistsError, "Privilege is already granted"),
    "privileges_database_id_fkey": (NotFoundError, "Database was dropped by another client"),
    "privileges_table_id_fkey": (NotFoundError, "Table was dropped by another client"),
    "partition_events_table_id_fkey": (NotFoundError, "Table was dropped by another client"),
    "materialized_view_sources_source_id_fkey": (
        InvalidOperationError,
        "Cannot drop table as it is used in materialized views",
    ),
    "table_dependencies_dependent_id_fkey": (NotFoundError, "Table was dropped by another client"),
    "table_dependencies_base_id_fkey": (InvalidOperationError, "Cannot drop a table that dependent tables depend on"),
    "open_writes_table_id_fkey": (NotFoundError, "Table was dropped by another client"),
    "open_write_locations_owned_idx": (ConflictError, "Another write has claimed the location"),
    "functions_database_id_name_key": (AlreadyExistsError, "Function already exists"),
    "functions_database_id_fkey": (NotFoundError, "Database was dropped by another client"),
    "column_statistics_table_id_fkey": (NotFoundError, "Table was dropped by another client"),
    "table_constraints_table_id_name_position_key": (InvalidObjectError, "Constraint name already exists"),
    "table_constraints_primary_key_idx": (InvalidObjectError, "Primary key already exists"),
    "table_constraints_table_id_fkey": (NotFoundError, "Table was dropped by another client"),
    "table_constraints_parent_table_id_fkey": (NotFoundError, "Parent table was dropped by another client"),
    "table_indexes_table_id_name_key": (AlreadyExistsError, "Index already exists"),
    "imports_source_key": (ConflictError, "An import from this source exists already"),
    "import_databases_pkey": (AlreadyExistsError, "Database belongs to another import"),
    "request_keys_pkey": (AlreadyExistsError, "A request with this Idempotency-Key has its answer"),
    "types_pkey": (AlreadyExistsError, "Type already exists"),
    "transaction_components_transaction_id_fkey": (TransactionNotFoundError, "No such transaction"),
}

# The errors for an SQLSTATE, or for its class (PostgreSQL documentation, appendix A), if no constraint matches.
_STATES: dict[str, tuple[type[MetastoreError], str]] = {
    "2201B": (InvalidObjectError, "Invalid pattern"),
    "22021": (InvalidObjectError, "A text holds a character that cannot be stored"),
    "22P05": (InvalidObjectError, "A text holds a character that cannot be stored"),
    "54000": (InvalidObjectError, "A name or value is too long"),
    READ_ONLY: (
        UnavailableError,
        "The database accepts no writes: a standby, or default_transaction_read_only",
    ),
    "40001": (ConflictError, "Another transaction changed the same object; try again"),
    "40P01": (ConflictError, "Deadlock with another transaction; try again"),
    "55P03": (LockTimeoutError, "The object is locked by another transaction; try again"),
    "57014": (UnavailableError, "The statement took longer than statement_timeout allows; narrow the request"),
    "42P01": (UnavailableError, "The database has no metastore schema; run: metastore db upgrade"),
}

_DATA: Final = "22"  # class of data exceptions, such as a number that is too large
_VALUES: Final = ("23502", "23514")  # not_null_violation, check_violation


def is_read_only(error: Exception) -> bool:
    """Returns whether PostgreSQL rejected a change because it accepts no writes."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "pgcode", None) == READ_ONLY


DATABASE_ERRORS: Final = (DBAPIError, PoolTimeoutError, ValueError)
"""The errors of SQLAlchemy and psycopg2 that `raise_translated` handles."""


def raise_translated(error: Exception) -> NoReturn:
    """Raises the domain error for one of `DATABASE_ERRORS`, or the error itself if it does not come from the database.

    Call it in the `except` block that has caught the error.
    """
    if isinstance(error, PoolTimeoutError):
        raise UnavailableError("All connections to PostgreSQL are busy; raise METASTORE_POOL_SIZE") from error
    if isinstance(error, DBAPIError):
        raise translate(error) from error
    if isinstance(error, ValueError) and "NUL" in str(error):  # psycopg2 raises it before it sends the statement
        raise InvalidObjectError("A text holds a NUL character, which cannot be stored") from error
    raise error


def translate(error: DBAPIError) -> MetastoreError:
    """Returns the domain error for a driver error, by constraint name, then by SQLSTATE.

    A lost connection is recognised first: by the driver's state, SQLSTATE class 08 or 57P, or no SQLSTATE at all.
    """
    cause = error.orig
    state = getattr(cause, "pgcode", None) or ""
    diagnostics = getattr(cause, "diag", None)
    constraint = getattr(diagnostics, "constraint_name", None) or ""
    detail = str(cause).strip().splitlines()[0] if cause and str(cause).strip() else error.__class__.__name__
    if error.connection_invalidated or state.startswith(("08", "57P")) or (not state and _is_operational(cause)):
        return ConnectionLostError(f"The connection to PostgreSQL was lost: {detail}")
    if lack := exhausted([state], detail):
        return lack
    if state in _VALUES or (state[:2] == _DATA and state not in _STATES):
        return InvalidObjectError(f"A value cannot be stored: {detail}")
    kind, text = _CONSTRAINTS.get(constraint) or _STATES.get(state) or _STATES.get(state[:2]) or (None, "")
    if kind is None:
        return UnavailableError(f"PostgreSQL rejected the statement (SQLSTATE {state}): {detail}")
    return kind(text)


@contextmanager
def one_line_errors(what: str) -> Iterator[None]:
    """Turns errors of SQLAlchemy and psycopg2 into UnavailableErrors of one line, which begins with `what`."""
    try:
        yield
    except (DBAPIError, psycopg2.Error) as error:
        cause = getattr(error, "orig", error)
        lack = exhausted([getattr(cause, "pgcode", None) or ""], str(cause))
        raise UnavailableError(f"{what}: {lack or ' '.join(str(cause).split())}") from error


def _is_operational(cause: BaseException | None) -> bool:
    return cause is not None and cause.__class__.__name__ in ("OperationalError", "InterfaceError")
