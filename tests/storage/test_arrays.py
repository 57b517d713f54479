"""Lists with hundreds of thousands of elements, which psycopg2 would format one by one without releasing the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from metastore.app.worker import Application
from metastore.domain.names import TableName
from metastore.storage.unit_of_work import UnitOfWork
from tests.fixtures.statements import statements_of

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
    with statements_of(application._store._engine) as statements, application._store.transaction() as unit:
        assert not work(unit)
    sent = [value for each in statements for value in each.parameters.values()]
    assert sent
    assert not [value for value in sent if isinstance(value, list)]
    assert len(sent) < len(MANY)
