"""Bulk loading: stores objects of another metastore unchanged, without the rules of the services.

Times, parameters and names are stored unchanged. No event is recorded, and no file system is accessed. Each method is a
constant number of statements, and is part of the caller's transaction.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, cast, delete, func, literal, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.types import BigInteger

from metastore.domain.keys import KeyKind, kind_of
from metastore.domain.names import DatabaseName, TableName
from metastore.domain.query_ids import CHARACTERS, LENGTH
from metastore.storage.importing.partition_texts import GIVEN, KNOWN, PartitionTexts
from metastore.storage.mapping.databases import database_row
from metastore.storage.mapping.descriptors import complete, shared_part
from metastore.storage.mapping.tables import table_row
from metastore.storage.postgres.arrays import is_among
from metastore.storage.postgres.copy_in import copy_rows, copy_text
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.access import privileges
from metastore.storage.schema.catalog import databases, functions, skewed_locations, tables
from metastore.storage.schema.partitions import VERSION_BITS, partition_lists, partitions
from metastore.storage.schema.statistics import column_statistics
from thrift_idl.gen.hive_metastore.ttypes import Database, Table

_TABLE_COLUMNS: Final = (
    "id",
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
    "descriptor_id",
    "version",
    "write_token",
)
_JSON_COLUMNS: Final = ("partition_keys", "parameters")


class LoadedTable(NamedTuple):
    """A stored table: its id, the names and kinds of its keys, and its location."""

    id: int
    keys: tuple[str, ...]
    kinds: tuple[KeyKind, ...]
    location: str | None


class Totals(NamedTuple):
    """Sums over the partitions of a table, to notice changes. `ddl_times`: of the parameter transient_lastDdlTime."""

    partitions: int
    create_times: int
    ddl_times: int


class BulkLoad(Repository):
    """Statements that store many objects."""

    def insert_databases(self, new: Sequence[Database], replaced: Collection[DatabaseName] | None = None) -> None:
        """Adds databases. Replaces those of the same names, or only `replaced` ones (`default`, which every server
        has). Raises AlreadyExistsError for another one, also if somebody is creating it.
        """
        for database in new:
            row = database_row(database)
            row["create_time"], row["location"] = database.createTime or 0, database.locationUri or ""
            row["parameters"] = database.parameters or {}
            statement = insert(databases).values(row | {"catalog": database.catalogName, "version": 1})
            changed = {column: statement.excluded[column] for column in row} | {"version": databases.c.version + 1}
            if replaced is None or DatabaseName(database.catalogName, database.name) in replaced:
                statement = statement.on_conflict_do_update(index_elements=["catalog", "name"], set_=changed)
            self._connection.execute(statement)

    def database_ids(self, names: Iterable[DatabaseName]) -> dict[DatabaseName, int]:
        """Returns the ids of the databases that exist."""
        wanted = set(names)
        rows = self._connection.execute(select(databases.c.catalog, databases.c.name, databases.c.id))
        return {name: row.id for row in rows if (name := DatabaseName(row.catalog, row.name)) in wanted}

    def occupied(self, names: Iterable[DatabaseName]) -> list[DatabaseName]:
        """Returns the databases among these that have tables or functions."""
        ids = self.database_ids(names)
        of_table = select(tables.c.database_id).where(is_among(tables.c.database_id, ids.values()))
        of_function = select(functions.c.database_id).where(is_among(functions.c.database_id, ids.values()))
        used = set(self._connection.execute(of_table.union(of_function)).scalars())
        return [name for name, number in ids.items() if number in used]

    def tables(self, names: Iterable[DatabaseName]) -> dict[TableName, LoadedTable]:
        """Returns the tables of these databases, by name."""
        ids = {number: name for name, number in self.database_ids(names).items()}
        query = select(tables.c.id, tables.c.database_id, tables.c.name, tables.c.partition_keys, tables.c.location)
        rows = self._connection.execute(query.where(is_among(tables.c.database_id, ids)))
        return {
            ids[row.database_id].table(row.name): LoadedTable(
                row.id,
                tuple(key["name"] for key in row.partition_keys),
                tuple(kind_of(key["type"]) for key in row.partition_keys),
                row.location,
            )
            for row in rows
        }

    def insert_tables(self, new: Sequence[tuple[int, Table]]) -> dict[TableName, LoadedTable]:
        """Adds tables, given with the ids of their databases, and returns them by name."""
        for _, table in new:
            complete(table.sd)
        ids = self._next_ids("tables_id_seq", len(new))
        descriptor_ids = self._descriptors.store([shared_part(table.sd) for _, table in new])
        rows = []
        for number, descriptor_id, (database_id, table) in zip(ids, descriptor_ids, new, strict=True):
            row = table_row(table)
            row |= {name: json.dumps(row[name] or ([] if name == "partition_keys" else {})) for name in _JSON_COLUMNS}
            row |= {"id": number, "database_id": database_id, "descriptor_id": descriptor_id, "version": 1}
            row["write_token"] = "".join(secrets.choice(CHARACTERS) for _ in range(LENGTH))
            rows.append([row[name] for name in _TABLE_COLUMNS])
        copy_rows(self._connection, "tables", _TABLE_COLUMNS, rows)
        self._insert_locations((number, None, table.sd) for number, (_, table) in zip(ids, new, strict=True))
        return {
            TableName(table.catName, table.dbName, table.tableName): LoadedTable(
                number,
                tuple(key.name for key in table.partitionKeys or ()),
                tuple(kind_of(key.type) for key in table.partitionKeys or ()),
                table.sd.location,
            )
            for number, (_, table) in zip(ids, new, strict=True)
        }

    def changed(self, new: Sequence[Table], known: Mapping[TableName, LoadedTable]) -> list[Table]:
        """Returns the tables that are not stored, or are stored differently."""
        for table in new:
            complete(table.sd)
        descriptor_ids = self._descriptors.store([shared_part(table.sd) for table in new])
        wanted = {
            TableName(table.catName, table.dbName, table.tableName): (bytes(table_row(table)["encoded"]), descriptor)
            for table, descriptor in zip(new, descriptor_ids, strict=True)
        }
        ids = {known[name].id: name for name in wanted if name in known}
        query = select(tables.c.id, tables.c.encoded, tables.c.descriptor_id).where(is_among(tables.c.id, ids))
        stored = {ids[row.id]: (bytes(row.encoded), row.descriptor_id) for row in self._connection.execute(query)}
        names = (TableName(table.catName, table.dbName, table.tableName) for table in new)
        return [table for table, name in zip(new, names, strict=True) if stored.get(name) != wanted[name]]

    def lock_tables(self, ids: Sequence[int]) -> set[int]:
        """Keeps tables from being dropped until the commit. Returns those that exist."""
        query = select(tables.c.id).where(is_among(tables.c.id, ids), tables.c.database_id.is_not(None))
        rows = self._connection.execute(query.order_by(tables.c.id).with_for_update(key_share=True, read=True))
        return set(rows.scalars())

    def insert_partitions(self, new: Sequence[PartitionTexts]) -> None:
        """Adds partitions. Their tables must be locked. Raises AlreadyExistsError."""
        descriptors = [one for some in new for one in some.descriptors]
        if not descriptors:
            return
        ids = self._next_ids("partitions_id_seq", len(descriptors))
        shapes = {id(one): one for one in descriptors}
        stored = dict(zip(shapes, self._descriptors.store(list(shapes.values())), strict=True))
        texts = (text for some in new for text in some.texts)
        rows = [
            f"{number}\t{number << VERSION_BITS}\t{stored[id(descriptor)]}\t{text}"
            for number, descriptor, text in zip(ids, descriptors, texts, strict=True)
        ]
        copy_text(self._connection, "partitions", (*GIVEN, *KNOWN), "\n".join(rows))
        self._changed_lists.add(some.table_id for some in new)
        starts = accumulate((len(some.texts) for some in new), initial=0)
        self._insert_locations(
            (some.table_id, ids[start + place], sd)
            for start, some in zip(starts, new, strict=False)
            for place, sd in some.skewed
        )

    def delete_tables(self, ids: Sequence[int]) -> None:
        """Deletes tables with all dependent rows."""
        self.delete_partitions(ids)
        self._connection.execute(delete(tables).where(is_among(tables.c.id, ids)))
        self._connection.execute(delete(partition_lists).where(is_among(partition_lists.c.table_id, ids)))
        self._changed_lists.discard(ids)

    def delete_partitions(self, table_ids: Sequence[int]) -> None:
        """Deletes the partitions of tables with their dependent rows."""
        of_tables = select(partitions.c.id).where(is_among(partitions.c.table_id, table_ids))
        self._delete_partitions(table_ids, lambda column: column.in_(of_tables))

    def delete_named_partitions(self, ids: Mapping[tuple[int, str], int]) -> None:
        """Deletes these partitions, by table id and name, with their dependent rows."""
        if ids:
            self._delete_partitions({table_id for table_id, _ in ids}, lambda column: is_among(column, ids.values()))

    def _delete_partitions(self, table_ids: Collection[int], chosen: Callable[[Any], ColumnElement[bool]]) -> None:
        """`chosen`: returns the condition that a column has the id of a partition to delete."""
        for table in (skewed_locations, column_statistics, privileges):
            owned = is_among(table.c.table_id, table_ids) & chosen(table.c.partition_id)
            self._connection.execute(delete(table).where(owned))
        self._connection.execute(delete(partitions).where(chosen(partitions.c.id)))
        self._changed_lists.add(table_ids)

    def totals(self, table_ids: Sequence[int]) -> dict[int, Totals]:
        """Returns sums over the partitions of tables, by table id."""
        ddl_time = partitions.c.parameters["transient_lastDdlTime"].astext
        is_number = func.coalesce(ddl_time.op("~")("^[0-9]{1,18}$"), literal(False))  # noqa: FBT003 - SQL's
        query = (
            select(
                partitions.c.table_id,
                func.count(),
                func.sum(partitions.c.create_time),
                func.sum(cast(ddl_time, BigInteger)).filter(is_number),
            )
            .where(is_among(partitions.c.table_id, table_ids))
            .group_by(partitions.c.table_id)
        )
        return {
            table_id: Totals(count, int(created or 0), int(ddl or 0))
            for table_id, count, created, ddl in self._connection.execute(query)
        }

    def _next_ids(self, sequence: str, count: int) -> list[int]:
        query = text("SELECT nextval(cast(:sequence AS regclass)) FROM generate_series(1, :count)")
        return list(self._connection.execute(query, {"sequence": sequence, "count": count}).scalars())

    def _insert_locations(self, owners: Iterable[tuple[int, int | None, Any]]) -> None:
        rows = [
            (table_id, partition_id, value, location)
            for table_id, partition_id, sd in owners
            for value, location in sd.skewedInfo.skewedColValueLocationMaps.items()
        ]
        copy_rows(self._connection, "skewed_locations", ("table_id", "partition_id", "value", "location"), rows)
