"""The compaction queue and its history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import Executable, func, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert

from metastore.domain.compactions import ABORTED, ACTIVE, ENDED, INITIATED, READY_FOR_CLEANING, SUCCEEDED, WORKING
from metastore.domain.names import TableName
from metastore.storage.postgres.arrays import is_among
from metastore.storage.postgres.clock import ago, now
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.table_keys import named, of_table
from metastore.storage.schema.transactions import compactions

_ONE_EACH: Final = text("DISTINCT ON (compactions.partition_name)")  # in the form that SQLAlchemy 2.0 and 2.1 accept


class StoredCompaction(NamedTuple):
    """A compaction: requested, running or finished."""

    id: int
    catalog: str
    database: str
    table: str
    partition: str | None
    type: int
    state: str
    properties: str | None
    run_as: str | None
    worker: str | None
    worker_version: str | None
    initiator: str | None
    initiator_version: str | None
    pool: str | None
    bucket_count: int | None
    order_by: str | None
    job: str | None
    error: str | None
    highest_write_id: int | None
    transaction: int | None
    next_transaction: int | None
    enqueued_at: datetime
    started_at: datetime | None
    committed_at: datetime | None
    ended_at: datetime | None


_POOL_TIMEOUT = timedelta(hours=12)  # Hive's hive.compactor.worker.pool.timeout: any worker may take a request then

_PURGE = text("""
    DELETE FROM compactions USING (
        SELECT id, row_number() OVER (
            PARTITION BY catalog, database, table_name, partition_name, state ORDER BY id DESC
        ) AS age
        FROM compactions WHERE state = ANY(:ended)
    ) AS old
    WHERE compactions.id = old.id AND old.age > :kept
""")

_OF_EXISTING_TABLES: Final = compactions.c.database != ""  # requests of dropped tables wait until those are restored


class Compactions(Repository):
    """Queries on compactions."""

    def request(self, table: TableName, partition: str | None, values: dict[str, Any]) -> int | None:
        """Adds a request, and returns its id; None if one is already requested or running for the object.

        `values`: other columns.
        """
        row = values | named(table) | {"partition_name": partition, "state": INITIATED, "enqueued_at": now()}
        statement = insert(compactions).values(row).on_conflict_do_nothing().returning(compactions.c.id)
        return self._connection.execute(statement).scalar()

    def find_equivalent(
        self, table: TableName, partition: str | None, highest_write_id: int
    ) -> StoredCompaction | None:
        """Returns the compaction that makes another one of the object unnecessary, or None.

        It is requested or running, or has compacted everything up to that write id.
        """
        done = (compactions.c.state == READY_FOR_CLEANING) & (compactions.c.highest_write_id == highest_write_id)
        same = compactions.c.partition_name.is_not_distinct_from(partition)
        active_or_done = or_(compactions.c.state.in_(ACTIVE), done)
        query = select(compactions).where(of_table(compactions, table), same, active_or_done)
        return self._first(query.order_by(compactions.c.id).limit(1))

    def take(self, pool: str | None, worker: str | None, version: str | None) -> StoredCompaction | None:
        """Assigns the oldest request to a worker. No request is assigned twice (SKIP LOCKED).

        `pool`: None for requests without a pool, or whose pool did not take them in time.
        """
        unassigned = or_(compactions.c.pool.is_(None), compactions.c.enqueued_at < ago(_POOL_TIMEOUT))
        query = select(compactions.c.id).where(compactions.c.state == INITIATED, _OF_EXISTING_TABLES)
        query = query.where(compactions.c.pool == pool if pool else unassigned).order_by(compactions.c.id).limit(1)
        chosen = query.with_for_update(skip_locked=True).scalar_subquery()
        taken = {"state": WORKING, "worker": worker, "worker_version": version, "started_at": now()}
        statement = update(compactions).where(compactions.c.id == chosen).values(taken)
        return self._first(statement.returning(compactions))

    def change(self, compaction: int, **values: Any) -> bool:
        """Updates columns of an unfinished compaction; False if there is none of this id."""
        chosen = (compactions.c.id == compaction) & compactions.c.state.not_in(ENDED)
        statement = update(compactions).where(chosen).values(values).returning(compactions.c.id)
        return self._connection.execute(statement).scalar() is not None

    def end(self, compaction: int, state: str, error: str | None = None) -> StoredCompaction | None:
        """Finishes a compaction, and returns it; None if it is finished already."""
        chosen = (compactions.c.id == compaction) & compactions.c.state.not_in(ENDED)
        ended: dict[str, Any] = {"state": state, "ended_at": now()} | ({"error": error} if error is not None else {})
        return self._first(update(compactions).where(chosen).values(ended).returning(compactions))

    def record(self, table: TableName, partition: str | None, kind: int, state: str, error: str | None) -> None:
        """Adds a finished compaction that was never requested."""
        moment = {"enqueued_at": now(), "started_at": now(), "ended_at": now()}
        row = {"partition_name": partition, "type": kind, "state": state, "error": error, **moment, **named(table)}
        self._connection.execute(insert(compactions).values(row))

    def abort(self, ids: Sequence[int], reason: str) -> list[int]:
        """Aborts requests that no worker has taken, and returns their ids."""
        chosen = is_among(compactions.c.id, ids) & (compactions.c.state == INITIATED)
        statement = update(compactions).where(chosen).values(state=ABORTED, ended_at=now(), error=reason)
        return list(self._connection.execute(statement.returning(compactions.c.id)).scalars())

    def states(self, ids: Sequence[int]) -> dict[int, str]:
        """Returns the states of compactions, by id."""
        query = select(compactions.c.id, compactions.c.state)
        rows = self._connection.execute(query.where(is_among(compactions.c.id, ids)))
        return {row.id: row.state for row in rows}

    def committed(self, transaction: int, commit_id: int) -> None:
        """Records a compaction's commit. Transactions up to `commit_id` may still read the replaced files."""
        done = {"next_transaction_id": commit_id, "committed_at": now()}
        self._connection.execute(update(compactions).where(compactions.c.transaction_id == transaction).values(done))

    def select(
        self, wanted: dict[str, Any], order: Sequence[tuple[str, bool]], limit: int | None
    ) -> list[StoredCompaction]:
        """Lists compactions.

        Args:
            wanted: values of columns, None for any.
            order: columns, and whether they descend; empty for the queue first, then the latest.
            limit: None for all.
        """
        query = select(compactions).where(
            _OF_EXISTING_TABLES, *(compactions.c[name] == value for name, value in wanted.items() if value is not None)
        )
        latest = func.greatest(compactions.c.ended_at, compactions.c.started_at, compactions.c.committed_at)
        for name, descending in order:
            query = query.order_by(compactions.c[name].desc() if descending else compactions.c[name])
        if not order:
            query = query.order_by(latest.desc().nulls_first(), compactions.c.enqueued_at)
        rows = self._connection.execute(query.order_by(compactions.c.id).limit(limit))
        return [StoredCompaction._make(row) for row in rows]

    def latest(self, table: TableName, partitions: Sequence[str], after: int | None) -> list[StoredCompaction]:
        """Returns the last successful compaction of the table or of each partition. Empty `partitions`: of all."""
        well = compactions.c.state.in_((SUCCEEDED, READY_FOR_CLEANING))
        query = select(compactions).where(of_table(compactions, table), well).prefix_with(_ONE_EACH)
        if partitions:
            query = query.where(compactions.c.partition_name.in_(partitions))
        if after is not None:
            query = query.where(compactions.c.id > after)
        rows = self._connection.execute(query.order_by(compactions.c.partition_name, compactions.c.id.desc())).all()
        return sorted((StoredCompaction._make(row) for row in rows), key=lambda compaction: -compaction.id)

    def purge(self, kept: int) -> None:
        """Deletes all but the last `kept` finished compactions of each object and state."""
        self._connection.execute(_PURGE, {"ended": list(ENDED), "kept": kept})

    def _first(self, query: Executable) -> StoredCompaction | None:
        row = self._connection.execute(query).first()
        return StoredCompaction._make(row) if row else None
