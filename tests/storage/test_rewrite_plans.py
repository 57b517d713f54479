"""A statement that rewrites many partitions, before PostgreSQL has analyzed the journal."""

from __future__ import annotations

import pytest
from sqlalchemy import TextClause, text

from metastore.app.worker import Application
from metastore.storage.repositories import rewrites
from metastore.storage.repositories.rewrites import LOOK
from tests.fixtures.application import called
from tests.wire.builders import table
from thrift_idl.gen.hive_metastore.ttypes import Database

MANY = (
    "INSERT INTO file_operations (kind, location, places, table_id, root, decided_at, reason, query_id, rewritten_at) "
    "SELECT 'remove', 'file:/w/t/dt=' || n, '{}', 1, 'file:/w/t', now(), 'replaced', '', 'file:/w/t/_versions/1/dt=' "
    "|| n FROM generate_series(1, 20000) AS n"
)


@pytest.mark.parametrize("statement", [rewrites._FOLLOW, rewrites._ADD], ids=["follow", "add"])
def test_the_replaced_locations_of_a_table_are_not_read_for_each_one(
    application: Application, statement: TextClause
) -> None:
    called(application, "create_database", Database(name="db"))
    called(application, "create_table", table("db", "t", [("dt", "string")]))
    names = [f"file:/w/t/dt={number}" for number in range(1000)]
    values = {"table_id": 1, "sources": names, "targets": names, "files": names, "look": LOOK}
    with application._store._engine.connect() as connection:
        connection.execute(text(MANY))
        lines = connection.execute(text(f"EXPLAIN {statement.text}"), values).scalars().all()
    plan = "\n".join(lines)
    assert "Join Filter" not in plan, plan
    assert not [line for line in lines if "Index Cond" in line and "table_id" in line], plan
