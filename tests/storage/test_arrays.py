"""Lists with hundreds of thousands of elements, which psycopg2 would format one by one without releasing the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event

from metastore.app import Application
from metastore.domain.names import TableName
from metastore.storage.unit_of_work import UnitOfWork

MANY = range(1, 1001)
TABLE = TableName("hive", "default", "t")


@pytest.mark.parametrize(
    "work",
    [
        lambda work: work.transactions.abort(MANY),
        lambda work: work.locks.delete_of(MANY),
        lambda work: work.write_ids.of_transactions(TABLE, MANY),
        lambda work: work.column_statistics.delete(1, MANY, None, None),
        lambda work: work.tables.metas("hive", None, None, [f"KIND{number}" for number in MANY]),
    ],
)
def test_they_travel_as_one_text(application: Application, work: Callable[[UnitOfWork], Any]) -> None:
    sent: list[Any] = []
    engine = application._store._engine

    def note(_connection: Any, _cursor: Any, _statement: str, parameters: Any, *_: Any) -> None:
        sent.extend(parameters.values())

    event.listen(engine, "before_cursor_execute", note)
    try:
        with application._store.transaction() as unit:
            assert not work(unit)
    finally:
        event.remove(engine, "before_cursor_execute", note)
    assert sent
    assert not [value for value in sent if isinstance(value, list)]
    assert len(sent) < len(MANY)
