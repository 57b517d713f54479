"""Open writes of dead writers: they are aborted, their files are removed, and then their rows are deleted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, func, or_, select, update

from metastore.storage.postgres import clock
from metastore.storage.postgres.arrays import is_among, is_text_among
from metastore.storage.postgres.clock import ago, now
from metastore.storage.queries.ended_writes import ABANDONED, ending
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.catalog import tables
from metastore.storage.schema.files import open_write_locations, open_write_renames, open_writes

_COLUMNS = open_writes.c
# Renewing and aborting update the same row, so the second one waits and then sees the change of the first.
_DEAD = or_(_COLUMNS.lease_ends_at < now(), _COLUMNS.table_id.is_(None), _COLUMNS.aborted_at.is_not(None))

# The files of writes to a dropped table are in the trash with it, until it is restored or purged.
_OF_DROPPED = select(tables.c.id).where(tables.c.id == _COLUMNS.table_id, tables.c.database_id.is_(None)).exists()

_FORGET = ending("query_id = :query_id")


class DeadWrite(NamedTuple):
    """A write that will never be published.

    Locations are canonical; `renames` are pairs of source and target. `within_grace`: it was aborted only recently.
    """

    query_id: str
    table_id: int | None
    roots: list[str]
    locations: list[str]
    renames: list[tuple[str, str]]
    swept: bool
    within_grace: bool


class DeadWrites(Repository):
    """Queries on dead writes. `table_ids`: None for all tables, including dropped ones."""

    def find(self, table_ids: Sequence[int] | None) -> list[str]:
        """Returns the query ids of writes that were aborted, whose lease has expired, or whose table was purged.

        Leaves out writes to dropped tables that can be restored: their files are in the trash.
        """
        query = select(_COLUMNS.query_id).where(_DEAD, ~_OF_DROPPED, *_of(table_ids)).order_by(_COLUMNS.query_id)
        return list(self._connection.execute(query).scalars())

    def alive(self, table_ids: Sequence[int] | None, grace: timedelta) -> int:
        """Counts the writes that are not dead, or have been dead for less than `grace`."""
        query = select(func.count()).select_from(open_writes).where(or_(~_DEAD, _young(grace)), *_of(table_ids))
        count: int = self._connection.execute(query).scalar_one()
        return count

    def abort(self, query_id: str) -> None:
        """Aborts a write, unless it was renewed meanwhile: it can no longer be renewed or published."""
        statement = update(open_writes).where(_COLUMNS.query_id == query_id, _DEAD, _COLUMNS.aborted_at.is_(None))
        self._connection.execute(statement.values(aborted_at=now(), lease_ends_at=now()))

    def claim(self, query_id: str) -> bool:
        """Claims an aborted write for one lease, or until `release`; False if another server has claimed it."""
        free = (_COLUMNS.query_id == query_id) & _COLUMNS.aborted_at.is_not(None) & (_COLUMNS.lease_ends_at <= now())
        statement = update(open_writes).where(free).values(lease_ends_at=now() + clock.LEASE)
        return self._connection.execute(statement).rowcount == 1

    def release(self, query_id: str) -> None:
        self._connection.execute(update(open_writes).where(_COLUMNS.query_id == query_id).values(lease_ends_at=now()))

    def read(self, query_id: str, grace: timedelta) -> DeadWrite | None:
        """Returns a dead write, or None (3 statements)."""
        columns = (_COLUMNS.query_id, _COLUMNS.table_id, _COLUMNS.roots, _COLUMNS.swept, _young(grace).label("young"))
        query = select(*columns).where(_COLUMNS.query_id == query_id, _DEAD)
        row = self._connection.execute(query).one_or_none()
        if row is None:
            return None
        details = self._locations(query_id), self._renames(query_id)
        return DeadWrite(query_id, row.table_id, row.roots, *details, row.swept, row.young)

    def known(self, query_ids: Sequence[str]) -> set[str]:
        """Returns the ids among these that belong to open writes, dead or alive."""
        query = select(_COLUMNS.query_id).where(is_text_among(_COLUMNS.query_id, query_ids))
        return set(self._connection.execute(query).scalars())

    def swept(self, query_id: str) -> None:
        """Records that the files of a write are removed.

        The row stays, so that files which its writer still creates remain hidden, but its locations are free for other
        writes.
        """
        self._connection.execute(update(open_writes).where(_COLUMNS.query_id == query_id).values(swept=True))
        of_it = open_write_locations.c.query_id == query_id
        self._connection.execute(update(open_write_locations).where(of_it).values(owned=False))

    def forget(self, query_id: str) -> None:
        """Deletes a write whose files are removed."""
        self._connection.execute(_FORGET, {"query_id": query_id, "outcome": ABANDONED})

    def _locations(self, query_id: str) -> list[str]:
        columns = open_write_locations.c
        query = select(columns.location).where(columns.query_id == query_id).order_by(columns.location)
        return list(self._connection.execute(query).scalars())

    def _renames(self, query_id: str) -> list[tuple[str, str]]:
        columns = open_write_renames.c
        query = select(columns.source, columns.target).where(columns.query_id == query_id).order_by(columns.position)
        return [(row.source, row.target) for row in self._connection.execute(query)]


def _young(grace: timedelta) -> ColumnElement[bool]:
    """Returns the condition that a write was aborted less than `grace` ago, or is not aborted yet."""
    return func.coalesce(_COLUMNS.aborted_at, now()) > ago(grace)


def _of(table_ids: Sequence[int] | None) -> list[ColumnElement[bool]]:
    return [] if table_ids is None else [is_among(_COLUMNS.table_id, table_ids)]
