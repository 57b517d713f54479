"""The first statements of a user without settings: README's spark-sql command on a server with its defaults."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.test_spark import LAST_JAVA_OF_35, java_version
from tests.fixtures.server import Server, connected
from tests.fixtures.sparks import environment, python_of

STATEMENTS = """
CREATE DATABASE shop;
CREATE TABLE shop.orders (id INT, item STRING) STORED AS PARQUET;
INSERT INTO shop.orders VALUES (1, 'pen'), (2, 'ink');
SELECT concat('row ', id, ' ', item) FROM shop.orders ORDER BY id;
CREATE TABLE shop.events (id INT) PARTITIONED BY (ds STRING) STORED AS ORC;
INSERT INTO shop.events PARTITION (ds = '1') VALUES (3);
SELECT concat('event ', id, ' ', ds) FROM shop.events;
DROP TABLE shop.orders;
CREATE DATABASE gone;
DROP DATABASE gone CASCADE;
"""
pytestmark = pytest.mark.timeout(600)


def home_of_spark(python: str) -> Path:
    program = "import pyspark; print(pyspark.__path__[0])"
    return Path(subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout.strip())


def spark_sql(python: str, uri: str, folder: Path, statements: str) -> subprocess.CompletedProcess[str]:
    """Runs README's command in a directory of the user's."""
    home = home_of_spark(python)
    return subprocess.run(
        [
            home / "bin/spark-sql",
            *("--conf", "spark.sql.catalogImplementation=hive"),
            *("--conf", f"spark.hadoop.hive.metastore.uris={uri}"),
            *("-e", statements),
        ],
        cwd=folder,
        env={**environment(), "SPARK_HOME": str(home), "PATH": f"{Path(python).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("version", ["installed", pytest.param("3.5", marks=pytest.mark.long)])
def test_the_first_statements_work_as_typed_and_a_location_elsewhere_names_the_setting(
    version: str, database_url: str, start_metastore: Callable[..., Server], tmp_path: Path
) -> None:
    """One program runs all statements, because its start takes longer. The last one fails."""
    if version == "3.5" and java_version() > LAST_JAVA_OF_35:
        pytest.skip(f"Spark 3.5 runs on Java {LAST_JAVA_OF_35} at most, and Java {java_version()} is installed")
    server = start_metastore(database_url, "--allowed-locations", "")
    python = python_of("3.5") if version == "3.5" else sys.executable
    elsewhere = f"CREATE DATABASE mine LOCATION 'file:{tmp_path}/mine';"
    result = spark_sql(python, server.uri, tmp_path, STATEMENTS + elsewhere)
    assert [line for line in result.stdout.splitlines() if line.startswith(("row", "event"))] == [
        "row 1 pen",
        "row 2 ink",
        "event 3 1",
    ], result.stderr[-4000:]
    assert result.returncode != 0
    assert "METASTORE_ALLOWED_LOCATIONS" in result.stderr
    with connected(server) as client:
        assert client.get_all_databases() == ["default", "shop"]
        assert client.get_database("shop").locationUri == f"{server.warehouse}/shop.db"
        assert client.get_all_tables("shop") == ["events"]
    assert not (Path(server.warehouse.removeprefix("file:")) / "gone.db").exists()
