"""Exports: rows that Hive's tables take, each object with rows of its own, at one moment."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.engine import make_url

from metastore.app.worker import Application
from metastore.cli.commands import run
from metastore.exporting.dialects import DIALECTS
from metastore.exporting.export import Export, Result
from metastore.storage.export.snapshot import snapshot
from tests.fixtures.application import called
from tests.wire.builders import columns, descriptor, partition, skewed, table
from tests.wire.statistics import longs, of_table
from thrift_idl.gen.hive_metastore.ttypes import (
    AddPrimaryKeyRequest,
    Catalog,
    CreateCatalogRequest,
    Database,
    Index,
    Order,
    SetPartitionsStatsRequest,
    SQLPrimaryKey,
)

Rows = Callable[[str], list[tuple[Any, ...]]]
MEANINGS = {"n": "\n", "r": "\r", "0": "\0", "Z": "\x1a"}
Capture = pytest.CaptureFixture[str]
ODD = "tab\tline\nback\\slash 'quote' \"ü\" \\N \\."


@pytest.fixture
def filled(application: Application) -> Application:
    """Two tables with equal columns and formats, one of them with partitions, and what belongs to them."""
    called(application, "create_database", Database("db", ODD, parameters={"p": ODD}))
    for name in ("t", "u"):
        sd = descriptor(skewedInfo=skewed(["a"], [["1"], ["2"]]), bucketCols=["a"], numBuckets=2)
        called(application, "create_table", table("db", name, [("ds", "string")], sd=sd, parameters={"odd": ODD}))
    for value in ("1", "2", "3"):
        wider = descriptor(cols=columns(("a", "int"), ("x", "string"), *([("later", "int")] if value == "3" else [])))
        called(application, "add_partition", partition("db", "t", [value], sd=wider, parameters={"odd": ODD}))
    statistics = SetPartitionsStatsRequest([of_table("db", "t", longs("a", 1, 2))], engine="hive")
    called(application, "set_aggr_stats_for", statistics)
    key = SQLPrimaryKey("db", "t", "a", 1, "key", True, False, True)
    called(application, "add_primary_key", AddPrimaryKeyRequest([key]))
    return application


@pytest.fixture
def loaded(filled: Application, database_url: str, empty_database_url: str, tmp_path: Path) -> Iterator[Rows]:
    """Queries on a database with Hive's tables, which the export was loaded into."""
    psql = shutil.which("psql") or pytest.skip("psql is not installed")
    file = tmp_path / "hive.sql"
    assert run(["export", "--hive-sql", str(file), "--database-url", database_url]) == 0
    with create_engine(database_url, poolclass=NullPool).connect() as connection:
        types = connection.execute(text(_TYPES)).all()
    with create_engine(empty_database_url, poolclass=NullPool).connect() as connection:
        for name, definition in types:
            connection.execute(text(f'CREATE TABLE "{name}" ({definition})'))
        connection.commit()
        address = make_url(empty_database_url).set(drivername="postgresql").render_as_string(hide_password=False)
        subprocess.run([psql, "-q", "--no-psqlrc", "-f", str(file), address], check=True)
        yield lambda query: [tuple(row) for row in connection.execute(text(query))]


_TYPES = """
    SELECT table_name, string_agg(format('%I %s', column_name, data_type), ', ' ORDER BY ordinal_position)
    FROM information_schema.columns
    WHERE table_schema = 'hive' AND table_name NOT IN ('descriptors', 'string_lists')
    GROUP BY 1"""


def test_no_two_descriptors_share_rows(loaded: Rows) -> None:
    """Hive deletes the rows of a descriptor with it, even if others refer to them."""
    descriptors = loaded('SELECT count(*), count(DISTINCT "SD_ID"), count(DISTINCT "SERDE_ID") FROM "SDS"')
    assert descriptors == [(5, 5, 5)]
    owners = '(SELECT "TBL_ID", "SD_ID" FROM "TBLS" UNION ALL SELECT "TBL_ID", "SD_ID" FROM "PARTITIONS")'
    shared = f'SELECT "CD_ID" FROM "SDS" JOIN {owners} o USING ("SD_ID") GROUP BY 1 HAVING count(DISTINCT "TBL_ID") > 1'
    assert loaded(shared) == []
    assert loaded('SELECT count(*), count(DISTINCT "STRING_LIST_ID_EID") FROM "SKEWED_VALUES"') == [(4, 4)]


def test_all_referenced_rows_exist(loaded: Rows) -> None:
    for child, column, parent in (
        ("SDS", "SERDE_ID", "SERDES"),
        ("SDS", "CD_ID", "CDS"),
        ("COLUMNS_V2", "CD_ID", "CDS"),
        ("TBLS", "SD_ID", "SDS"),
        ("TBLS", "DB_ID", "DBS"),
        ("PARTITIONS", "SD_ID", "SDS"),
        ("PARTITIONS", "TBL_ID", "TBLS"),
        ("PARTITION_PARAMS", "PART_ID", "PARTITIONS"),
        ("BUCKETING_COLS", "SD_ID", "SDS"),
        ("SKEWED_STRING_LIST_VALUES", "STRING_LIST_ID", "SKEWED_STRING_LIST"),
        ("TAB_COL_STATS", "TBL_ID", "TBLS"),
    ):
        assert loaded(f'SELECT count(*) > 0 FROM "{child}"') == [(True,)], child
        assert loaded(f'SELECT * FROM "{child}" LEFT JOIN "{parent}" p USING ("{column}") WHERE p IS NULL') == []
    key = 'SELECT "COLUMN_NAME" FROM "KEY_CONSTRAINTS" JOIN "COLUMNS_V2" ON "CD_ID" = "PARENT_CD_ID"'
    assert loaded(f'{key} AND "INTEGER_IDX" = "PARENT_INTEGER_IDX"') == [("a",)]


def test_texts_and_ids_arrive(loaded: Rows) -> None:
    assert loaded('SELECT "DESC", "PARAM_VALUE" FROM "DBS" JOIN "DATABASE_PARAMS" USING ("DB_ID")') == [(ODD, ODD)]
    assert loaded("""SELECT DISTINCT "PARAM_VALUE" FROM "PARTITION_PARAMS" WHERE "PARAM_KEY" = 'odd'""") == [(ODD,)]
    sequences = dict(loaded('SELECT "SEQUENCE_NAME", "NEXT_VAL" FROM "SEQUENCE_TABLE"'))
    for name, column, model in (("SDS", "SD_ID", "MStorageDescriptor"), ("TBLS", "TBL_ID", "MTable")):
        (highest,) = loaded(f'SELECT max("{column}") FROM "{name}"')[0]
        assert sequences[f"org.apache.hadoop.hive.metastore.model.{model}"] == highest + 1


class Interrupted(io.StringIO):
    """A file during whose first line a client changes the catalog."""

    def __init__(self, change: Callable[[], None]) -> None:
        super().__init__()
        self._change = change

    def write(self, written: str) -> int:
        if not self.tell():
            self._change()
        return super().write(written)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_export_is_a_snapshot(dialect: str, filled: Application, application: Application) -> None:
    def change() -> None:
        called(application, "drop_table", "db", "t", True)

    file = Interrupted(change)
    result = _exported(application, "3.1", file, dialect)
    assert (result.rows["TBLS"], result.rows["PARTITIONS"], result.rows["SDS"]) == (2, 3, 5)


def test_indexes_are_exported_for_hive_2(filled: Application) -> None:
    """With a descriptor of their own, which Hive drops with the index. For later versions they are counted."""
    held = table("db", "held", tableType="INDEX_TABLE", sd=descriptor(cols=columns(("a", "int"))))
    own = descriptor(
        cols=columns(("only", "int")), parameters={"p": ODD}, bucketCols=["only"], sortCols=[Order("only", 1)]
    )
    index = Index("i", "org.Handler", "db", "t", 5, 0, "held", own, {"key": "value"}, True)
    called(filled, "add_index", index, held)
    (before, _), (result, _) = (_export(filled, version) for version in ("3.1", "2.3"))
    assert (before.rows["IDXS"], before.left_out["indexes of Hive 2"]) == (0, 1)
    assert (result.rows["IDXS"], result.rows["INDEX_PARAMS"], result.left_out["indexes of Hive 2"]) == (1, 2, 0)
    more = {name: result.rows[name] - before.rows[name] for name in ("SDS", "SERDES", "CDS", "COLUMNS_V2", "SORT_COLS")}
    assert more == {"SDS": 1, "SERDES": 1, "CDS": 1, "COLUMNS_V2": 1, "SORT_COLS": 1}


def _export(application: Application, version: str) -> tuple[Result, str]:
    file = io.StringIO()
    return _exported(application, version, file), file.getvalue()


def _exported(application: Application, version: str, file: io.StringIO, dialect: str = "postgresql") -> Result:
    with snapshot(application._store._engine, version) as source:
        return Export(source, DIALECTS[dialect]).write(file)


def test_hive_4_has_more_columns(filled: Application) -> None:
    actual_longs = longs("a", 1, 2)
    actual_longs.statsData.longStats.histogram = b"histogram"
    statistics = SetPartitionsStatsRequest([of_table("db", "t", actual_longs, engine="impala")], engine="impala")
    called(filled, "set_aggr_stats_for", statistics)
    called(filled, "create_database", Database("managed", managedLocationUri="memory://test/managed"))
    (older, _), (newer, written) = (_export(filled, version) for version in ("3.1", "4.0"))
    assert (older.rows["TAB_COL_STATS"], newer.rows["TAB_COL_STATS"]) == (1, 2)
    assert older.left_out["column statistics of other engines"] == 1
    assert older.left_out["managed locations of databases"] == 1
    assert "memory://test/managed" in written
    assert f"impala\t\\\\x{b'histogram'.hex()}" in written


def test_values_that_hive_cannot_store_are_reported(application: Application) -> None:
    long = columns(("a", "int"))
    long[0].comment = "雪" * 300
    called(application, "create_table", table("default", "t", sd=descriptor(cols=long)))
    for version, dialect, warnings in (("3.1", "mysql", 3), ("3.1", "postgresql", 0), ("4.0", "mysql", 2)):
        result = _exported(application, version, io.StringIO(), dialect)
        assert len(result.too_long) + len(result.not_latin1) == warnings


def test_schema_2_3_has_no_catalogs(
    application: Application, database_url: str, tmp_path: Path, capsys: Capture
) -> None:
    called(application, "create_catalog", CreateCatalogRequest(Catalog("other", "", "memory://test/other")))
    called(application, "create_database", Database("db", catalogName="other"))
    file = tmp_path / "hive.sql"
    assert run(["export", "--hive-sql", str(file), "--schema", "2.3", "--database-url", database_url]) == 1
    assert "has no catalogs" in capsys.readouterr().err
    assert list(tmp_path.glob("hive.sql*")) == []
    assert run(["export", "--hive-sql", str(file), "--schema", "3.1", "--database-url", database_url]) == 0
    assert file.stat().st_mode & 0o777 == 0o600
    capsys.readouterr()
    assert run(["export", "--hive-sql", str(file), "--database-url", database_url]) == 1
    assert "already exists" in capsys.readouterr().err


def test_statements_of_mysql_fit_into_a_packet() -> None:
    rows = [[number, "x" * 300_000] for number in range(9)]
    statements = "".join(DIALECTS["mysql"].rows("t", ["a", "b"], rows)).split(";\n")
    assert [each.count("x") // 300_000 for each in statements] == [4, 4, 1, 0]
    assert all(each.startswith("INSERT INTO t (a, b) VALUES\n (") for each in statements if each)


@given(some.text())
def test_literals_of_mysql_end_where_they_should(value: str) -> None:
    """A backslash escapes the next character; an unescaped quote ends a literal (MySQL manual, "String Literals")."""
    (_, line, _) = DIALECTS["mysql"].rows("t", ["c"], [[value]])
    literal = line.removeprefix(" ('").removesuffix("')\n")
    read, escaped = [], False
    for character in literal:
        assert escaped or character not in "'\n\0"
        if escaped or character != "\\":
            read.append(MEANINGS.get(character, character) if escaped else character)
        escaped = not escaped and character == "\\"
    assert not escaped
    assert "".join(read) == value
