"""Every metastore dead: what is asked answers in one line that names the addresses, and goes on when one is back."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.server import running

ASKED = """
import json, sys
import spark_client

conf = {"spark.ui.enabled": False, "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": 2}
spark = spark_client.session(sys.argv[1], master="local[1]", conf=conf)
spark.sql("CREATE TABLE t (x INT) PARTITIONED BY (p INT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES STORED AS PARQUET")
spark.sql("INSERT INTO t VALUES (1, 1), (2, 1)")
spark.range(3).createOrReplaceTempView("three")
asked = [
    lambda: spark.sql("SELECT * FROM t").collect(),
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
]
print("ready", flush=True)
for line in sys.stdin:
    told = []
    for ask in asked if line.strip() == "dead" else asked[:1]:
        try:
            found = ask()
            told.append(["done", len(found) if isinstance(found, list) else 0])
        except Exception as error:
            told.append([type(error).__name__, str(error)])
    told.append(["view", spark.sql("SELECT * FROM three").count(), spark.sql("SELECT 1").count()])
    print(json.dumps(told), flush=True)
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_that_is_asked_of_dead_servers(database_url: str, tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        dead = f"thrift://127.0.0.1:{nobody.getsockname()[1]}"
        with running(database_url, tmp_path) as server:
            port = str(server.port)
            addresses = f"{dead},{server.uri}"
            asking = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-c", ASKED, addresses],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=tmp_path,
            )
            assert asking.stdin is not None
            assert asking.stdout is not None
            assert asking.stdout.readline() == "ready\n"
        asking.stdin.write("dead\n")
        asking.stdin.flush()
        *told, view = json.loads(asking.stdout.readline())
        assert view == ["view", 3, 1]
        for kind, text in told:
            assert len(text.splitlines()) == 1, text
            assert text.startswith("no metastore answer"), (kind, text)
            assert dead in text
            assert server.uri in text
        with running(database_url, tmp_path, "--port", port):
            asking.stdin.write("back\n")
            asking.stdin.flush()
            assert json.loads(asking.stdout.readline())[0] == ["done", 2]
            asking.stdin.close()
            asking.stdout.close()
            assert asking.wait(60) == 0
