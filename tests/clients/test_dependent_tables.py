"""To a Spark without our library a dependent table is a view, of which it reads exactly the partitions it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clients.test_spark import ROOT
from tests.fixtures.server import Server, connected
from tests.fixtures.sparks import python_of
from tests.wire.builders import columns, descriptor, partition, table
from tests.wire.dependencies.requests import DS, HR, MIN, add_to_dependent, create, depend
from thrift_idl.gen.hive_metastore.ttypes import SerDeInfo

TEXT = {
    "inputFormat": "org.apache.hadoop.mapred.TextInputFormat",
    "outputFormat": "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
    "serdeInfo": SerDeInfo(
        serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", parameters={"field.delim": ","}
    ),
    "cols": columns(("key", "string"), ("value", "string")),
}
ASKER = """
import json, sys
from pyspark.sql import SparkSession
uri, warehouse, *queries = sys.argv[1:]
settings = {"spark.sql.catalogImplementation": "hive", "spark.hadoop.hive.metastore.uris": uri,
            "spark.sql.warehouse.dir": warehouse, "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
builder = SparkSession.builder.master("local[2]")
for key, value in settings.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
def answer(query):
    try:
        return sorted(list(row) for row in spark.sql(query).collect())
    except Exception as error:
        return str(error)
print(json.dumps([answer(query) for query in queries]))
"""


@pytest.fixture
def days(metastore_server: Server, database: str, tmp_path: Path) -> str:
    """T with two hours of the days 1 and 2, T2 with one minute of day 11; Tdep has the days 1 and 11 of them."""
    with connected(metastore_server) as client:
        for name, keys, values in (
            ("t", [DS, HR], [["1", "1"], ["1", "2"], ["2", "1"]]),
            ("t2", [DS, HR, MIN], [["11", "1", "1"]]),
        ):
            sd = descriptor(f"file:{tmp_path / name}", **TEXT)
            client.create_table(table(database, name, keys, sd=sd))
            for value in values:
                folder = tmp_path / name / "-".join(value)
                folder.mkdir(parents=True)
                (folder / "rows").write_text(f"{name},{'-'.join(value)}\n")
                client.add_partition(partition(database, name, value, sd=descriptor(f"file:{folder}", **TEXT)))
        create(client, database, "tdep", "t")
        add_to_dependent(client, database, "tdep", ["1"])
        depend(client, database, "tdep", "t2")
        add_to_dependent(client, database, "tdep", ["11"])
    return database


def asked(python: str, server: Server, database: str) -> list[Any]:
    name = f"{database}.tdep"
    queries = [
        f"SELECT * FROM {name}",
        f"SELECT count(1) FROM {name} WHERE ds = '1'",
        f"SELECT DISTINCT regexp_extract(input_file_name(), '([^/]*)/rows$', 1) FROM {name} WHERE ds = '1'",
        f"SELECT value FROM {name} WHERE ds = 11 OR ds = 2",
        f"DROP DATABASE {database} CASCADE",
        f"CREATE DATABASE {database}",
    ]
    arguments = [python, "-c", ASKER, server.uri, server.warehouse, *queries]
    ran = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    found: list[Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


EXPECTED = [
    [["t", "1-1", "1"], ["t", "1-2", "1"], ["t2", "11-1-1", "11"]],
    [[2]],
    [["1-1"], ["1-2"]],
    [["11-1-1"]],
    [],
    [],
]


def test_the_spark_that_is_installed(metastore_server: Server, days: str) -> None:
    assert asked(sys.executable, metastore_server, days) == EXPECTED


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_spark_3_5(metastore_server: Server, days: str) -> None:
    assert asked(python_of("3.5"), metastore_server, days) == EXPECTED
