"""All metastores are dead: a statement fails with one line that names the addresses, and works when one is back. In a
session, over Spark Connect, and over JDBC.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from tests.fixtures.json_program import JsonProgram
from tests.fixtures.real_hive import free_port
from tests.fixtures.server import running
from tests.fixtures.spark_servers import SMALL, connect_settings
from tests.fixtures.sparks import python_of_client

ASKED = """
import json, sys
import spark_client

conf = {"spark.ui.enabled": False, **dict(pair.split("=") for pair in sys.argv[4:])}
servers = spark_client.serve(
    sys.argv[1], connect=int(sys.argv[2]), thrift=int(sys.argv[3]), master="local[1]", conf=conf
)
spark, java = servers.session, servers.session._jvm

def jdbc(text):
    try:
        address = f"{servers.thrift}/default"
        connection = java.org.apache.hive.jdbc.HiveDriver().connect(address, java.java.util.Properties())
        rows = connection.createStatement().executeQuery(text)
        found = [rows.getString(1) for _ in iter(rows.next, False)]
        connection.close()
        return found
    except Exception as error:
        raise OSError(error.java_exception.getMessage()) from None

spark.sql("CREATE TABLE t (x INT) PARTITIONED BY (p INT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES STORED AS PARQUET")
spark.sql("INSERT INTO t VALUES (1, 1), (2, 1)")
spark.range(3).createOrReplaceTempView("three")
alive = [lambda: spark.sql("SELECT * FROM t").collect(), lambda: jdbc("SELECT * FROM t")]
asked = [
    *alive,
    lambda: spark.sql("SELECT * FROM t WHERE x IN (SELECT x FROM t)").collect(),
    lambda: spark.table("t").count(),
    lambda: spark.sql("INSERT INTO t VALUES (3, 1)"),
    lambda: spark.sql("CREATE TABLE u (x INT)"),
    lambda: spark.sql("CREATE TABLE u (x INT) SKEWED BY (x) ON (1) STORED AS PARQUET"),
    lambda: spark.sql("ALTER TABLE t NOT SKEWED"),
    lambda: spark.sql("DROP TABLE t"),
    lambda: spark.sql("SHOW TABLES").collect(),
    lambda: spark.sql("CREATE DATABASE d"),
    lambda: spark_client.write(spark.sql("SELECT 1, 1")).into("t").append(),
    lambda: jdbc("SHOW TABLES"),
    lambda: jdbc("INSERT INTO t VALUES (3, 1)"),
]
print("ready", flush=True)
for line in sys.stdin:
    told = []
    for ask in asked if json.loads(line) == "dead" else alive:
        try:
            found = ask()
            told.append(["done", len(found) if isinstance(found, list) else 0])
        except Exception as error:
            told.append([type(error).__name__, str(error)])
    told.append(["view", spark.sql("SELECT * FROM three").count(), spark.sql("SELECT 1").count()])
    print(json.dumps(told), flush=True)
"""


REMOTE = """
import json, sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote(sys.argv[1]).create()
print("ready", spark.sql("SELECT * FROM t").count(), flush=True)
for _ in sys.stdin:
    told = []
    for text in ("SELECT * FROM t", "INSERT INTO t VALUES (3, 1)", "CREATE TABLE u (x INT)", "DROP TABLE t"):
        try:
            told.append(["done", len(spark.sql(text).collect())])
        except Exception as error:
            told.append([type(error).__name__, str(error)])
        if told[0][0] == "done":
            break
    print(json.dumps(told), flush=True)
"""


@pytest.mark.long
@pytest.mark.timeout(600)
def test_all_calls_to_dead_servers(database_url: str, tmp_path: Path) -> None:
    client = python_of_client()
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        dead = f"thrift://127.0.0.1:{nobody.getsockname()[1]}"
        connect, thrift = free_port(), free_port()
        with running(database_url, tmp_path) as server:
            port, addresses = str(server.port), f"{dead},{server.uri}"
            conf = (*SMALL, *connect_settings())
            driver = JsonProgram(
                sys.executable, "-W", "ignore", "-c", ASKED, addresses, connect, thrift, *conf, folder=tmp_path
            )
            assert driver.line() == "ready\n"
            (program := tmp_path / "remote.py").write_text(REMOTE)  # PySpark runs code of -c as doctests
            remote = JsonProgram(client, "-P", program, f"sc://127.0.0.1:{connect}", folder=tmp_path)
            assert remote.line() == "ready 2\n"
        *told, view = driver.ask("dead")
        assert view == ["view", 3, 1]
        assert {kind for kind, text in told if not text.startswith("no metastore answer")} == {"OSError"}  # of JDBC
        for kind, text in (*told, *remote.ask("dead")):
            assert len(text.splitlines()) == 1, text
            assert "no metastore answer" in text, (kind, text)
            assert dead in text
            assert server.uri in text
        with running(database_url, tmp_path, "--port", port):
            assert driver.ask("back")[:2] == [["done", 2], ["done", 2]]
            assert remote.ask("back") == [["done", 2]]
            assert (remote.end(), driver.end()) == (0, 0)
