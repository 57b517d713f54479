"""Databases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import insert

from metastore.context import is_authorized
from metastore.domain.names import DatabaseName
from metastore.encoding.binary import EncodedList, EncodedStruct
from metastore.storage.mapping.databases import database_row
from metastore.storage.mapping.layout import Fields, whole, whole_list
from metastore.storage.postgres.driver import Prepared
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.catalog import databases
from thrift_idl.gen.hive_metastore.ttypes import Database


@dataclass(frozen=True, slots=True)
class StoredDatabase:
    """A database and its identity."""

    id: int
    name: str
    encoded: EncodedStruct[Database]


# Compiled once: assembling a statement takes longer than running it, and nearly every client asks for a database first.
_NAMED = select(databases.c.id, databases.c.name, databases.c.encoded).where(
    databases.c.catalog == bindparam("catalog"), databases.c.name == bindparam("name")
)
_FIND = {
    False: Prepared("find_database", _NAMED),
    True: Prepared("find_database_to_change", _NAMED.with_for_update()),
}
_INSERT = insert(databases)
_UPDATE = update(databases).where(databases.c.id == bindparam("replaced")).values(version=databases.c.version + 1)


class Databases(Repository):
    """Queries on databases. Names are in lower case."""

    def find(self, database: DatabaseName, *, lock: bool = False) -> StoredDatabase | None:
        """Returns the database, or None if it does not exist, or is not the one that the call was authorized for.

        `lock`: keeps others from changing or dropping it.
        """
        for number, name, encoded in _FIND[lock].rows(self._connection, catalog=database.catalog, name=database.name):
            if not is_authorized(database, number):
                return None
            return StoredDatabase(number, name, whole(Database, Fields(bytes(encoded))))
        return None

    def names(self, catalog: str, pattern: str | None) -> list[str]:
        """Lists names, ascending. `pattern`: as `domain.names.pattern_regex` returns it."""
        return list(self._connection.execute(_matching(databases.c.name, catalog, pattern)).scalars())

    def matching(self, catalog: str, pattern: str | None) -> EncodedList[Database]:
        """Returns the matching databases in encoded form, by name."""
        rows = self._connection.execute(_matching(databases.c.encoded, catalog, pattern)).scalars()
        return whole_list(Database, [Fields(bytes(encoded)) for encoded in rows])

    def locations(self) -> list[str]:
        """Lists the distinct locations of databases."""
        return list(self._connection.execute(select(databases.c.location).distinct()).scalars())

    def insert(self, catalog: str, database: Database, *, if_not_exists: bool = False) -> None:
        """Adds a database. Raises AlreadyExistsError; NotFoundError for the catalog."""
        row = {"catalog": catalog, "version": 1} | database_row(database)
        self._connection.execute(_INSERT.on_conflict_do_nothing() if if_not_exists else _INSERT, row)

    def update(self, database_id: int, database: Database) -> None:
        self._connection.execute(_UPDATE, database_row(database) | {"replaced": database_id})

    def delete(self, database_id: int) -> None:
        """Deletes a database. Raises InvalidOperationError if it has tables."""
        self._connection.execute(delete(databases).where(databases.c.id == database_id))


def _matching(column: Any, catalog: str, pattern: str | None) -> Select[Any]:
    query = select(column).where(databases.c.catalog == catalog).order_by(databases.c.name)
    return query if pattern is None else query.where(databases.c.name.op("~*")(pattern))
