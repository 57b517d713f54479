"""Transactions of query engines (Hive ACID)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, case, delete, exists, func, literal, select, true, update
from sqlalchemy.dialects.postgresql import insert

from metastore.domain.transactions import ABORTED, COMMITTED, OPEN
from metastore.storage.postgres.arrays import is_among
from metastore.storage.postgres.clock import ago, now
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.transactions import transaction_counter, transactions, write_ids


class StoredTransaction(NamedTuple):
    """A transaction, as SHOW TRANSACTIONS lists it."""

    id: int
    state: str
    type: int
    user: str
    host: str
    agent: str
    started_at: datetime
    heartbeat_at: datetime
    heartbeat_count: int


class State(NamedTuple):
    """State and type of a transaction. It counts as aborted as soon as its heartbeat is late."""

    state: str
    type: int


_LISTED = (
    transactions.c.id,
    transactions.c.state,
    transactions.c.type,
    transactions.c.user_name,
    transactions.c.host_name,
    transactions.c.agent,
    transactions.c.started_at,
    transactions.c.heartbeat_at,
    transactions.c.heartbeat_count,
)
_COUNTER = 1  # the id of the only row


class Transactions(Repository):
    """Queries on transactions. `timeout`: how long one lives without a heartbeat."""

    def reserve(self, new: int = 0) -> int:
        """Reserves `new` ids, and returns the last one. Locks the counter: no other transaction opens or commits."""
        row = insert(transaction_counter).values(id=_COUNTER, last=new)
        last = {"last": transaction_counter.c.last + new}
        statement = row.on_conflict_do_update(index_elements=["id"], set_=last).returning(transaction_counter.c.last)
        counted: int = self._connection.execute(statement).scalar_one()
        return counted

    def seed(self, last: int) -> None:
        """Makes ids continue after `last`."""
        self._connection.execute(update(transaction_counter).values(last=last))

    def open(self, count: int, kind: int, user: str, host: str, agent: str) -> list[int]:
        """Opens transactions, and returns their ids, ascending."""
        last = self.reserve(count)
        ids = func.generate_series(last - count + 1, last)
        values = [*map(literal, (OPEN, kind, user, host, agent)), now(), now(), literal(0)]
        columns = [column.name for column in _LISTED]
        self._connection.execute(insert(transactions).from_select(columns, select(ids, *values)))
        return list(range(last - count + 1, last + 1))

    def has_room(self, user: str, new: int, limit: int, timeout: timedelta) -> bool:
        """Returns whether a user who opens `new` transactions stays within the limit. Reads at most `limit` + 1
        rows."""
        columns = transactions.c
        alive = (columns.state == OPEN) & (columns.user_name == user) & (columns.heartbeat_at > ago(timeout))
        held = select(columns.id).where(alive).limit(limit + 1).subquery()
        count: int = self._connection.execute(select(func.count()).select_from(held)).scalar_one()
        return count + new <= limit

    def unfinished(self) -> tuple[int, list[StoredTransaction]]:
        """Returns the last id, and all open and aborted transactions by id, from one snapshot."""
        unfinished = transactions.c.state.in_((OPEN, ABORTED))
        query = (
            select(transaction_counter.c.last, *_LISTED)
            .select_from(transaction_counter.outerjoin(transactions, unfinished))
            .order_by(transactions.c.id)
        )
        rows = self._connection.execute(query).all()
        return (rows[0].last if rows else 0), [StoredTransaction._make(row[1:]) for row in rows if row.id is not None]

    def lock(self, ids: Sequence[int], timeout: timedelta) -> dict[int, State]:
        """Locks transactions, by ascending id, so that others cannot end them. Returns the states by id."""
        query = select(transactions.c.id, _state(timeout), transactions.c.type).where(_among(ids))
        rows = self._connection.execute(query.order_by(transactions.c.id).with_for_update())
        return {row[0]: State(*row[1:]) for row in rows}

    def held_by(self, user: str | None, ids: Sequence[int]) -> Sequence[int]:
        """Returns the transactions that the user opened. None: all."""
        if user is None:
            return ids
        query = select(transactions.c.id).where(_among(ids), _of_user(user))
        return list(self._connection.execute(query).scalars())

    def heartbeat(
        self, first: int, last: int, timeout: timedelta, user: str | None = None, excluded: Collection[int] = ()
    ) -> list[int]:
        """Records a heartbeat of the open transactions in this range of ids that are not late; returns their ids.

        `user`: who opened them; None: anybody. `excluded`: ids that are not renewed.
        """
        wanted = transactions.c.id.between(first, last) & (transactions.c.state == OPEN) & _of_user(user)
        wanted &= ~_among(sorted(excluded))
        renewed = {"heartbeat_at": now(), "heartbeat_count": transactions.c.heartbeat_count + 1}
        statement = update(transactions).where(wanted, transactions.c.heartbeat_at >= ago(timeout)).values(renewed)
        return list(self._connection.execute(statement.returning(transactions.c.id)).scalars())

    def states(self, first: int, last: int, timeout: timedelta, user: str | None = None) -> dict[int, str]:
        """Returns the states of the existing transactions in this range of ids. `user`: as in `heartbeat`."""
        wanted = transactions.c.id.between(first, last) & _of_user(user)
        query = select(transactions.c.id, _state(timeout)).where(wanted)
        return {row[0]: row[1] for row in self._connection.execute(query)}

    def commit(self, transaction: int, commit_id: int | None) -> None:
        """Commits a transaction. `commit_id`: the last id given out; None if the transaction wrote nothing."""
        ended = {"state": COMMITTED, "commit_id": commit_id, "ended_at": now()}
        self._connection.execute(update(transactions).where(transactions.c.id == transaction).values(ended))

    def abort(self, ids: Sequence[int]) -> list[int]:
        """Aborts those of the transactions that are open, and returns their ids."""
        return self._abort(_among(ids) & (transactions.c.state == OPEN))

    def abort_expired(self, timeout: timedelta) -> list[int]:
        """Aborts transactions without a recent heartbeat, and returns their ids."""
        return self._abort(_late(timeout))

    def purge(self, age: timedelta) -> None:
        """Deletes transactions that ended that long ago and that no reader can ask for.

        These are committed before every open transaction began, or aborted without a write id.
        """
        first_open = select(func.min(transactions.c.id)).where(transactions.c.state == OPEN).scalar_subquery()
        concurrent = func.coalesce(transactions.c.commit_id >= first_open, literal(False))  # noqa: FBT003 - SQL's
        wrote = exists().where(write_ids.c.transaction_id == transactions.c.id)
        needless = case((transactions.c.state == COMMITTED, ~concurrent), else_=~wrote)
        ended_long_ago = transactions.c.ended_at < ago(age)
        self._connection.execute(delete(transactions).where(ended_long_ago, needless))

    def _abort(self, chosen: ColumnElement[bool]) -> list[int]:
        """Aborts transactions, and returns their ids. Locks by ascending id first: servers do not deadlock."""
        query = select(transactions.c.id).where(chosen).order_by(transactions.c.id).with_for_update()
        ids = list(self._connection.execute(query).scalars())
        if ids:
            ended = {"state": ABORTED, "ended_at": now()}
            self._connection.execute(update(transactions).where(_among(ids)).values(ended))
        return ids


def _of_user(user: str | None) -> ColumnElement[bool]:
    return true() if user is None else transactions.c.user_name == user


def _among(ids: Sequence[int]) -> ColumnElement[bool]:
    return is_among(transactions.c.id, ids)


def _late(timeout: timedelta) -> ColumnElement[bool]:
    return (transactions.c.state == OPEN) & (transactions.c.heartbeat_at < ago(timeout))


def _state(timeout: timedelta) -> ColumnElement[str]:
    return case((_late(timeout), ABORTED), else_=transactions.c.state)
