"""DuckDB and Spark read Iceberg tables by REST that PyIceberg has written, as docs/how-to/iceberg-rest.md says."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.interop.java import java_home
from tests.interop.maven import UnavailableError, fetched
from tests.interop.python import python_with
from tests.wire.console.conftest import Console
from tests.wire.iceberg.conftest import console as console
from tests.wire.iceberg.conftest import make_table

VERSION, BUILD = "1.4.4", "1.4.4.20260205"
EXTENSIONS = ("httpfs", "avro", "iceberg")
PAGE = Path(__file__).parents[2] / "docs/how-to/iceberg-rest.md"
SCRIPT = """
import sys
from pathlib import Path
import duckdb, duckdb_ext
folder = next(Path(duckdb_ext.__path__[0]).glob("extensions/*/*"))
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
for name in ("httpfs", "avro", "iceberg"):
    connection.execute(f"LOAD '{folder / name}.duckdb_extension'")
for statement in sys.argv[1:]:
    rows = connection.execute(statement).fetchall()
print(sorted(rows))
"""

SPARK, ICEBERG = "4.1", "1.12.0"
SPARK_SCRIPT = """
import json, sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
for text in sys.argv[1].splitlines():
    builder = builder.config(*text.split("=", 1))
spark = builder.getOrCreate()
print(json.dumps([[list(row) for row in spark.sql(text).collect()] for text in sys.argv[2:]]))
"""


def test_duckdb_attaches_the_catalog(console: Console) -> None:
    packages = [f"duckdb=={VERSION}", *(f"duckdb-ext-{name}=={BUILD}" for name in EXTENSIONS)]
    try:
        python = python_with(*packages)
    except UnavailableError as error:
        pytest.skip(str(error))
    database, _ = make_table(console)
    match = re.search(r"ATTACH .*(?=;)", PAGE.read_text())
    assert match
    attach = match[0].replace("http://localhost:9180", console.url)
    select = f"SELECT id, name FROM lake.{database}.t"
    ran = subprocess.run(
        [python, "-c", SCRIPT, attach, select], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.stdout.strip() == "[(1, 'n1'), (2, 'n2'), (3, 'n3')]", ran.stderr


@pytest.mark.timeout(900)
def test_spark_reads_the_catalog(console: Console) -> None:
    try:
        jar = fetched(f"org.apache.iceberg:iceberg-spark-runtime-{SPARK}_2.13:{ICEBERG}", ".jar")
        python = python_with(f"pyspark=={SPARK}.*")
        environment = os.environ | {"JAVA_HOME": str(java_home(17, 21))}
    except UnavailableError as error:
        pytest.skip(str(error))
    database, _ = make_table(console)
    settings = re.findall(r"^spark\.sql\.catalog\.lake.*=.*$", PAGE.read_text(), re.MULTILINE)
    configuration = "\n".join([f"spark.jars={jar}", *settings]).replace("http://localhost:9180", console.url)
    statements = [
        f"SHOW TABLES IN lake.{database}",
        f"SELECT id, name FROM lake.{database}.t ORDER BY id",
        f"SELECT count(*) FROM lake.{database}.t.snapshots",
    ]
    command = [python, "-c", SPARK_SCRIPT, configuration, *statements]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert json.loads(ran.stdout.splitlines()[-1]) == [
        [[database, "t", False]],
        [[1, "n1"], [2, "n2"], [3, "n3"]],
        [[2]],
    ]
