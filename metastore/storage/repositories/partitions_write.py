"""Writing partitions. Each method is a constant number of statements, regardless of the number of partitions.

Rows travel as one value for each column, which PostgreSQL unnests. The callers hold a lock on the table
(`Tables.find`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

from sqlalchemy import select, text

from metastore.encoding.binary import EncodedList
from metastore.errors import NotFoundError
from metastore.storage.mapping.descriptors import Descriptor, shared_part
from metastore.storage.mapping.layout import OpenHead, whole_partitions
from metastore.storage.mapping.partitions import partition_endings, partition_rows
from metastore.storage.postgres.arrays import array_literal, array_literals
from metastore.storage.postgres.driver import Prepared, run
from metastore.storage.postgres.listener import CHANNEL
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.table_keys import owner
from metastore.storage.references import StoredPartition, TableRef
from metastore.storage.schema.partitions import VERSION_BITS, partitions
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor

# Each column is one value, which PostgreSQL parses several times as fast as an expression of as many constants: array
# literals for texts and numbers, one JSON array for parameters, and one byte string for all encoded bytes.
_NEW = """
    ROWS FROM (
        unnest(
            cast(%(name)s AS text[]), cast(%(values)s AS text[]), cast(%(keys)s AS text[]),
            cast(%(location)s AS text[]),
            cast(%(create_time)s AS int[]), cast(%(last_access_time)s AS int[]), cast(%(descriptor_id)s AS bigint[]),
            cast(%(start)s AS int[]), cast(%(size)s AS int[]), cast(%(id)s AS bigint[])
        ),
        jsonb_array_elements(cast(%(parameters)s AS jsonb))
    ) AS new(
        name, "values", keys, location, create_time, last_access_time, descriptor_id, start, size, id, parameters
    )
"""
_ENCODED = "substring(cast(%(encoded)s AS bytea) FROM new.start FOR new.size)"

# The rows that belong to partitions, and are deleted with them.
_SATELLITES: Final = {
    "skewed_locations": "partition_id = ANY ((SELECT ids FROM deleted)::bigint[])",
    "partition_dependencies": "partition_id = ANY ((SELECT ids FROM deleted)::bigint[])",
    "column_statistics": "table_id = :table_id AND partition_id = ANY ((SELECT ids FROM deleted)::bigint[])",
    "privileges": "table_id = :table_id AND partition_id = ANY ((SELECT ids FROM deleted)::bigint[])",
}
_COLUMNS: Final = """
    id, name, "values", keys, location, create_time, last_access_time, parameters, descriptor_id, version, encoded
"""
_DELETE_SATELLITES: Final = ", ".join(
    f"of_{name} AS (DELETE FROM {name} WHERE {condition} RETURNING *)"  # noqa: S608 - only constants of this module
    for name, condition in _SATELLITES.items()
)
_DELETED = f"""
    WITH named AS MATERIALIZED (
        SELECT id FROM partitions WHERE table_id = :table_id AND name = ANY ((SELECT cast(:names AS text[]))::text[])
        ORDER BY name FOR UPDATE
    ), deleted AS MATERIALIZED (
        SELECT array_agg(id) AS ids FROM named
    ), {_DELETE_SATELLITES}
"""  # noqa: S608 - only constants of this module
_DELETE_ROWS = "DELETE FROM partitions WHERE id = ANY ((SELECT ids FROM deleted)::bigint[]) RETURNING"
_READ = 'name, "values", descriptor_id, encoded'
_DELETE = Prepared("delete_partitions", text(f"{_DELETED} {_DELETE_ROWS} {_READ}"))
_SATELLITE_ROWS = " UNION ALL ".join(
    f"SELECT cast(:drop_id AS bigint), '{name}', partition_id, to_jsonb(of_{name}) FROM of_{name}"  # noqa: S608 - constants
    for name in _SATELLITES
)
_PUT_ASIDE = Prepared(
    "put_partitions_aside",
    text(f"""{_DELETED}, gone AS ({_DELETE_ROWS} {_COLUMNS}), kept AS (
        INSERT INTO dropped_partitions (drop_id, {_COLUMNS}) SELECT :drop_id, gone.* FROM gone
    ), rows AS (
        INSERT INTO dropped_rows (drop_id, relation, partition_id, content) {_SATELLITE_ROWS}
    )
    SELECT {_READ} FROM gone
"""),  # noqa: S608 - only constants of this module
)

_INSERT = f"""
    WITH owner AS MATERIALIZED ({owner("%(table_id)s")}), stored AS (
        INSERT INTO partitions
            (id, table_id, name, "values", keys, location, create_time, last_access_time, parameters, descriptor_id,
             version, encoded)
        OVERRIDING SYSTEM VALUE
        SELECT own_id, table_id, new.name, new."values"::text[], new.keys::text[], new.location, new.create_time,
               new.last_access_time, new.parameters, new.descriptor_id, own_id << {VERSION_BITS}, {_ENCODED}
        FROM owner, (SELECT nextval('partitions_id_seq') AS own_id, new.* FROM {_NEW}) AS new
        RETURNING id, name
    )
    SELECT array_agg(id ORDER BY name), pg_notify('{CHANNEL}', '') FROM stored
"""  # noqa: S608 - only constants of this module

_REPLACE: Final = f"""
    WITH locations AS (DELETE FROM skewed_locations WHERE partition_id = ANY (cast(%(id)s AS bigint[])))
    UPDATE partitions AS old
    SET {{}} "values" = new."values"::text[], keys = new.keys::text[], location = new.location,
        create_time = new.create_time, last_access_time = new.last_access_time, parameters = new.parameters,
        descriptor_id = new.descriptor_id, version = old.version + 1, encoded = {_ENCODED}
    FROM {_NEW}
    WHERE old.table_id = %(table_id)s AND old.id = new.id AND old.id = ANY (cast(%(id)s AS bigint[]))
"""  # noqa: S608 - only constants of this module
_UPDATE, _RENAME = _REPLACE.format(""), _REPLACE.format("name = new.name,")


def first_version(partition_id: int) -> int:
    """Returns the version of a partition that was never changed."""
    return partition_id << VERSION_BITS


class NamedPartition(NamedTuple):
    """A complete partition (`services.rules.partitions`) with its escaped name.

    `id`: set for a stored partition. `descriptor`: set if it is computed already.
    """

    name: str
    partition: Partition
    id: int | None = None
    descriptor: Descriptor | None = None

    @property
    def shared(self) -> Descriptor:
        """Returns the shared part of its descriptor."""
        return self.descriptor or shared_part(self.partition.sd)


def as_changed(stored: Iterable[StoredPartition]) -> list[NamedPartition]:
    """Returns partitions that were read and then changed, as input of `update`."""
    return [NamedPartition(partition.name, partition.partition, partition.id) for partition in stored]


class DeletedPartitions(NamedTuple):
    """The partitions that were deleted, by ascending name."""

    names: list[str]
    values: list[list[str]]
    encoded: EncodedList[Partition]


class PartitionsWrite(Repository):
    """Changes to the partitions of one table."""

    def insert(self, table: TableRef, new: Sequence[NamedPartition]) -> list[int]:
        """Adds partitions, and returns their ids, by name.

        Locks the table's row FOR KEY SHARE. Raises AlreadyExistsError, and stores nothing, if one of them exists;
        NotFoundError if the table is gone.
        """
        if not new:
            return []
        # Sorted by name, so that two writers of the same partitions wait for each other instead of deadlocking.
        new = sorted(new, key=lambda partition: partition.name)
        self._changed_lists.add([table.id], [partition.name for partition in new])
        ids: list[int] | None = run(self._connection, _INSERT, **self._arrays(table, new))[0][0]
        if ids is None:
            raise NotFoundError("Table was dropped by another client")
        self._insert_locations(table, {number: named.partition for number, named in zip(ids, new, strict=True)})
        return ids

    def update(self, table: TableRef, changed: Sequence[NamedPartition]) -> None:
        """Replaces partitions, but not their names; their versions rise."""
        self._replace(_UPDATE, table, changed)

    def rename(self, table: TableRef, changed: NamedPartition) -> None:
        """Replaces a partition; its version rises. Raises AlreadyExistsError if its new name is taken."""
        self._changed_lists.add([table.id])
        self._replace(_RENAME, table, [changed])

    def _replace(self, statement: str, table: TableRef, changed: Sequence[NamedPartition]) -> None:
        if not changed:
            return
        run(self._connection, statement, **self._arrays(table, changed))
        by_id = {partition.id: partition.partition for partition in changed if partition.id is not None}
        self._insert_locations(table, by_id)

    def delete(self, table: TableRef, names: Sequence[str], drop_id: int | None = None) -> DeletedPartitions:
        """Deletes the named partitions that exist, with their skewed locations, statistics, privileges and
        dependencies.

        Locks the rows in the order of names. `drop_id`: keeps copies of everything, so that the drop can be undone
        (`Drops`).
        """
        self._changed_lists.add([table.id], names)
        values = {"table_id": table.id, "names": array_literal(names)}
        if drop_id is not None:
            values["drop_id"] = drop_id
        statement = _DELETE if drop_id is None else _PUT_ASIDE
        rows = sorted(statement.rows(self._connection, **values))  # by name
        endings = partition_endings(self._descriptors.tails([row[2] for row in rows]), table.name)
        encoded = whole_partitions([OpenHead(bytes(row[3])) for row in rows], [endings[row[2]] for row in rows])
        return DeletedPartitions([row[0] for row in rows], [row[1] for row in rows], encoded)

    def change_columns(self, table: TableRef, sd: StorageDescriptor) -> None:
        """Gives all partitions the columns of `sd`. Their formats and skew stay (Hive's CASCADE)."""
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
        """Wakes calls that wait for partitions. `insert` does that itself."""
        self._connection.execute(text(f"SELECT pg_notify('{CHANNEL}', '')"))

    def _arrays(self, table: TableRef, named: Sequence[NamedPartition]) -> dict[str, Any]:
        rows, encoded = partition_rows(table.key_kinds, [partition.partition for partition in named])
        sizes = [len(head) for head in encoded]
        columns: dict[str, Sequence[str | None]] = {
            "name": [partition.name for partition in named],
            "values": array_literals([row.values for row in rows]),
            "keys": array_literals([row.keys for row in rows]),
            "location": [row.location for row in rows],
            "id": [None if partition.id is None else str(partition.id) for partition in named],
            "create_time": [str(row.create_time) for row in rows],
            "last_access_time": [str(row.last_access_time) for row in rows],
            "descriptor_id": list(map(str, self._descriptors.store([partition.shared for partition in named]))),
            "start": list(map(str, accumulate(sizes[:-1], initial=1))),
            "size": list(map(str, sizes)),
        }
        return {
            "table_id": table.id,
            **dict(zip(columns, array_literals(columns.values()), strict=True)),
            "parameters": json.dumps([row.parameters for row in rows]),
            "encoded": b"".join(encoded),
        }

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
