"""EXPIRE and OPTIMIZE in a session."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metastore.client import MetastoreClient
from metastore.client.lease import LeaseHeldError, leased
from metastore.client.structs import Partition, ScanPlan
from metastore.domain.expression import FALSE
from spark_client import Session, care, scan_report
from spark_client.care_statistics import refresh_statistics
from spark_client.commands import care as command
from spark_client.commands import json_answer as answering
from spark_client.context import Context
from spark_client.errors import InvalidStatementError, MetastoreRefusedError, NoSuchTableError, WriteFailedError
from spark_client.jvm.files import Files
from tests.spark.tables import DEFAULT, directories, layout

QUIET = "'care.compaction.quiet.period' = '0', 'care.compaction.min.files' = '3'"


def test_expired_partitions_are_dropped(spark: Session, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (n INT) PARTITIONED BY (ds STRING) STORED AS PARQUET "
        "TBLPROPERTIES ('care.retention.key' = 'ds', 'care.retention.period' = '30d')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, '2001-01-01'), (2, '2001-01-02'), (3, '2999-01-01'), (4, 'x')")
    expected = [(f"ds=2001-01-0{day}", 1) for day in (1, 2)]

    def rows(statement: str) -> list[tuple[str, int, str]]:
        return [(row.partition, row.files, row.outcome) for row in spark.sql(statement).collect()]

    def remaining() -> list[int]:
        return sorted(row.n for row in spark.sql(f"SELECT n FROM {table_name}").collect())

    assert rows(f"EXPIRE {table_name} DRY RUN") == [(*each, "would be dropped") for each in expected]
    assert remaining() == [1, 2, 3, 4]
    assert rows(f"EXPIRE {table_name}") == [(*each, "dropped") for each in expected]
    assert remaining() == [3, 4]
    assert rows(f"EXPIRE {table_name}") == []
    spark.sql(f"UNDROP TABLE {table_name} PARTITION (ds = '2001-01-02')")
    assert remaining() == [2, 3, 4]


def test_tables_that_do_not_expire_are_refused(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (n INT) PARTITIONED BY (ds STRING) STORED AS PARQUET")
    with pytest.raises(MetastoreRefusedError, match=r"do not expire: set partition\.retention\.period"):
        spark.sql(f"EXPIRE {table_name}")
    with pytest.raises(NoSuchTableError):
        spark.sql(f"EXPIRE {table_name}_missing")


def test_scans_that_are_no_queries_are_not_recorded(
    spark: Session, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (n INT, s STRING) STORED AS PARQUET TBLPROPERTIES ({QUIET})")
    for number in range(3):
        spark.sql(f"INSERT INTO {table_name} VALUES ({number}, 'a')")
    plan, kinds = MetastoreClient.plan_scan, list[bool]()

    def planning(self: MetastoreClient, *args: Any, **options: Any) -> ScanPlan:
        if FALSE not in args:  # a scan of no rows is a check
            kinds.append(options.get("is_query", True))
        return plan(self, *args, **options)

    monkeypatch.setattr(MetastoreClient, "plan_scan", planning)

    def recorded(action: Callable[[], Any]) -> set[bool]:
        kinds.clear()
        action()
        return set(kinds)

    query = f"SELECT * FROM {table_name} WHERE n = 1"
    assert recorded(lambda: scan_report(spark.sql(query))) == {False}
    assert recorded(lambda: spark.sql(f"EXPLAIN {query}").collect()) == {False}
    assert recorded(lambda: spark.sql(f"SHOW SKEW IN {table_name} (n)").collect()) == {False}
    assert recorded(lambda: spark.sql(f"OPTIMIZE {table_name}").collect()) == {False}
    assert recorded(lambda: spark.sql(query).collect()) == {True}


def test_directories_become_partitions(spark: Session, table_name: str, tmp_path: Path) -> None:
    spark.sql(
        f"CREATE EXTERNAL TABLE {table_name} (n INT) PARTITIONED BY (ds STRING, h INT) STORED AS PARQUET "
        f"LOCATION '{tmp_path}/t' TBLPROPERTIES ('discover.partitions' = 'true', 'care.discovery.drop' = 'on')"
    )
    assert spark.table(table_name).count() == 0, "Spark has cached its partitions"
    data = spark.sql("SELECT 1 AS n, '2024-01-01 10:00' AS ds, 3 AS h UNION ALL SELECT 2, 'x', 4")
    data.write.partitionBy("ds", "h").parquet(f"{tmp_path}/t", mode="append")
    (tmp_path / "t" / "old").mkdir()
    new = ["ds=2024-01-01 10%3A00/h=3", "ds=x/h=4"]

    def rows(statement: str) -> list[tuple[str, str]]:
        return [(row.partition, row.outcome) for row in spark.sql(statement).collect()]

    ignored = ("", "ignored: 1 directory is no partition: old: its name does not begin with ds=")
    dry = rows(f"DISCOVER PARTITIONS {table_name} DRY RUN")
    assert dry == [ignored, *((name, "would be added") for name in new)]
    assert spark.table(table_name).count() == 0
    assert rows(f"DISCOVER PARTITIONS {table_name}") == [ignored, *((name, "added") for name in new)]
    assert sorted(row.n for row in spark.sql(f"SELECT n FROM {table_name}").collect()) == [1, 2]
    shutil.rmtree(tmp_path / "t" / "ds=x")
    (found, dropped) = care.discover(table_name, spark=spark)
    assert (found.partition, dropped.outcome) == ("", "dropped: its directory is gone")
    assert [row.n for row in spark.sql(f"SELECT n FROM {table_name}").collect()] == [1]
    with pytest.raises(NoSuchTableError):
        spark.sql(f"DISCOVER PARTITIONS {table_name}_missing")


def load(spark: Session, name: str, days: tuple[str, ...] = ("1", "2"), loads: int = 3) -> list[Any]:
    """Appends to each day in several loads. Returns all rows."""
    each = f"explode(array({', '.join(days)}))"
    for number in range(loads):
        spark.sql(f"INSERT INTO {name} SELECT id + {number * 100}, int(id % 4), {each} FROM range(0, 100, 1, 1)")
    return rows_of(spark, name)


def rows_of(spark: Session, name: str) -> list[Any]:
    return sorted(spark.table(name).collect(), key=str)


def make(spark: Session, name: str, clause: str = "STORED AS PARQUET", more: str = "") -> None:
    spark.sql(f"CREATE TABLE {name} (id BIGINT, x INT) PARTITIONED BY (day INT) {clause} TBLPROPERTIES ({QUIET}{more})")


def partitions(spark: Session, name: str) -> dict[str, Partition]:
    return {one.values[0]: one for one in spark.metastore.get_partitions("default", name)}


def outcomes(spark: Session, statement: str) -> list[tuple[str, int, int, str]]:
    rows = [(row.partition, row.files, row.files_after, row.outcome) for row in spark.sql(statement).collect()]
    return sorted(rows)


@pytest.mark.parametrize("format_", ["PARQUET", pytest.param("ORC", marks=pytest.mark.long)])
def test_small_files_become_one(spark: Session, table_name: str, format_: str) -> None:
    make(spark, table_name, f"STORED AS {format_}")
    load(spark, table_name)
    spark.sql(f"INSERT INTO {table_name} VALUES (7, 7, 3)")
    data, before = rows_of(spark, table_name), partitions(spark, table_name)
    statement = f"OPTIMIZE {table_name}"
    assert outcomes(spark, f"{statement} DRY RUN") == [(f"day={day}", 3, 1, "would be compacted") for day in (1, 2)]
    assert partitions(spark, table_name) == before
    assert outcomes(spark, statement) == [(f"day={day}", 3, 1, "compacted") for day in (1, 2)]
    after = partitions(spark, table_name)
    assert rows_of(spark, table_name) == data
    assert [sum(directories(after[day]).values()) for day in ("1", "2", "3")] == [1, 1, 1]
    assert after["3"] == before["3"], "it has one file"
    assert (after["1"].parameters["numFiles"], after["1"].parameters["numRows"]) == ("1", "300")
    assert outcomes(spark, statement) == []
    spark.sql(f"UNDROP TABLE {table_name} PARTITION (day = 1)")
    assert sum(directories(partitions(spark, table_name)["1"]).values()) == 3
    assert rows_of(spark, table_name) == data


def test_a_condition_selects_partitions(spark: Session, table_name: str) -> None:
    make(spark, table_name)
    load(spark, table_name, ("1", "2", "NULL"))
    assert outcomes(spark, f"OPTIMIZE {table_name} WHERE day > 1 AND day < 5 DRY RUN") == [
        ("day=2", 3, 1, "would be compacted")
    ]
    assert outcomes(spark, f"OPTIMIZE {table_name} WHERE day IS NULL") == [
        ("day=__HIVE_DEFAULT_PARTITION__", 3, 1, "compacted")
    ]
    for condition in ("id > 1", "day >", "missing = 1"):
        with pytest.raises(InvalidStatementError, match=r"condition on the partition columns of default\..* \(day\): "):
            spark.sql(f"OPTIMIZE {table_name} WHERE {condition}")


def test_skew_directories_stay(spark: Session, table_name: str) -> None:
    make(spark, table_name, "SKEWED BY (x) ON (1, 2) STORED AS DIRECTORIES STORED AS PARQUET")
    data = load(spark, table_name, loads=4)
    before = partitions(spark, table_name)["1"]
    assert directories(before) == {DEFAULT: 4, "x=1": 4, "x=2": 4}
    assert [row[2:] for row in outcomes(spark, f"OPTIMIZE {table_name}")] == [(3, "compacted")] * 2
    after = partitions(spark, table_name)["1"]
    assert directories(after) == {DEFAULT: 1, "x=1": 1, "x=2": 1}
    assert (after.skew.columns, after.skew.values) == (before.skew.columns, before.skew.values)
    assert rows_of(spark, table_name) == data


def test_buckets_stay(spark: Session, table_name: str) -> None:
    make(spark, table_name, "CLUSTERED BY (id) SORTED BY (id) INTO 2 BUCKETS STORED AS PARQUET")
    data = load(spark, table_name)
    assert [row[1:] for row in outcomes(spark, f"OPTIMIZE {table_name}")] == [(6, 2, "compacted")] * 2
    assert [sum(directories(one).values()) for one in partitions(spark, table_name).values()] == [2, 2]
    assert rows_of(spark, table_name) == data


def test_a_table_without_partitions(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT) STORED AS PARQUET TBLPROPERTIES ({QUIET})")
    for number in range(3):
        spark.sql(f"INSERT INTO {table_name} SELECT id + {number} FROM range(0, 10, 1, 1)")
    data = rows_of(spark, table_name)
    with (
        leased(spark.metastore.methods, "default", table_name, "retention"),
        pytest.raises(LeaseHeldError, match=f"default.{table_name}: .* holds its lease since .*: retention"),
    ):
        spark.sql(f"OPTIMIZE {table_name}")
    assert outcomes(spark, f"OPTIMIZE {table_name}") == [("", 3, 1, "compacted")]
    assert layout(spark.metastore.get_table("default", table_name).location or "") == {"": 1}
    assert rows_of(spark, table_name) == data
    with pytest.raises(InvalidStatementError, match="has no partitions: OPTIMIZE it without WHERE"):
        spark.sql(f"OPTIMIZE {table_name} WHERE id = 1")


@pytest.mark.parametrize("format_", ["parquet", "orc"])
def test_files_with_undeclared_columns_are_left(spark: Session, table_name: str, tmp_path: Path, format_: str) -> None:
    """A rewrite would lose them. Names may differ in case."""
    place = tmp_path / "t" / "p=1"
    for number in range(4):
        more = ", 7 AS extra" if number == 2 else ""
        fields = "'a', 1, 'Zz', 2" if number == 3 else "'A', 1"
        rows = spark.sql(f"SELECT {number} AS ID, array(named_struct({fields})) AS S{more}")
        rows.coalesce(1).write.mode("append").format(format_).save(str(place))
    spark.sql(
        f"CREATE EXTERNAL TABLE {table_name} (id INT, s ARRAY<STRUCT<a: INT>>) PARTITIONED BY (p INT) "
        f"STORED AS {format_} LOCATION '{tmp_path}/t' TBLPROPERTIES ({QUIET})"
    )
    spark.sql(f"MSCK REPAIR TABLE {table_name}")
    before = sorted(path.name for path in place.iterdir())

    def outcomes() -> list[str]:
        return [row.outcome for row in spark.sql(f"OPTIMIZE {table_name}").collect()]

    assert outcomes() == ["skipped: files have columns that the table does not declare: S.Zz, extra"]
    assert sorted(path.name for path in place.iterdir()) == before
    spark.sql(f"DROP TABLE {table_name}")
    spark.sql(
        f"CREATE EXTERNAL TABLE {table_name} (id INT, s ARRAY<STRUCT<a: INT, zz: INT>>, extra INT) "
        f"PARTITIONED BY (p INT) STORED AS {format_} LOCATION '{tmp_path}/t' TBLPROPERTIES ({QUIET})"
    )
    spark.sql(f"MSCK REPAIR TABLE {table_name}")
    assert outcomes() == ["compacted"]
    found = spark.sql(f"SELECT id, s[0].a, s[0].zz, extra FROM {table_name} ORDER BY id").collect()
    assert [tuple(row) for row in found] == [(0, 1, None, None), (1, 1, None, None), (2, 1, None, 7), (3, 1, 2, None)]


def test_rows_of_a_merged_file_have_the_order_of_the_files(spark: Session, table_name: str) -> None:
    make(spark, table_name)
    for start in (0, 1000, 2000, 3000):
        rows = f"SELECT id, 0, explode(array(1, 2)) FROM range({start}, {start + 500}, 1, 1)"
        spark.sql(f"INSERT INTO {table_name} {rows}")
    assert len(outcomes(spark, f"OPTIMIZE {table_name}")) == 2
    for one in partitions(spark, table_name).values():
        ids = [row.id for row in spark.read.parquet(one.location).coalesce(1).collect()]
        runs = [ids[at : at + 500] for at in range(0, 2000, 500)]
        assert sorted(run[0] for run in runs) == [0, 1000, 2000, 3000]
        assert all(run == list(range(run[0], run[0] + 500)) for run in runs)


@pytest.mark.parametrize("step", ["planned", "staged"])
def test_a_partition_that_changes_meanwhile_is_left_as_it_is(spark: Session, table_name: str, step: str) -> None:
    make(spark, table_name)
    load(spark, table_name)
    added = []

    def insert(reached: str) -> None:
        if reached == step and not added:
            added.append(reached)
            spark.sql(f"INSERT INTO {table_name} VALUES (999, 9, 1)")

    context = Context(spark, spark.metastore, insert)
    found = sorted(care.compact(context, f"default.{table_name}", dry_run=False), key=lambda one: one.partition)
    assert [(one.partition, one.outcome) for one in found] == [("day=1", care.CHANGED), ("day=2", care.COMPACTED)]
    assert sum(directories(partitions(spark, table_name)["1"]).values()) == 4
    assert len(rows_of(spark, table_name)) == 601


@pytest.mark.parametrize("step", ["staged", "published"])
def test_a_file_that_another_engine_adds_meanwhile_is_not_lost(spark: Session, table_name: str, step: str) -> None:
    """Trino puts a file into the directory of a partition, reads the partition again, and alters it."""
    make(spark, table_name)
    load(spark, table_name)
    before, known = rows_of(spark, table_name), partitions(spark, table_name)
    folder = Path(known["1"].location.removeprefix("file:"))
    source = next(folder.glob("*.parquet"))
    row, file = source.read_bytes(), folder / "20261129_000001_00001_x"

    def add(reached: str) -> None:
        if reached == step and not file.exists():
            file.write_bytes(row)

    def alter() -> None:
        methods: Any = spark.metastore.methods
        found = methods.get_partition("default", table_name, ["1"])
        found.parameters["numFiles"] = "4"
        methods.alter_partition("default", table_name, found)

    found = care.compact(Context(spark, spark.metastore, add), f"default.{table_name}", dry_run=False)
    assert [one.outcome for one in found] == [care.COMPACTED] * 2
    if step == "staged":  # the group has a conflict, and each partition is read again
        assert len(rows_of(spark, table_name)) > len(before)
    alter()
    assert len(rows_of(spark, table_name)) == len(before) + spark.read.parquet(str(source)).count()


def test_partitions_that_spark_cannot_tell_apart_are_left(spark: Session, table_name: str) -> None:
    """Rows of day=01 are rows of day 1 for Spark, and would be written to both."""
    make(spark, table_name)
    load(spark, table_name, ("1", "2"))
    odd = spark.metastore.methods.get_partition("default", table_name, ["1"])
    odd.values, odd.sd.location, odd.sd.skewedInfo = ["01"], f"{odd.sd.location}-odd", None
    odd.parameters = {"numFiles": "1", "totalSize": "5000"}
    spark.metastore.methods.add_partition(odd)
    spark.sql("SELECT 999L AS id, 9 AS x").write.parquet(odd.sd.location, mode="append")
    before = rows_of(spark, table_name)
    found = {name: outcome for name, _, _, outcome in outcomes(spark, f"OPTIMIZE {table_name}")}
    assert found.pop("day=2") == "compacted"
    assert [name for name, outcome in found.items() if "day=01, which is not the canonical text" in outcome] == [
        "day=1"
    ]
    assert rows_of(spark, table_name) == before


def test_rows_that_the_session_has_cached_are_read_again(spark: Session, table_name: str) -> None:
    make(spark, table_name)
    load(spark, table_name, ("1",))
    spark.catalog.cacheTable(table_name)
    assert spark.table(table_name).count() == 300
    # Another program adds a file.
    written = spark.metastore.methods.get_partition("default", table_name, ["1"])
    folder = Path(written.sd.location.removeprefix("file:"))
    file = sorted(folder.glob("*.parquet"))[0]
    shutil.copy(file, folder / "added.parquet")
    written.parameters["numFiles"] = "4"
    spark.metastore.methods.alter_partition("default", table_name, written)
    try:
        assert spark.table(table_name).count() == 300, "the session does not know of it"
        assert [row[1:] for row in outcomes(spark, f"OPTIMIZE {table_name}")] == [(4, 1, "compacted")]
        assert partitions(spark, table_name)["1"].parameters["numRows"] == "400"
        assert len(rows_of(spark, table_name)) == 400
    finally:
        spark.catalog.uncacheTable(table_name)


def test_a_failure_leaves_the_partitions(spark: Session, table_name: str) -> None:
    make(spark, table_name)
    data = load(spark, table_name)
    failed = []

    def fail(reached: str) -> None:
        if reached == "staged" and not failed:
            failed.append(reached)
            raise WriteFailedError("the disk is full")

    context = Context(spark, spark.metastore, fail)
    found = list(care.compact(context, f"default.{table_name}", dry_run=False))
    assert {one.outcome for one in found} == {"failed: the disk is full"}
    assert rows_of(spark, table_name) == data
    assert {one.outcome for one in care.compact(context, f"default.{table_name}", dry_run=False)} == {care.COMPACTED}


def test_a_table_that_is_dropped_meanwhile(spark: Session, table_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make(spark, table_name)
    load(spark, table_name, ("1",))
    monkeypatch.setattr(care, "check_names", lambda *_: spark.sql(f"DROP TABLE {table_name}"))
    (found,) = care.compact(Context(spark, spark.metastore), f"default.{table_name}", dry_run=False)
    assert found.outcome.startswith("failed: [TABLE_OR_VIEW_NOT_FOUND]")


def test_bases_of_dependent_partitions_are_left(spark: Session, table_name: str) -> None:
    make(spark, table_name)
    load(spark, table_name)
    dependent = f"{table_name}_d"
    spark.sql(f"CREATE DEPENDENT TABLE {dependent} PARTITIONED BY (day INT) DEPENDS ON TABLE {table_name}")
    spark.sql(f"ALTER TABLE {dependent} ADD PARTITION (day = 1)")
    assert outcomes(spark, f"OPTIMIZE {table_name}") == [
        ("day=1", 3, 1, "skipped: partitions of dependent tables rest on it"),
        ("day=2", 3, 1, "compacted"),
    ]


def test_limits_end_a_run(spark: Session, table_name: str) -> None:
    make(spark, table_name)
    load(spark, table_name)
    assert care.optimize(table_name, max_bytes=1, spark=spark) == []
    assert care.optimize(table_name, max_minutes=0, spark=spark) == []
    assert len(care.optimize(table_name, dry_run=True, spark=spark)) == 2
    assert len(care.optimize(table_name, max_bytes=10**9, max_minutes=60, spark=spark)) == 2


def test_tables_whose_policies_do_not_allow_it_are_refused(spark: Session, table_name: str) -> None:
    make(spark, table_name, more=", 'care.compaction' = 'off'")
    with pytest.raises(MetastoreRefusedError, match=r"are not compacted: care\.compaction is off"):
        spark.sql(f"OPTIMIZE {table_name}")
    with pytest.raises(NoSuchTableError):
        spark.sql(f"OPTIMIZE {table_name}_missing")


def test_the_command_compacts_tables_one_after_the_other(
    spark: Session, table_name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Kept:
        """The session of the tests, which the program must not stop."""

        def __getattr__(self, name: str) -> Any:
            return getattr(spark, name)

        def stop(self) -> None:
            """Nothing."""

    monkeypatch.setattr(answering, "session", lambda *_, **__: Kept())
    first, last = f"{table_name}_a", f"{table_name}_b"
    for name in (first, last):
        make(spark, name)
        load(spark, name, ("1",))
    names = [f"default.{name}" for name in (first, "missing", last)]
    assert command.main([",".join(names), "--uri=thrift://h:1", "--max-bytes=100000", "--max-seconds=600"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line.get("table"), line.get("partition"), line.get("outcome")) for line in lines] == [
        (names[0], "day=1", "compacted"),
        (names[1], None, None),
        (names[2], "day=1", "compacted"),
        (None, None, None),
    ]
    assert "missing" in lines[1]["refused"]
    for name in (first, last):
        load(spark, name, ("1",))
    assert command.main([",".join(names[::2]), "--uri=thrift://h:1", "--max-bytes=1"]) == 0
    assert json.loads(capsys.readouterr().out) == {"finished": True}, "no group fits the limit"


def counted(spark: Session, name: str) -> list[tuple[str, int | None, int | None, str]]:
    context = Context(spark, spark.metastore)
    found = refresh_statistics(context, f"default.{name}")
    return [(one.partition, one.files, one.rows, one.outcome) for one in found]


def test_partitions_are_counted_from_footers(spark: Session, table_name: str, tmp_path: Path) -> None:
    spark.sql(
        f"CREATE EXTERNAL TABLE {table_name} (n INT) PARTITIONED BY (d INT) STORED AS ORC LOCATION '{tmp_path}/t' "
        "TBLPROPERTIES ('discover.partitions' = 'true')"
    )
    data = spark.range(30).selectExpr("CAST(id AS INT) AS n", "CAST(id % 3 AS INT) AS d")
    data.repartition(2).write.partitionBy("d").orc(f"{tmp_path}/t", mode="append")
    spark.sql(f"DISCOVER PARTITIONS {table_name}")
    spark.sql(f"ALTER TABLE {table_name} ADD PARTITION (d = 7)")
    shutil.rmtree(tmp_path / "t" / "d=7")
    (broken,) = (tmp_path / "t" / "d=2").glob("part-00000*.orc")
    broken.write_bytes(b"ORC, or not")
    written = partitions(spark, table_name)["1"].parameters["transient_lastDdlTime"]
    outcomes = {name: (files, rows, outcome) for name, files, rows, outcome in counted(spark, table_name)}
    assert {name: outcomes[name] for name in ("d=0", "d=1")} == dict.fromkeys(
        ("d=0", "d=1"), (2, 10, "counted from footers")
    )
    assert outcomes["d=2"][2].startswith("failed: ")
    assert outcomes["d=7"][2].startswith("skipped: ")
    stored = partitions(spark, table_name)["1"].parameters
    size = sum(file.stat().st_size for file in (tmp_path / "t" / "d=1").glob("part*"))
    assert (stored["numFiles"], stored["numRows"], stored["totalSize"]) == ("2", "10", str(size))
    assert stored["transient_lastDdlTime"] == written
    assert json.loads(stored["COLUMN_STATS_ACCURATE"])["BASIC_STATS"] == "true"
    assert [name for name, *_ in counted(spark, table_name)] == ["d=2", "d=7"], "the others are accurate"


def test_other_formats_are_counted_by_a_query(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (n INT) STORED AS TEXTFILE")
    location = spark.metastore.get_table("default", table_name).location or ""
    Path(location.removeprefix("file:"), "a").write_text("1\n2\n3\n")
    assert counted(spark, table_name) == [("", 1, 3, "counted by a query")]
    assert spark.metastore.get_table("default", table_name).parameters["numRows"] == "3"
    assert counted(spark, table_name) == []
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('care.statistics' = 'off')")
    with pytest.raises(MetastoreRefusedError, match=r"are not counted: care\.statistics is off"):
        counted(spark, table_name)


def test_a_partition_that_changes_while_it_is_counted(
    spark: Session, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(spark, table_name)
    load(spark, table_name, ("1",), loads=1)
    rows = Files.rows

    def changed_meanwhile(files: Files, *arguments: Any) -> Any:
        found = rows(files, *arguments)
        monkeypatch.undo()
        spark.sql(f"INSERT INTO {table_name} VALUES (999, 9, 1)")
        return found

    monkeypatch.setattr(Files, "rows", changed_meanwhile)
    ((_, _, _, outcome),) = counted(spark, table_name)
    assert outcome.startswith("skipped: ")
    assert "another" in outcome
    assert counted(spark, table_name) == [("day=1", 2, 101, "counted from footers")]
