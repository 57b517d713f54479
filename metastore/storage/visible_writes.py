"""Which writes of a table a statement sees: read together with what they wrote, so that both are of one snapshot."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Row, func, select

from metastore.storage.references import VisibleWrites
from metastore.storage.schema import open_writes, write_tokens


def visible_writes(table_id: ColumnElement[int]) -> tuple[ColumnElement[Any], ...]:
    """Columns for `VisibleWrites`, for the select list of any statement."""
    token, last = (
        select(column).where(write_tokens.c.table_id == table_id).scalar_subquery()
        for column in (write_tokens.c.token, write_tokens.c.last_number)
    )
    numbers = select(func.array_agg(open_writes.c.number)).where(open_writes.c.table_id == table_id).scalar_subquery()
    return token.label("write_token"), last.label("highest_write"), numbers.label("open_writes")


def as_read(row: Row[Any]) -> VisibleWrites:
    """From a row that has these columns."""
    return VisibleWrites(row.write_token, row.highest_write, sorted(row.open_writes or ()))
