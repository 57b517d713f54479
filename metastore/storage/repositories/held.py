"""The users who hold locks, transactions and writes, and the objects that these name. Each query is one statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import select, text

from metastore.domain.lock_rules import LockType
from metastore.domain.names import DatabaseName, TableName
from metastore.domain.transactions import OPEN
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.catalog import databases, tables
from metastore.storage.schema.files import open_writes
from metastore.storage.schema.transactions import locks, transactions

_LOCKED: Final = f"""
    SELECT DISTINCT {{holder}}, c.catalog, c.database, c.table_name, c.type <> {LockType.SHARED_READ} AS writes
    FROM locks AS l JOIN lock_components AS c ON c.lock_id = l.id
"""  # noqa: S608 - constants
_OF_LOCKS: Final = text(f"{_LOCKED.format(holder='l.id')} WHERE l.id = ANY (cast(:ids AS bigint[]))")
_OF_TRANSACTIONS: Final = text(f"""
    WITH held AS (SELECT id FROM transactions WHERE id = ANY (cast(:ids AS bigint[])) AND user_name = :user)
    {_LOCKED.format(holder="l.transaction_id")} JOIN held ON held.id = l.transaction_id
    UNION
    SELECT w.transaction_id, w.catalog, w.database, w.table_name, true
    FROM transaction_components AS w JOIN held ON held.id = w.transaction_id
""")  # noqa: S608 - constants


class WriteOwner(NamedTuple):
    """The table of an open write, and the user who began it; None if that is not known."""

    table: TableName
    user: str | None


class HeldObject(NamedTuple):
    """An object of a lock or transaction (`holder`: its id).

    `writes`: the object is locked to be written to, or the transaction writes to it.
    """

    holder: int
    name: TableName | DatabaseName
    writes: bool


class Held(Repository):
    """Queries on locks, transactions and writes, by their users."""

    def owners_of_locks(self, ids: Sequence[int]) -> dict[int, str]:
        """Returns the users who requested these locks, by id."""
        query = select(locks.c.id, locks.c.user_name).where(locks.c.id.in_(list(ids)))
        return {row.id: row.user_name for row in self._connection.execute(query)}

    def owners_of_transactions(self, ids: Sequence[int]) -> dict[int, str]:
        """Returns the users who opened these transactions, by id."""
        query = select(transactions.c.id, transactions.c.user_name).where(transactions.c.id.in_(list(ids)))
        return {row.id: row.user_name for row in self._connection.execute(query)}

    def open_transactions(self, first: int, last: int, user: str) -> Sequence[int]:
        """Lists the open transactions of the user in this range of ids. Most ids of a range do not exist."""
        query = select(transactions.c.id).where(
            transactions.c.id.between(first, last), transactions.c.state == OPEN, transactions.c.user_name == user
        )
        return self._connection.execute(query).scalars().all()

    def of_locks(self, ids: Sequence[int]) -> list[HeldObject]:
        """Returns the objects of locks."""
        return [_object(*row) for row in self._connection.execute(_OF_LOCKS, {"ids": list(ids)})]

    def of_transactions(self, ids: Sequence[int], user: str) -> list[HeldObject]:
        """Returns the objects that transactions of the user lock or write to."""
        rows = self._connection.execute(_OF_TRANSACTIONS, {"ids": list(ids), "user": user})
        return [_object(*row) for row in rows]

    def write(self, query_id: str) -> WriteOwner | None:
        """Returns the table and the user of a write; None if it has ended, or its table was dropped."""
        query = select(databases.c.catalog, databases.c.name, tables.c.name.label("table"), open_writes.c.user_name)
        query = query.where(
            open_writes.c.query_id == query_id,
            open_writes.c.aborted_at.is_(None),
            tables.c.id == open_writes.c.table_id,
            databases.c.id == tables.c.database_id,
        )
        row = self._connection.execute(query).one_or_none()
        return WriteOwner(TableName(row.catalog, row.name, row.table), row.user_name) if row else None


def _object(holder: int, catalog: str, database: str, table: str | None, writes: bool) -> HeldObject:
    home = DatabaseName(catalog, database)
    return HeldObject(holder, home.table(table) if table else home, writes)
