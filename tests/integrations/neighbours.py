"""A varied catalog for programs that read a whole metastore, and what it holds by SQL.

`NEIGHBOUR_TABLES=41000` sets the number of tables; `NEIGHBOUR_REPORT` names a file to which times are appended.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.engine import URL, make_url

from metastore.cli.commands import run as metastore
from migrations import runner
from tests.fixtures import server
from tests.fixtures.database import reachable_folder
from tests.fixtures.installed_postgres import installed_postgres
from tests.fixtures.server import Server
from tests.integrations.venvs import ROOT
from tests.wire.builders import columns, descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database, FieldSchema, Table

PAGE = ROOT / "docs/how-to/neighbours.md"
TABLES = int(os.environ.get("NEIGHBOUR_TABLES", "120"))
READER, PASSWORD = "neighbour", "read-only"
_IN_DATABASE = 1000  # tables at most
_CONNECTIONS = 2
_TYPES = (
    "int",
    "string",
    "decimal(10,2)",
    "timestamp",
    "array<string>",
    "map<string,int>",
    "struct<street:string,zip:array<int>>",
    "date",
    "double",
    "char(3)",
    "boolean",
    "binary",
)
_KEYS = (("ds", "date"), ("country", "string"))


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
        return self.count(
            '"TBLS" JOIN hive."SDS" USING ("SD_ID") JOIN hive."COLUMNS_V2" USING ("CD_ID")', f'"TBL_TYPE" IN ({types})'
        )


@contextmanager
def served(folder: Path) -> Iterator[Catalog]:
    """Starts PostgreSQL and a server, and fills the catalog."""
    with reachable_folder() as data, installed_postgres(data, tls=False) as url:
        runner.upgrade(url)
        password = folder / "password"
        password.write_text(PASSWORD)
        assert metastore(["db", "reader", "add", READER, "--database-url", url, "--password-file", str(password)]) == 0
        reader = make_url(url).set(drivername="postgresql", username=READER, password=PASSWORD)
        with server.running(url, folder) as running:
            fill(running, TABLES)
            yield Catalog(running, url, reader)


def fill(running: Server, count: int) -> None:
    """Creates this number of tables: partitioned ones, plain ones, Iceberg tables and views."""
    names = [f"shop_{number:02}" for number in range(-(-count // _IN_DATABASE))]
    with server.connected(running) as client:
        for name in names:
            client.create_database(Database(name))
    shares = [range(start, count, _CONNECTIONS) for start in range(_CONNECTIONS)]
    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        list(pool.map(partial(_create, running, names), shares))


def _create(running: Server, databases: list[str], numbers: range) -> None:
    with server.connected(running) as client:
        for number in numbers:
            made = _table(databases[number // _IN_DATABASE], number)
            client.create_table(made)
            if made.partitionKeys:
                days = ("2026-01-01", "2026-01-02")
                client.add_partitions([partition(made.dbName, made.tableName, [day, "de"]) for day in days])


def _table(database: str, number: int) -> Table:
    name = f"t_{number}_{'orders' if number % 3 else 'order_lines'}"
    fields = [FieldSchema(f"c{place}", _TYPES[place % 12], f"Größe {place}") for place in range(3 + number % 12)]
    shape = descriptor(cols=fields)
    match number % 10:
        case 9:
            shape = descriptor(cols=columns(("n", "bigint")))
            query = f"SELECT count(*) AS n FROM {database}.{_table(database, number - 1).tableName}"
            texts = {"viewOriginalText": query, "viewExpandedText": query}
            return table(database, name, sd=shape, tableType="VIRTUAL_VIEW", **texts)
        case 8:
            parameters = {
                "EXTERNAL": "TRUE",
                "table_type": "ICEBERG",
                "metadata_location": "file:/w/00000.metadata.json",
            }
            return table(database, name, sd=shape, tableType="EXTERNAL_TABLE", parameters=parameters)
        case 0 | 2 | 4 | 6:
            return table(database, name, _KEYS, sd=shape, parameters={"comment": f"Table {number}"})
        case _:
            return table(database, name, sd=shape)


def run(what: str, command: list[Any], folder: Path, **environment: str) -> str:
    """Runs a program, and returns its output. Raises AssertionError if it fails."""
    began = time.monotonic()
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    if os.environ.get("NEIGHBOUR_REPORT"):
        with Path(os.environ["NEIGHBOUR_REPORT"]).open("a") as report:
            print(
                json.dumps({"program": what, "tables": TABLES, "seconds": round(time.monotonic() - began, 1)}),
                file=report,
            )
    return done.stdout


def blocks(language: str) -> list[str]:
    """Returns the examples of the how-to page in a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
