"""Plain Spark of two versions, without our library: statements, dependent tables, list-bucketed tables."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from spark_client.jvm import versions
from tests.clients import dependent, list_bucketed
from tests.fixtures.json_program import JsonProgram
from tests.fixtures.real_hive import find_java
from tests.fixtures.server import Server, connected
from tests.fixtures.sparks import python_of
from tests.wire.builders import unique

ROOT = Path(__file__).parents[2]
OLDEST = f"{versions.TESTED[0]}."
LAST_JAVA_OF_35 = 21
# docs/explanation/list-bucketing.md names these settings.
NOT_CONVERTED = [
    "SET spark.sql.hive.convertMetastoreParquet = false",
    "SET spark.sql.hive.convertMetastoreOrc = false",
    "SET mapreduce.input.fileinputformat.input.dir.recursive = true",
    "SET orc.schema.evolution.case.sensitive = false",
]
pytestmark = pytest.mark.timeout(900)


def java_version() -> int:
    """Returns the version of the Java that Spark will use."""
    said = subprocess.run([find_java() or "java", "-version"], capture_output=True, text=True, check=True).stderr
    match = re.search(r'version "(\d+)', said)
    assert match, said
    return int(match[1])


@pytest.fixture(scope="module", params=["4.", pytest.param(OLDEST, marks=pytest.mark.long)], ids=["installed", "3.5"])
def plain_spark(request: pytest.FixtureRequest, metastore_server: Server) -> Iterator[JsonProgram]:
    """The installed Spark, and the oldest one, with nothing but the metastore's address."""
    if (old := request.param == OLDEST) and java_version() > LAST_JAVA_OF_35:
        pytest.skip(f"Spark 3.5 runs on Java {LAST_JAVA_OF_35} at most, and Java {java_version()} is installed")
    python = python_of("3.5") if old else sys.executable
    arguments = ("-W", "ignore", "-m", "tests.clients.plain_spark", metastore_server.uri, metastore_server.warehouse)
    with JsonProgram(python, *arguments, folder=ROOT) as spark:
        assert spark.line().startswith(f'"{request.param}')
        yield spark


def test_statements(plain_spark: JsonProgram, tmp_path: Path) -> None:
    told = plain_spark.ask({"statements": [unique("spark"), str(tmp_path)]})
    assert not told["failures"], "\n".join(told["failures"])
    assert told["statements"] >= 100


@pytest.mark.long
@pytest.mark.skipif(
    not pyspark.__version__.startswith(versions.TESTED[-1]), reason="make spark-versions runs all tests on each version"
)
@pytest.mark.parametrize("plain_spark", [OLDEST], indirect=True, ids=["3.5"])
def test_every_capability_of_our_client_on_the_oldest(plain_spark: JsonProgram, tmp_path: Path) -> None:
    assert plain_spark.ask({"capabilities": [unique("oldest"), str(tmp_path)]}) == {}


def test_a_dependent_table_is_a_view_of_its_base_partitions(
    plain_spark: JsonProgram, metastore_server: Server, database: str, tmp_path: Path
) -> None:
    with connected(metastore_server) as client:
        dependent.create(client, database, tmp_path)
    queries = [query.format(database) for query in dependent.ANSWERS]
    assert plain_spark.ask({"queries": queries}) == list(dependent.ANSWERS.values())


def test_list_bucketed_tables(
    plain_spark: JsonProgram, metastore_server: Server, database: str, tmp_path: Path
) -> None:
    """All rows of the flat layout; of directories with settings; otherwise Spark fails on a file that other engines
    ignore.
    """
    with connected(metastore_server) as client:
        list_bucketed.create(client, database, tmp_path)
    flat, directories = (
        [f"SELECT * FROM {database}.{layout}_{form}" for form in list_bucketed.FORMATS]
        for layout in ("flat", "directories")
    )
    location = f"LOCATION 'file:{tmp_path}/directories_orc'"
    capitals = [
        f"CREATE TABLE {database}.capitals (X INT, S STRING) PARTITIONED BY (ds STRING) STORED AS ORC {location}",
        f"MSCK REPAIR TABLE {database}.capitals",
        f"SELECT X, S, ds FROM {database}.capitals",
    ]
    few = f"SELECT s FROM {database}.directories_parquet WHERE x = 1 AND ds = '1'"
    answers = plain_spark.ask({"queries": [*flat, *directories, *NOT_CONVERTED, *flat, *directories, few, *capitals]})
    everything = list_bucketed.ALL
    assert answers[:2] == [everything, everything]
    assert [list_bucketed.MARK in answer for answer in answers[2:4]] == [True, True], (
        "tell docs/ what Spark has learned"
    )
    assert answers[8:12] == [everything] * 4
    assert answers[12] == [["a"], ["b"]]
    assert answers[-1] == everything  # not null, where Spark has columns with capitals and files, as Hive's, have none
