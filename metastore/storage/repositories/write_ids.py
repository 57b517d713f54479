"""Write ids of tables, by table name: each table counts its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import delete, select, text
from sqlalchemy.dialects.postgresql import insert

from metastore.domain.names import TableName
from metastore.domain.transactions import WriteId
from metastore.storage.postgres.arrays import is_among
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.table_keys import named, named_arrays, of_table
from metastore.storage.schema.transactions import write_id_counters, write_ids


class TableWrites(NamedTuple):
    """The last write id of a table, and the ids of transactions that readers must check, ascending."""

    last: int
    known: list[WriteId]


_INSERT = text("""
    INSERT INTO write_ids (catalog, database, table_name, transaction_id, write_id)
    SELECT :catalog, :database, :table_name, new.*
    FROM unnest(cast(:transactions AS bigint[]), cast(:numbers AS bigint[])) AS new
""")

_WANTED = """
    unnest(cast(:catalogs AS text[]), cast(:databases AS text[]), cast(:tables AS text[]))
        AS wanted(catalog, database, table_name)
"""
_LAST = text(f"""
    SELECT counter.catalog, counter.database, counter.table_name, counter.last
    FROM write_id_counters AS counter JOIN {_WANTED} USING (catalog, database, table_name)
""")  # noqa: S608 - only constants of this module
_KNOWN = text(f"""
    SELECT written.catalog, written.database, written.table_name, written.transaction_id, written.write_id
    FROM write_ids AS written JOIN {_WANTED} USING (catalog, database, table_name) ORDER BY written.write_id
""")  # noqa: S608 - only constants of this module


class WriteIds(Repository):
    """Queries on write ids."""

    def reserve(self, table: TableName, new: int) -> int:
        """Reserves `new` write ids, and returns the last one. Locks the counter until the transaction ends."""
        row = insert(write_id_counters).values(**named(table), last=new)
        last = {"last": write_id_counters.c.last + new}
        statement = row.on_conflict_do_update(index_elements=list(named(table)), set_=last)
        counted: int = self._connection.execute(statement.returning(write_id_counters.c.last)).scalar_one()
        return counted

    def last(self, table: TableName) -> int:
        """Returns the table's last write id, 0 before the first."""
        query = select(write_id_counters.c.last).where(of_table(write_id_counters, table))
        return self._connection.execute(query).scalar() or 0

    def seed(self, table: TableName, last: int) -> bool:
        """Makes the table's write ids continue after `last`; False if it has write ids already."""
        row = insert(write_id_counters).values(**named(table), last=last).on_conflict_do_nothing()
        return self._connection.execute(row.returning(write_id_counters.c.last)).scalar() is not None

    def of_transactions(self, table: TableName, transactions: Sequence[int]) -> list[WriteId]:
        """Returns the write ids of these transactions in the table."""
        query = select(write_ids.c.transaction_id, write_ids.c.write_id).where(_of(table, transactions))
        return [WriteId._make(row) for row in self._connection.execute(query.order_by(write_ids.c.write_id))]

    def insert(self, table: TableName, numbers: Sequence[WriteId]) -> None:
        arrays = {
            "transactions": [number.transaction for number in numbers],
            "numbers": [number.number for number in numbers],
        }
        self._connection.execute(_INSERT, arrays | named(table))

    def delete(self, table: TableName, transactions: Sequence[int]) -> None:
        self._connection.execute(delete(write_ids).where(_of(table, transactions)))

    def transaction_of(self, table: TableName, number: int) -> int | None:
        """Returns the transaction that has this write id of the table, or None."""
        query = select(write_ids.c.transaction_id).where(of_table(write_ids, table), write_ids.c.write_id == number)
        return self._connection.execute(query).scalar()

    def of_tables(self, tables: Sequence[TableName]) -> dict[TableName, TableWrites]:
        """Returns the write ids of each table (2 statements)."""
        wanted = list(dict.fromkeys(tables))
        arrays = named_arrays(wanted)
        known: dict[TableName, list[WriteId]] = {table: [] for table in wanted}
        # Counters first: an id that is given out between the two statements is above the counter, and so not visible.
        last = {TableName(*row[:3]): row[3] for row in self._connection.execute(_LAST, arrays)}
        for row in self._connection.execute(_KNOWN, arrays):
            known[TableName(*row[:3])].append(WriteId._make(row[3:]))
        return {table: TableWrites(last.get(table, 0), known[table]) for table in wanted}


def _of(table: TableName, transactions: Sequence[int]) -> Any:
    return of_table(write_ids, table) & is_among(write_ids.c.transaction_id, transactions)
