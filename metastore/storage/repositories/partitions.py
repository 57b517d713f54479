"""Reading partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    any_,
    cast,
    func,
    literal,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY

from metastore.encoded import EncodedList, EncodedTexts, Joined
from metastore.storage.arrays import array_literal
from metastore.storage.binary import binary_row, binary_rows, compiled, integers
from metastore.storage.descriptors import Descriptors
from metastore.storage.mapping.descriptors import decode_descriptor
from metastore.storage.mapping.partitions import decoded_partitions, partition_tails, scan_row
from metastore.storage.references import ScanRow, StoredPartition, TableRef, VisibleWrites
from metastore.storage.schema import partitions, skewed_locations
from metastore.storage.schema.base import Texts
from metastore.storage.visible_writes import visible_columns, visible_writes
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor

_CHOSEN = "FROM partitions WHERE partitions.table_id = %(table_id)s"
_ALL = f"""
    SELECT descriptor_id, encoded
    {_CHOSEN}
"""
# Where the columns are in a row, each with four bytes of length before it.
_DESCRIPTOR_ID, _ENCODED = slice(6, 14), slice(18, None)
# In one statement, so that which writes are visible is of the same moment as the partitions.
_SCAN = f"""
    SELECT string_agg(encoded, '' ORDER BY name),
           string_agg(
               int8send(octet_length(encoded)) || int8send(version) || int8send(descriptor_id), '' ORDER BY name
           ),
           {", ".join(visible_columns("%(table_id)s"))}
    {_CHOSEN}
"""
_NAMED = "AND partitions.name = ANY (cast(%(names)s AS text[]))"
# Each name as Thrift has it: its length before it.
_NAMES = f"""
    SELECT int8send(count(*)), string_agg(int4send(octet_length(textsend(name))) || textsend(name), '' ORDER BY name)
    {_CHOSEN}
"""


class Partitions:
    """Queries on the partitions of one table. A condition of None means all."""

    def __init__(self, connection: Connection, descriptors: Descriptors) -> None:
        self._connection = connection
        self._descriptors = descriptors

    def select(
        self, table: TableRef, condition: ColumnElement[bool] | None = None, limit: int | None = None
    ) -> EncodedList[Partition]:
        """Partitions by ascending name, as bytes: what is their own, and the ends that they share."""
        return self._encoded(table, *_where(table, condition, limit))

    def select_named(self, table: TableRef, names: Sequence[str]) -> EncodedList[Partition]:
        """Those of the named partitions that are there, as `select`."""
        return self._encoded(table, _NAMED, {"names": array_literal(names)})

    def _encoded(self, table: TableRef, where: str, parameters: Mapping[str, Any]) -> EncodedList[Partition]:
        given = {**parameters, "table_id": table.id}
        rows = binary_rows(self._connection, f"{_ALL} {where} ORDER BY name", given)
        descriptor_ids = [int.from_bytes(row[_DESCRIPTOR_ID]) for row in rows]
        descriptors = self._descriptors.tails(descriptor_ids)
        tails = partition_tails(descriptors, table.catalog, table.database, table.name)
        return EncodedList(Partition, [row[_ENCODED] for row in rows], [tails[i] for i in descriptor_ids])

    def select_stored(
        self, table: TableRef, condition: ColumnElement[bool] | None = None, *, lock: bool = False
    ) -> list[StoredPartition]:
        """Partitions as objects, by name. `lock`: nobody else may change them before this transaction ends."""
        columns = (
            partitions.c.id,
            partitions.c.name,
            partitions.c.version,
            partitions.c.encoded,
            partitions.c.descriptor_id,
        )
        query = _rows(table, condition, columns, None).order_by(partitions.c.name)
        rows = self._connection.execute(query.with_for_update() if lock else query).all()
        tails = self._descriptors.tails([row.descriptor_id for row in rows])
        shared = {descriptor_id: decode_descriptor(tail) for descriptor_id, tail in tails.items()}
        own, descriptors = [row.encoded for row in rows], [shared[row.descriptor_id] for row in rows]
        structs = decoded_partitions(own, descriptors, table.catalog, table.database, table.name)
        return [
            StoredPartition(row.id, row.name, row.version, struct) for row, struct in zip(rows, structs, strict=True)
        ]

    def select_scan(
        self, table: TableRef, condition: ColumnElement[bool] | None
    ) -> tuple[list[ScanRow], VisibleWrites]:
        """What a scan needs of the partitions, by name: their own parts only, not what they share."""
        where, parameters = _where(table, condition, None)
        given = {**parameters, "table_id": table.id}
        joined, packed, last, open_writes = binary_row(self._connection, f"{_SCAN} {where}", given)
        numbers = integers(packed)
        heads = Joined(joined or b"", numbers[::3])
        rows = [scan_row(*each) for each in zip(heads, numbers[1::3], numbers[2::3], strict=True)]
        return rows, visible_writes(last, open_writes)

    def descriptors(self, rows: Sequence[ScanRow], own: StorageDescriptor) -> dict[int | None, StorageDescriptor]:
        """What the rows share, by descriptor id; `own` is that of a row without one (the table itself)."""
        numbers = dict.fromkeys(row.descriptor_id for row in rows)
        tails = self._descriptors.tails([number for number in numbers if number is not None])
        return {number: own if number is None else decode_descriptor(tails[number]) for number in numbers}

    def names(
        self, table: TableRef, condition: ColumnElement[bool] | None = None, limit: int | None = None
    ) -> EncodedTexts:
        """Escaped names in ascending order."""
        where, parameters = _where(table, condition, limit)
        row = binary_row(self._connection, f"{_NAMES} {where}", {**parameters, "table_id": table.id})
        count, data = row
        return EncodedTexts(int.from_bytes(count or b""), bytes(data or b""))

    def values(self, table: TableRef, condition: ColumnElement[bool] | None, positions: Sequence[int]) -> EncodedTexts:
        """The texts of the keys at these positions (from 0), row by row; each once, unless they are all keys."""
        where, parameters = _where(table, condition, None)
        columns = [f"value_{position}" for position in positions]
        kept = ", ".join(f"values[{position + 1}] AS value_{position}" for position in positions)
        each = " || ".join(f"int4send(octet_length(textsend({column}))) || textsend({column})" for column in columns)
        distinct = "" if len(positions) == len(table.keys) else "DISTINCT"
        query = f"""
            SELECT int8send(count(*)), string_agg({each}, '') FROM (SELECT {distinct} {kept} {_CHOSEN} {where}) kept
        """
        count, data = binary_row(self._connection, query, {**parameters, "table_id": table.id})
        return EncodedTexts(int.from_bytes(count or b"") * len(positions), bytes(data or b""))

    def ids(self, table: TableRef, condition: ColumnElement[bool] | None, limit: int | None = None) -> list[int]:
        """Ids by ascending name."""
        query = _rows(table, condition, (partitions.c.id,), limit).order_by(partitions.c.name)
        return list(self._connection.execute(query).scalars())

    def count(self, table: TableRef, condition: ColumnElement[bool] | None = None) -> int:
        query = _rows(table, condition, (func.count(),), None)
        count: int = self._connection.execute(query).scalar_one()
        return count

    def locations(self, table: TableRef) -> list[str]:
        """Where the partitions, and the skewed values of table and partitions, lie."""
        own = _rows(table, partitions.c.location.is_not(None), (partitions.c.location,), None)
        skewed = select(skewed_locations.c.location).where(skewed_locations.c.table_id == table.id)
        return list(self._connection.execute(own.union_all(skewed)).scalars())


def _where(table: TableRef, condition: ColumnElement[bool] | None, limit: int | None) -> tuple[str, dict[str, Any]]:
    """What restricts a query to those of the partitions, as the end of its text, and its parameters."""
    condition = condition if limit is None else _first(table, condition, limit)
    if condition is None:
        return "", {}
    text, parameters = compiled(condition)
    return f"AND ({text})", parameters


def named(names: Sequence[str]) -> ColumnElement[bool]:
    """The partitions of these names."""
    return partitions.c.name == any_(cast(literal(array_literal(names)), Texts))


def identified(ids: Sequence[int]) -> ColumnElement[bool]:
    """The partitions of these ids."""
    return partitions.c.id == any_(literal(list(ids), ARRAY(BigInteger)))


def _first(table: TableRef, condition: ColumnElement[bool] | None, limit: int) -> ColumnElement[bool]:
    """The first partitions, by name, that satisfy the condition."""
    return partitions.c.id.in_(_rows(table, condition, (partitions.c.id,), limit))


def _rows(
    table: TableRef, condition: ColumnElement[bool] | None, columns: Sequence[Any], limit: int | None
) -> Select[Any]:
    query = select(*columns).where(partitions.c.table_id == table.id)
    if condition is not None:
        query = query.where(condition)
    return query.order_by(partitions.c.name).limit(limit) if limit is not None else query
