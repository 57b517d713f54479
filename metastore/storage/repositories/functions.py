"""Functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, delete, insert, select, update

from metastore.encoding.binary import STOP, EncodedList, EncodedStruct, encode_fields
from metastore.storage.schema import databases, functions
from thrift_idl.gen.hive_metastore.ttypes import Function


@dataclass(frozen=True, slots=True)
class StoredFunction:
    """A function with its identity."""

    id: int
    database_id: int
    encoded: EncodedStruct[Function]


class Functions:
    """Queries on functions. Names come folded, structs complete."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, catalog: str, database: str, name: str, *, lock: bool = False) -> StoredFunction | None:
        """The function, or None. `lock`: nobody else may change or drop it before this transaction ends."""
        query = _of(catalog, database, functions.c.id, functions.c.database_id, functions.c.encoded)
        query = query.where(functions.c.name == name)
        row = self._connection.execute(query.with_for_update(of=functions) if lock else query).one_or_none()
        return (
            StoredFunction(row.id, row.database_id, EncodedStruct(Function, bytes(row.encoded) + STOP)) if row else None
        )

    def names(self, catalog: str, database: str, pattern: str | None = None) -> list[str]:
        """Ascending; `pattern` as `domain.names.pattern_regex` gives it."""
        query = _matching(_of(catalog, database, functions.c.name), pattern)
        return list(self._connection.execute(query).scalars())

    def select(self, catalog: str, database: str | None = None, pattern: str | None = None) -> EncodedList[Function]:
        """By the names of database and function; `database` None: of all databases."""
        query = _matching(_of(catalog, database, functions.c.encoded), pattern)
        heads = [bytes(encoded) for encoded in self._connection.execute(query).scalars()]
        return EncodedList(Function, heads, [STOP] * len(heads))

    def insert(self, database_id: int, function: Function) -> None:
        """Raises AlreadyExistsError, NotFoundError for the database."""
        row = _row(function) | {"database_id": database_id}
        self._connection.execute(insert(functions).values(row))

    def update(self, function_id: int, database_id: int, function: Function) -> None:
        """Raises AlreadyExistsError when a new name is taken."""
        row = _row(function) | {"database_id": database_id}
        self._connection.execute(update(functions).where(functions.c.id == function_id).values(row))

    def delete(self, function_id: int) -> None:
        self._connection.execute(delete(functions).where(functions.c.id == function_id))

    def delete_of(self, database_id: int) -> None:
        """Removes all functions of a database."""
        self._connection.execute(delete(functions).where(functions.c.database_id == database_id))


def _of(catalog: str, database: str | None, *columns: Any) -> Select[Any]:
    joined = functions.join(databases, databases.c.id == functions.c.database_id)
    query = select(*columns).select_from(joined).where(databases.c.catalog == catalog)
    return query if database is None else query.where(databases.c.name == database)


def _matching(query: Select[Any], pattern: str | None) -> Select[Any]:
    if pattern is not None:
        query = query.where(functions.c.name.op("~*")(pattern))
    return query.order_by(databases.c.name, functions.c.name)


def _row(function: Function) -> dict[str, Any]:
    return {"name": function.functionName, "encoded": encode_fields(function)}
