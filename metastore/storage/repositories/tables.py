"""Tables."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    delete,
    insert,
    literal_column,
    select,
    text,
    tuple_,
    update,
)

from metastore.domain.query_ids import CHARACTERS, LENGTH
from metastore.storage.descriptors import Descriptors
from metastore.storage.mapping.descriptors import shared_part
from metastore.storage.mapping.tables import encoded_table, table_row
from metastore.storage.references import Key, StoredTable, TableRef, VisibleWrites
from metastore.storage.schema import databases, skewed_locations, tables
from metastore.storage.visible_writes import visible_columns, visible_writes
from thrift_idl.gen.hive_metastore.ttypes import Table


class TableMeta(NamedTuple):
    """What listings show."""

    database: str
    name: str
    type: str
    comment: str | None
    owner: str | None


_REFERENCE = (
    tables.c.id,
    tables.c.database_id,
    databases.c.catalog,
    databases.c.name.label("database"),
    tables.c.name,
    tables.c.type,
    tables.c.location,
    tables.c.partition_keys,
    tables.c.version,
    tables.c.write_token,
)
_WHOLE = (*_REFERENCE, tables.c.descriptor_id, tables.c.encoded)
_JOINED = tables.join(databases, databases.c.id == tables.c.database_id)
_NAMED = and_(
    databases.c.catalog == bindparam("catalog"),
    databases.c.name == bindparam("database"),
    tables.c.name == bindparam("name"),
)
# Made once: to put a statement together costs more than to run it, and nothing is asked as often as a table.
_REFER = select(*_REFERENCE).select_from(_JOINED).where(_NAMED)
_FIND = select(*_WHOLE).select_from(_JOINED).where(_NAMED)
_FIND_SCAN = _FIND.add_columns(*map(literal_column, visible_columns("tables.id")))
_FIND_LOCKED: dict[str | None, Select[Any]] = {
    None: _FIND,
    "share": _FIND.with_for_update(of=tables, key_share=True, read=True),
    "change": _FIND.with_for_update(of=tables),
}


_UPDATE_VIEWS = text("""
    UPDATE tables AS old
    SET view_original_text = new.original, view_expanded_text = new.expanded, parameters = new.parameters::jsonb,
        descriptor_id = new.descriptor_id, encoded = new.encoded, version = old.version + 1
    FROM unnest(
        cast(:id AS bigint[]), cast(:view_original_text AS text[]), cast(:view_expanded_text AS text[]),
        cast(:parameters AS text[]), cast(:descriptor_id AS bigint[]), cast(:encoded AS bytea[])
    ) AS new(id, original, expanded, parameters, descriptor_id, encoded)
    WHERE old.id = new.id
""")


class Tables:
    """Queries on tables. Names come folded, structs complete (`services.tables`)."""

    def __init__(self, connection: Connection, descriptors: Descriptors) -> None:
        self._connection = connection
        self._descriptors = descriptors

    def reference(self, catalog: str, database: str, name: str) -> TableRef | None:
        """The table's identity, or None."""
        names = {"catalog": catalog, "database": database, "name": name}
        row = self._connection.execute(_REFER, names).one_or_none()
        return _reference(row) if row else None

    def find(
        self, catalog: str, database: str, name: str, *, lock: Literal["share", "change"] | None = None
    ) -> StoredTable | None:
        """The table, or None. `share`: nobody drops it before this transaction ends; `change`: nor changes it."""
        names = {"catalog": catalog, "database": database, "name": name}
        return next(iter(self._read(_FIND_LOCKED[lock], names)), None)

    def find_scan(self, catalog: str, database: str, name: str) -> tuple[StoredTable, VisibleWrites] | None:
        """The table, and which of its writes are visible at that moment; or None."""
        names = {"catalog": catalog, "database": database, "name": name}
        row = self._connection.execute(_FIND_SCAN, names).one_or_none()
        return (self._stored([row])[0], visible_writes(*row[-2:])) if row else None

    def find_many(self, catalog: str, database: str, names: Sequence[str]) -> list[StoredTable]:
        """Those of the named tables that are there, by name."""
        return self._read(self._whole(catalog, database).where(tables.c.name.in_(names)).order_by(tables.c.name))

    def find_named(self, catalog: str, names: Sequence[tuple[str, str]]) -> list[StoredTable]:
        """Those of the tables that are there; each is named with its database before it."""
        identity = tuple_(databases.c.name, tables.c.name)
        query = select(*_WHOLE).select_from(_JOINED).where(databases.c.catalog == catalog, identity.in_(names))
        return self._read(query)

    def find_ids(self, ids: Sequence[int], *, lock: bool = False) -> list[StoredTable]:
        """The tables of these ids, by id. `lock`: nobody else changes them, or publishes to them, meanwhile."""
        query = select(*_WHOLE).select_from(_JOINED).where(tables.c.id.in_(ids)).order_by(tables.c.id)
        return self._read(query.with_for_update(of=tables) if lock else query)

    def ids(self, catalog: str | None = None, database: str | None = None) -> list[int]:
        """Of all tables, or of those of one database, ascending."""
        query = select(tables.c.id).select_from(_JOINED).order_by(tables.c.id)
        if catalog is not None and database is not None:
            query = _named(query, catalog, database)
        return list(self._connection.execute(query).scalars())

    def names(self, catalog: str, database: str, pattern: str | None = None, kind: str | None = None) -> list[str]:
        """Names in ascending order; `pattern` a regular expression, `kind` a table type, None for all."""
        query = _named(select(tables.c.name).select_from(_JOINED), catalog, database).order_by(tables.c.name)
        if pattern is not None:
            query = query.where(tables.c.name.op("~*")(pattern))
        if kind is not None:
            query = query.where(tables.c.type == kind)
        return list(self._connection.execute(query).scalars())

    def names_where(self, catalog: str, database: str, condition: ColumnElement[bool], limit: int | None) -> list[str]:
        """Names in ascending order of the tables that satisfy a condition of `filters_sql`."""
        query = _named(select(tables.c.name).select_from(_JOINED), catalog, database).where(condition)
        return list(self._connection.execute(query.order_by(tables.c.name).limit(limit)).scalars())

    def metas(
        self, catalog: str, database_pattern: str | None, pattern: str | None, kinds: Sequence[str]
    ) -> list[TableMeta]:
        """What a listing over databases shows, by database and table name. No `kinds`: all."""
        comment = tables.c.parameters["comment"].astext
        query = (
            select(databases.c.name, tables.c.name, tables.c.type, comment, tables.c.owner)
            .select_from(_JOINED)
            .where(databases.c.catalog == catalog)
            .order_by(databases.c.name, tables.c.name)
        )
        if database_pattern is not None:
            query = query.where(databases.c.name.op("~*")(database_pattern))
        if pattern is not None:
            query = query.where(tables.c.name.op("~*")(pattern))
        if kinds:
            query = query.where(tables.c.type.in_(kinds))
        return [TableMeta(*row) for row in self._connection.execute(query)]

    def insert(self, database_id: int, table: Table) -> int:
        """Stores a table; returns its id. Raises AlreadyExistsError."""
        (descriptor_id,) = self._descriptors.store([shared_part(table.sd)])
        row = table_row(table) | {"database_id": database_id, "descriptor_id": descriptor_id, "version": 1}
        row["write_token"] = _new_token()
        table_id: int = self._connection.execute(insert(tables).values(row).returning(tables.c.id)).scalar_one()
        self._insert_locations(table_id, table)
        return table_id

    def update(self, table_id: int, database_id: int, table: Table) -> None:
        """Replaces a table; its version rises. Raises AlreadyExistsError when the new name is taken."""
        (descriptor_id,) = self._descriptors.store([shared_part(table.sd)])
        row = table_row(table) | {"database_id": database_id, "descriptor_id": descriptor_id}
        row["version"] = tables.c.version + 1
        self._connection.execute(update(tables).where(tables.c.id == table_id).values(row))
        own = (skewed_locations.c.table_id == table_id) & skewed_locations.c.partition_id.is_(None)
        self._connection.execute(delete(skewed_locations).where(own))
        self._insert_locations(table_id, table)

    def update_views(self, views: Mapping[int, Table]) -> None:
        """Gives views, by id, their columns, parameters and texts; their versions rise."""
        rows = [table_row(view) for view in views.values()]
        arrays: dict[str, Any] = {
            column: [row[column] for row in rows] for column in ("view_original_text", "view_expanded_text", "encoded")
        }
        arrays["parameters"] = [json.dumps(row["parameters"]) for row in rows]
        arrays["descriptor_id"] = self._descriptors.store([shared_part(view.sd) for view in views.values()])
        self._connection.execute(_UPDATE_VIEWS, arrays | {"id": list(views)})

    def delete(self, table_id: int) -> None:
        """Removes a table with its partitions and skewed locations."""
        self._connection.execute(delete(tables).where(tables.c.id == table_id))

    def _insert_locations(self, table_id: int, table: Table) -> None:
        rows = [
            {"table_id": table_id, "value": list(value), "location": location}
            for value, location in table.sd.skewedInfo.skewedColValueLocationMaps.items()
        ]
        if rows:
            self._connection.execute(insert(skewed_locations).values(rows))

    def _whole(self, catalog: str, database: str) -> Select[Any]:
        return _named(select(*_WHOLE).select_from(_JOINED), catalog, database)

    def _read(self, query: Select[Any], parameters: Mapping[str, str] | None = None) -> list[StoredTable]:
        return self._stored(self._connection.execute(query, parameters).all())

    def _stored(self, rows: Sequence[Any]) -> list[StoredTable]:
        tails = self._descriptors.tails([row.descriptor_id for row in rows])
        return [
            StoredTable(_reference(row), encoded_table(bytes(row.encoded), tails[row.descriptor_id])) for row in rows
        ]


def _named(query: Select[Any], catalog: str, database: str) -> Select[Any]:
    return query.where(databases.c.catalog == catalog, databases.c.name == database)


def _new_token() -> str:
    return "".join(secrets.choice(CHARACTERS) for _ in range(LENGTH))


def _reference(row: Any) -> TableRef:
    keys = tuple(Key(key["name"], key["type"]) for key in row.partition_keys)
    identity = (row.id, row.database_id, row.catalog, row.database, row.name, row.type)
    return TableRef(*identity, location=row.location, keys=keys, version=row.version, write_token=row.write_token)
