"""Dropped, truncated and overwritten objects that can be restored until their retention ends (schema.drops).

Every method is a constant number of statements, regardless of the number of partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from metastore.domain.keys import sort_key
from metastore.domain.names import TableName
from metastore.storage.postgres.arrays import array_literal, number_array_literal
from metastore.storage.queries import drops as statements
from metastore.storage.queries.repository import Repository
from metastore.storage.references import TABLE_ITSELF, TableRef

DATABASE: Final = "database"
TABLE: Final = "table"
PARTITIONS: Final = "partitions"
TRUNCATED: Final = "truncated"
OVERWRITTEN: Final = "overwritten"


class Drop(NamedTuple):
    """A drop, truncation or overwrite by one call.

    `name` is empty for a database. `table_id` is set if the table still exists (partitions, truncated, overwritten).
    `names`: the first partitions, if the query reads them.
    """

    id: int
    kind: str
    catalog: str
    database: str
    name: str
    table_id: int | None
    partitions: int
    dropped_at: datetime
    kept_until: datetime
    dropped_by: str | None
    dropped_from: str | None
    names: Sequence[str] = ()

    @property
    def table(self) -> TableName:
        """The name of the table."""
        return TableName(self.catalog, self.database, self.name)


class NewDrop(NamedTuple):
    """A drop, truncation or overwrite to register. `kind`: DATABASE, TABLE, …

    `partitions`: their number, if only partitions are dropped. `hidden`: ids of the tables that are dropped. Their rows
    and everything that belongs to them stay, but without a database no query finds them.
    """

    kind: str
    name: TableName
    partitions: int = 0
    hidden: Sequence[int] = ()


class DroppedTable(NamedTuple):
    """A dropped table: its row stays in `tables`, without a database."""

    id: int
    name: str


class Drops(Repository):
    """Queries on drops."""

    def begin(
        self, drop: NewDrop, period: timedelta, caller: tuple[str | None, str | None], table_id: int | None = None
    ) -> int:
        """Registers a drop by this user from this address (`caller`), and returns its id. `period`: the retention.

        `table_id`: the table, if it stays. The open writes of hidden tables are aborted.
        """
        name, (user, address) = drop.name, caller
        values = {"kind": drop.kind, "catalog": name.catalog, "database": name.database, "name": name.name}
        details = {"table_id": table_id, "partitions": drop.partitions, "period": period, "by": user, "from": address}
        number: int = statements.BEGIN.rows(self._connection, **values, **details, hidden=list(drop.hidden))[0][0]
        return number

    def find(
        self, catalog: str, database: str | None = None, name: str | None = None, table_id: int | None = None
    ) -> list[Drop]:
        """Lists the drops of a catalog, database or table that can be restored, the newest first.

        The empty `name` selects drops of the database itself. `table_id` also selects drops of that table under an
        earlier name.
        """
        return self._found(catalog, database, name, table_id, everything=True)

    def find_present(self, catalog: str, database: str | None, user: str | None) -> list[Drop]:
        """Lists the drops of a database that a user may know: by this user, and those in the present database of the
        name.
        """
        return self._found(catalog, database, user=user, everything=False)

    def _found(
        self,
        catalog: str,
        database: str | None,
        name: str | None = None,
        table_id: int | None = None,
        user: str | None = None,
        *,
        everything: bool,
    ) -> list[Drop]:
        values = {"catalog": catalog, "database": database, "name": name, "table_id": table_id}
        values |= {"user": user, "everything": everything}
        return [Drop(*row) for row in self._connection.execute(statements.FIND, values)]

    def owners(self, drop: Drop, table: str) -> list[tuple[str | None, int | None]]:
        """Returns the owners, and their kinds, of the dropped table of this name (empty: none) and of its database."""
        values = {"id": drop.id, "table_id": drop.table_id, "table": table}
        return [(row.owner, row.owner_type) for row in self._connection.execute(statements.OWNERS, values)]

    def lock(self, drop_id: int) -> bool:
        """Locks a drop until the transaction ends; False if another client has restored or purged it."""
        return self._connection.execute(statements.LOCK, {"id": drop_id}).one_or_none() is not None

    def lock_expired(self) -> int | None:
        """Locks the oldest drop whose retention is over and that no other server has locked; None if there is none."""
        number: int | None = self._connection.execute(statements.LOCK_EXPIRED).scalar()
        return number

    def purge(self, drop_id: int) -> None:
        """Deletes a drop and everything that was kept for it (10 statements). Cleaning may then remove its files.

        Also deletes the drops of partitions of the tables that it deletes.
        """
        for statement in statements.PURGE:
            self._connection.execute(statement, {"id": drop_id})

    def forget_dependents(self, table_id: int) -> None:
        """Deletes dependencies of dropped tables on a table that is dropped without retention (2 statements)."""
        for statement in statements.FORGET_DEPENDENTS:
            self._connection.execute(statement, {"table_id": table_id})

    def tables(self, drop_id: int) -> list[DroppedTable]:
        """Returns the tables of a drop, by name."""
        return [DroppedTable(*row) for row in self._connection.execute(statements.TABLES, {"drop_id": drop_id})]

    def table_ids(self, drop_id: int) -> list[tuple[str, int]]:
        """Returns catalog and id of each table of a drop."""
        return [(row[0], row[1]) for row in self._connection.execute(statements.TABLE_IDS, {"drop_id": drop_id})]

    def missing_bases(self, ids: Sequence[int]) -> list[str]:
        """Returns the names of dropped tables that these tables depend on and that are not among them."""
        return list(self._connection.execute(statements.MISSING_BASES, {"ids": list(ids)}).scalars())

    def of_table_name(self, name: TableName) -> list[Drop]:
        """Lists the drops that contain a table of this name (of it or of its database), the newest first."""
        values = {"catalog": name.catalog, "database": name.database, "name": name.name}
        return [Drop(*row) for row in self._connection.execute(statements.OF_TABLE_NAME, values)]

    def undrop_tables(self, drop_id: int, ids: Sequence[int], database_id: int, renamed: int, name: str) -> None:
        """Makes tables of a drop visible again, in their old database or, if it is gone, in `database_id`.

        The table `renamed` gets the name `name`. Raises AlreadyExistsError if a name is taken.
        """
        values = {"drop_id": drop_id, "ids": list(ids), "database_id": database_id, "renamed": renamed, "name": name}
        self._connection.execute(statements.RESTORE_TABLES, values)

    def save_copies(self, drop_id: int, table_id: int, partition_ids: Sequence[int] | None) -> None:
        """Copies partitions, or (None) the table's row, with their statistics, before a change (2 statements)."""
        ids = [TABLE_ITSELF] if partition_ids is None else partition_ids
        values = {"drop_id": drop_id, "table_id": table_id, "ids": number_array_literal(ids)}
        self._connection.execute(statements.KEEP_TABLE if partition_ids is None else statements.KEEP_PARTITIONS, values)
        self._connection.execute(statements.KEEP_STATISTICS, values)

    def undrop_statistics(self, drop_id: int, exact: Sequence[int], ids: Sequence[int]) -> None:
        """Restores the statistics of the partitions `exact`, or of the table itself; deletes the copies of `ids`."""
        self._connection.execute(
            statements.RESTORE_ROWS["column_statistics"], {"drop_id": drop_id, "ids": number_array_literal(exact)}
        )
        self._connection.execute(statements.FORGET_PARTITIONS, {"drop_id": drop_id, "ids": number_array_literal(ids)})

    def keep_database(self, drop_id: int, database_id: int) -> None:
        """Copies a database, its functions and its privileges before they are deleted (3 statements)."""
        for statement in statements.KEEP_DATABASE.values():
            self._connection.execute(statement, {"drop_id": drop_id, "database_id": database_id})

    def undrop_database(self, drop_id: int) -> None:
        """Restores a database without its tables. Functions and privileges that exist again are not replaced.

        Raises AlreadyExistsError if its name is taken.
        """
        for relation in statements.KEEP_DATABASE:
            self._connection.execute(statements.RESTORE_ROWS[relation], {"drop_id": drop_id, "ids": None})

    def partition_names(self, drop_id: int, beginning: str = "") -> list[str]:
        """Lists the partitions of a drop whose names, with a slash appended, start with `beginning`."""
        return list(self._connection.execute(statements.NAMES, {"drop_id": drop_id, "beginning": beginning}).scalars())

    def find_taken_name(self, drop_id: int, table_id: int, names: Sequence[str] | None) -> str | None:
        """Returns the first partition name of a drop (or of `names`) that an existing partition has, or None."""
        values = {"drop_id": drop_id, "table_id": table_id, "names": None if names is None else array_literal(names)}
        name: str | None = self._connection.execute(statements.FIND_TAKEN, values).scalar()
        return name

    def undrop_partitions(self, drop_id: int, table_id: int, names: Sequence[str] | None) -> None:
        """Restores partitions, with their skewed locations, statistics, privileges and dependencies (5 or 6
        statements).

        `names`: None for all partitions of the drop; then `finish` ends it. The table must be locked. Raises
        AlreadyExistsError if a name is taken.
        """
        values = {"drop_id": drop_id, "table_id": table_id, "names": None if names is None else array_literal(names)}
        self._connection.execute(statements.RESTORE, values)
        ids = None if names is None else self._connection.execute(statements.RESTORED, values).scalars()
        only = None if ids is None else number_array_literal(ids)
        for relation in ("skewed_locations", "column_statistics", "privileges", "partition_dependencies"):
            self._connection.execute(statements.RESTORE_ROWS[relation], {"drop_id": drop_id, "ids": only})

    def retype(self, table: TableRef) -> None:
        """Recomputes the sort keys of a table's dropped partitions for the present types of its partition columns.

        Reads all of them.
        """
        rows = self._connection.execute(statements.VALUES, {"table_id": table.id}).all()
        keys = [array_literal(list(map(sort_key, table.key_kinds, values))) for _, _, values in rows]
        values = {"drops": [row[0] for row in rows], "ids": [row[1] for row in rows], "keys": keys}
        self._connection.execute(statements.RETYPE, values)

    def update_remaining(self, drop_id: int) -> int:
        """Counts the partitions that are not restored yet, and stores the count in the drop."""
        count: int = self._connection.execute(statements.UPDATE_REMAINING, {"drop_id": drop_id}).scalar_one()
        return count

    def finish(self, drop_id: int) -> None:
        """Ends a drop that is restored. Its remaining rows, which may be many, are deleted when it is purged."""
        self._connection.execute(statements.END, {"id": drop_id})
