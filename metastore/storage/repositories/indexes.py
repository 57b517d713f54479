"""Indexes of tables. An index is not listed while its table, or the table that stores it, is dropped."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, delete, insert, or_, select, update

from metastore.domain.names import TableName
from metastore.encoding.binary import EncodedList
from metastore.storage.mapping.whole_objects import index_ending, index_row
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.catalog import databases, table_indexes, tables
from thrift_idl.gen.hive_metastore.ttypes import Index


class IndexRef(NamedTuple):
    """An index: its name, the indexed table, and the table that stores it."""

    name: str
    table: TableName
    held_in: TableName
    held_in_id: int


_INDEX_TABLES, _INDEX_DATABASES = tables.alias("holders"), databases.alias("their_databases")
_JOINED = (
    table_indexes.join(tables, tables.c.id == table_indexes.c.table_id)
    .join(databases, databases.c.id == tables.c.database_id)
    .join(_INDEX_TABLES, _INDEX_TABLES.c.id == table_indexes.c.index_table_id)
    .join(_INDEX_DATABASES, _INDEX_DATABASES.c.id == _INDEX_TABLES.c.database_id)
)
_ENCODED = select(table_indexes.c.encoded, databases.c.name, tables.c.name, _INDEX_TABLES.c.name).select_from(_JOINED)
_REFERENCES = select(
    table_indexes.c.name,
    databases.c.catalog,
    databases.c.name,
    tables.c.name,
    _INDEX_DATABASES.c.catalog,
    _INDEX_DATABASES.c.name,
    _INDEX_TABLES.c.name,
    _INDEX_TABLES.c.id,
).select_from(_JOINED)


class Indexes(Repository):
    """Queries on indexes. Names are in lower case, structs complete."""

    def select(self, table: TableName, name: str | None = None) -> EncodedList[Index]:
        """Returns the indexes of a table, by name, or only the one of this name."""
        query = _ENCODED.where(_of(table)).order_by(table_indexes.c.name)
        if name is not None:
            query = query.where(table_indexes.c.name == name)
        rows = self._connection.execute(query).all()
        return EncodedList(Index, [bytes(row[0]) for row in rows], [index_ending(*row[1:]) for row in rows])

    def names(self, table: TableName) -> list[str]:
        """Lists the names of a table's indexes, ascending."""
        query = select(table_indexes.c.name).select_from(_JOINED).where(_of(table)).order_by(table_indexes.c.name)
        return list(self._connection.execute(query).scalars())

    def about(self, table_id: int) -> list[IndexRef]:
        """Returns the indexes of a table, and the index that it stores, by name."""
        about = or_(table_indexes.c.table_id == table_id, table_indexes.c.index_table_id == table_id)
        rows = self._connection.execute(_REFERENCES.where(about).order_by(table_indexes.c.name))
        return [IndexRef(name, TableName(*names[:3]), TableName(*names[3:6]), names[6]) for name, *names in rows]

    def insert(self, table_id: int, index_table_id: int, index: Index) -> None:
        """Adds an index. It replaces one whose storing table was dropped. Raises AlreadyExistsError."""
        dropped = select(tables.c.id).where(tables.c.database_id.is_(None))
        self._connection.execute(
            delete(table_indexes).where(
                table_indexes.c.table_id == table_id,
                table_indexes.c.name == index.indexName,
                table_indexes.c.index_table_id.in_(dropped),
            )
        )
        row = index_row(index) | {"table_id": table_id, "index_table_id": index_table_id}
        self._connection.execute(insert(table_indexes).values(row))

    def update(self, table_id: int, index: Index) -> None:
        """Replaces the index of the same name."""
        row = index_row(index)
        same = and_(table_indexes.c.table_id == table_id, table_indexes.c.name == row["name"])
        self._connection.execute(update(table_indexes).where(same).values(encoded=row["encoded"]))


def _of(table: TableName) -> ColumnElement[bool]:
    return and_(databases.c.catalog == table.catalog, databases.c.name == table.database, tables.c.name == table.name)
