"""Reading partitions. Each method is one statement, plus one for descriptors that are not cached."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from metastore.encoding.binary import EncodedList, EncodedTexts
from metastore.storage.mapping.layout import OpenHead, descriptor_of, whole_partitions
from metastore.storage.mapping.partitions import decoded_partitions, partition_endings
from metastore.storage.mapping.scan_rows import ScanRows
from metastore.storage.postgres.arrays import array_literal, number_array_literal
from metastore.storage.postgres.copy import binary_row, binary_rows, column_slices, row_columns, stream_rows, texts
from metastore.storage.postgres.driver import rows_of
from metastore.storage.postgres.sql import Condition, Sql, all_of
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.visible_writes import visible_columns, visible_writes
from metastore.storage.references import StoredPartition, TableRef, VisibleWrites
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor

_BIGINT: Final = 8  # bytes
_DESCRIPTOR_ID, _ENCODED = column_slices(_BIGINT)  # positions in a row of `select`
_IS_FIRST: Final = "row_number() OVER (ORDER BY name) = 1"
# One statement, so that visible writes and partitions belong to the same snapshot. The first row has the writes.
_SCAN = f"""
    SELECT version, descriptor_id,
           {", ".join(f"CASE WHEN {_IS_FIRST} THEN {each} END" for each in visible_columns("%s"))},
           encoded
"""
_SCANNED = struct.Struct("!hi8si8siii")  # of a row without writes: 5 columns, and their sizes (`postgres.copy`)

_IDS = """
    SELECT p.table_id, p.name, p.id FROM unnest(cast(%s AS bigint[]), cast(%s AS text[])) AS wanted(table_id, name)
    JOIN partitions AS p ON p.table_id = wanted.table_id AND p.name = wanted.name
"""


class Partitions(Repository):
    """Queries on the partitions of one table. Condition None means all. Partitions are ordered by name."""

    def select(
        self, table: TableRef, condition: Condition | None = None, limit: int | None = None
    ) -> EncodedList[Partition]:
        """Reads partitions in encoded form: own fields, and the ends that they share (`mapping.layout`)."""
        query = _query("SELECT descriptor_id, encoded", _chosen(table, condition, limit), "ORDER BY name")
        rows = binary_rows(self._connection, query)
        shared = [row[_DESCRIPTOR_ID] for row in rows]
        descriptor_ids = {raw_id: int.from_bytes(raw_id) for raw_id in set(shared)}
        descriptors = self._descriptors.tails(list(descriptor_ids.values()))
        endings = partition_endings(descriptors, table.name)
        ends = {raw_id: endings[descriptor_id] for raw_id, descriptor_id in descriptor_ids.items()}
        heads = cast(list[OpenHead], [row[_ENCODED] for row in rows])  # not converted one by one: there may be many
        return whole_partitions(heads, [ends[raw_id] for raw_id in shared])

    def select_named(self, table: TableRef, names: Sequence[str]) -> EncodedList[Partition]:
        """Reads the named partitions that exist, as `select` does."""
        return self.select(table, named(names))

    def select_stored(
        self, table: TableRef, condition: Condition | None = None, *, lock: bool = False
    ) -> list[StoredPartition]:
        """Reads partitions as objects. `lock`: locks their rows, in the order of names, until the transaction ends."""
        end = "ORDER BY name FOR UPDATE" if lock else "ORDER BY name"
        query = _query("SELECT descriptor_id, encoded, id, name, version", _chosen(table, condition), end)
        return self._stored(table, rows_of(self._connection, query))

    def select_dropped(self, table: TableRef, drop_id: int) -> list[StoredPartition]:
        """Reads the copies of partitions that were saved before they were truncated or overwritten."""
        query = "SELECT descriptor_id, encoded, id, name, version FROM dropped_partitions WHERE drop_id = %s"
        return self._stored(table, rows_of(self._connection, Sql(f"{query} ORDER BY name", (drop_id,))))

    def _stored(self, table: TableRef, rows: Sequence[Any]) -> list[StoredPartition]:
        tails = self._descriptors.tails([descriptor_id for descriptor_id, *_ in rows])
        shared = {descriptor_id: descriptor_of(tail) for descriptor_id, tail in tails.items()}
        own, descriptors = [OpenHead(bytes(row[1])) for row in rows], [shared[row[0]] for row in rows]
        structs = decoded_partitions(own, descriptors, table.name)
        return [
            StoredPartition(number, name, version, struct)
            for (_, _, number, name, version), struct in zip(rows, structs, strict=True)
        ]

    def select_scan(
        self, table: TableRef, condition: Condition | None, *, packed: bool = False
    ) -> tuple[ScanRows, VisibleWrites | None]:
        """Reads the own fields of partitions, for a scan, and the writes that are visible in the same snapshot.

        `packed`: keeps the rows of large tables compressed. The writes are None if there are no partitions.
        """
        rows, writes = ScanRows(packed=packed), cast(VisibleWrites | None, None)

        def add(row: bytes) -> None:
            nonlocal writes
            if rows.count:
                _, _, version, _, descriptor_id, _, _, _ = _SCANNED.unpack_from(row)
                rows.add(row[_SCANNED.size :], version, descriptor_id)
                return
            version, descriptor_id, last, open_writes, head = row_columns(row)
            writes = visible_writes(last, open_writes)
            rows.add(*(bytes(each or b"") for each in (head, version, descriptor_id)))

        stream_rows(
            self._connection, _query(_SCAN, _chosen(table, condition), "ORDER BY name", (table.id, table.id)), add
        )
        return rows, writes

    def descriptors(self, numbers: Sequence[int]) -> dict[int | None, StorageDescriptor]:
        """Returns shared descriptors, by id, in this order."""
        tails = self._descriptors.tails(numbers)
        return {number: descriptor_of(tails[number]) for number in numbers}

    def names(self, table: TableRef, condition: Condition | None = None, limit: int | None = None) -> EncodedTexts:
        """Lists escaped names, ascending."""
        names = _query("SELECT name", _chosen(table, condition), "ORDER BY name LIMIT %s")
        return self._texts(Sql(names.text, (*names.values, limit)))

    def values(self, table: TableRef, condition: Condition | None, positions: Sequence[int]) -> EncodedTexts:
        """Lists the values of the keys at these positions (from 0), row by row; distinct, unless they are all keys."""
        columns = ", ".join(f"values[{position + 1}] AS value_{position}" for position in positions)
        distinct = "" if len(positions) == len(table.keys) else "DISTINCT"
        kept = _query(f"SELECT {distinct} {columns}", _chosen(table, condition))
        # The array is built outside of DISTINCT: comparing arrays is several times slower than comparing texts.
        aliases = ", ".join(f"value_{position}" for position in positions)
        return self._texts(Sql(f"SELECT ARRAY[{aliases}] FROM ({kept.text}) AS kept", kept.values))  # noqa: S608 - numbers

    def _texts(self, query: Sql) -> EncodedTexts:
        """Returns the single column of a query, which is a text or an array of texts."""
        (array,) = binary_row(self._connection, Sql(f"SELECT ARRAY({query.text})", query.values))
        return texts(array)

    def ids(self, table: TableRef, condition: Condition | None, limit: int | None = None) -> list[int]:
        """Lists ids, by ascending name."""
        query = _query("SELECT id", _chosen(table, condition, limit), "ORDER BY name")
        return [number for (number,) in rows_of(self._connection, query)]

    def ids_by_name(self, names: Sequence[tuple[int, str]], *, lock: bool = False) -> dict[tuple[int, str], int]:
        """Returns the ids of partitions of any tables, by table id and name. `lock`: keeps them from being dropped."""
        if not names:
            return {}
        wanted = number_array_literal(table_id for table_id, _ in names), array_literal([name for _, name in names])
        query = f"{_IDS} ORDER BY p.id FOR KEY SHARE OF p" if lock else _IDS
        return {(table_id, name): number for table_id, name, number in rows_of(self._connection, Sql(query, wanted))}

    def count(self, table: TableRef, condition: Condition | None = None) -> int:
        ((count,),) = rows_of(self._connection, _query("SELECT count(*)", _chosen(table, condition)))
        return int(count)

    def count_of(self, tables: Sequence[int]) -> int:
        """Counts the partitions of tables, given by their ids."""
        query = "SELECT count(*) FROM partitions WHERE table_id = ANY (cast(%s AS bigint[]))"
        ((count,),) = rows_of(self._connection, Sql(query, (number_array_literal(tables),)))
        return int(count)

    def locations(self, table: TableRef, condition: Condition | None = None) -> list[str]:
        """Lists the locations of the partitions, and of the skewed values of the table and of all its partitions."""
        return self._locations(table, all_of([Sql("location IS NOT NULL"), condition]))

    def locations_outside(self, table: TableRef, directory: str) -> list[str]:
        """Lists those of `locations` whose texts do not show that they are below a directory: all that are outside of
        it, and perhaps others.
        """
        return self._locations(table, _maybe_outside(directory), _maybe_outside(directory))

    def _locations(self, table: TableRef, condition: Condition | None, of_skewed: Condition | None = None) -> list[str]:
        skewed = all_of([Sql("table_id = %s", (table.id,)), of_skewed])
        end = f"UNION ALL SELECT location FROM skewed_locations WHERE {skewed.text}"  # noqa: S608 - only placeholders
        query = _query("SELECT location", _chosen(table, condition), end)
        return [location for (location,) in rows_of(self._connection, Sql(query.text, (*query.values, *skewed.values)))]


def _maybe_outside(directory: str) -> Condition:
    """Returns a condition that is false for `directory`, a slash, and a path without components that begin with a dot:
    with `..`, it could be outside.
    """
    below = directory.rstrip("/") + "/"
    text = "starts_with(location, %s) AND substr(location, %s, 1) NOT IN ('', '/') AND strpos(location, '/.') = 0"
    return Sql(f"location IS NOT NULL AND NOT ({text})", (below, len(below) + 1))


def named(names: Sequence[str]) -> Condition:
    """Returns the condition for partitions of these names.

    The array is in a sub-select: otherwise the planner looks up the statistics for each element.
    """
    return Sql("partitions.name = ANY ((SELECT cast(%s AS text[]))::text[])", (array_literal(names),))


def identified(ids: Iterable[int]) -> Condition:
    """Returns the condition for partitions of these ids, regardless of their current names."""
    return Sql("partitions.id = ANY (cast(%s AS bigint[]))", (number_array_literal(ids),))


def with_parameter(name: str, texts: Iterable[str]) -> Condition:
    """Returns the condition for partitions of which this parameter contains one of the texts."""
    contains = "strpos(partitions.parameters ->> %s, one) > 0"
    condition = f"EXISTS (SELECT FROM unnest(cast(%s AS text[])) AS one WHERE {contains})"
    return Sql(condition, (array_literal(list(texts)), name))


def _query(select: str, chosen: Condition, end: str = "", values: Sequence[Any] = ()) -> Sql:
    """Assembles a query. `values`: the values of `select`."""
    return Sql(f"{select} FROM partitions WHERE {chosen.text} {end}", (*values, *chosen.values))


def _chosen(table: TableRef, condition: Condition | None, limit: int | None = None) -> Condition:
    """Returns the condition for the table's partitions that satisfy `condition`, the first `limit` by name."""
    chosen = all_of([Sql("partitions.table_id = %s", (table.id,)), condition])
    if limit is None:
        return chosen
    first = _query("SELECT id", chosen, "ORDER BY name LIMIT %s")
    return Sql(f"partitions.id IN ({first.text})", (*first.values, limit))
