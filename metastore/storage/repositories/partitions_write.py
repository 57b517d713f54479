"""Writing partitions. Each method is a constant number of statements, however many partitions it is given.

Rows travel as one array per column and are unnested by PostgreSQL.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, any_, delete, literal, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY

from metastore.storage.arrays import array_literal
from metastore.storage.descriptors import Descriptors
from metastore.storage.mapping.descriptors import Descriptor, shared_part
from metastore.storage.mapping.partitions import partition_row
from metastore.storage.references import TableRef
from metastore.storage.schema import (
    column_statistics,
    partition_dependencies,
    partitions,
    privileges,
    skewed_locations,
    tables,
)
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor

# One array literal a column: PostgreSQL reads it several times as fast as an expression of that many constants.
_UNNESTED = """
    unnest(
        cast(:name AS text[]), cast(:values AS text[]), cast(:keys AS text[]), cast(:location AS text[]),
        cast(:create_time AS int[]), cast(:last_access_time AS int[]), cast(:parameters AS text[]),
        cast(:descriptor_id AS bigint[]), cast(:encoded AS bytea[]), cast(:id AS bigint[])
    ) AS new(name, "values", keys, location, create_time, last_access_time, parameters, descriptor_id, encoded, id)
"""
_COLUMNS: dict[str, Callable[[Any], str | None]] = {
    "name": str,
    "values": array_literal,
    "keys": array_literal,
    "location": lambda location: location,
    "create_time": str,
    "last_access_time": str,
    "parameters": json.dumps,
    "encoded": lambda encoded: f"\\x{encoded.hex()}",
}

CHANNEL: Final = "metastore_partitions"
"""On which it is announced that there are new partitions (`storage.announcements`)."""

_INSERT = text(f"""
    WITH stored AS (
        INSERT INTO partitions
            (table_id, name, "values", keys, location, create_time, last_access_time, parameters, descriptor_id,
             version, encoded)
        SELECT :table_id, new.name, new."values"::text[], new.keys::text[], new.location, new.create_time,
               new.last_access_time, new.parameters::jsonb, new.descriptor_id, 1, new.encoded
        FROM {_UNNESTED}
        RETURNING id, name
    )
    SELECT array_agg(id ORDER BY name), pg_notify('{CHANNEL}', '') FROM stored
""")  # noqa: S608 - only constants of this module

_UPDATE = text(f"""
    UPDATE partitions AS old
    SET name = new.name, "values" = new."values"::text[], keys = new.keys::text[], location = new.location,
        create_time = new.create_time, last_access_time = new.last_access_time, parameters = new.parameters::jsonb,
        descriptor_id = new.descriptor_id, version = old.version + 1, encoded = new.encoded
    FROM {_UNNESTED}
    WHERE old.table_id = :table_id AND old.id = new.id
""")  # noqa: S608 - only constants of this module


@dataclass(frozen=True, slots=True)
class NamedPartition:
    """A complete partition (`services.partitions`) with its escaped name; `id` where it is stored already, `descriptor`
    where it is known."""

    name: str
    partition: Partition
    id: int | None = None
    descriptor: Descriptor | None = None

    @property
    def shared(self) -> Descriptor:
        """What it shares with others."""
        return self.descriptor or shared_part(self.partition.sd)


class PartitionsWrite:
    """Changes to the partitions of one table."""

    def __init__(self, connection: Connection, descriptors: Descriptors) -> None:
        self._connection = connection
        self._descriptors = descriptors

    def insert(self, table: TableRef, new: Sequence[NamedPartition]) -> list[int]:
        """Returns their ids by name. Raises AlreadyExistsError when one of them is there; nothing is stored then."""
        if not new:
            return []
        # In the order of names, so that two writers of the same partitions wait for each other instead of dying.
        new = sorted(new, key=lambda each: each.name)
        ids: list[int] = self._connection.execute(_INSERT, self._arrays(table, new)).scalars().one()
        self._insert_locations(table, {each: named.partition for each, named in zip(ids, new, strict=True)})
        return ids

    def update(self, table: TableRef, changed: Sequence[NamedPartition]) -> None:
        """Replaces partitions; their versions rise. Raises AlreadyExistsError when a new name is taken."""
        if not changed:
            return
        self._connection.execute(_UPDATE, self._arrays(table, changed))
        by_id = {each.id: each.partition for each in changed if each.id is not None}
        self._delete_locations(list(by_id))
        self._insert_locations(table, by_id)

    def delete(self, table: TableRef, ids: Sequence[int]) -> None:
        """Removes partitions with their skewed locations, column statistics, privileges and dependencies."""
        self._delete_locations(ids)
        self._connection.execute(
            delete(partition_dependencies).where(partition_dependencies.c.partition_id == _any(ids))
        )
        for of in (partitions.c.id, column_statistics.c.partition_id, privileges.c.partition_id):
            self._connection.execute(delete(of.table).where(of.table.c.table_id == table.id, of == _any(ids)))

    def change_columns(self, table: TableRef, sd: StorageDescriptor) -> None:
        """Gives every partition of the table the columns of `sd`, keeping its format and skew (Hive's CASCADE)."""
        query = select(partitions.c.descriptor_id).where(partitions.c.table_id == table.id).distinct()
        old = list(self._connection.execute(query).scalars())
        if not old:
            return
        new = self._descriptors.with_columns(old, shared_part(sd).columns)
        moves = text("""
            UPDATE partitions SET descriptor_id = move.new, version = version + 1
            FROM unnest(cast(:old AS bigint[]), cast(:new AS bigint[])) AS move(old, new)
            WHERE table_id = :table_id AND descriptor_id = move.old
        """)
        self._connection.execute(moves, {"table_id": table.id, "old": list(new), "new": list(new.values())})

    def announce(self) -> None:
        """Wakes who waits for a partition: one has come in another way than by `insert`."""
        self._connection.execute(text(f"SELECT pg_notify('{CHANNEL}', '')"))

    def touch_table(self, table: TableRef) -> None:
        """Raises the table's version: what a scan of it reads has changed."""
        self._connection.execute(update(tables).where(tables.c.id == table.id).values(version=tables.c.version + 1))

    def _arrays(self, table: TableRef, named: Sequence[NamedPartition]) -> dict[str, Any]:
        kinds = table.key_kinds
        rows = [partition_row(each.partition, each.name, kinds) for each in named]
        columns = {name: [as_text(row[name]) for row in rows] for name, as_text in _COLUMNS.items()}
        columns["descriptor_id"] = [str(each) for each in self._descriptors.store([each.shared for each in named])]
        columns["id"] = [None if each.id is None else str(each.id) for each in named]
        arrays = {name: array_literal(column) for name, column in columns.items()}
        return {**arrays, "table_id": table.id}

    def _insert_locations(self, table: TableRef, by_id: Mapping[int, Partition]) -> None:
        rows = [
            (partition_id, array_literal(value), location)
            for partition_id, partition in by_id.items()
            for value, location in partition.sd.skewedInfo.skewedColValueLocationMaps.items()
        ]
        if not rows:
            return
        ids, values, locations = (list(column) for column in zip(*rows, strict=True))
        statement = text("""
            INSERT INTO skewed_locations (table_id, partition_id, value, location)
            SELECT :table_id, new.partition_id, new.value::text[], new.location
            FROM unnest(cast(:ids AS bigint[]), cast(:values AS text[]), cast(:locations AS text[]))
                AS new(partition_id, value, location)
        """)
        arrays = {"table_id": table.id, "ids": ids, "values": values, "locations": locations}
        self._connection.execute(statement, arrays)

    def _delete_locations(self, ids: Sequence[int]) -> None:
        self._connection.execute(delete(skewed_locations).where(skewed_locations.c.partition_id == _any(ids)))


def _any(ids: Sequence[int]) -> Any:
    return any_(literal(list(ids), ARRAY(BigInteger)))
