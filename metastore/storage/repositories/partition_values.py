"""Values and names of partitions in the order that a client requests."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.domain.partition_names import DEFAULT_PARTITION
from metastore.storage.postgres.driver import rows_of
from metastore.storage.postgres.sql import Condition, Sql, all_of
from metastore.storage.queries.repository import Repository
from metastore.storage.references import TableRef

Order = Sequence[tuple[int, bool]]
"""Positions of keys, from 0, each with whether it descends."""

_FROM = "FROM partitions WHERE"
# Values of one key, descending: the greatest value, then smaller ones as long as the partitions with this value or a
# greater one do not exceed the limit.
_COUNTED = """
    SELECT value, key, so_far FROM (
        SELECT min("values"[{0}]) AS value, keys[{0}] AS key,
               sum(count(*)) OVER (ORDER BY keys[{0}] DESC) AS so_far,
               row_number() OVER (ORDER BY keys[{0}] DESC) AS rank
        FROM partitions WHERE keys[{0}] IS NOT NULL AND {1} GROUP BY keys[{0}]
    ) AS counted
    WHERE rank = 1 OR so_far <= %s ORDER BY key DESC
"""


class PartitionValues(Repository):
    """Queries on the partitions of one table. Condition None means all. Keys are ordered by their types."""

    def state(self, table: TableRef) -> str:
        """Returns a text that changes with the table's list of partitions; empty before the first change."""
        rows = rows_of(
            self._connection, Sql("SELECT state::text FROM partition_lists WHERE table_id = %s", (table.id,))
        )
        return str(rows[0][0]) if rows else ""

    def newest(self, table: TableRef, condition: Condition | None, most: int) -> tuple[str, int] | None:
        """Returns a filter that selects the at most `most` partitions with the greatest key values, and their number.

        One query for each key at most. None if there are no partitions, or a value cannot be written in the grammar of
        filters.
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
        """Lists escaped names in the given order; equal ones by name."""
        query = _query(table, condition, "name", f"ORDER BY {', '.join([*_sorted(order), 'name'])}", limit)
        return [name for (name,) in rows_of(self._connection, query)]

    def rows(
        self,
        table: TableRef,
        condition: Condition | None,
        positions: Sequence[int],
        order: Order,
        limit: int | None,
        *,
        distinct: bool = False,
    ) -> list[list[str]]:
        """Returns the values of the keys at these positions (from 0), one row for each partition.

        `distinct`: each row once. Rows are sorted by the minimum (descending: maximum) of keys that they lack.
        """
        end = _grouped(len(positions), order) if distinct else f"ORDER BY {', '.join([*_sorted(order), 'name'])}"
        query = _query(table, condition, _columns(positions), end, limit)
        return [list(row) for row in rows_of(self._connection, query)]


def _query(table: TableRef, condition: Condition | None, columns: str, end: str, limit: int | None) -> Sql:
    chosen = all_of([Sql("partitions.table_id = %s", (table.id,)), condition])
    return Sql(f"SELECT {columns} {_FROM} {chosen.text} {end} LIMIT %s", (*chosen.values, limit))


def _grouped(columns: int, order: Order) -> str:
    """Returns the end of a query for distinct rows of this many columns."""
    numbers = ", ".join(map(str, range(1, columns + 1)))
    keys = [
        f"max(keys[{position + 1}]) DESC" if descending else f"min(keys[{position + 1}])"
        for position, descending in order
    ]
    return f"GROUP BY {numbers} ORDER BY {', '.join([*keys, numbers])}"


def _columns(positions: Sequence[int]) -> str:
    """Returns the select list of the values. The empty value appears as the default partition, as in names."""
    return ", ".join(
        f"coalesce(nullif(partitions.\"values\"[{position + 1}], ''), '{DEFAULT_PARTITION}')" for position in positions
    )


def _sorted(order: Order) -> list[str]:
    return [f"keys[{position + 1}] DESC" if descending else f"keys[{position + 1}]" for position, descending in order]
