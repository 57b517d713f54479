"""Bulk loading of objects that belong to databases and tables, and of roles, tokens, transactions and events.

As in `bulk_load`, everything is stored unchanged. Rows that exist already stay, except
column statistics, which are replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Table, func, select, text
from sqlalchemy.dialects.postgresql import insert

from metastore.domain.names import TableName
from metastore.errors import InvalidObjectError
from metastore.storage.mapping.constraints import NamedConstraint, constraint_row
from metastore.storage.mapping.privileges import role_grant_row
from metastore.storage.mapping.whole_objects import function_row, index_row, statistics_row
from metastore.storage.postgres.arrays import array_literals
from metastore.storage.postgres.clock import now
from metastore.storage.postgres.driver import run
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.table_keys import named
from metastore.storage.schema.access import delegation_tokens, master_keys, privileges, role_grants, roles
from metastore.storage.schema.catalog import functions, table_constraints, table_indexes
from metastore.storage.schema.logs import notification_sequence
from metastore.storage.schema.transactions import transaction_counter, transactions, write_id_counters, write_ids
from thrift_idl.gen.hive_metastore.ttypes import (
    ColumnStatisticsObj,
    Function,
    Index,
    NotificationEvent,
    Role,
    RolePrincipalGrant,
)

_MOST: Final = 2**62
"""The highest number that a source may have reached: this server needs the numbers above it."""
_STATISTICS: Final = 5_000  # rows of a statement
_PUT_STATISTICS: Final = text("""
    INSERT INTO column_statistics (table_id, partition_id, engine, column_name, analyzed_at, encoded)
    SELECT * FROM unnest(
        cast(:a AS bigint[]), cast(:b AS bigint[]), cast(:c AS text[]), cast(:d AS text[]), cast(:e AS bigint[]),
        cast(:f AS bytea[])
    )
    ON CONFLICT (table_id, partition_id, engine, column_name)
        DO UPDATE SET analyzed_at = excluded.analyzed_at, encoded = excluded.encoded
""")
_INSERT_KEYS: Final = text(
    "INSERT INTO master_keys (id, key) OVERRIDING SYSTEM VALUE VALUES (:id, :key) ON CONFLICT DO NOTHING"
)
_ROWS: Final = 500  # of a statement with values
_INSERT_EVENTS: Final = """
    INSERT INTO notification_log (event_id, event_time, event_type, catalog, database, table_name, message, renamed)
    SELECT * FROM unnest(
        cast(%(ids)s AS bigint[]), cast(%(times)s AS int[]), cast(%(types)s AS text[]), cast(%(catalogs)s AS text[]),
        cast(%(databases)s AS text[]), cast(%(tables)s AS text[]), cast(%(messages)s AS text[]),
        cast(%(renamed)s AS boolean[])
    )
    ON CONFLICT DO NOTHING
"""


class NewStatistics(NamedTuple):
    """Column statistics of a table (partition 0) or partition."""

    table_id: int
    partition_id: int
    engine: str
    analyzed_at: int
    columns: Sequence[ColumnStatisticsObj]


class NewTransaction(NamedTuple):
    """An unfinished transaction, with its write ids."""

    id: int
    state: str
    type: int
    user: str
    host: str
    write_ids: Sequence[tuple[TableName, int]]


class BulkObjects(Repository):
    """Statements that store many objects."""

    def insert_statistics(self, new: Sequence[NewStatistics]) -> None:
        """Adds column statistics, or replaces those of the same column and engine."""
        rows = [
            (one.table_id, one.partition_id, one.engine, row["column_name"], one.analyzed_at, row["encoded"])
            for one in new
            for row in map(statistics_row, one.columns)
        ]
        for start in range(0, len(rows), _STATISTICS):
            columns = (list(column) for column in zip(*rows[start : start + _STATISTICS], strict=True))
            self._connection.execute(_PUT_STATISTICS, dict(zip("abcdef", columns, strict=True)))

    def insert_functions(self, new: Sequence[tuple[int, Function]]) -> None:
        """Adds functions, given with the ids of their databases."""
        self._insert(functions, [function_row(function) | {"database_id": number} for number, function in new])

    def insert_constraints(self, new: Sequence[tuple[int, NamedConstraint]]) -> None:
        """Adds constraints, given with the ids of their tables."""
        self._insert(table_constraints, [constraint_row(named) | {"table_id": number} for number, named in new])

    def insert_indexes(self, new: Sequence[tuple[int, int, Index]]) -> None:
        """Adds indexes, given with the ids of their tables and of the tables that store them."""
        self._insert(
            table_indexes,
            [index_row(index) | {"table_id": table, "index_table_id": holder} for table, holder, index in new],
        )

    def insert_roles(self, new: Sequence[Role]) -> None:
        rows = [{"name": role.roleName, "owner": role.ownerName, "create_time": role.createTime or 0} for role in new]
        self._insert(roles, rows)

    def insert_role_grants(self, new: Sequence[RolePrincipalGrant]) -> None:
        """Adds members of roles, with their times. A role that does not exist is created first."""
        self.insert_roles([Role(grant.roleName, 0, None) for grant in new])
        self._insert(role_grants, [role_grant_row(grant) for grant in new])

    def insert_privileges(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._insert(privileges, rows)

    def insert_master_keys(self, keys: Sequence[tuple[int, str]]) -> None:
        """Adds keys with their numbers, which tokens contain."""
        if keys:
            self._connection.execute(_INSERT_KEYS, [{"id": number, "key": key} for number, key in keys])
            self._connection.execute(select(func.setval("master_keys_id_seq", func.max(master_keys.c.id))))

    def insert_tokens(self, tokens: Sequence[tuple[str, str]]) -> None:
        self._insert(delegation_tokens, [{"identifier": name, "token": token} for name, token in tokens])

    def raise_transaction_marks(self, last: int, marks: Mapping[TableName, int]) -> None:
        """Makes transaction ids and write ids continue after the source's, or after the present ones if higher.

        Raises InvalidObjectError if a number of the source leaves none for this server.
        """
        for number in (last, *marks.values()):
            _check_number(number)
        counter = insert(transaction_counter).values(id=1, last=last)
        highest = func.greatest(transaction_counter.c.last, counter.excluded.last)
        self._connection.execute(counter.on_conflict_do_update(index_elements=["id"], set_={"last": highest}))
        rows = [named(table) | {"last": mark} for table, mark in marks.items()]
        for start in range(0, len(rows), _ROWS):
            statement = insert(write_id_counters).values(rows[start : start + _ROWS])
            highest = func.greatest(write_id_counters.c.last, statement.excluded.last)
            key = ["catalog", "database", "table_name"]
            self._connection.execute(statement.on_conflict_do_update(index_elements=key, set_={"last": highest}))

    def insert_transactions(self, new: Sequence[NewTransaction]) -> None:
        """Adds unfinished transactions with their write ids, so that readers skip their files."""
        rows = [
            {
                "id": one.id,
                "state": one.state,
                "type": one.type,
                "user_name": one.user,
                "host_name": one.host,
                "agent": "import",
                "started_at": now(),
                "heartbeat_at": now(),
                "heartbeat_count": 0,
                "ended_at": now(),
            }
            for one in new
        ]
        self._insert(transactions, rows)
        written = [
            named(table) | {"transaction_id": one.id, "write_id": write_id}
            for one in new
            for table, write_id in one.write_ids
        ]
        self._insert(write_ids, written)

    def last_event(self) -> int:
        """Returns the number of the newest event, and keeps others from adding events until the commit.

        Without the lock, another transaction may take the number that this one gives to an event of the source, and
        both wait for each other.
        """
        query = select(notification_sequence.c.last_event_id).with_for_update()
        number: int = self._connection.execute(query).scalar_one()
        return number

    def insert_events(self, events: Sequence[NotificationEvent], renaming: Collection[int] = ()) -> None:
        """Adds events of the source with their numbers and times. `renaming`: the ids of those that renamed a table."""
        columns = {
            "ids": [str(event.eventId) for event in events],
            "times": [str(event.eventTime) for event in events],
            "types": [event.eventType for event in events],
            "catalogs": [event.catName for event in events],
            "databases": [event.dbName for event in events],
            "tables": [event.tableName for event in events],
            "messages": [event.message for event in events],
            "renamed": [str(event.eventId in renaming) for event in events],
        }
        run(self._connection, _INSERT_EVENTS, **dict(zip(columns, array_literals(columns.values()), strict=True)))

    def raise_last_event(self, last: int) -> None:
        """Makes event numbers continue after this one, or after the present one if that is higher.

        Raises InvalidObjectError if the number leaves none for this server.
        """
        _check_number(last)
        self._connection.execute(
            text("UPDATE notification_sequence SET last_event_id = greatest(last_event_id, :last)"), {"last": last}
        )

    def _insert(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        for start in range(0, len(rows), _ROWS):
            some = list(rows[start : start + _ROWS])
            self._connection.execute(insert(table).values(some).on_conflict_do_nothing())


def _check_number(number: int) -> None:
    if number > _MOST:
        raise InvalidObjectError(f"the source's number {number} would leave this server no numbers of its own")
