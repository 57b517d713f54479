"""Statements that read rows in several jobs, if an executor ends in between and the rows differ when computed again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql import types as T  # noqa: N812 - Spark's own custom

from spark_client.context import Context
from spark_client.errors import WriteFailedError
from spark_client.jvm.plans import column_attributes
from spark_client.jvm.repeatable import is_repeatable
from spark_client.write.change import Change, Clause
from spark_client.write.insert import insert_into
from spark_client.write.row_changes import change_rows
from tests.fixtures.server import Server
from tests.spark.tables import files_below, make_table

ROOT = Path(__file__).parents[2]

REPEATABLE = [
    "SELECT id, id % 3 FROM range(9) WHERE id > 2",
    "SELECT count(*), max(id), sum(id) FROM range(9) GROUP BY id % 2",
    "SELECT * FROM VALUES (1), (2) AS v(a) JOIN range(3) ON a = id ORDER BY a",
    "WITH c AS (SELECT id FROM range(3)) SELECT * FROM c UNION ALL SELECT * FROM c",
    "SELECT id FROM range(9) WHERE id IN (SELECT a FROM VALUES (1) AS v(a))",
]
UNCERTAIN = [
    "SELECT uuid()",
    "SELECT id FROM range(9) WHERE rand() < 0.5",
    "SELECT row_number() OVER (PARTITION BY id % 2 ORDER BY 1) FROM range(9)",
    "SELECT id FROM range(9) LIMIT 3",
    "SELECT first(id) FROM range(9)",
    "SELECT max_by(id, 1) FROM range(9)",
    "SELECT sum(CAST(id AS DOUBLE)) FROM range(9)",
    "SELECT id FROM range(9) WHERE id IN (SELECT id FROM range(9) WHERE rand() < 0.5)",
    "SELECT * FROM (SELECT id FROM range(9)) TABLESAMPLE (50 PERCENT)",
]


@pytest.mark.parametrize("query", REPEATABLE)
def test_queries_whose_rows_are_the_same_each_time(spark: SparkSession, query: str) -> None:
    assert is_repeatable(spark.sql(query))


@pytest.mark.parametrize("query", UNCERTAIN)
def test_queries_whose_rows_may_differ(spark: SparkSession, query: str) -> None:
    assert not is_repeatable(spark.sql(query))


def test_functions_of_users_and_checkpoints(spark: SparkSession) -> None:
    rows = spark.range(3).select(F.udf(lambda n: n, T.LongType())("id"))
    assert not is_repeatable(rows)
    assert is_repeatable(rows.localCheckpoint())
    assert not is_repeatable(spark.range(5).dropDuplicates())


def forget(context: Context) -> None:
    """Removes all stored blocks, as the end of the executors does."""
    java: Any = context.spark.sparkContext._jsc
    for number in list(java.getPersistentRDDs()):
        java.sc().unpersistRDD(number, True)


def merge(context: Context, name: str, source: DataFrame) -> None:
    target = context.spark.table(f"default.{name}")
    own, new = column_attributes(target), column_attributes(source)
    updated = {"x": new["x"], "m": new["m"]}
    clauses = [
        Clause("matched", None, updated),
        Clause("not_matched", None, {"id": new["id"], **updated}),
    ]

    def on_step(step: str) -> None:
        if step == "planned":
            forget(context)

    lossy = Context(context.spark, context.metastore, on_step)
    change_rows(lossy, Change(f"default.{name}", target, clauses, source, own["id"] == new["id"]))


@pytest.fixture
def name(context: Context, table_name: str) -> str:
    """A table with 20 rows in two partitions."""
    make_table(context.metastore, table_name, "id bigint, x bigint", "m int")
    rows = context.spark.range(0, 40, 2).selectExpr("id", "id AS x", "CAST(id % 4 AS INT) AS m")
    insert_into(context, f"default.{table_name}", rows)
    return table_name


def test_a_source_that_differs_each_time(context: Context, name: str) -> None:
    source = context.spark.range(40).selectExpr("id", "id AS x", "CAST(rand() * 9 AS INT) AS m")
    before, location = context.spark.table(name).collect(), context.metastore.get_table("default", name).location or ""
    files = files_below(location)
    with pytest.raises(WriteFailedError, match=r"changed nothing: .*(checkpoint|CHECKPOINT)"):
        merge(context, name, source)
    assert sorted(context.spark.table(name).collect()) == sorted(before)
    assert files_below(location) == files


def test_a_source_that_is_the_same_each_time(context: Context, name: str) -> None:
    source = context.spark.range(40).selectExpr("id", "id + 1 AS x", "CAST(id % 9 AS INT) AS m")
    merge(context, name, source)
    assert sorted(context.spark.table(name).collect()) == sorted((n, n + 1, n % 9) for n in range(40))


def test_each_row_goes_to_one_partition(spark: SparkSession, context: Context, name: str) -> None:
    """Rows move between partitions that are rewritten and others that are appended to, in two jobs."""
    spark.sql(f"UPDATE {name} SET m = CAST(rand() * 9 AS INT)")
    assert sorted(row[0] for row in spark.table(name).collect()) == list(range(0, 40, 2))
    spark.sql(
        f"MERGE INTO {name} t USING (SELECT id FROM range(40)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET m = CAST(rand() * 9 AS INT) "
        "WHEN NOT MATCHED AND rand() < 0.5 THEN INSERT (id, m) VALUES (s.id, CAST(rand() * 9 AS INT)) "
        "WHEN NOT MATCHED THEN INSERT (id, m) VALUES (s.id, CAST(rand() * 9 AS INT))"
    )
    assert sorted(row[0] for row in spark.table(name).collect()) == list(range(40))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_an_executor_is_killed_between_the_jobs_of_a_merge(
    metastore_server: Server, tmp_path: Path, table_name: str
) -> None:
    """Each of the 200 source rows arrives once, or the statement fails and changes nothing."""
    package, program = Path(pyspark.__file__).parent, ROOT / "tests/spark/lost_executors.py"
    command = [sys.executable, str(program), metastore_server.uri, str(tmp_path / "warehouse"), table_name]
    scala = "2.12" if pyspark.__version__ < "4" else "2.13"
    own = {"SPARK_HOME": str(package), "SPARK_SCALA_VERSION": scala, "SPARK_LOCAL_IP": "127.0.0.1"}
    own |= {"SPARK_WORKER_DIR": str(tmp_path / "work"), "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **own}, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr[-4000:]
    seen = json.loads(ran.stdout.splitlines()[-1])
    if "skipped" in seen:
        pytest.skip(f"no cluster of several processes starts here: {seen['skipped']}")
    for kind, outcome in seen.items():
        assert outcome["killed"] == 1, kind
        if outcome["error"]:
            assert outcome["error"].startswith("WriteFailedError: "), kind
            assert (outcome["ids"], set(outcome["x"])) == (list(range(0, 200, 4)), {"old"}), kind
        else:
            assert (outcome["ids"], set(outcome["x"])) == (list(range(200)), {"new"}), kind
    assert seen["certain"]["error"] is None
