"""Values and names of partitions in an order that a client asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from metastore.domain.partition_names import DEFAULT_PARTITION
from metastore.storage.references import TableRef
from metastore.storage.schema import partitions

Order = Sequence[tuple[int, bool]]
"""Positions of keys from 0, each with whether it is descending."""

_KEYS: Any = partitions.columns["keys"]
_VALUES: Any = partitions.columns["values"]


class PartitionValues:
    """Queries on the partitions of one table. A condition of None means all. Keys are ordered by their types."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def names(
        self, table: TableRef, condition: ColumnElement[bool] | None, order: Order, limit: int | None
    ) -> list[str]:
        """Escaped names; those that are equal in the order, ascending."""
        query = select(partitions.c.name).where(*_of(table, condition)).order_by(*_sorted(order), partitions.c.name)
        return list(self._connection.execute(query.limit(limit)).scalars())

    def rows(
        self,
        table: TableRef,
        condition: ColumnElement[bool] | None,
        positions: Sequence[int],
        order: Order,
        limit: int | None,
    ) -> list[list[str]]:
        """The values of the keys at these positions (from 0), partition by partition."""
        query = select(*_columns(positions)).where(*_of(table, condition))
        return self._read(query.order_by(*_sorted(order), partitions.c.name).limit(limit))

    def distinct_rows(
        self,
        table: TableRef,
        condition: ColumnElement[bool] | None,
        positions: Sequence[int],
        order: Order,
        limit: int | None,
    ) -> list[list[str]]:
        """As `rows`, each once; where others decide its place, by the first or last of them."""
        columns = _columns(positions)
        places = [
            func.max(_KEYS[position + 1]).desc() if descending else func.min(_KEYS[position + 1])
            for position, descending in order
        ]
        query = select(*columns).where(*_of(table, condition)).group_by(*columns)
        return self._read(query.order_by(*places, *columns).limit(limit))

    def _read(self, query: Any) -> list[list[str]]:
        return [list(row) for row in self._connection.execute(query)]


def _of(table: TableRef, condition: ColumnElement[bool] | None) -> list[ColumnElement[bool]]:
    mine = partitions.c.table_id == table.id
    return [mine] if condition is None else [mine, condition]


def _columns(positions: Sequence[int]) -> list[ColumnElement[str]]:
    """The empty value has the default partition's name, as in names."""
    return [
        func.coalesce(func.nullif(_VALUES[position + 1], ""), DEFAULT_PARTITION).label(f"value_{number}")
        for number, position in enumerate(positions)
    ]


def _sorted(order: Order) -> list[Any]:
    return [_KEYS[position + 1].desc() if descending else _KEYS[position + 1] for position, descending in order]
