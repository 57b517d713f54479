"""Write ids that transactions used after the moment to which the database was restored (decision 023)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import text

from metastore.domain.transactions import ABORTED
from metastore.storage.queries.repository import Repository

_TRANSACTION_GAP: Final = 1_000_000
"""Number of ids that a restore skips: more than the lost transactions, so that no lost id is assigned again."""

_COUNTED: Final = text("""
    SELECT t.id AS table_id, c.catalog, c.database, c.table_name, c.last FROM write_id_counters AS c
    JOIN databases AS d ON d.catalog = c.catalog AND d.name = c.database
    JOIN tables AS t ON t.database_id = d.id AND t.name = c.table_name
    ORDER BY t.id
""")
_SKIP: Final = text("UPDATE transaction_counter SET last = last + :count RETURNING last")
_LOST: Final = """
    FROM unnest(cast(:catalogs AS text[]), cast(:databases AS text[]), cast(:tables AS text[]),
        cast(:lasts AS bigint[]), cast(:used AS bigint[])) AS lost(catalog, database, table_name, last, used)
"""
_TRANSACTIONS: Final = text("""
    INSERT INTO transactions (id, state, type, user_name, host_name, agent, started_at, heartbeat_at, heartbeat_count,
        ended_at)
    SELECT id, :state, 0, 'metastore', 'localhost', 'metastore db restored', now(), now(), 0, now()
    FROM generate_series(:first, :first + :count - 1) AS id
""")
# A transaction has at most one write id in a table.
_WRITE_IDS: Final = text(f"""
    INSERT INTO write_ids (transaction_id, catalog, database, table_name, write_id)
    SELECT :first + number - last - 1, catalog, database, table_name, number
    {_LOST} CROSS JOIN LATERAL generate_series(last + 1, used) AS number
""")
# An aborted transaction without components is deleted, and then its rows count as committed.
_COMPONENTS: Final = text(f"""
    INSERT INTO transaction_components (transaction_id, catalog, database, table_name, partition_name, operation)
    SELECT :first + number - last - 1, catalog, database, table_name, '', :operation
    {_LOST} CROSS JOIN LATERAL generate_series(last + 1, used) AS number
""")
_COUNTERS: Final = text(f"""
    UPDATE write_id_counters AS counter SET last = lost.used {_LOST}
    WHERE (counter.catalog, counter.database, counter.table_name) = (lost.catalog, lost.database, lost.table_name)
""")  # noqa: S608 - only constants of this module


class CountedTable(NamedTuple):
    """A table with write ids, and the last one that the database knows."""

    table_id: int
    catalog: str
    database: str
    table_name: str
    last: int


class LostWrites(Repository):
    """Queries of `metastore db restored` on transactions."""

    def tables(self) -> list[CountedTable]:
        """Returns the tables that have write ids."""
        return [CountedTable._make(row) for row in self._connection.execute(_COUNTED)]

    def abort(self, lost: Sequence[tuple[CountedTable, int]], operation: int) -> None:
        """Marks the write ids after `last` of each table, up to the given one, as aborted.

        Readers then skip their rows, and no transaction gets them again. Ids of transactions continue after a gap.
        """
        count = max((used - table.last for table, used in lost), default=0)
        last = self._connection.execute(_SKIP, {"count": _TRANSACTION_GAP + count}).scalar()
        if not count or last is None:
            return
        values = {
            "first": last - count + 1,
            "catalogs": [table.catalog for table, _ in lost],
            "databases": [table.database for table, _ in lost],
            "tables": [table.table_name for table, _ in lost],
            "lasts": [table.last for table, _ in lost],
            "used": [used for _, used in lost],
        }
        self._connection.execute(_TRANSACTIONS, {"first": values["first"], "count": count, "state": ABORTED})
        self._connection.execute(_WRITE_IDS, values)
        self._connection.execute(_COMPONENTS, values | {"operation": operation})
        self._connection.execute(_COUNTERS, {name: value for name, value in values.items() if name != "first"})
