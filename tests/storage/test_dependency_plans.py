"""Reading the states of few partitions in a catalog with many dependencies."""

from __future__ import annotations

import re

from sqlalchemy import text

from metastore.app.worker import Application
from metastore.storage.repositories import dependencies
from tests.fixtures.application import called
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database

MANY = """
    INSERT INTO partitions (table_id, name, values, keys, create_time, last_access_time, parameters, descriptor_id,
                            version, encoded)
    SELECT table_id, n, ARRAY[n], ARRAY[n], 1, 0, parameters, descriptor_id, version, encoded
    FROM partitions CROSS JOIN (SELECT n::text FROM generate_series(1, 100000) AS n) AS i;
    INSERT INTO table_dependencies (dependent_id, base_id, position, current) VALUES (2, 1, 0, true);
    INSERT INTO partition_dependencies (partition_id, dependent_id, base_id, values, keys)
    SELECT id, 2, 1, values, keys FROM partitions;
    ANALYZE partitions, partition_dependencies
"""


def test_bases_that_are_dependent_themselves_are_found_by_index(application: Application) -> None:
    called(application, "create_database", Database(name="db"))
    for name in ("base", "dependent"):
        called(application, "create_table", table("db", name, [("dt", "string")]))
    called(application, "add_partitions", [partition("db", "dependent", ["a"])])
    with application._store._engine.connect() as connection:
        connection.execute(text(MANY))
        query = f"EXPLAIN {dependencies._PUBLISH.text}"
        lines = connection.execute(text(query), {"ids": list(range(1, 1001))}).scalars().all()
    found = [line for line in lines if re.search(r"Index Cond: \(partition_id = r(_\d+)?\.id\)", line)]
    assert len(found) == 1, "\n".join(lines)
