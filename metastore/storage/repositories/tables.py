"""Tables."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from sqlalchemy import (
    Select,
    and_,
    any_,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    text,
    tuple_,
)

from metastore.context import claim_reply_memory, is_authorized
from metastore.domain.names import DatabaseName, TableName
from metastore.domain.query_ids import CHARACTERS, LENGTH
from metastore.errors import NotFoundError
from metastore.storage.mapping.descriptors import have_same_shared_part, shared_part
from metastore.storage.mapping.layout import OpenHead, whole_table
from metastore.storage.mapping.tables import table_row
from metastore.storage.postgres.arrays import array_literal, is_text_among, number_array_literal
from metastore.storage.postgres.driver import Prepared, rows_of
from metastore.storage.postgres.sql import Condition, Sql, all_of
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.visible_writes import visible_columns, visible_writes
from metastore.storage.references import Key, StoredTable, TableRef, VisibleWrites
from metastore.storage.schema.base import Texts
from metastore.storage.schema.catalog import databases, skewed_locations, tables
from metastore.storage.schema.partitions import partition_lists, partitions
from thrift_idl.gen.hive_metastore.ttypes import PrincipalType, Table

TableLock: TypeAlias = Literal["share", "update", "change"]


class TableMeta(NamedTuple):
    """The fields of a table in listings."""

    database: str
    name: str
    type: str
    comment: str | None
    owner: str | None
    owner_type: int


# The columns of a TableRef, in the order of `_reference`.
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
_JOINED = tables.join(databases, databases.c.id == tables.c.database_id)
_IN_DATABASE = and_(databases.c.catalog == bindparam("catalog"), databases.c.name == bindparam("database"))
_REFERENCES = select(*_REFERENCE).select_from(_JOINED).where(_IN_DATABASE, tables.c.name == bindparam("name"))
_TABLES = select(tables.c.descriptor_id, tables.c.encoded, *_REFERENCE).select_from(_JOINED)
_NAMED = _TABLES.where(_IN_DATABASE, tables.c.name == bindparam("name"))
_IDENTIFIED = _TABLES.where(tables.c.id == any_(bindparam("ids"))).order_by(tables.c.id)
_NAMES_GIVEN = func.unnest(*(bindparam(column, type_=Texts) for column in ("catalogs", "databases", "names")))

# Prepared: nothing is requested as often as a table.
_REFER = Prepared("refer_table", _REFERENCES)
_REFER_PRIVILEGES = Prepared(
    "refer_table_privileges",
    _REFERENCES.add_columns(literal_column("lower(tables.parameters ->> 'PARTITION_LEVEL_PRIVILEGE') = 'true'")),
)
_FIND_SCAN = Prepared("find_table_to_scan", _NAMED.add_columns(*map(literal_column, visible_columns("tables.id"))))
FIND: dict[str | None, Prepared] = {
    None: Prepared("find_table", _NAMED),
    "share": Prepared("find_table_to_share", _NAMED.with_for_update(of=tables, key_share=True, read=True)),
    "update": Prepared("find_table_to_update", _NAMED.with_for_update(of=tables, key_share=True)),
    "change": Prepared("find_table_to_change", _NAMED.with_for_update(of=tables)),
}
_FIND_MANY = Prepared(
    "find_tables", _TABLES.where(_IN_DATABASE, tables.c.name == any_(bindparam("names"))).order_by(tables.c.name)
)
_FIND_NAMED = Prepared(
    "find_tables_of_databases",
    _TABLES.where(
        tuple_(databases.c.catalog, databases.c.name, tables.c.name).in_(
            select(literal_column("*")).select_from(_NAMES_GIVEN)
        ),
    ),
)
_FIND_IDS = {
    False: Prepared("find_tables_by_id", _IDENTIFIED),
    True: Prepared("find_tables_by_id_to_change", _IDENTIFIED.with_for_update(of=tables)),
}

# Compiled once, too. The rows determine the columns.
_INSERT = insert(tables).returning(tables.c.id)

_OWN = (
    "database_id",
    "name",
    "type",
    "owner",
    "owner_type",
    "create_time",
    "last_access_time",
    "location",
    "partition_keys",
    "parameters",
    "view_original_text",
    "view_expanded_text",
    "rewrite_enabled",
    "encoded",
)
_SET = ", ".join(f"{name} = :{name}" for name in _OWN)
_REPLACE = f"UPDATE tables SET version = version + 1, {_SET}"  # noqa: S608 - only the constants above
_UPDATE = Prepared("replace_table", text(f"{_REPLACE}, descriptor_id = :descriptor_id WHERE id = :replaced"))
_UPDATE_OWN = Prepared("replace_table_but_descriptor", text(f"{_REPLACE} WHERE id = :replaced"))

_BEFORE = text("""
    SELECT was.version, was.descriptor_id, was.encoded
    FROM dropped_rows, LATERAL jsonb_populate_record(NULL::tables, content) AS was
    WHERE drop_id = :drop_id AND relation = 'tables'
""")
_IS_UNCHANGED = """
    EXISTS (
        SELECT FROM tables JOIN databases ON databases.id = tables.database_id
        WHERE tables.id = %s AND tables.name = %s AND databases.catalog = %s AND databases.name = %s
          AND tables.partition_keys = cast(%s AS jsonb)
    )
"""
_REFERENCE_BYTES = 1_000  # estimated size of a cached identity without its partition columns
_NAMES = "SELECT tables.name FROM tables JOIN databases ON databases.id = tables.database_id"
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


class Tables(Repository):
    """Queries on tables. Names are in lower case, structs complete (`services.rules.tables`)."""

    def reference(self, table: TableName) -> TableRef | None:
        """Returns the table's identity, or None if it does not exist, or has replaced the authorized one."""
        rows = _REFER.rows(self._connection, **_values(table))
        if not rows:
            return None
        reference = _reference(rows[0])
        if not is_authorized(table, reference.id):
            return None
        if self._references is not None:
            *_, partition_keys, _, _ = rows[0]  # in the order of `_REFERENCE`
            keys = json.dumps(partition_keys)
            unchanged = Sql(_IS_UNCHANGED, (reference.id, table.name, table.catalog, table.database, keys))
            self._references.put(table, (reference, unchanged), _REFERENCE_BYTES + 2 * len(keys))
        return reference

    def known(self, table: TableName) -> tuple[TableRef, Condition] | None:
        """Returns the result of the last `reference` on this server, without a query, or None.

        The table may have changed since. The condition is true while name, id and partition columns are the same.
        """
        known = self._references.get(table) if self._references is not None else None
        return known if known and is_authorized(table, known[0].id) else None

    def reference_and_privileges(self, table: TableName) -> tuple[TableRef | None, bool]:
        """Returns the table's identity, or None, and whether its partitions have privileges of their own."""
        rows = _REFER_PRIVILEGES.rows(self._connection, **_values(table))
        if not rows:
            return None, False
        ((*columns, by_partition),) = rows
        reference = _reference(columns)
        return (reference, bool(by_partition)) if is_authorized(table, reference.id) else (None, False)

    def find(self, table: TableName, *, lock: TableLock | None = None) -> StoredTable | None:
        """Reads the table. Returns None if it does not exist, or if another table has replaced the one that the call
        was authorized for. `lock` holds until the transaction ends.

        Args:
            table: its name.
            lock: `share` (FOR KEY SHARE) keeps others from dropping it. `update` (FOR NO KEY UPDATE) also keeps others
                from changing it, but is compatible with `share`, so that two transactions can both upgrade from it
                without a deadlock. `change` (FOR UPDATE) excludes `share`, too.

        Take a table lock before partition locks, as dropping a table does: otherwise the two could deadlock.
        """
        stored = next(iter(self._read(FIND[lock], **_values(table))), None)
        return stored if stored and is_authorized(table, stored.ref.id) else None

    def find_scan(self, table: TableName) -> tuple[StoredTable, VisibleWrites] | None:
        """Returns the table and its visible writes from the same snapshot, or None."""
        rows = _FIND_SCAN.rows(self._connection, **_values(table))
        if not rows:
            return None
        ((*columns, last, open_writes),) = rows
        (stored,) = self._stored([columns])
        return (stored, visible_writes(last, open_writes)) if is_authorized(table, stored.ref.id) else None

    def find_many(self, database: DatabaseName, names: Sequence[str]) -> list[StoredTable]:
        """Returns the named tables that exist, by name."""
        return self._read(_FIND_MANY, catalog=database.catalog, database=database.name, names=array_literal(names))

    def find_named(self, names: Sequence[TableName]) -> list[StoredTable]:
        """Returns the named tables that exist, in any order."""
        return self._read(
            _FIND_NAMED,
            catalogs=array_literal([name.catalog for name in names]),
            databases=array_literal([name.database for name in names]),
            names=array_literal([name.name for name in names]),
        )

    def before(self, drop_id: int) -> tuple[int, Table]:
        """Returns the version and the struct of a table before it was truncated or overwritten by this drop.

        Raises NotFoundError if nothing was kept: earlier versions recorded truncations that emptied nothing.
        """
        row = self._connection.execute(_BEFORE, {"drop_id": drop_id}).one_or_none()
        if row is None:
            raise NotFoundError("The truncation emptied nothing: there is nothing to undrop")
        version, descriptor_id, encoded = row
        tails = self._descriptors.tails([descriptor_id])
        return version, whole_table(OpenHead(bytes(encoded)), tails[descriptor_id]).decode()

    def find_ids(self, ids: Sequence[int], *, lock: bool = False) -> list[StoredTable]:
        """Returns the tables of these ids, by id. `lock`: keeps others from changing them or publishing to them."""
        return self._read(_FIND_IDS[lock], ids=number_array_literal(ids)) if ids else []

    def ids(self) -> list[int]:
        """Lists the ids of all tables, ascending."""
        query = select(tables.c.id).select_from(_JOINED).order_by(tables.c.id)
        return list(self._connection.execute(query).scalars())

    def ids_by_name(self, database: DatabaseName) -> dict[str, int]:
        """Returns the ids of a database's tables."""
        query = _named(select(tables.c.name, tables.c.id).select_from(_JOINED), database)
        return {row.name: row.id for row in self._connection.execute(query)}

    def names(self, database: DatabaseName, pattern: str | None = None, kind: str | None = None) -> list[str]:
        """Lists names, ascending.

        `pattern`: a regular expression; `kind`: a table type; None for all.
        """
        query = _named(select(tables.c.name).select_from(_JOINED), database).order_by(tables.c.name)
        if pattern is not None:
            query = query.where(tables.c.name.op("~*")(pattern))
        if kind is not None:
            query = query.where(tables.c.type == kind)
        return list(self._connection.execute(query).scalars())

    def names_where(self, database: DatabaseName, condition: Condition, limit: int | None) -> list[str]:
        """Lists the names of tables that satisfy a condition of `queries.filters`, ascending."""
        chosen = all_of(
            [Sql("databases.catalog = %s AND databases.name = %s", (database.catalog, database.name)), condition]
        )
        query = f"{_NAMES} WHERE {chosen.text} ORDER BY tables.name LIMIT %s"
        return [name for (name,) in rows_of(self._connection, Sql(query, (*chosen.values, limit)))]

    def metas(
        self, catalog: str, database_pattern: str | None, pattern: str | None, kinds: Sequence[str]
    ) -> list[TableMeta]:
        """Returns listings over several databases, by database and table name. Empty `kinds`: all."""
        comment = tables.c.parameters["comment"].astext
        owner_type = func.coalesce(tables.c.owner_type, PrincipalType.USER)
        query = (
            select(databases.c.name, tables.c.name, tables.c.type, comment, tables.c.owner, owner_type)
            .select_from(_JOINED)
            .where(databases.c.catalog == catalog)
            .order_by(databases.c.name, tables.c.name)
        )
        if database_pattern is not None:
            query = query.where(databases.c.name.op("~*")(database_pattern))
        if pattern is not None:
            query = query.where(tables.c.name.op("~*")(pattern))
        if kinds:
            query = query.where(is_text_among(tables.c.type, kinds))
        return [TableMeta(*row) for row in self._connection.execute(query)]

    def insert(self, database_id: int, table: Table) -> int:
        """Adds a table, and returns its id. Raises AlreadyExistsError."""
        (descriptor_id,) = self._descriptors.store([shared_part(table.sd)])
        row = table_row(table) | {"database_id": database_id, "descriptor_id": descriptor_id, "version": 1}
        row["write_token"] = _new_token()
        table_id: int = self._connection.execute(_INSERT, row).scalar_one()
        self._insert_locations(table_id, table)
        return table_id

    def update(self, table_id: int, database_id: int, table: Table, old: Table | None = None) -> None:
        """Replaces a table; its version rises. Raises AlreadyExistsError if the new name is taken.

        `old`: the table as it is stored; what the new one has in common with it is not stored again.
        """
        row = table_row(table) | {"database_id": database_id, "replaced": table_id}
        row |= {name: json.dumps(row[name]) for name in ("partition_keys", "parameters")}
        if old is not None and have_same_shared_part(old.sd, table.sd):
            _UPDATE_OWN.rows(self._connection, **row)
        else:
            (row["descriptor_id"],) = self._descriptors.store([shared_part(table.sd)])
            _UPDATE.rows(self._connection, **row)
        if old is not None and _skewed_locations(old) == _skewed_locations(table):
            return
        own = (skewed_locations.c.table_id == table_id) & skewed_locations.c.partition_id.is_(None)
        self._connection.execute(delete(skewed_locations).where(own))
        self._insert_locations(table_id, table)

    def update_views(self, views: Mapping[int, Table]) -> None:
        """Updates columns, parameters and texts of views, by id; their versions rise. One statement for all."""
        rows = [table_row(view) for view in views.values()]
        arrays: dict[str, Any] = {
            column: [row[column] for row in rows] for column in ("view_original_text", "view_expanded_text", "encoded")
        }
        arrays["parameters"] = [json.dumps(row["parameters"]) for row in rows]
        arrays["descriptor_id"] = self._descriptors.store([shared_part(view.sd) for view in views.values()])
        self._connection.execute(_UPDATE_VIEWS, arrays | {"id": list(views)})

    def delete(self, table_id: int) -> None:
        """Deletes a table with its partitions and skewed locations.

        Deleting the table's row first waits for transactions that add partitions; their partitions are then visible to
        the second statement.
        """
        self._connection.execute(delete(tables).where(tables.c.id == table_id))
        self._connection.execute(delete(partitions).where(partitions.c.table_id == table_id))  # those added until then
        # Last: a transaction that changes partitions may hold the lock on this row until its commit.
        self._connection.execute(delete(partition_lists).where(partition_lists.c.table_id == table_id))

    def _insert_locations(self, table_id: int, table: Table) -> None:
        rows = [
            {"table_id": table_id, "value": list(value), "location": location}
            for value, location in table.sd.skewedInfo.skewedColValueLocationMaps.items()
        ]
        if rows:
            self._connection.execute(insert(skewed_locations).values(rows))

    def _read(self, query: Prepared, **parameters: Any) -> list[StoredTable]:
        return self._stored(query.rows(self._connection, **parameters))

    def _stored(self, rows: Sequence[Sequence[Any]]) -> list[StoredTable]:
        if len(rows) > 1:
            claim_reply_memory(sum(len(encoded) for _, encoded, *_ in rows))
        tails = self._descriptors.tails([descriptor_id for descriptor_id, *_ in rows])
        return [
            StoredTable(_reference(reference), whole_table(OpenHead(bytes(encoded)), tails[descriptor_id]))
            for descriptor_id, encoded, *reference in rows
        ]


def _skewed_locations(table: Table) -> dict[tuple[str, ...], str]:
    locations: dict[tuple[str, ...], str] = table.sd.skewedInfo.skewedColValueLocationMaps
    return locations


def _values(table: TableName) -> dict[str, str]:
    return {"catalog": table.catalog, "database": table.database, "name": table.name}


def _named(query: Select[Any], database: DatabaseName) -> Select[Any]:
    return query.where(databases.c.catalog == database.catalog, databases.c.name == database.name)


def _new_token() -> str:
    return "".join(secrets.choice(CHARACTERS) for _ in range(LENGTH))


def _reference(row: Sequence[Any]) -> TableRef:
    table_id, database_id, catalog, database, name, kind, location, keys, version, write_token = row
    return TableRef(
        id=table_id,
        database_id=database_id,
        name=TableName(catalog, database, name),
        type=kind,
        location=location,
        keys=tuple(Key(key["name"], key["type"]) for key in keys),
        version=version,
        write_token=write_token,
    )
