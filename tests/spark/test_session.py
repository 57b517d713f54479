"""How sessions are started, found again and refused."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql import SparkSession

import spark_client
from spark_client import Session
from spark_client.errors import InvalidAddressError, SessionError
from tests.fixtures.server import Server

# A plain session first, then ours beside it; the second after the first has stopped.
BESIDE_ANOTHER = """
import sys
from pyspark.sql import SparkSession
import spark_client

plain = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
for start in range(2):
    ours = spark_client.session(sys.argv[1], conf={"spark.ui.enabled": False, "spark.sql.shuffle.partitions": 3})
    ours.sql(
        f"CREATE TABLE beside_{start} (x INT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES STORED AS PARQUET"
    )
    ours.sql(f"INSERT INTO beside_{start} VALUES (1), (2)")
    report = spark_client.scan_report(ours.table(f"beside_{start}").where("x = 1"))
    print(ours.conf.get("spark.sql.shuffle.partitions"), report.scans[0].kept.directories)
    ours.stop()
"""


def test_another_session_shares_the_metastore_and_has_settings_of_its_own(
    spark: Session, metastore_server: Server, table_name: str
) -> None:
    other = spark_client.session(metastore_server.uri, conf={"spark.sql.shuffle.partitions": 7})
    assert other is not spark
    assert other.conf.get("spark.sql.shuffle.partitions") == "7"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "4"
    other.sql(f"CREATE TABLE {table_name} (x INT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES STORED AS PARQUET")
    spark.sql(f"INSERT INTO {table_name} VALUES (1), (2)")
    assert other.table(table_name).count() == 2
    assert SparkSession.builder.getOrCreate().table(table_name).count() == 2


def test_another_metastore_is_refused_while_spark_runs(spark: Session) -> None:
    with pytest.raises(SessionError, match=r"already runs on the metastore thrift://.*stop\(\)"):
        spark_client.session("thrift://127.0.0.1:1")
    with pytest.raises(InvalidAddressError, match="thrift://host:9083"):
        spark_client.session("http://somewhere")


def test_threads_query_at_the_same_time(spark: Session, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (x INT) PARTITIONED BY (p INT) "
        "SKEWED BY (x) ON (0) STORED AS DIRECTORIES STORED AS PARQUET"
    )
    spark.range(16).selectExpr("CAST(id AS INT) % 2", "CAST(id AS INT) % 4").write.insertInto(table_name)
    with ThreadPoolExecutor(4) as threads:
        counts = list(threads.map(lambda p: spark.table(table_name).where(f"p = {p}").count(), [0, 1, 2, 3] * 3))
    assert counts == [4] * 12


def test_a_session_beside_another_of_spark_s_own_and_after_a_stop(metastore_server: Server) -> None:
    run = subprocess.run(
        [sys.executable, "-c", BESIDE_ANOTHER, metastore_server.uri], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["3", "1", "3", "1"]
