"""Hive locks (SHOW LOCKS): one row for a request, one for each object that it locks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple
from zlib import crc32

from sqlalchemy import ColumnElement, Row, and_, delete, exists, or_, select, text, update

from metastore.domain.lock_rules import Blocker, Component, ExistingLock, LockType
from metastore.domain.names import TableName
from metastore.domain.transactions import OPEN
from metastore.storage.postgres.arrays import array_literal, is_among
from metastore.storage.postgres.clock import ago, now
from metastore.storage.postgres.driver import Prepared
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.transactions import lock_components, locks, transactions


class Holder(NamedTuple):
    """The client that requests a lock."""

    transaction: int | None
    user: str
    host: str
    agent: str


class LockSnapshot(NamedTuple):
    """Existing locks that can conflict with a request. `late`: one of them missed its heartbeat."""

    locks: list[ExistingLock]
    late: bool


class LockEntry(NamedTuple):
    """One object of a lock, as SHOW LOCKS lists it."""

    id: int
    position: int
    holder: Holder
    component: Component
    acquired_at: datetime | None
    heartbeat_at: datetime
    heartbeat_count: int
    blocked_by: int | None
    blocked_by_position: int | None


class ExclusiveHolder(NamedTuple):
    """A granted exclusive lock, and the table that it covers."""

    lock: int
    table: str
    user: str
    host: str


_SPACE = 0x6C6F636B  # "lock"; advisory locks of two numbers are separate from those of one
_BUCKETS = 1024
_MANY_TABLES = 64  # of one database; above that all locks of the database are read

_ONE_AT_A_TIME = text("""
    SELECT pg_advisory_xact_lock(:space, key),
           (SELECT count(*) FROM (
               SELECT FROM locks JOIN lock_components ON lock_id = id WHERE user_name = :user LIMIT :limit
           ) AS held)
    FROM unnest(cast(:keys AS int[])) AS key
""")

_NONE_MEANWHILE = text("SELECT pg_advisory_xact_lock_shared(:space, key) FROM unnest(cast(:keys AS int[])) AS key")

_SNAPSHOT = text("""
    SELECT lock.id, lock.transaction_id, lock.acquired_at IS NOT NULL AS granted,
           CASE WHEN lock.transaction_id IS NULL THEN lock.heartbeat_at < clock_timestamp() - :timeout
                ELSE owner.state <> 'open' OR owner.heartbeat_at < clock_timestamp() - :timeout END AS late,
           component.type, component.catalog, component.database, component.table_name, component.partition_name
    FROM locks AS lock
    JOIN lock_components AS component ON component.lock_id = lock.id
    LEFT JOIN transactions AS owner ON owner.id = lock.transaction_id
    WHERE (lock.id < :before OR lock.acquired_at IS NOT NULL) AND lock.id <> :before
      AND (lock.transaction_id = :transaction OR lock.id IN (
        SELECT near.lock_id
        FROM unnest(cast(:catalogs AS text[]), cast(:databases AS text[]), cast(:tables AS text[]))
            AS wanted(catalog, database, table_name)
        JOIN lock_components AS near ON near.catalog = wanted.catalog AND near.database = wanted.database
            AND (near.table_name IS NULL OR wanted.table_name IS NULL OR near.table_name = wanted.table_name)
      ))
    ORDER BY lock.id, component.position
""")
_LAST = 2**63 - 1

_EXCLUSIVE = Prepared(
    "find_exclusive_lock",
    text("""
        SELECT lock.id, wanted.database || '.' || wanted.table_name, lock.user_name, lock.host_name
        FROM unnest(cast(:catalogs AS text[]), cast(:databases AS text[]), cast(:tables AS text[]))
            AS wanted(catalog, database, table_name)
        JOIN lock_components AS component ON component.catalog = wanted.catalog AND component.database = wanted.database
            AND (component.table_name = wanted.table_name OR component.table_name IS NULL)
            AND component.type = :exclusive AND component.partition_name IS NULL
        JOIN locks AS lock ON lock.id = component.lock_id AND lock.acquired_at IS NOT NULL
        LEFT JOIN transactions AS owner ON owner.id = lock.transaction_id
        WHERE clock_timestamp() - cast(:timeout AS interval) <= CASE
            WHEN lock.transaction_id IS NULL THEN lock.heartbeat_at
            WHEN owner.state = 'open' THEN owner.heartbeat_at
        END
        LIMIT 1
"""),
)

_INSERT = text("""
    WITH new AS (
        INSERT INTO locks (transaction_id, user_name, host_name, agent, acquired_at, heartbeat_at, heartbeat_count,
                           blocked_by, blocked_by_position)
        SELECT :transaction, :user, :host, :agent, CASE WHEN :granted THEN now.now END, now.now, 0,
               :blocked_by, :blocked_by_position
        FROM clock_timestamp() AS now(now)
        RETURNING id
    )
    INSERT INTO lock_components (lock_id, position, type, catalog, database, table_name, partition_name)
    SELECT new.id, component.*
    FROM new, unnest(
        cast(:positions AS int[]), cast(:types AS int[]), cast(:catalogs AS text[]), cast(:databases AS text[]),
        cast(:tables AS text[]), cast(:partitions AS text[])
    ) AS component
    RETURNING lock_id
""")

_COMPONENT = (
    lock_components.c.type,
    lock_components.c.catalog,
    lock_components.c.database,
    lock_components.c.table_name,
    lock_components.c.partition_name,
)
_GRANTED = locks.c.acquired_at.is_not(None)
_JOINED = locks.join(lock_components, lock_components.c.lock_id == locks.c.id)


class Locks(Repository):
    """Queries on locks. `timeout`: how long a lock lives without a heartbeat of its own or of its transaction."""

    def serialise_requests(self, requested: Iterable[Component], user: str = "", limit: int = 0) -> int:
        """Serialises lock requests in these databases until the transaction ends.

        Of two conflicting requests the second then sees the first. Takes advisory locks in ascending order; databases
        share 1,024 of them by hash.

        Returns the number of objects that the locks of the user name, at most `limit`.
        """
        values = {"space": _SPACE, "keys": _buckets(requested), "user": user, "limit": limit}
        return max((held for _, held in self._connection.execute(_ONE_AT_A_TIME, values)), default=0)

    def hold_off_requests(self, tables: Iterable[TableName]) -> None:
        """Lets lock requests in the databases of these tables wait until the transaction ends.

        A client that gets a lock later then sees what the transaction has changed. Transactions do not wait for each
        other here. Must be called before `exclusive_holder`, which otherwise misses a lock that is being granted.
        """
        self._connection.execute(_NONE_MEANWHILE, {"space": _SPACE, "keys": _buckets(tables)}).all()

    def exclusive_holder(self, tables: Iterable[TableName], timeout: timedelta) -> ExclusiveHolder | None:
        """Returns an exclusive lock on one of these tables or their databases that is held; None if there is none."""
        named = list(tables)
        values = {
            "catalogs": array_literal([name.catalog for name in named]),
            "databases": array_literal([name.database for name in named]),
            "tables": array_literal([name.name for name in named]),
            "exclusive": int(LockType.EXCLUSIVE),
            "timeout": timeout,
        }
        rows = _EXCLUSIVE.rows(self._connection, **values)
        return ExclusiveHolder._make(rows[0]) if rows else None

    def snapshot(
        self, requested: Iterable[Component], transaction: int | None, lock: int | None, timeout: timedelta
    ) -> LockSnapshot:
        """Returns the locks that `domain.lock_rules.blocker` compares a request with (one statement).

        These are locks on the same objects, or of the same transaction, that are granted or older than `lock` (None: a
        new request).
        """
        catalogs, databases, tables = _neighbourhood(requested)
        arrays = {"catalogs": catalogs, "databases": databases, "tables": tables}
        asking = {"before": _LAST if lock is None else lock, "transaction": transaction, "timeout": timeout}
        rows = self._connection.execute(_SNAPSHOT, arrays | asking).all()
        return LockSnapshot(_grouped(rows), any(row.late for row in rows))

    def insert(self, holder: Holder, requested: Sequence[Component], blocker: Blocker | None) -> int:
        """Adds a lock, granted unless `blocker` is set, and returns its id."""
        values = {
            **holder._asdict(),
            "granted": blocker is None,
            "blocked_by": blocker.lock if blocker else None,
            "blocked_by_position": blocker.position if blocker else None,
            "positions": list(range(1, len(requested) + 1)),
            "types": [int(component.type) for component in requested],
            "catalogs": [component.catalog for component in requested],
            "databases": [component.database for component in requested],
            "tables": [component.table for component in requested],
            "partitions": [component.partition for component in requested],
        }
        lock: int = self._connection.execute(_INSERT, values).scalars().all()[0]
        return lock

    def find(self, lock: int, timeout: timedelta) -> ExistingLock | None:
        """Returns a lock that did not miss its heartbeat, or None."""
        query = select(locks.c.id, locks.c.transaction_id, _GRANTED.label("granted"), *_COMPONENT).select_from(_JOINED)
        rows = self._connection.execute(
            query.where(locks.c.id == lock, _alive(timeout)).order_by(lock_components.c.position)
        ).all()
        return next(iter(_grouped(rows)), None)

    def renew(self, lock: int, timeout: timedelta) -> bool:
        """Records a heartbeat of a lock; False if it does not exist or its heartbeat is late.

        A lock of a transaction lives as long as the transaction.
        """
        return self._renew(lock, timeout, {})

    def set_blocker(self, lock: int, blocker: Blocker | None, timeout: timedelta) -> bool:
        """Grants a waiting lock, or records its blocker. This is also a heartbeat, with the result of `renew`."""
        return self._renew(
            lock,
            timeout,
            {
                "acquired_at": None if blocker else now(),
                "blocked_by": blocker.lock if blocker else None,
                "blocked_by_position": blocker.position if blocker else None,
            },
        )

    def release(self, lock: int, timeout: timedelta) -> bool:
        """Deletes a lock; False if none was deleted. Locks granted to a live transaction are kept until it ends."""
        own = or_(locks.c.transaction_id.is_(None), locks.c.acquired_at.is_(None), ~_alive(timeout))
        statement = delete(locks).where(locks.c.id == lock, own).returning(locks.c.id)
        return self._connection.execute(statement).scalar() is not None

    def delete_of(self, ended: Sequence[int]) -> None:
        self._connection.execute(delete(locks).where(is_among(locks.c.transaction_id, ended)))

    def delete_expired(self, timeout: timedelta) -> list[int]:
        """Deletes locks without a transaction whose heartbeat is late, and returns their ids.

        Locks the rows by ascending id, so that two servers do not deadlock. A concurrent heartbeat is waited for, and
        saves its lock.
        """
        late = and_(locks.c.transaction_id.is_(None), locks.c.heartbeat_at < ago(timeout))
        query = select(locks.c.id).where(late).order_by(locks.c.id).with_for_update()
        expired = list(self._connection.execute(query).scalars())
        if expired:
            self._connection.execute(delete(locks).where(is_among(locks.c.id, expired)))
        return expired

    def list_alive(self, timeout: timedelta, **wanted: Any) -> list[LockEntry]:
        """Returns the locks with a recent heartbeat. `wanted`: values of columns; None for any."""
        columns = {**locks.c, **lock_components.c}
        heartbeat_at = transactions.c.heartbeat_at
        query = (
            select(locks, lock_components.c.position, *_COMPONENT, heartbeat_at.label("transaction_heartbeat_at"))
            .select_from(_JOINED.outerjoin(transactions, transactions.c.id == locks.c.transaction_id))
            .where(_alive(timeout))
            .where(*(columns[name] == value for name, value in wanted.items() if value is not None))
        )
        return [_entry(row) for row in self._connection.execute(query)]

    def _renew(self, lock: int, timeout: timedelta, changes: dict[str, Any]) -> bool:
        renewed = {"heartbeat_at": now(), "heartbeat_count": locks.c.heartbeat_count + 1}
        statement = (
            update(locks).where(locks.c.id == lock, _alive(timeout)).values(renewed | changes).returning(locks.c.id)
        )
        return self._connection.execute(statement).scalar() is not None


def _buckets(objects: Iterable[Component | TableName]) -> list[int]:
    """Returns the numbers of the advisory locks of the objects' databases, in ascending order."""
    names = {f"{each.catalog}.{each.database}" for each in objects}
    return sorted({crc32(name.encode(errors="replace")) % _BUCKETS for name in names})


def _alive(timeout: timedelta) -> ColumnElement[bool]:
    """Returns the condition that a lock, or its transaction, had its heartbeat in time."""
    owner = transactions.alias("owner")
    own = and_(locks.c.transaction_id.is_(None), locks.c.heartbeat_at >= ago(timeout))
    inherited = exists().where(
        owner.c.id == locks.c.transaction_id, owner.c.state == OPEN, owner.c.heartbeat_at >= ago(timeout)
    )
    return or_(own, inherited)


def _neighbourhood(requested: Iterable[Component]) -> tuple[list[str], list[str], list[str | None]]:
    """Returns parallel lists of catalogs, databases and tables; no table stands for a whole database."""
    by_database: dict[tuple[str, str], set[str | None]] = {}
    for component in requested:
        by_database.setdefault((component.catalog, component.database), set()).add(component.table)
    wanted: list[tuple[str, str, str | None]] = []
    for (catalog, database), tables in by_database.items():
        few = tables if len(tables) <= _MANY_TABLES and None not in tables else {None}
        wanted += [(catalog, database, table) for table in few]
    return [row[0] for row in wanted], [row[1] for row in wanted], [row[2] for row in wanted]


def _grouped(rows: Sequence[Row[Any]]) -> list[ExistingLock]:
    return [
        ExistingLock(first.id, first.transaction_id, first.granted, [_component(row[-5:]) for row in rows_of_lock])
        for rows_of_lock in (list(iterator) for _, iterator in groupby(rows, key=attrgetter("id")))
        for first in rows_of_lock[:1]
    ]


def _component(values: Sequence[Any]) -> Component:
    return Component(LockType(values[0]), *values[1:])


def _entry(row: Row[Any]) -> LockEntry:
    return LockEntry(
        row.id,
        row.position,
        Holder(row.transaction_id, row.user_name, row.host_name, row.agent),
        _component((row.type, row.catalog, row.database, row.table_name, row.partition_name)),
        row.acquired_at,
        row.transaction_heartbeat_at or row.heartbeat_at,
        row.heartbeat_count,
        row.blocked_by,
        row.blocked_by_position,
    )
