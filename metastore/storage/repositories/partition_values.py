"""Values and names of partitions in an order that a client asks for."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from metastore.domain.partition_names import DEFAULT_PARTITION
from metastore.storage.postgres.driver import rows_of
from metastore.storage.postgres.sql import Condition, Sql, all_of
from metastore.storage.references import TableRef

Order = Sequence[tuple[int, bool]]
"""Positions of keys from 0, each with whether it is descending."""

_FROM = "FROM partitions WHERE"
# Of a key, the greatest value; and the smallest that, with all greater ones, no more than so many partitions have.
_COUNTED = """
    SELECT value, key, so_far FROM (
        SELECT min("values"[{0}]) AS value, keys[{0}] AS key,
               sum(count(*)) OVER (ORDER BY keys[{0}] DESC) AS so_far,
               row_number() OVER (ORDER BY keys[{0}] DESC) AS place
        FROM partitions WHERE keys[{0}] IS NOT NULL AND {1} GROUP BY keys[{0}]
    ) AS counted
    WHERE place = 1 OR so_far <= %s ORDER BY key DESC
"""


class PartitionValues:
    """Queries on the partitions of one table. A condition of None means all. Keys are ordered by their types."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def state(self, table: TableRef) -> str:
        """Returns what no change of the list of the table's partitions leaves as it is; empty before the first."""
        rows = rows_of(
            self._connection, Sql("SELECT state::text FROM partition_lists WHERE table_id = %s", (table.id,))
        )
        return str(rows[0][0]) if rows else ""

    def newest(self, table: TableRef, condition: Condition | None, most: int) -> tuple[str, int] | None:
        """Returns a predicate, in the grammar of filters, that `most` of these partitions or a few less satisfy: those
        with the greatest values of the keys; and how many. None where there is no such.
        """
        fixed: list[str] = []
        for position, (name, kind) in enumerate(zip(table.key_names, table.key_kinds, strict=True), 1):
            chosen = all_of([Sql("partitions.table_id = %s", (table.id,)), condition])
            query = Sql(_COUNTED.format(position, chosen.text), (*chosen.values, most))
            rows = rows_of(self._connection, query)
            if not rows or any(mark in rows[-1][0] + rows[0][0] for mark in "'\"\\"):
                return None
            quote = "" if kind.is_number else '"'
            value, key, count = rows[-1]
            if count <= most:
                return " and ".join([*fixed, f"{name} >= {quote}{value}{quote}"]), int(count)
            fixed.append(f"{name} = {quote}{value}{quote}")
            condition = all_of([condition, Sql(f"keys[{position}] = %s", (key,))])
        return None

    def names(self, table: TableRef, condition: Condition | None, order: Order, limit: int | None) -> list[str]:
        """Lists escaped names; those that are equal in the order, ascending."""
        query = _query(table, condition, "name", f"ORDER BY {', '.join([*_sorted(order), 'name'])}", limit)
        return [name for (name,) in rows_of(self._connection, query)]

    def rows(
        self,
        table: TableRef,
        condition: Condition | None,
        positions: Sequence[int],
        order: Order,
        limit: int | None,
    ) -> list[list[str]]:
        """Returns the values of the keys at these positions (from 0), partition by partition."""
        end = f"ORDER BY {', '.join([*_sorted(order), 'name'])}"
        return self._read(_query(table, condition, _columns(positions), end, limit))

    def distinct_rows(
        self,
        table: TableRef,
        condition: Condition | None,
        positions: Sequence[int],
        order: Order,
        limit: int | None,
    ) -> list[list[str]]:
        """Lists what `rows` does, each once; where others decide its place, by the first or last of them."""
        columns = ", ".join(map(str, range(1, len(positions) + 1)))
        places = [
            f"max(keys[{position + 1}]) DESC" if descending else f"min(keys[{position + 1}])"
            for position, descending in order
        ]
        end = f"GROUP BY {columns} ORDER BY {', '.join([*places, columns])}"
        return self._read(_query(table, condition, _columns(positions), end, limit))

    def _read(self, query: Sql) -> list[list[str]]:
        return [list(row) for row in rows_of(self._connection, query)]


def _query(table: TableRef, condition: Condition | None, columns: str, end: str, limit: int | None) -> Sql:
    chosen = all_of([Sql("partitions.table_id = %s", (table.id,)), condition])
    return Sql(f"SELECT {columns} {_FROM} {chosen.text} {end} LIMIT %s", (*chosen.values, limit))


def _columns(positions: Sequence[int]) -> str:
    """Writes a value; the empty one has the default partition's name, as in names."""
    return ", ".join(
        f"coalesce(nullif(partitions.\"values\"[{position + 1}], ''), '{DEFAULT_PARTITION}')" for position in positions
    )


def _sorted(order: Order) -> list[str]:
    return [f"keys[{position + 1}] DESC" if descending else f"keys[{position + 1}]" for position, descending in order]
