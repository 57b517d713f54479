"""Dynamic partitions in plain SQL: the meaning of PARTITION clauses, the modes, and Hive's rejections with their
texts.

The rules are those of Hive's design document "DynamicPartitions" and of its SemanticAnalyzer.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from pyspark.errors import PySparkException

import spark_client
from metastore.client import MetastoreClient
from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client import Session
from spark_client.context import Context
from spark_client.errors import SparkClientError
from tests.fixtures.server import Server
from tests.spark.tables import files_below, layout, settings
from thrift_idl.gen.hive_metastore.ttypes import NotificationEventRequest

LIMIT = "hive.exec.max.dynamic.partitions"


@pytest.fixture
def t(spark: Session, table_name: str) -> str:
    """An empty table (key, value) partitioned by (ds STRING, hr INT)."""
    spark.sql(f"CREATE TABLE {table_name} (key INT, value STRING) PARTITIONED BY (ds STRING, hr INT) STORED AS PARQUET")
    return table_name


def rows(spark: Session, table: str) -> list[tuple[Any, ...]]:
    """Returns all rows, sorted as texts."""
    return sorted(map(tuple, spark.table(table).collect()), key=repr)


def refuse(spark: Session, statement: str, text: str) -> None:
    """Expects the statement to fail with this text."""
    with pytest.raises((SparkClientError, PySparkException), match=re.escape(text)):
        spark.sql(statement)


def nothing_is_left(context: Context, table: str) -> bool:
    """Expects no partition and no file."""
    description = context.metastore.get_table("default", table)
    return not context.metastore.get_partitions("default", table) and not files_below(description.location or "")


def test_static_dynamic_and_mixed(spark: Session, t: str) -> None:
    spark.sparkContext.setJobGroup(t, "writes its rows, and casts its static values without a job")
    spark.sql(f"INSERT OVERWRITE TABLE {t} PARTITION (ds = 'a', hr = 03) SELECT 1, 'static'")
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup(t)) == 1
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    spark.sql(f"INSERT OVERWRITE TABLE {t} PARTITION (ds = 'a', hr) SELECT 2, 'mixed', 4")
    spark.sql(f"INSERT INTO {t} PARTITION (HR, ds = 'a') SELECT 3, 'any order', 5")
    spark.sql(f"INSERT INTO TABLE {t} PARTITION (hr, ds) SELECT 4, 'by position', 'b' AS hr, 6 AS ds")
    spark.sql(f"INSERT INTO {t} SELECT 5, 'no clause', 'b', 7")
    spark.sql(f"INSERT INTO {t} PARTITION (ds = 'b', hr) (hr, key) VALUES (8, 6)")
    assert rows(spark, t) == [
        (1, "static", "a", 3), (2, "mixed", "a", 4), (3, "any order", "a", 5),
        (4, "by position", "b", 6), (5, "no clause", "b", 7), (6, None, "b", 8),
    ]  # fmt: skip
    names = [row[0] for row in spark.sql(f"SHOW PARTITIONS {t}").collect()]
    assert names == ["ds=a/hr=3", "ds=a/hr=4", "ds=a/hr=5", "ds=b/hr=6", "ds=b/hr=7", "ds=b/hr=8"]


def test_overwriting_replaces_partitions_that_receive_rows_or_are_named(spark: Session, t: str) -> None:
    spark.sql(f"INSERT INTO {t} VALUES (1, 'x', 'a', 1), (2, 'x', 'a', 2), (3, 'x', 'b', 1)")
    spark.sql(f"INSERT OVERWRITE TABLE {t} PARTITION (ds = 'a', hr) SELECT 9, 'new', 1")
    assert rows(spark, t) == [(2, "x", "a", 2), (3, "x", "b", 1), (9, "new", "a", 1)]
    spark.sql(f"INSERT OVERWRITE TABLE {t} PARTITION (ds, hr) SELECT 9, 'new', 'a', 1 WHERE 1 = 0")
    assert len(rows(spark, t)) == 3
    spark.sql(f"INSERT OVERWRITE TABLE {t} PARTITION (ds = 'a', hr = 2) SELECT 9, 'new' WHERE 1 = 0")
    assert rows(spark, t) == [(3, "x", "b", 1), (9, "new", "a", 1)]
    spark.sql(f"INSERT OVERWRITE TABLE {t} PARTITION (ds = 'b', hr = 1) IF NOT EXISTS SELECT 10, 'there already'")
    spark.sql(f"INSERT OVERWRITE TABLE {t} PARTITION (ds = 'b', hr = 2) IF NOT EXISTS SELECT 10, 'new'")
    assert rows(spark, t) == [(10, "new", "b", 2), (3, "x", "b", 1), (9, "new", "a", 1)]


def test_rejections_use_the_words_of_hive(spark: Session, context: Context, t: str) -> None:
    name = f"default.{t}"
    insert = f"INSERT OVERWRITE TABLE {t} PARTITION"
    spec = f"{name}: Partition spec"
    refuse(spark, f"{insert} (ds, hr = 11) SELECT 1, 'x', 'a'", f"[Error 10094]: {name}: Dynamic partition cannot be")
    refuse(spark, f"{insert} (ds) SELECT 1, 'x', 'a'", f"[Error 10094]: {spec} {{ds=null}} doesn't contain all (2)")
    refuse(spark, f"{insert} (ds = 'a') SELECT 1, 'x', 1", f"[Error 10006]: {spec} {{ds=a}} doesn't contain all (2)")
    refuse(spark, f"{insert} (ds = 'a', day) SELECT 1, 'x', 1", f"{spec} {{ds=a, day=null}} contains non-partition col")
    refuse(spark, f"{insert} (ds = 'a', key = 1) SELECT 'x', 1", f"{spec} {{ds=a, key=1}} contains non-partition col")
    refuse(spark, f"{insert} (ds = 'a', hr = 'x') SELECT 1, 'x'", "[Error 10248]: Cannot add partition column hr of t")
    refuse(spark, f"{insert} (ds = 'a', hr = 1) SELECT 1, 'x', 1", "has 2 columns, but query has 3 columns.")
    refuse(spark, f"{insert} (ds = 'a', hr) SELECT 1, 'x'", "[Error 10044]: Cannot insert into target table because")
    refuse(spark, f"{insert} (ds, hr) SELECT 1, 'x', 'a'", f"Table {name} has 4 columns, but query has 3 columns.")
    refuse(spark, f"{insert} (ds = 'a_INTERMEDIATE_ORIGINAL', hr) SELECT 1, 'x', 1", "[Error 10111]")
    refuse(spark, f"{insert} (ds = 'a', hr) IF NOT EXISTS SELECT 1, 'x', 1", "IF NOT EXISTS with dynamic partitions")
    refuse(spark, f"{insert} (ds = 'a', hr) SELECT 1, 'x', 'noon'", "Cannot safely cast")
    assert nothing_is_left(context, t)


def test_a_table_without_partitions_takes_no_clause(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (key INT) STORED AS ORC")
    text = f"default.{table_name}: table is not partitioned but partition spec exists: {{ds=a}}"
    refuse(spark, f"INSERT INTO {table_name} PARTITION (ds = 'a') SELECT 1", text)


def test_strict_mode_and_none_at_all(spark: Session, context: Context, t: str) -> None:
    all_dynamic = f"INSERT INTO {t} PARTITION (ds, hr) SELECT 1, 'x', 'a', 1"
    mixed = f"INSERT INTO {t} PARTITION (ds = 'a', hr) SELECT 1, 'x', 1"
    with settings(spark, {"hive.exec.dynamic.partition": "false"}):
        refuse(spark, all_dynamic, "[Error 10095]")
        refuse(spark, mixed, "Dynamic partition is disabled. Either enable it by setting hive.exec.dynamic.partition")
        spark.sql(f"INSERT INTO {t} PARTITION (ds = 'a', hr = 0) SELECT 0, 'static'")
    with settings(spark, {"hive.exec.dynamic.partition.mode": "strict"}):
        refuse(spark, all_dynamic, "[Error 10096]")
        refuse(spark, all_dynamic, "Dynamic partition strict mode requires at least one static partition column.")
        spark.sql(mixed)
        spark.sql(f"INSERT INTO {t} VALUES (2, 'x', 'b', 1)")  # no clause, so no strict mode, as in Hive 4
    with settings(spark, {"hive.exec.dynamic.partition.mode": "lenient"}):
        refuse(spark, all_dynamic, "hive.exec.dynamic.partition.mode is 'lenient'; it must be strict or nonstrict")
    spark.sql(all_dynamic)
    assert rows(spark, t) == [(0, "static", "a", 0), (1, "x", "a", 1), (1, "x", "a", 1), (2, "x", "b", 1)]


def test_the_mode_is_the_sessions_own(spark: Session, metastore_server: Server, t: str) -> None:
    strict = spark_client.session(metastore_server.uri, conf={"hive.exec.dynamic.partition.mode": "strict"})
    refuse(strict, f"INSERT INTO {t} PARTITION (ds, hr) SELECT 1, 'x', 'a', 1", "[Error 10096]")
    spark.sql(f"INSERT INTO {t} PARTITION (ds, hr) SELECT 1, 'x', 'a', 1")
    assert spark.table(t).count() == 1


def test_limits_are_checked_before_anything_is_visible(spark: Session, context: Context, t: str) -> None:
    insert = f"INSERT INTO {t} PARTITION (ds = 'a', hr) SELECT CAST(id AS INT), 'x', CAST(id AS INT) FROM range(12)"
    static = f"INSERT INTO {t} PARTITION (ds = 'a', hr = 9) SELECT 1, 'x'"
    with settings(spark, {LIMIT: "11"}):
        refuse(spark, insert, "Number of dynamic partitions created is 12, which is more than 11. To solve this try to")
    with settings(spark, {f"{LIMIT}.pernode": "5"}):
        # One task: the hint applies.
        text = "[Error 20004]: Fatal error occurred when node tried to create too many dynamic partitions."
        refuse(spark, insert.replace("SELECT", "SELECT /*+ REPARTITION(1) */"), text)
    with settings(spark, {"hive.exec.max.created.files": "3"}):
        refuse(spark, insert, "total number of created files now is 12, which exceeds 3")
    with settings(spark, {"hive.metastore.partition.name.whitelist.pattern": "[^9]*"}):
        refuse(spark, insert, "Partition value '9' contains a character not matched by whitelist pattern '[^9]*'.")
        refuse(spark, static, "Partition value '9' contains")
    with settings(spark, {"hive.metastore.partition.name.whitelist.pattern": "[^9"}):
        refuse(
            spark, static, "whitelist.pattern is '[^9', which is not a regular expression: unterminated character set"
        )
    with settings(spark, {"hive.error.on.empty.partition": "true"}):
        refuse(spark, f"{insert} WHERE id < 0", "This query creates no partitions.")
    with settings(spark, {LIMIT: "many"}):
        refuse(spark, insert, f"{LIMIT} is 'many'; it must be an integer")
    assert nothing_is_left(context, t)
    with settings(spark, {LIMIT: "12", f"{LIMIT}.pernode": "12", "hive.exec.max.created.files": "12"}):
        spark.sql(insert)
    assert len(context.metastore.get_partitions("default", t)) == 12


def test_values_are_typed_normalised_and_escaped(spark: Session, context: Context, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT) PARTITIONED BY "
        "(s STRING, i INT, d DATE, b BOOLEAN, n DECIMAL(10,2), f DOUBLE, ts TIMESTAMP, c CHAR(3)) STORED AS ORC"
    )
    values = (
        "'a/b=c', 7, CAST('2024-01-31' AS DATE), 1 = 1, CAST('1.5' AS DECIMAL(10,2)), 1D, "
        "TIMESTAMP'2024-01-31 10:00:00.500', 'x'"
    )
    spark.sql(f"INSERT INTO {table_name} SELECT 1, {values}")
    spark.sql(f"INSERT INTO {table_name} SELECT 2, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL")
    spark.sql(
        f"INSERT INTO {table_name} PARTITION (s = 'a/b=c', i = '007', d = '2024-1-31', b = 'TRUE', n = 1.5, f = 1, "
        "ts = '2024-01-31 10:00:00.5', c = 'x') SELECT 3"
    )
    one, two = context.metastore.get_partitions("default", table_name)[::-1]
    assert one.values == ("a/b=c", "7", "2024-01-31", "true", "1.50", "1.0", "2024-01-31 10:00:00.5", "x  ")
    assert two.values == (DEFAULT_PARTITION,) * 8
    location = context.metastore.get_table("default", table_name).location or ""
    assert layout(location) == {
        "s=a%2Fb%3Dc/i=7/d=2024-01-31/b=true/n=1.50/f=1.0/ts=2024-01-31 10%3A00%3A00.5/c=x  ": 2,
        "/".join(f"{name}={DEFAULT_PARTITION}" for name in ("s", "i", "d", "b", "n", "f", "ts", "c")): 1,
    }
    assert spark.sql(f"SELECT sum(id) FROM {table_name} WHERE s = 'a/b=c' AND i = 7 AND b").first() == (4,)
    assert spark.sql(f"SELECT id FROM {table_name} WHERE s IS NULL AND i IS NULL AND ts IS NULL").first() == (2,)


@pytest.mark.parametrize("clauses", ["STORED AS PARQUET", "CLUSTERED BY (id) INTO 1 BUCKETS STORED AS ORC", ""])
def test_an_hour_that_clocks_repeat_is_one_partition_and_zeros_are_two(
    spark: Session, table_name: str, clauses: str
) -> None:
    columns = "(id INT, f DOUBLE, ts TIMESTAMP) USING parquet PARTITIONED BY (f, ts)"
    spark.sql(
        f"CREATE TABLE {table_name} "
        + (f"(id INT) PARTITIONED BY (f DOUBLE, ts TIMESTAMP) {clauses}" if clauses else columns)
    )
    rows_in_turn = ", ".join(
        f"({n}, DOUBLE('{zero}'), TIMESTAMP'2024-11-03 0{5 + n % 2}:30:00Z')"
        for n, zero in enumerate(["0.0", "-0.0", "-0.0", "0.0"] * 2)
    )
    with settings(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        spark.sql(f"INSERT INTO {table_name} SELECT /*+ COALESCE(1) */ * FROM VALUES {rows_in_turn}")
        assert [row[0] for row in spark.sql(f"SHOW PARTITIONS {table_name}").collect()] == [
            "f=-0.0/ts=2024-11-03 01%3A30%3A00",
            "f=0.0/ts=2024-11-03 01%3A30%3A00",
        ]
        assert sorted(row.id for row in spark.sql(f"SELECT id FROM {table_name} WHERE f = 0").collect()) == [*range(8)]


def test_capitals_make_another_partition(spark: Session, t: str) -> None:
    spark.sql(f"INSERT INTO {t} VALUES (1, 'x', 'A', 1), (2, 'x', 'a', 1)")
    assert [row[0] for row in spark.sql(f"SHOW PARTITIONS {t}").collect()] == ["ds=A/hr=1", "ds=a/hr=1"]


class Calls:
    """Records the calls of our library's clients."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        call = MetastoreClient._call

        def counted(client: MetastoreClient, method: str, *arguments: Any, **more: Any) -> Any:
            self.names.append(method)
            return call(client, method, *arguments, **more)

        monkeypatch.setattr(MetastoreClient, "_call", counted)

    def of(self, action: Any) -> list[str]:
        """Returns the calls during the action, without heartbeats."""
        self.names.clear()
        action()
        return [name for name in self.names if name != "renew_write"]


def test_all_partitions_are_created_in_one_call(
    spark: Session, hive_client: Any, t: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(monkeypatch)
    insert = f"INSERT INTO {t} PARTITION (ds = '{{}}', hr) SELECT 1, 'x', CAST(id AS INT) FROM range({{}})"
    one = calls.of(lambda: spark.sql(insert.format("one", 1)))
    before = hive_client.get_current_notificationEventId().eventId
    many = calls.of(lambda: spark.sql(insert.format("many", 40)))
    assert many == one
    assert many.count("publish_all") == 1
    assert not [name for name in many if "partition" in name and name.startswith(("add", "alter", "append"))]
    events = events_since(hive_client, before, t)
    assert events == ["ADD_PARTITION"]


def events_since(hive_client: Any, event: int, table: str) -> list[str]:
    """Returns the events of the table, from calls of any client."""
    answer = hive_client.get_next_notification(NotificationEventRequest(lastEvent=event))
    return [each.eventType for each in answer.events if each.tableName == table]


def test_several_inserts_in_one_statement(spark: Session, t: str, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {t}_r (key INT, value STRING) PARTITIONED BY (ds STRING, hr INT) STORED AS ORC")
    spark.sql(f"CREATE TABLE {t}_n (key INT) STORED AS PARQUET")
    spark.sql(f"INSERT INTO {t} VALUES (1, 'x', 'a', 11), (2, 'x', 'a', 12), (3, 'x', 'b', 9)")
    spark.sql(
        f"FROM {t} "
        f"INSERT OVERWRITE TABLE {t} PARTITION (ds = 'a', hr) SELECT key * 10, value, hr WHERE ds = 'a' AND hr > 11 "
        f"INSERT OVERWRITE TABLE {t}_r PARTITION (ds = '2010-03-03', hr = 12) SELECT key, value WHERE hr = 12 "
        f"INSERT INTO TABLE {t}_n SELECT key"
    )
    assert rows(spark, t) == [(1, "x", "a", 11), (20, "x", "a", 12), (3, "x", "b", 9)]
    # All read the table as it was at the start of the statement, although the first has written to it.
    assert rows(spark, f"{t}_r") == [(2, "x", "2010-03-03", 12)]
    assert rows(spark, f"{t}_n") == [(1,), (2,), (3,)]
    refuse(
        spark,
        f"FROM {t} INSERT OVERWRITE TABLE {t}_n SELECT key "
        f"INSERT INTO TABLE {t}_r PARTITION (ds, hr) SELECT key, raise_error('poison'), ds, hr",
        "poison",
    )
    assert len(rows(spark, f"{t}_n")) == 3
    refuse(
        spark,
        f"FROM {t} INSERT OVERWRITE TABLE {t}_n SELECT key INSERT INTO TABLE {t}_r PARTITION (ds, hr = 1) SELECT 1,2,3",
        "[Error 10094]",
    )
    refuse(
        spark,
        f"FROM {t} INSERT OVERWRITE TABLE {t}_n SELECT 7 INSERT INTO TABLE {t}_n SELECT 8",
        f"two INSERTs of one statement write to default.{t}_n, and one overwrites it",
    )
    assert len(rows(spark, f"{t}_n")) == 3
    spark.sql(f"FROM range(1) INSERT INTO {t}_n SELECT 7 INSERT INTO {t}_n SELECT 8")
    assert rows(spark, f"{t}_n") == [(1,), (2,), (3,), (7,), (8,)]


def test_dataframes_insert_by_position(spark: Session, t: str) -> None:
    frame = spark.createDataFrame([(1, "x", "a", 1), (2, "x", "b", 2)], "hr int, ds string, value string, key int")
    frame.write.insertInto(t)
    frame.limit(1).write.insertInto(t, overwrite=True)
    frame.where("hr = 2").write.format("hive").mode("append").saveAsTable(t + "_saved")
    frame.write.mode("append").format("hive").option("fileFormat", "parquet").partitionBy("ds").saveAsTable(t + "_by")
    assert rows(spark, t) == [(1, "x", "a", 1), (2, "x", "b", 2)]
    assert rows(spark, t + "_saved") == [(2, "x", "b", 2)]
    assert rows(spark, t + "_by") == [(1, "a", 1, "x"), (2, "b", 2, "x")]
