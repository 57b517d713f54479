"""Lookups by location before PostgreSQL has analyzed a new table with many partitions."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from metastore.app.worker import Application
from metastore.storage.postgres.arrays import array_literals, number_array_literal
from metastore.storage.postgres.driver import Prepared
from metastore.storage.repositories import locations
from tests.fixtures.application import called
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database

MANY = (
    "INSERT INTO partitions (table_id, name, values, keys, create_time, last_access_time, parameters, descriptor_id, "
    "version, encoded, location) SELECT table_id, n, ARRAY[n], ARRAY[n], 1, 0, parameters, descriptor_id, version, "
    "encoded, 'file:/w/t/dt=' || n FROM partitions CROSS JOIN (SELECT n::text FROM generate_series(1, 20000) AS n) AS i"
)


@pytest.mark.parametrize("query", [locations._OWN, locations._SIBLINGS, locations._OF_TABLES], ids=lambda one: one.name)
def test_the_partitions_of_a_table_are_not_read_for_each_location(application: Application, query: Prepared) -> None:
    called(application, "create_database", Database(name="db"))
    called(application, "create_table", table("db", "t", [("dt", "string")]))
    called(application, "add_partitions", [partition("db", "t", ["a"])])
    texts, spellings = array_literals(zip(*[("file:/w/t/dt=7", "file:/w/t/dt=7")], strict=True))
    values = {"locations": texts, "spellings": spellings, "table_id": 1, "ids": number_array_literal([1])}
    with application._store._engine.connect() as connection:
        connection.execute(text(MANY))
        lines = connection.exec_driver_sql(f"EXPLAIN {query.unprepared}", values).scalars().all()
    assert not [line for line in lines if "Index Cond" in line and "table_id" in line], "\n".join(lines)
