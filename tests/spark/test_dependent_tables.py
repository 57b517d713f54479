"""Dependent tables in plain `spark.sql`: the proposal's scenarios line by line, other statements, and rejections."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, QueryExecutionException

from spark_client import Session, scan_report, wait_for
from spark_client import write as write_rows
from spark_client.errors import (
    InvalidArgumentError,
    InvalidInsertError,
    InvalidStatementError,
    MetastoreRefusedError,
    NoSuchPartitionError,
    NoSuchTableError,
    NotInTimeError,
    PartitionExistsError,
    SparkClientError,
    TableExistsError,
)
from spark_client.scan.lineage import DependentScan
from tests.spark.since import since

HOURS = range(1, 25)


@contextmanager
def current(spark: Session, name: str) -> Iterator[str]:
    """Makes a database the current one."""
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {name}")
    spark.sql(f"USE {name}")
    yield name
    spark.sql("USE default")


@pytest.fixture
def database(spark: Session, table_name: str) -> Iterator[str]:
    """A new current database, dropped afterwards."""
    with current(spark, table_name):
        yield table_name
    spark.sql(f"DROP DATABASE {table_name} CASCADE")


def make_seed(spark: Session) -> None:
    """T as in the proposal, without rows; Tdep depends on it."""
    spark.sql("create table T (key string, value string) partitioned by (ds string, hr string) stored as parquet")
    spark.sql("create dependent table Tdep partitioned by (ds string) depends on table T")


@pytest.fixture
def empty_seed(spark: Session, database: str) -> str:
    make_seed(spark)
    return database


@pytest.fixture(scope="module")
def refusing(spark: Session) -> str:
    """The tables of the proposal without rows, for tests that do not change them."""
    with current(spark, "dependent_refusals") as name:
        make_seed(spark)
    return name


@pytest.fixture
def seed(spark: Session, empty_seed: str) -> str:
    """The tables with a row in each hour of the days 1 and 2."""
    values = ", ".join(f"('k{hour % 3}', 'v', '{day}', '{hour}')" for day in (1, 2) for hour in HOURS)
    spark.sql(f"insert into T values {values}")
    return empty_seed


def count(spark: Session, table: str, condition: str = "true") -> int:
    return int(spark.sql(f"select count(1) from {table} where {condition}").collect()[0][0])


def partitions(spark: Session, table: str) -> list[str]:
    return [row[0] for row in spark.sql(f"show partitions {table}").collect()]


def dependencies(spark: Session, table: str, partition: str = "") -> list[tuple[str, str, str]]:
    """Returns the last section of DESCRIBE EXTENDED."""
    rows = [tuple(row) for row in spark.sql(f"describe extended {table} {partition}").collect()]
    return rows[rows.index(("# Partition Dependencies", "", "")) + 1 :]


def test_the_first_scenario(spark: Session, seed: str) -> None:
    assert spark.table("Tdep").columns == ["key", "value", "ds"]
    assert (partitions(spark, "Tdep"), count(spark, "Tdep")) == ([], 0)
    spark.sql("alter table Tdep add partition (ds=1)")
    assert partitions(spark, "Tdep") == ["ds=1"]
    assert count(spark, "Tdep") == count(spark, "Tdep", "ds = 1") == count(spark, "T", "ds = '1'") == 24
    assert count(spark, "Tdep", "ds = '2'") == 0
    assert sorted(dependencies(spark, "Tdep")) == sorted(
        ("ds=1", f"{seed}.t@ds=1/hr={hour}", "fresh") for hour in HOURS
    )
    read = {row[0] for row in spark.sql("select distinct input_file_name() from Tdep where ds = '1'").collect()}
    assert len(read) == 24
    spark.sql("insert into T values ('k', 'v', '1', '25')")
    assert count(spark, "Tdep") == count(spark, "T", "ds = 1") == 25
    assert {state for _, _, state in dependencies(spark, "Tdep", "partition (ds = '1')")} == {"stale"}
    spark.sql("alter table T drop partition (ds = '1')")
    assert (count(spark, "Tdep"), dependencies(spark, "Tdep")) == (
        0,
        [("ds=1", f"{seed}.t@ds=1 (no partitions)", "incomplete")],
    )


def test_the_second_scenario(spark: Session, seed: str) -> None:
    spark.sql("alter table Tdep add partition (ds='1') partition (ds='2')")
    spark.sql(
        "create table T2 (key string, value string) partitioned by (ds string, hr string, min string) "
        "skewed by (key) on ('k0', 'k1') stored as directories stored as parquet"
    )
    spark.sql("alter table Tdep depends on table T2")
    spark.sql(
        "insert into T2 values ('k0', 'a', '11', '1', '1'), ('k1', 'b', '11', '24', '60'), ('z', 'c', '2', '1', '1')"
    )
    spark.sql("alter table Tdep add partition (ds=11)")
    assert partitions(spark, "Tdep") == ["ds=1", "ds=11", "ds=2"]
    assert count(spark, "Tdep", "ds = 1 or ds = 11") == 26
    assert count(spark, "Tdep") == count(spark, "T") + count(spark, "T2", "ds = 11") == 50
    spark.sql("alter table Tdep partition (ds=2) depends on table T2")
    assert count(spark, "Tdep", "ds = '2'") == count(spark, "T2", "ds = 2") == 1
    assert count(spark, "Tdep") == 27
    query = spark.sql("select value from Tdep where ds = '11' and key = 'k0'")
    assert [row[0] for row in query.collect()] == ["a"]
    report = scan_report(query)
    assert [(scan.table, scan.kept.partitions, scan.kept.directories) for scan in report.scans] == [
        (f"{seed}.t2", 1, 1)
    ]
    assert report.dependents == (DependentScan(f"{seed}.tdep", ("ds=11",), ((f"{seed}.t2", ("ds=11/hr=1/min=1",)),)),)


def test_the_inputs_of_a_query_are_named(spark: Session, seed: str) -> None:
    """The audit of the proposal: Tdep@ds=1 and T@ds=1/hr=1 … 24, also where a table is read through two."""
    spark.sql("create dependent table Second partitioned by (ds) depends on Tdep")
    for name in ("Tdep", "Second"):
        spark.sql(f"alter table {name} add partition (ds=1) partition (ds=2)")
    day = tuple(sorted(f"ds=1/hr={hour}" for hour in HOURS))
    through = ((f"{seed}.t", day),)
    report = scan_report(spark.sql("select count(1) from Second where ds = 1"))
    assert [dependent.table for dependent in report.dependents] == [f"{seed}.second", f"{seed}.tdep"]
    assert {(dependent.partitions, dependent.bases) for dependent in report.dependents} == {(("ds=1",), through)}
    joined = scan_report(spark.sql("select * from T where ds in (select ds from Tdep where ds = '1')"))
    assert [(dependent.partitions, dependent.bases) for dependent in joined.dependents] == [(("ds=1",), through)]
    assert f"{seed}.tdep: 1 partitions (ds=1)" in str(joined).splitlines()
    assert scan_report(spark.sql("select * from Tdep where ds = '7'")).dependents == (
        DependentScan(f"{seed}.tdep", (), ()),
    )
    assert scan_report(spark.sql("select * from T")).dependents == ()


def test_tables_that_hive_s_reader_reads(spark: Session, database: str) -> None:
    spark.sql("create table base (x int) partitioned by (d date, n int) stored as textfile")
    spark.sql("insert into base values (1, date'2024-01-31', 1), (2, date'2024-02-01', null), (3, date'2024-01-31', 2)")
    spark.sql("create dependent table dep partitioned by (d, n) depends on base")
    spark.sql("alter table dep add partition (d='2024-01-31', n=1) partition (d='2024-02-01', n=null)")
    names = ("d=2024-01-31/n=1", "d=2024-02-01/n=__HIVE_DEFAULT_PARTITION__")
    query = spark.sql("select x from dep")
    assert sorted(row[0] for row in query.collect()) == [1, 2]
    assert scan_report(query).dependents == (DependentScan(f"{database}.dep", names, ((f"{database}.base", names),)),)


def test_a_dependent_table_may_depend_on_another(spark: Session, seed: str) -> None:
    spark.sql(
        "create dependent table Second partitioned by (ds) depends on Tdep comment 'twice' tblproperties ('a'='b')"
    )
    spark.sql("alter table Tdep add partition (ds='1') partition (ds='2')")
    spark.sql("alter table Second add if not exists partition (ds='2')")
    assert count(spark, "Second") == count(spark, "T", "ds = 2") == 24
    with pytest.raises(SparkClientError, match=r"tdep cannot depend on \w+\.second"):
        spark.sql("alter table Tdep depends on Second")


def test_partitions_are_dropped_by_a_part_of_their_values(spark: Session, seed: str) -> None:
    spark.sql("create dependent table Hourly partitioned by (ds string, hr string) depends on T")
    spark.sql("alter table Hourly add partition (ds=1, hr=1) partition (hr=2, ds=1) partition (ds=2, hr=1)")
    assert [row[0] for row in spark.sql("show partitions Hourly partition (hr=1)").collect()] == [
        "ds=1/hr=1",
        "ds=2/hr=1",
    ]
    assert [dependency[0] for dependency in dependencies(spark, "Hourly", "partition (hr=1)")] == [
        "ds=1/hr=1",
        "ds=2/hr=1",
    ]
    spark.sql("alter table Hourly drop partition (ds=1)")
    assert (partitions(spark, "Hourly"), count(spark, "Hourly")) == (["ds=2/hr=1"], 1)
    spark.sql("alter table Hourly drop if exists partition (ds=7)")
    with pytest.raises(NoSuchPartitionError, match=r"hourly has no partition \(ds=7\)"):
        spark.sql("alter table Hourly drop partition (ds=7)")


def test_names_and_columns_follow(spark: Session, seed: str) -> None:
    spark.sql("alter table Tdep add partition (ds='1')")
    spark.sql("alter table T rename to Renamed")
    spark.sql("alter table Renamed add columns (more int)")
    spark.sql("insert into Renamed values ('k', 'v', 7, '1', '25')")
    assert spark.table("Tdep").columns == ["key", "value", "more", "ds"]
    assert count(spark, "Tdep", "more = 7") == 1
    spark.sql("alter view Tdep set tblproperties ('x' = 'y')")
    spark.sql("alter table Renamed add columns (last int)")
    assert spark.table("Tdep").columns == ["key", "value", "more", "last", "ds"]
    spark.sql("alter table Tdep set tblproperties ('x' = 'z')")
    spark.sql("alter table Tdep rename to Signal")
    assert count(spark, "Signal") == 25
    spark.sql("alter table Signal partition (ds='1') rename to partition (ds='2')")
    assert (partitions(spark, "Signal"), count(spark, "Signal", "ds = '2'")) == (["ds=2"], 24)
    with pytest.raises(NoSuchPartitionError, match=r"signal has no partition \(ds=1\)"):
        spark.sql("alter table Signal partition (ds='1') rename to partition (ds='3')")
    with pytest.raises(AnalysisException, match="signal depends on it"):
        spark.sql("drop table Renamed")
    spark.sql("drop table Signal")
    assert count(spark, "Renamed") == 49
    spark.sql("drop table Renamed")


def test_a_base_is_dropped_with_all_that_depends_on_it(spark: Session, seed: str) -> None:
    spark.sql("create dependent table Second partitioned by (ds) depends on Tdep")
    spark.sql("create table Other (a int)")
    with pytest.raises(AnalysisException, match=r"tdep depends on it\. .* DROP TABLE \w+\.t CASCADE"):
        spark.sql("drop table T")
    assert count(spark, "T") == 48
    spark.sql("drop table T purge cascade")
    assert [row.tableName for row in spark.sql("show tables").collect() if not row.isTemporary] == ["other"]
    spark.sql("drop table Other cascade")
    spark.sql("drop table if exists T cascade")
    with pytest.raises(NoSuchTableError, match="t table not found"):
        spark.sql("drop table T cascade")


def test_a_database_is_dropped_completely_or_not_at_all(spark: Session, seed: str) -> None:
    spark.sql("create table A_table (a int)")
    spark.sql("create dependent table A_second partitioned by (ds) depends on Tdep")
    other = f"{seed}_other"
    spark.sql(f"create database {other}")
    spark.sql(f"create dependent table {other}.far partitioned by (ds) depends on Tdep")
    before = spark.sql("show tables").collect()
    with pytest.raises(AnalysisException, match=rf"Cannot drop {seed}.tdep: .*{other}.far depend on it"):
        spark.sql(f"drop database {seed} cascade")
    assert spark.sql("show tables").collect() == before
    assert count(spark, "T") == 48
    spark.sql(f"drop database {other} cascade")
    spark.sql(f"drop database {seed} cascade")
    spark.sql(f"create database {seed}")


def test_the_statement_that_made_it(spark: Session, empty_seed: str) -> None:
    spark.sql(
        "create dependent table Second comment 'it\\'s' partitioned by (DS) depends on T tblproperties ('b'='\\\\')"
    )
    made = spark.sql("show create table Second").collect()[0][0]
    assert made == (
        f"CREATE DEPENDENT TABLE {empty_seed}.second\nCOMMENT 'it\\'s'\nPARTITIONED BY (ds STRING)\n"
        f"DEPENDS ON TABLE {empty_seed}.t\nTBLPROPERTIES (\n  'b' = '\\\\')\n"
    )
    spark.sql("drop table Second")
    spark.sql(made)
    assert spark.sql("show create table Second").collect()[0][0] == made
    text = spark.sql("show create table T").collect()[0][0].replace("`", "")
    assert text.startswith(f"CREATE TABLE {empty_seed}.t")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["DATE'2024-01-31'", "DATE'1969-12-31'"], "date"),
        (["-5", "0", "2147483647"], "int"),
        pytest.param(["9223372036854775807"], "bigint", marks=pytest.mark.long),
        (["1.50", "-0.25"], "decimal(10,2)"),
        (["true", "false"], "boolean"),
        (["TIMESTAMP'2024-01-31 10:00:00.5'"], "timestamp"),
        (["'it\\'s'", "'a\\\\b'", "'\\u0024{x}'", "'a/b=c%'", "'é '", "NULL"], "string"),
        pytest.param(["'a'", "'b '"], "varchar(5)", marks=pytest.mark.long),
    ],
)
def test_values_of_all_types(spark: Session, database: str, values: list[str], kind: str) -> None:
    spark.sql(f"create table base (x int) partitioned by (p {kind}, q int) stored as parquet")
    rows = ", ".join(f"({number}, {value}, 1)" for number, value in enumerate([*values]))
    spark.sql(f"insert into base values {rows}")
    spark.sql("create dependent table dep partitioned by (p) depends on base")
    for number, value in enumerate(values, 1):
        spark.sql(f"alter table dep add partition (p = {value})")
        assert count(spark, "dep") == number, (value, spark.sql("describe extended dep").collect())
    assert sorted(spark.table("dep").collect(), key=repr) == sorted(
        spark.sql("select x, p from base").collect(), key=repr
    )
    assert all("(no partitions)" not in base for _, base, _ in dependencies(spark, "dep"))


@pytest.mark.parametrize(
    ("statement", "error", "text"),
    [
        (
            "create dependent table bad partitioned by (hr string) depends on T",
            SparkClientError,
            r"first ones of .*\.t",
        ),
        ("create dependent table bad partitioned by (ds int) depends on T", SparkClientError, "ds string"),
        ("create dependent table bad partitioned by (ds) depends on nope", NoSuchTableError, "nope"),
        ("create dependent table Tdep partitioned by (ds) depends on T", TableExistsError, "tdep already exists"),
        ("create dependent table bad partitioned by ds depends on T", InvalidStatementError, "expected"),
        ("create dependent table bad depends on T", InvalidStatementError, "PARTITIONED"),
        ("alter table Tdep add partition (ds='1') location '/tmp/x'", InvalidStatementError, "omit LOCATION"),
        ("alter table Tdep add partition (hr='1')", InvalidStatementError, "hr is not a partition column"),
        ("alter table Tdep partition (ds='9') depends on T", MetastoreRefusedError, "no partition ds=9"),
        ("alter table T depends on Tdep", MetastoreRefusedError, "t is not a dependent table"),
        ("insert into Tdep values ('a', 'b', '1')", QueryExecutionException, r"no data of its own; write to \w+\.t"),
        ("insert overwrite Tdep partition (ds='1') select 'a', 'b'", QueryExecutionException, "no data of its own"),
        ("load data local inpath '/tmp/x' into table Tdep partition (ds='1')", InvalidStatementError, "no data"),
        ("truncate table Tdep", InvalidStatementError, "no data of its own"),
        ("delete from Tdep", InvalidStatementError, "no data of its own"),
        ("create or replace view Tdep as select 1", InvalidStatementError, "DEPENDS ON TABLE, or DROP TABLE it first"),
        ("alter view Tdep as select 1", InvalidStatementError, "is a dependent table, whose view text"),
        ("describe extended Tdep partition (ds='9')", NoSuchPartitionError, r"no partition \(ds=9\)"),
    ],
)
def test_rejected_statements(spark: Session, refusing: str, statement: str, error: type[Exception], text: str) -> None:
    with current(spark, refusing):
        with pytest.raises(error, match=text):
            spark.sql(statement)
        assert partitions(spark, "Tdep") == []


@since("4.0", "a place for rules that come before tables are looked up, which these refusals need,")
def test_rows_of_frames_and_streams_are_rejected(spark: Session, refusing: str, tmp_path: Path) -> None:
    """The texts are the same as of the SQL statements."""
    rows = spark.createDataFrame([("a", "b", "1")], "key string, value string, ds string")
    stream = spark.readStream.format("rate").load().selectExpr("'a' as key", "'b' as value", "'1' as ds").writeStream
    no_data = rf"{refusing}.tdep is a dependent table and has no data of its own; write to {refusing}.t"
    with current(spark, refusing):
        for write in (
            lambda: rows.write.insertInto("Tdep"),
            lambda: rows.write.mode("append").saveAsTable("Tdep"),
            lambda: rows.writeTo("Tdep").append(),
            lambda: rows.writeTo("Tdep").overwritePartitions(),
            lambda: write_rows(rows).into("Tdep").append(),
            lambda: stream.toTable("Tdep", checkpointLocation=str(tmp_path)),
        ):
            with pytest.raises((QueryExecutionException, InvalidInsertError), match=no_data):
                write()
        with pytest.raises(QueryExecutionException, match="no streaming source for dependent tables"):
            spark.readStream.table("Tdep")


def test_twice(spark: Session, empty_seed: str) -> None:
    spark.sql("alter table Tdep add partition (ds='1')")
    with pytest.raises(PartitionExistsError, match="ds=1"):
        spark.sql("alter table Tdep add partition (ds='1')")
    spark.sql("create dependent table if not exists Tdep partitioned by (ds) depends on T")


def test_a_temporary_view_of_that_name_is_meant(spark: Session, empty_seed: str) -> None:
    spark.range(3).createOrReplaceTempView("Tdep")
    try:
        described: list[Any] = spark.sql("describe extended Tdep").collect()
    finally:
        spark.catalog.dropTempView("Tdep")
    assert [row[0] for row in described] == ["id"]


def test_buckets_of_a_base_are_pruned(spark: Session, database: str) -> None:
    columns = "(k int, v string) partitioned by (ds string)"
    spark.sql(f"create table base {columns} clustered by (k) into 8 buckets stored as parquet")
    spark.sql("insert into base select id, 'v', cast(id % 2 as string) from range(64)")
    spark.sql("create dependent table signal partitioned by (ds) depends on base")
    spark.sql("alter table signal add partition (ds='0') partition (ds='1')")
    query = spark.sql("select v from signal where k = 6")
    (scan,) = scan_report(query).scans
    assert (scan.kept.buckets, scan.total.buckets, query.count()) == (2, 16, 1)


def test_values_are_as_their_types_are_written(spark: Session, database: str) -> None:
    spark.sql("create table T (a int) partitioned by (ds date, n int) stored as parquet")
    spark.sql("insert into T values (1, date '2024-01-02', 1)")
    spark.sql("create dependent table Tdep partitioned by (ds date, n int) depends on table T")
    spark.sql("alter table Tdep add partition (ds='2024-1-2', n='01')")
    with pytest.raises(PartitionExistsError):
        spark.sql("alter table Tdep add partition (ds='2024-01-02', n='+1')")
    assert partitions(spark, "Tdep") == ["ds=2024-01-02/n=1"]
    assert count(spark, "Tdep", "n = 1") == 1
    spark.sql("alter table Tdep drop partition (n='001')")
    assert (partitions(spark, "Tdep"), count(spark, "Tdep")) == ([], 0)


def test_columns_are_added_to_both_bases_while_the_table_moves(spark: Session, seed: str) -> None:
    spark.sql("create table T2 (key string, value string) partitioned by (ds string, hr string, min string)")
    spark.sql("alter table Tdep add partition (ds=1)")
    spark.sql("alter table Tdep depends on table T2")
    spark.sql("insert into T2 values ('k', 'v', '11', '1', '1')")
    spark.sql("alter table Tdep add partition (ds=11)")
    spark.sql("alter table T add columns (more int)")
    assert spark.table("Tdep").columns == ["key", "value", "ds"]
    spark.sql("alter table T2 add columns (more int)")
    assert spark.table("Tdep").columns == ["key", "value", "more", "ds"]
    spark.sql("insert into T2 values ('k2', 'v', 5, '11', '1', '2')")
    assert (count(spark, "Tdep"), count(spark, "Tdep", "more = 5")) == (26, 1)


def test_waiting_for_partitions(spark: Session, empty_seed: str) -> None:
    spark.sql("alter table Tdep add partition (ds = '1')")
    with pytest.raises(NotInTimeError, match=r"do not exist after 0 seconds: ds=1/hr=01, ds=1/hr=02$"):
        wait_for("T", "ds=1/hr=01..02", timeout=0, spark=spark)
    with pytest.raises(NotInTimeError, match=r"or what they depend on, do not exist after 0 seconds: ds=1$"):
        wait_for(f"{empty_seed}.Tdep", ["ds=1"], dependencies=True, timeout=0, spark=spark)
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(wait_for, f"{empty_seed}.Tdep", "ds=1", dependencies=True, timeout=120, spark=spark)
        spark.sql("alter table T add partition (ds = '1', hr = '01')")
        assert waiting.result() == ("ds=1",)
    with pytest.raises(InvalidArgumentError, match="does not name the first partition columns"):
        wait_for("T", "hr=1", spark=spark)
