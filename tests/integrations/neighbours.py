"""A varied catalog for programs that read a whole metastore, and what it holds by SQL.

`NEIGHBOUR_TABLES=41000` sets the number of tables; `NEIGHBOUR_REPORT` names a file to which times are appended.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.engine import URL, make_url

from metastore.cli.commands import run as metastore
from migrations import runner
from tests.fixtures import server
from tests.fixtures.database import execute, reachable_folder
from tests.fixtures.hive_schema import HiveDatabase, hive_database
from tests.fixtures.installed_postgres import installed_postgres
from tests.fixtures.server import Server
from tests.integrations.venvs import ROOT
from tests.wire.builders import PARQUET

PAGE = ROOT / "docs/how-to/neighbours.md"
TABLES = int(os.environ.get("NEIGHBOUR_TABLES", "120"))
READER, PASSWORD = "neighbour", "read-only"

# Of ten tables, four have partitions, one is Iceberg's, one a view. They have 3 to 14 columns of the types below.
_PARTITIONED, _ICEBERG, _VIEW = "mod(i, 10) IN (0, 2, 4, 6)", "mod(i, 10) = 8", "mod(i, 10) = 9"
_TYPES = (
    "int|string|decimal(10,2)|timestamp|array<string>|map<string,int>|struct<street:string,zip:array<int>>|date|double|"
    "char(3)|boolean|binary"
)
_NAME = "'t_' || i || CASE mod(i, 3) WHEN 0 THEN '_order_lines' ELSE '_orders' END"
_ROWS = {
    'DBS" ("DB_ID", "NAME", "DB_LOCATION_URI", "OWNER_NAME", "OWNER_TYPE")': """
        SELECT i / 1000 + 1, to_char(i / 1000, '"shop_"FM00'), to_char(i / 1000, '"file:/w/shop_"FM00".db"'), 'me',
               'USER'
        FROM numbers WHERE mod(i, 1000) = 0""",
    'CDS" ("CD_ID")': "SELECT i FROM numbers",
    'COLUMNS_V2" ("CD_ID", "COLUMN_NAME", "TYPE_NAME", "COMMENT", "INTEGER_IDX")': f"""
        SELECT i, 'c' || c, (string_to_array('{_TYPES}', '|'))[1 + mod(c, 12)], 'Größe ' || c, c
        FROM numbers, generate_series(0, 2 + mod(i, 12)) c""",
    'SERDES" ("SERDE_ID", "SLIB")': f"""
        SELECT i, '{PARQUET[2]}' FROM numbers UNION ALL SELECT id, '{PARQUET[2]}' FROM parts""",
    'SDS" ("SD_ID", "CD_ID", "SERDE_ID", "LOCATION", "INPUT_FORMAT", "OUTPUT_FORMAT", "NUM_BUCKETS", "IS_COMPRESSED",'
    ' "IS_STOREDASSUBDIRECTORIES")': f"""
        SELECT id, cd, id, place, '{PARQUET[0]}', '{PARQUET[1]}', -1, false, false FROM (
            SELECT i id, i cd, CASE WHEN {_VIEW} THEN NULL ELSE 'file:/w/t/' || i END place FROM numbers
            UNION ALL SELECT id, i, 'file:/w/t/' || i || '/' || name FROM parts) s""",
    'TBLS" ("TBL_ID", "CREATE_TIME", "DB_ID", "LAST_ACCESS_TIME", "OWNER", "RETENTION", "SD_ID", "TBL_NAME",'
    ' "TBL_TYPE", "VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT", "IS_REWRITE_ENABLED")': f"""
        SELECT i, 1700000000 + i, i / 1000 + 1, 0, 'me', 0, i, {_NAME},
               CASE WHEN {_VIEW} THEN 'VIRTUAL_VIEW' WHEN {_ICEBERG} THEN 'EXTERNAL_TABLE' ELSE 'MANAGED_TABLE' END,
               CASE WHEN {_VIEW} THEN query END, CASE WHEN {_VIEW} THEN query END, false
        FROM (SELECT i, 'SELECT * FROM shop_00.t_1_orders WHERE c0 = ' || i query FROM numbers) q""",
    'TABLE_PARAMS" ("TBL_ID", "PARAM_KEY", "PARAM_VALUE")': f"""
        SELECT i, 'comment', 'Table ' || i FROM numbers WHERE mod(i, 2) = 0
        UNION ALL SELECT i, key, value FROM numbers, (
            VALUES ('EXTERNAL', 'TRUE'), ('table_type', 'ICEBERG'), ('metadata_location', 'file:/w/0.json')
        ) p (key, value) WHERE {_ICEBERG}""",
    'PARTITION_KEYS" ("TBL_ID", "PKEY_NAME", "PKEY_TYPE", "PKEY_COMMENT", "INTEGER_IDX")': f"""
        SELECT i, name, type, NULL, place FROM numbers, (VALUES ('ds', 'date', 0), ('country', 'string', 1))
               k (name, type, place) WHERE {_PARTITIONED}""",
    'PARTITIONS" ("PART_ID", "CREATE_TIME", "LAST_ACCESS_TIME", "PART_NAME", "SD_ID", "TBL_ID")': """
        SELECT id, 1700000000, 0, name, id, i FROM parts""",
    'PARTITION_KEY_VALS" ("PART_ID", "PART_KEY_VAL", "INTEGER_IDX")': """
        SELECT id, value, place - 1 FROM parts, unnest(ARRAY[day, 'de']) WITH ORDINALITY v (value, place)""",
}


@dataclass(frozen=True)
class Catalog:
    """A server on a PostgreSQL that accepts connections by TCP.

    Attributes:
        database_url: the address for the server.
        reader_url: the address for programs that read the views of Hive's schema.
    """

    server: Server
    database_url: str
    reader_url: URL

    def count(self, view: str, where: str = "true") -> int:
        """Returns the rows of a view of Hive's schema."""
        with create_engine(self.database_url, poolclass=NullPool).connect() as connection:
            return int(connection.scalar(text(f"SELECT count(*) FROM hive.{view} WHERE {where}")) or 0)

    def column_count(self, types: str) -> int:
        """Returns the columns, without partition keys, of all tables of these types: a list in SQL."""
        joined = '"TBLS" JOIN hive."SDS" USING ("SD_ID") JOIN hive."COLUMNS_V2" USING ("CD_ID")'
        return self.count(joined, f'"TBL_TYPE" IN ({types})')


@contextmanager
def served(folder: Path) -> Iterator[Catalog]:
    """Starts PostgreSQL and a server, and fills the catalog."""
    with reachable_folder() as data, installed_postgres(data, tls=False) as url:
        runner.upgrade(url)
        password = folder / "password"
        password.write_text(PASSWORD)
        assert metastore(["db", "reader", "add", READER, "--database-url", url, "--password-file", str(password)]) == 0
        reader = make_url(url).set(drivername="postgresql", username=READER, password=PASSWORD)
        with closing(hive_database(lambda **_: _empty_database(url))) as source:
            fill(source, TABLES)
            assert metastore(["import", "run", source.url, "--database-url", url]) == 0
            assert metastore(["import", "forget", "--take-files", source.url, "--database-url", url]) == 0
        with server.running(url, folder) as running:
            yield Catalog(running, url, reader)


def _empty_database(url: str) -> str:
    name = f"source_{uuid.uuid4().hex}"
    execute(url, f"CREATE DATABASE {name}")
    return make_url(url).set(database=name).render_as_string(hide_password=False)


def fill(source: HiveDatabase, count: int) -> None:
    """Adds this number of tables, in databases of a thousand."""
    source.execute(f"CREATE VIEW numbers AS SELECT i FROM generate_series(0, {count - 1}) i")
    source.execute(f"""
        CREATE VIEW parts AS SELECT 1000000 + 2 * i + d id, i, day, 'ds=' || day || '/country=de' AS name
        FROM numbers, (VALUES (0, '2026-01-01'), (1, '2026-01-02')) v (d, day) WHERE {_PARTITIONED}""")
    for table, rows in _ROWS.items():
        source.execute(f'INSERT INTO "{table} {rows}')


def run(what: str, command: list[Any], folder: Path, **environment: str) -> str:
    """Runs a program, and returns its output. Raises AssertionError if it fails."""
    began, used = time.monotonic(), _processor_time()
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    if os.environ.get("NEIGHBOUR_REPORT"):
        spent = {"seconds": time.monotonic() - began, "of its processor": _processor_time() - used}
        line = {"program": what, "tables": TABLES} | {name: round(value, 1) for name, value in spent.items()}
        with Path(os.environ["NEIGHBOUR_REPORT"]).open("a") as report:
            print(json.dumps(line), file=report)
    return done.stdout


def _processor_time() -> float:
    """Seconds of all programs that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def blocks(language: str) -> list[str]:
    """Returns the examples of the how-to page in a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
