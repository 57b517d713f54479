"""DuckDB and Spark read and write Iceberg tables by REST, as docs/how-to/iceberg-rest.md says; PyIceberg reads them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.hive import HiveCatalog

from tests.interop.java import java_home
from tests.interop.maven import UnavailableError, fetched
from tests.interop.python import python_with
from tests.wire.console.conftest import Console
from tests.wire.console.conftest import password_file as password_file
from tests.wire.iceberg.conftest import console as console
from tests.wire.iceberg.conftest import make_table, rows
from tests.wire.iceberg.test_secured import Secured
from tests.wire.iceberg.test_secured import own_authority as own_authority
from tests.wire.iceberg.test_secured import secured as secured
from tests.wire.security.conftest import authority as authority
from tests.wire.security.conftest import host_pem as host_pem
from tests.wire.security.conftest import start as start
from tests.wire.security.conftest import tls_options as tls_options
from tests.wire.security.test_jwt import Issuer
from tests.wire.security.test_jwt import issuer as issuer

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
V3 = "('format-version'='3', 'write.delete.mode'='merge-on-read')"
SPARK_SCRIPT = """
import json, sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
for text in sys.argv[1].splitlines():
    builder = builder.config(*text.split("=", 1))
spark = builder.getOrCreate()
print(json.dumps([[list(row) for row in spark.sql(text).collect()] for text in sys.argv[2:]]))
"""


def duckdb(console: Console, *statements: str) -> list[str]:
    """Runs statements after the attachment of the guide. Returns the printed rows of each."""
    match = re.search(r"ATTACH .*(?=;)", PAGE.read_text())
    assert match
    attach = match[0].replace("http://localhost:9180", console.url)
    return duckdb_with(attach, *statements)[1:]


def duckdb_with(*statements: str) -> list[str]:
    """Runs statements. Returns the printed rows of each."""
    ran = run_duckdb(*statements)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def duckdb_error(*statements: str) -> str:
    """Runs statements. Returns the error of the last one, without the similar names that DuckDB proposes."""
    ran = run_duckdb(*statements)
    assert ran.returncode, ran.stdout
    assert len(ran.stdout.splitlines()) == len(statements) - 1, ran.stderr
    return ran.stderr.partition("Error: ")[2].partition("Did you mean")[0].strip()


def run_duckdb(*statements: str) -> subprocess.CompletedProcess[str]:
    packages = [f"duckdb=={VERSION}", *(f"duckdb-ext-{name}=={BUILD}" for name in EXTENSIONS)]
    try:
        python = python_with(*packages)
    except UnavailableError as error:
        pytest.skip(str(error))
    command = [python, "-c", SCRIPT, *statements]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def ids(console: Console, table: str) -> list[int]:
    """Returns the ids in a table, as PyIceberg reads them by Thrift."""
    catalog = HiveCatalog("thrift", uri=console.server.uri)
    found: list[int] = catalog.load_table(table).scan().to_arrow()["id"].to_pylist()
    return sorted(found)


def test_duckdb_reads_and_writes(console: Console) -> None:
    database, table = make_table(console)
    printed = duckdb(
        console,
        f"SELECT id, name FROM lake.{database}.t",
        f"INSERT INTO lake.{database}.t VALUES (4, 'n4'), (5, 'n5')",
        f"CREATE TABLE lake.{database}.made (id BIGINT, name VARCHAR)",
        f"INSERT INTO lake.{database}.made SELECT * FROM lake.{database}.t",
        f"SELECT count(*) FROM lake.{database}.made",
        f"CREATE SCHEMA lake.{database}_new",
        f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{database}'",
    )
    assert printed[0] == "[(1, 'n1'), (2, 'n2'), (3, 'n3')]"
    assert printed[4] == "[(5,)]"
    assert printed[6] == "[('made',), ('t',)]"
    table.append(rows(6))
    assert ids(console, f"{database}.t") == [1, 2, 3, 4, 5, 6]
    assert ids(console, f"{database}.made") == [1, 2, 3, 4, 5]


def test_duckdb_commits_two_tables_at_once(console: Console) -> None:
    database, _ = make_table(console)
    duckdb(
        console,
        f"CREATE TABLE lake.{database}.u (id BIGINT)",
        "BEGIN",
        f"INSERT INTO lake.{database}.t VALUES (7, 'n7')",
        f"INSERT INTO lake.{database}.u VALUES (8)",
        "COMMIT",
    )
    assert (ids(console, f"{database}.t"), ids(console, f"{database}.u")) == ([1, 2, 3, 7], [8])


COLUMNS = "id BIGINT COMMENT 'c', at TIMESTAMP, s STRUCT<x: INT, y: ARRAY<STRING>>, d DECIMAL(9, 2)"
PROPERTIES = "('k'='v', 'gone'='x', 'gc.enabled'='true')"


def changes(table: str) -> list[str]:
    """Returns statements that change what the catalog's row of a table shows."""
    return [
        f"CREATE TABLE {table} ({COLUMNS}) PARTITIONED BY (days(at)) TBLPROPERTIES {PROPERTIES}",
        f"INSERT INTO {table} VALUES (1, TIMESTAMP '2026-01-01 00:00:00', NULL, 1.5)",
        f"ALTER TABLE {table} UNSET TBLPROPERTIES ('gone')",
        f"ALTER TABLE {table} WRITE ORDERED BY id",
        f"ALTER TABLE {table} ADD COLUMN note STRING",
        f"INSERT INTO {table} VALUES (2, TIMESTAMP '2026-01-02 00:00:00', NULL, 2.5, 'n')",
    ]


OF_ONE_TABLE = ("uuid", "metadata_location", "previous_metadata_location", "current-snapshot-id", "totalSize",
                "current-snapshot-timestamp-ms", "current-snapshot-summary", "transient_lastDdlTime")  # fmt: skip


def described(row: Any) -> dict[str, Any]:
    """Returns what the rows of two tables with the same history have in common."""
    parameters = {key: value for key, value in row.parameters.items() if key not in OF_ONE_TABLE}
    for key in ("current-schema", "default-partition-spec", "default-sort-order"):
        parameters[key] = json.loads(parameters[key])
    # Java writes the time zone only with Hive 3 on its class path, and Spark has Hive 2.
    columns = [(each.name, each.type.removesuffix(" with local time zone"), each.comment) for each in row.sd.cols]
    return {
        "type": row.tableType,
        "columns": columns,
        "formats": (row.sd.inputFormat, row.sd.outputFormat, row.sd.serdeInfo.serializationLib),
        "keys": sorted(row.parameters),
        "parameters": parameters,
    }


@pytest.mark.timeout(1500)
def test_spark_reads_and_writes(console: Console) -> None:
    try:
        jar = fetched(f"org.apache.iceberg:iceberg-spark-runtime-{SPARK}_2.13:{ICEBERG}", ".jar")
        python = python_with(f"pyspark=={SPARK}.*")
        environment = os.environ | {"JAVA_HOME": str(java_home(17, 21))}
    except UnavailableError as error:
        pytest.skip(str(error))
    database, _ = make_table(console)
    settings = re.findall(r"^spark\.sql\.catalog\.lake.*=.*$", PAGE.read_text(), re.MULTILINE)
    extensions = "spark.sql.extensions=org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    door = "spark.sql.catalog.door"
    settings += [
        f"{door}=org.apache.iceberg.spark.SparkCatalog",
        f"{door}.type=hive",
        f"{door}.uri={console.server.uri}",
    ]
    configuration = "\n".join([f"spark.jars={jar}", extensions, *settings]).replace(
        "http://localhost:9180", console.url
    )
    into = "WHEN NOT MATCHED THEN INSERT (id, part) VALUES (9, 1)"
    statements = [
        f"SHOW TABLES IN lake.{database}",
        f"SELECT id, name FROM lake.{database}.t ORDER BY id",
        f"SELECT count(*) FROM lake.{database}.t.snapshots",
        f"CREATE TABLE lake.{database}.v3 (id BIGINT, part INT) PARTITIONED BY (part) TBLPROPERTIES {V3}",
        f"INSERT INTO lake.{database}.v3 SELECT id, id % 2 FROM lake.{database}.t",
        f"DELETE FROM lake.{database}.v3 WHERE id = 1",
        f"MERGE INTO lake.{database}.v3 v USING (SELECT 9 AS id) s ON v.id = s.id {into}",
        f"ALTER TABLE lake.{database}.v3 ADD COLUMN note STRING",
        f"SELECT id, _row_id IS NOT NULL FROM lake.{database}.v3 ORDER BY id",
        f"CREATE VIEW lake.{database}.seen AS SELECT max(id) AS top FROM lake.{database}.v3",
        f"SELECT top FROM lake.{database}.seen",
        f"DROP VIEW lake.{database}.seen",
        f"ALTER TABLE lake.{database}.v3 RENAME TO {database}.moved",
        f"DROP TABLE lake.{database}.moved",
        f"SHOW TABLES IN lake.{database}",
    ]
    statements += [text for name in ("lake.{}.by_rest", "door.{}.by_thrift") for text in changes(name.format(database))]
    command = [python, "-c", SPARK_SCRIPT, configuration, *statements]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200, check=False)
    said = [line for line in ran.stderr.splitlines() if not line.lstrip().startswith("at ")]
    assert ran.returncode == 0, "\n".join(said[-40:])
    answers = json.loads(ran.stdout.splitlines()[-1])
    assert answers[:3] == [[[database, "t", False]], [[1, "n1"], [2, "n2"], [3, "n3"]], [[2]]]
    assert answers[8] == [[2, True], [3, True], [9, True]]
    assert answers[10] == [[9]]
    assert answers[14] == [[database, "t", False]]
    with console.client() as client:
        by_rest, by_thrift = (client.get_table(database, name) for name in ("by_rest", "by_thrift"))
    assert described(by_rest) == described(by_thrift)


def test_duckdb_with_tls_and_a_token(secured: Secured, issuer: Issuer) -> None:
    """A user with a JWT sees and reads what the grants permit; hidden tables look like missing ones."""
    before = [f"SET ca_cert_file = '{secured.authority.pem}'"]
    options = f"TYPE iceberg, ENDPOINT '{secured.url}/iceberg', TOKEN '{issuer.token('alice')}'"
    attach = f"ATTACH 'hive' AS lake ({options})"
    printed = duckdb_with(
        *before,
        attach,
        "SELECT id FROM lake.secured.shared",
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'lake' AND schema_name = 'secured'",
    )
    assert printed[2:] == ["[(1,)]", "[('shared',)]"]
    hidden, missing = (
        duckdb_error(*before, attach, f"SELECT * FROM lake.secured.{name}") for name in ("hidden", "nothing")
    )
    assert "does not exist" in hidden
    assert hidden.replace("hidden", "nothing") == missing
