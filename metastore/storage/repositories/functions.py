"""Functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, delete, insert, select, update

from metastore.domain.names import DatabaseName
from metastore.encoding.binary import EncodedList, EncodedStruct
from metastore.storage.mapping.layout import Fields, whole, whole_list
from metastore.storage.mapping.whole_objects import function_row
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.catalog import databases, functions
from thrift_idl.gen.hive_metastore.ttypes import Function


@dataclass(frozen=True, slots=True)
class StoredFunction:
    """A function and its identity."""

    id: int
    database_id: int
    encoded: EncodedStruct[Function]


class Functions(Repository):
    """Queries on functions. Names are in lower case, structs complete."""

    def find(self, database: DatabaseName, name: str, *, lock: bool = False) -> StoredFunction | None:
        """Returns the function, or None. `lock`: keeps others from changing or dropping it."""
        query = _of(database, functions.c.id, functions.c.database_id, functions.c.encoded)
        query = query.where(functions.c.name == name)
        row = self._connection.execute(query.with_for_update(of=functions) if lock else query).one_or_none()
        if row is None:
            return None
        return StoredFunction(row.id, row.database_id, whole(Function, Fields(bytes(row.encoded))))

    def names(self, database: DatabaseName, pattern: str | None = None) -> list[str]:
        """Lists names, ascending. `pattern`: as `domain.names.pattern_regex` returns it."""
        query = _matching(_of(database, functions.c.name), pattern)
        return list(self._connection.execute(query).scalars())

    def select(self, owner: DatabaseName | str, pattern: str | None = None) -> EncodedList[Function]:
        """Returns the functions of a database, or of a catalog (a text), by the names of database and function."""
        query = _matching(_of(owner, functions.c.encoded), pattern)
        return whole_list(Function, [Fields(bytes(encoded)) for encoded in self._connection.execute(query).scalars()])

    def insert(self, database_id: int, function: Function) -> None:
        """Adds a function. Raises AlreadyExistsError; NotFoundError for the database."""
        row = function_row(function) | {"database_id": database_id}
        self._connection.execute(insert(functions).values(row))

    def update(self, function_id: int, database_id: int, function: Function) -> None:
        """Replaces a function. Raises AlreadyExistsError if its new name is taken."""
        row = function_row(function) | {"database_id": database_id}
        self._connection.execute(update(functions).where(functions.c.id == function_id).values(row))

    def delete(self, function_id: int) -> None:
        self._connection.execute(delete(functions).where(functions.c.id == function_id))

    def delete_of(self, database_id: int) -> None:
        self._connection.execute(delete(functions).where(functions.c.database_id == database_id))


def _of(owner: DatabaseName | str, *columns: Any) -> Select[Any]:
    query = select(*columns).select_from(functions.join(databases, databases.c.id == functions.c.database_id))
    if isinstance(owner, str):
        return query.where(databases.c.catalog == owner)
    return query.where(databases.c.catalog == owner.catalog, databases.c.name == owner.name)


def _matching(query: Select[Any], pattern: str | None) -> Select[Any]:
    if pattern is not None:
        query = query.where(functions.c.name.op("~*")(pattern))
    return query.order_by(databases.c.name, functions.c.name)
