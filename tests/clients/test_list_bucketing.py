"""What a Spark without our library reads of list-bucketed tables: all of the flat layout, of directories if it is told;
otherwise it stumbles over a file that other engines overlook.

docs/list-bucketing.md names these settings.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clients import list_bucketed
from tests.clients.test_dependent_tables import ASKER
from tests.clients.test_spark import ROOT
from tests.fixtures.server import Server, connected
from tests.fixtures.sparks import python_of

SETTINGS = [
    "SET spark.sql.hive.convertMetastoreParquet = false",
    "SET spark.sql.hive.convertMetastoreOrc = false",
    "SET mapreduce.input.fileinputformat.input.dir.recursive = true",
]


@pytest.fixture
def tables(metastore_server: Server, database: str, tmp_path: Path) -> str:
    """The database with the tables of `list_bucketed`."""
    with connected(metastore_server) as client:
        list_bucketed.create(client, database, tmp_path)
    return database


def asked(python: str, server: Server, statements: list[str]) -> list[Any]:
    arguments = [python, "-c", ASKER, server.uri, server.warehouse, *statements]
    ran = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    found: list[Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def check(python: str, server: Server, database: str) -> None:
    flat, directories = (
        [f"SELECT * FROM {database}.{layout}_{form}" for form in list_bucketed.FORMATS]
        for layout in ("flat", "directories")
    )
    few = f"SELECT s FROM {database}.directories_parquet WHERE x = 1 AND ds = '1'"
    answers = asked(python, server, [*flat, *directories, *SETTINGS, *flat, *directories, few])
    everything = list_bucketed.ALL
    assert answers[:2] == [everything, everything]
    assert [list_bucketed.MARK in answer for answer in answers[2:4]] == [True, True], (
        "tell docs/ what Spark has learned"
    )
    assert answers[7:11] == [everything] * 4
    assert answers[11] == [["a"], ["b"]]


@pytest.mark.timeout(900)
def test_the_spark_that_is_installed(metastore_server: Server, tables: str) -> None:
    check(sys.executable, metastore_server, tables)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_spark_3_5(metastore_server: Server, tables: str) -> None:
    check(python_of("3.5"), metastore_server, tables)
