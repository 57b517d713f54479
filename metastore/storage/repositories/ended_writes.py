"""Writes that were published, discarded or abandoned."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import delete, select

from metastore.storage.postgres.clock import ago
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.files import ended_writes


class EndedWrites(Repository):
    """Queries on ended writes. `queries.ended_writes` adds them."""

    def delete_older(self, seconds: float, limit: int) -> int:
        """Deletes older writes, at most `limit`; returns their number."""
        columns = ended_writes.c
        old = select(columns.query_id).where(columns.ended_at < ago(timedelta(seconds=seconds)))
        statement = delete(ended_writes).where(columns.query_id.in_(old.order_by(columns.ended_at).limit(limit)))
        return self._connection.execute(statement).rowcount
